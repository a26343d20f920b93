"""What all benchmarks share; importing it holds linear algebra to one thread."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
from collections.abc import Callable
from pathlib import Path


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Give the best of several times."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def find_data() -> Path:
    """Give the folder with Mulan's sets: ISINGMLC_DATA, or ../shared/data beside the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("ISINGMLC_DATA", beside))
