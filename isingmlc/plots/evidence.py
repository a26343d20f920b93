"""What pictures say about tests: which edges are significant, and in which direction they act."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number
from isingmlc.base.arrays import BoolArray

if TYPE_CHECKING:
    from isingmlc.results.edge_tests import EdgeTests
    from isingmlc.results.ising import IsingResults

MARKS = {1.0: "▲", -1.0: "▼", 0.0: ""}


def find_significant(edges: EdgeTests, alpha: float, adjust: str | None) -> BoolArray:
    """Mark the significant edges."""
    alpha = check_number("alpha", alpha, above=0, below=1)
    frame = edges.to_frame(adjust)
    if "with" in frame:
        frame = frame[frame["with"] == ""]
    adjusted = frame["pvalue_adj"].to_numpy().reshape(edges.arrays.statistic.shape)
    return np.asarray(adjusted <= alpha)


def check_edges(edges: EdgeTests, results: IsingResults) -> EdgeTests:
    """See that tests are of the labels of a fit, given its covariates."""
    for what, wanted, found in (
        ("of the labels", results.label_names, edges.label_names),
        ("given the covariates", results.adjusted_for, edges.adjusted_for),
    ):
        if found != wanted:
            raise exc.DataError(
                f"edges must be tests {what} of the fit, {exc.shorten(wanted) or 'none'}, but "
                f"those of edges are {exc.shorten(found) or 'none'}. Take them from the same "
                "results, e.g. with results.score_test()."
            )
    return edges


def describe_level(relation: str, alpha: float, adjust: str | None) -> str:
    """Say in a legend when an edge is, or is not, significant."""
    return f"p {relation} {alpha:g}" + ("" if adjust is None else f", {adjust}")
