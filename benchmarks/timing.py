"""What all benchmarks share; importing it holds linear algebra to one thread."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import resource
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from isingmlc.datasets import Dataset

# Mulan's sets that most benchmarks have, and how many labels are taken; all where there is none.
SETS = {"scene": None, "yeast": None, "enron": None, "bibtex": 50}


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Give the best of several processor times."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def take_turns(*works: Callable[[], object], repeats: int = 5) -> list[float]:
    """Give the best processor times of several pieces of work, done in turns.

    Whatever else the machine does then slows all of them alike. Short ones are repeated within
    their turn, a tenth of a second long.
    """
    best = [float("inf")] * len(works)
    for _ in range(repeats):
        for at, work in enumerate(works):
            spent = 0.0
            while spent < 0.1:
                start = time.process_time()
                work()
                took = time.process_time() - start
                best[at], spent = min(best[at], took), spent + took
    return best


def peak_memory() -> float:
    """Give the most megabytes that this process held."""
    status = Path("/proc/self/status")
    if status.exists():
        # The other figure would count what the process that started this one held.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def find_data() -> Path:
    """Give the folder with Mulan's sets: ISINGMLC_DATA, or ../shared/data beside the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("ISINGMLC_DATA", beside))


def load_sets(limits: Mapping[str, int | None] = SETS) -> Iterator[tuple[str, Dataset]]:
    """Go through the training rows of Mulan's sets, and say which of them are not there."""
    import isingmlc as im

    for name, limit in limits.items():
        if not (find_data() / name).is_dir():
            print(f"{name}: not found in the data folder, left out")
            continue
        data = im.datasets.load_mulan(name, part="train", data_dir=find_data())
        yield name, data if limit is None else im.datasets.limit_labels(data, limit)


def as_dense(features: object) -> np.ndarray:
    """Give features as an array of floats."""
    return features.toarray() if sparse.issparse(features) else np.asarray(features, dtype=float)
