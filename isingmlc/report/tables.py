"""The arrays behind the tables and pictures of a report, small enough to be sent around."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from bokeh.models import ColumnDataSource

from isingmlc.base.arrays import FloatArray, StrArray
from isingmlc.base.names import find_terms
from isingmlc.fitting.reasons import Reason
from isingmlc.report.data import FeaturePart

# Binary digits that are kept of statistics and effects: five decimal ones.
_BITS = 17


def feature_source(part: FeaturePart) -> ColumnDataSource:
    """Put the features into columns; a reason is its place in `Reason`."""
    table = part.table
    place = {name: at for at, name in enumerate(part.tests.label_names)}
    return ColumnDataSource(
        {
            "feature": table["feature"].tolist(),
            "shown": table["shown"].tolist(),
            "term": np.array(find_terms(table["feature"].tolist(), part.terms), dtype=np.int32),
            "importance": table["importance"].to_numpy(),
            "pvalue": table["pvalue"].to_numpy(),
            "pvalue_adj": table["pvalue_adj"].to_numpy(),
            "strongest": np.array([place.get(name, -1) for name in table["strongest"]], np.int32),
            "reason": _codes(table["reason"].to_numpy()),
            "spread": np.full(len(table), np.nan) if part.spread is None else part.spread,
        },
        name="features",
    )


def edge_source(part: FeaturePart) -> ColumnDataSource:
    """Put all edges into flat arrays, feature by feature, with no more digits than are read."""
    cells = part.edges
    with np.errstate(divide="ignore"):
        log10_adj = np.log10(cells["pvalue_adj"])
    columns = {
        "statistic": _few_digits(cells["statistic"]),
        # Ten to this power is a p-value, which takes all digits of a short number.
        "log10p": cells["log10p"].astype(np.float32),
        "log10p_adj": log10_adj.astype(np.float32),
        "df": np.nan_to_num(cells["df"]).astype(np.uint16),
        "sign": cells["sign"].astype(np.int8),
        "significant": cells["significant"].astype(np.uint8),
        "reason": _codes(cells["reason"]),
    }
    if part.has_effects:
        columns |= {
            "coef": _few_digits(cells["coef"]),
            "bse": _few_digits(cells["bse"]),
            "fitted": cells["fitted"].astype(np.uint8),
            "limit": _few_digits(cells["limit"]),
        }
    return ColumnDataSource(
        {name: column.ravel() for name, column in columns.items()}, name="edges"
    )


def pair_source(part: FeaturePart) -> ColumnDataSource | None:
    """Put the strongest pairs of labels, if there are any, into flat arrays, feature by feature."""
    if part.pairs is None:
        return None
    return ColumnDataSource(
        {
            "first": part.pairs.first.astype(np.uint16).ravel(),
            "second": part.pairs.second.astype(np.uint16).ravel(),
            "statistic": _few_digits(part.pairs.statistic).ravel(),
            "coef": _few_digits(part.pairs.coef).ravel(),
            "bse": _few_digits(part.pairs.bse).ravel(),
            "fitted": part.pairs.fitted.astype(np.uint8).ravel(),
        },
        name="all-pairs",
    )


def _codes(reasons: StrArray) -> npt.NDArray[np.uint8]:
    """Write reasons as numbers."""
    place = {reason: code for code, reason in enumerate(Reason)}
    return np.asarray(np.vectorize(place.__getitem__, otypes=[np.uint8])(reasons))


def _few_digits(values: FloatArray) -> npt.NDArray[np.float32]:
    """Round to what a reader needs, so that it takes little room compressed."""
    mantissa, exponent = np.frexp(values)
    # What is beyond short numbers is infinite.
    with np.errstate(over="ignore"):
        rounded = np.ldexp(np.round(mantissa * 2**_BITS) / 2**_BITS, exponent)
        return np.asarray(rounded, dtype=np.float32)
