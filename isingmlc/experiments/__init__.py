"""The experiments of the paper, and the values that it prints."""

from isingmlc.experiments.paper import (
    load_paper_datasets,
    load_paper_posthoc,
    load_paper_ranks,
    load_paper_table,
)
from isingmlc.experiments.runner import PARTS, reproduce
from isingmlc.experiments.theorem import theorem_bound

__all__ = [
    "PARTS",
    "load_paper_datasets",
    "load_paper_posthoc",
    "load_paper_ranks",
    "load_paper_table",
    "reproduce",
    "theorem_bound",
]
