"""The data sets of the paper's tables: which of them are here, and how they are split."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from isingmlc.base.arrays import IntArray
from isingmlc.datasets import Dataset, limit_labels, load_mulan, make_artdata
from isingmlc.datasets._files import file_error
from isingmlc.datasets.mulan import find_part
from isingmlc.experiments.paper import load_paper_datasets, load_paper_table

# What the paper does not have, but many others do.
MORE = ("emotions", "flags")
SIMULATED = ("ArtData3", "ArtData4")
N_LABELS = 50
# The printed tables fit this number better, see tables.REASONS.
FEWER_LABELS = 20
# Which of the paper's data sets have more.
MANY_LABELS = (
    *("genbase", "bibtex", "enron", "mediamill"),
    *("medical", "nus-wide", "eurlex-dc", "CAL500"),
)

ABSENT = (
    "Absent, and left out everywhere: {names}. A data set is found if the folder of the data "
    "holds NAME/NAME-train.arff, NAME/NAME-test.arff and NAME/NAME.xml, or NAME/NAME.arff alone."
)


@dataclass(frozen=True)
class Source:
    """A data set whose files are here."""

    name: str
    files: tuple[Path, ...]
    digest: str

    @property
    def is_split(self) -> bool:
        """Whether the files say which rows are for training."""
        return len(self.files) == 2


@dataclass(frozen=True)
class Split:
    """Rows for training and rows for testing, with the same labels and features."""

    train: Dataset
    test: Dataset


def list_sets() -> tuple[str, ...]:
    """Name the real data sets that are looked for: the paper's, then some more."""
    printed = load_paper_table("subset").index
    return (*(name for name in printed if name not in SIMULATED), *MORE)


def find_sources(names: Iterable[str], data: Path | None) -> dict[str, Source]:
    """Find out which data sets are here."""
    found = {}
    for name in names:
        parts = [find_part(name, part, data) for part in ("train", "test")]
        if None in parts:
            parts = [find_part(name, "all", data)]
        files = tuple(part[0] / file for part in parts if part for file in part[1])
        if files:
            found[name] = Source(name, files, _digest(files))
    return found


def absent_names(names: Iterable[str], found: Iterable[str]) -> str:
    """Say which data sets are absent; nothing if all are here."""
    here = set(found)
    lacking = [name for name in names if name not in here]
    return ABSENT.format(names=", ".join(lacking)) if lacking else ""


@lru_cache(maxsize=2)
def load_split(name: str, data: Path | None, seed: int, n_labels: int = N_LABELS) -> Split:
    """Load training and test rows of a data set."""
    generator = np.random.default_rng(seed)
    if find_part(name, "test", data) and find_part(name, "train", data):
        train, test = load_mulan(name, "train", data), load_mulan(name, "test", data)
        if train.feature_names != test.feature_names:
            raise file_error(
                Path(f"{name}-test.arff"), f"its features are not those of {name}-train.arff."
            )
    else:
        both = split_in_halves(load_mulan(name, "all", data), generator)
        train, test = both.train, both.test
    train = limit_labels(train, n_labels)
    test = replace(test, labels=test.labels[train.labels.columns])
    sizes = load_paper_datasets()["n"]
    most, n_rows = sizes.get(name, np.inf), len(train.labels) + len(test.labels)
    if n_rows <= most:
        return Split(train, test)
    return Split(*(_sample(part, most / n_rows, generator) for part in (train, test)))


def simulate_split(name: str, seed: int, number: int) -> Split:
    """Draw ArtData3 or ArtData4 and split it into halves, its features in random order."""
    which = int(name[-1])
    generator = np.random.default_rng([seed, which, number])
    data = shuffle_features(make_artdata(which, random_state=generator), generator)
    return split_in_halves(data, generator)


def shuffle_features(data: Dataset, generator: np.random.Generator) -> Dataset:
    """Put features into random order."""
    names = [str(name) for name in generator.permutation(list(data.feature_names))]
    return replace(data, features=data.features[names], feature_names=tuple(names))


def split_in_halves(data: Dataset, generator: np.random.Generator) -> Split:
    """Split rows at random, half for training."""
    order = generator.permutation(len(data.labels))
    half = -(-len(order) // 2)
    return Split(*(_take(data, np.sort(rows)) for rows in (order[:half], order[half:])))


def _sample(data: Dataset, share: float, generator: np.random.Generator) -> Dataset:
    size = round(share * len(data.labels))
    rows = generator.choice(len(data.labels), size, replace=False)
    return _take(data, np.sort(rows))


def _take(data: Dataset, rows: IntArray) -> Dataset:
    is_frame = isinstance(data.features, pd.DataFrame)
    features = data.features.iloc[rows] if is_frame else data.features[rows]
    return replace(data, labels=data.labels.iloc[rows], features=features)


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
