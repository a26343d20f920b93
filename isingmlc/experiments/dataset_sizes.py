"""Table 1: the sizes of the data sets, here and as printed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from isingmlc.datasets import Dataset, describe
from isingmlc.experiments.index_page import Section
from isingmlc.experiments.paper import load_paper_datasets
from isingmlc.experiments.sources import N_LABELS, absent_names, find_sources, list_sets, load_split
from isingmlc.experiments.workshop import Unit, Workshop


@dataclass(frozen=True)
class Settings:
    """Which data sets are described."""

    datasets: tuple[str, ...] = list_sets()


FULL = Settings()
QUICK = FULL


def run(workshop: Workshop, settings: Settings) -> Section:
    """Describe the data sets that are here, beside the paper's Table 1."""
    found = find_sources(settings.datasets, workshop.data)
    units = [
        Unit(name, {"name": name, "seed": workshop.seed}, source.digest)
        for name, source in found.items()
    ]
    described = workshop.compute("descriptions", partial(describe_set, data=workshop.data), units)
    here = pd.DataFrame(described, index=list(found)).reindex(settings.datasets)
    printed = load_paper_datasets().reindex(settings.datasets)
    beside = pd.concat(
        [
            printed[["domain"]],
            *(
                pd.concat([here.get(size), printed[size].rename(f"{size} (paper)")], axis=1)
                for size in ("n", "p", "K")
            ),
            here.drop(columns=["n", "p", "K"], errors="ignore"),
        ],
        axis=1,
    )
    file = workshop.write_table("table1", beside.rename_axis("dataset").reset_index())
    text = [
        "n rows, p features and K labels of the data sets, training and test rows together. Of "
        f"more than {N_LABELS} labels those are used that are the most frequent in training. A "
        "category with several values counts as one feature in the paper, and as one for each "
        "value here.",
        "The paper's table has no row of enron, although its other tables have one; emotions and "
        "flags are not in the paper.",
        absent_names(settings.datasets, found),
    ]
    return Section(
        "Table 1: data sets",
        [paragraph for paragraph in text if paragraph],
        asdict(settings),
        {"Data sets, here and as printed": file},
    )


def describe_set(name: str, seed: int, data: Path | None) -> dict[str, Any]:
    """Describe a data set, training and test rows together."""
    split = load_split(name, data, seed)
    whole = Dataset(
        pd.concat([split.train.labels, split.test.labels]), None, split.train.feature_names
    )
    row: dict[str, Any] = describe({name: whole}).datasets.loc[name].drop("missing").to_dict()
    return row
