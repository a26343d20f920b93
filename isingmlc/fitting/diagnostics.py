"""What there is to know about the fit of each label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks, dense
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.nodewise import NetworkFit, find_aliases
from isingmlc.fitting.testable import Reason, judge_fits
from isingmlc.input.rows import ModelData
from isingmlc.statistics.labelsets import LabelsetStatistics

# Labels with fewer rows of one kind than this are called rare.
RARE = 10
# Less information than this, per coefficient of a label's model or in all, and large-sample
# p-values of its edges are not to be trusted; in all it matters for skewed features only.
LEAST_PER_COEFFICIENT = 4.0
LEAST_INFORMATION = 75.0
# The like of it in rows that carry a label, for products of features with the label.
LEAST_AMONG_CARRIERS = 3.0
# A label that never occurs without another would do so in this many rows if they were independent;
# with two screening labels, each is needed in this many rows.
_LEAST_EXPECTED = 10.0
_LEAST_NEEDED = 5.0
# So many of these patterns are written out.
_LISTED = 5
# Features with more skewness than this are skewed.
SKEWED = 1.0
# A mean and a variance this close to those of a column of zeros and ones are those of one.
_BINARY = 1e-9
# Temporaries of this size are soon in the processor's cache again.
_CACHE_BYTES = 2**18


def describe_skips(stats: LabelsetStatistics) -> str:
    """Describe labels that are never 1 unless another is, or one of two; empty if none."""
    names, counts = stats.label_names, stats.counts
    absent = (~stats.patterns).astype(np.float64)
    share = absent.T @ (counts[:, None] * absent) / stats.nobs
    items: dict[tuple[int, int], list[str]] = {}
    for label, name in enumerate(names):
        has = stats.patterns[:, label]
        together = counts[has] @ stats.patterns[has]
        others = np.flatnonzero(together >= _LEAST_NEEDED)
        others = others[others != label]
        part = absent[np.ix_(has, others)]
        lacking = part.T @ (counts[has][:, None] * part)
        without = lacking.diagonal()
        expected = counts[has].sum() * share[np.ix_(others, others)]
        # A copy of the label is no screening label.
        copies = (without == 0) & (counts @ stats.patterns[:, others] == counts[has].sum())
        needed = without >= _LEAST_NEEDED
        skips = (lacking == 0) & (expected >= _LEAST_EXPECTED)
        skips &= np.outer(needed, needed) | np.diag(~copies)
        for pair in np.argwhere(np.triu(skips)):
            first, second = others[pair].tolist()
            items.setdefault((first, second), []).append(name)
    said = []
    for (first, second), skipped in items.items():
        if first == second or len(skipped) > 1:
            screens = " or ".join(repr(names[at]) for at in dict.fromkeys((first, second)))
            be = "is" if len(skipped) == 1 else "are"
            said.append(f"{exc.shorten(skipped)} {be} never 1 unless {screens} is 1")
    more = f"; and {len(said) - _LISTED} more" if len(said) > _LISTED else ""
    return exc.SKIPPED.format(patterns="; ".join(said[:_LISTED]) + more) if said else ""


def information(fit: NetworkFit) -> FloatArray:
    """Return how much the rows say about each label: Σp(1−p), and that per coefficient."""
    total = fit.weights @ fit.stats.counts
    n_coefficients = np.array([len(node.basis) for node in fit.nodes])
    share = np.divide(
        total, n_coefficients, out=np.full(len(total), np.nan), where=n_coefficients > 0
    )
    return np.column_stack([total, share])


def warn_of_little_information(
    fit: NetworkFit, *, corrected: bool, remedy: str | None = None
) -> None:
    """Name the labels that large-sample p-values do not hold for, in one warning."""
    total, share = information(fit).T
    tested = judge_fits(fit, min_count=1) == Reason.OK
    low = tested & (share < LEAST_PER_COEFFICIENT)
    little = tested & (total < LEAST_INFORMATION) & ~low
    # Rows tell the skewness of a score, and corrected p-values go by it.
    unknown = fit.rows is None or not corrected
    skewed = bool(little.any()) and unknown and any_skewed(fit)
    if skewed:
        low |= little
    if low.any():
        names = np.array(fit.stats.label_names, dtype=object)[low]
        message = exc.LOW_INFORMATION.format(
            names=exc.shorten(names),
            least=f"{LEAST_INFORMATION:g}",
            per_coefficient=LEAST_PER_COEFFICIENT,
            skewed=exc.SKEWED if skewed else "",
            remedy=remedy or (exc.MEND_AUTO if corrected else exc.MEND_CHI2),
        )
        exc.warn(message, exc.LowInformationWarning)


def warn_of_few_carriers(fit: NetworkFit) -> bool:
    """Warn of labels whose products with features are in rows of little information."""
    stats = fit.stats
    tested = judge_fits(fit, min_count=1) == Reason.OK
    among = np.array([(stats.counts * node.weight) @ stats.patterns for node in fit.nodes])
    few = (among > 0) & (among < LEAST_AMONG_CARRIERS) & tested[:, None]
    np.fill_diagonal(few, False)
    low = few.any(axis=0)
    if low.any():
        names = np.array(stats.label_names, dtype=object)[low]
        message = exc.LOW_INFORMATION_PRODUCTS.format(
            names=exc.shorten(names), least=LEAST_AMONG_CARRIERS
        )
        exc.warn(message, exc.LowInformationWarning)
    return bool(low.any())


def column_moments(stats: LabelsetStatistics) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return means and variances of features, and tell which are of zeros and ones."""
    moved = stats.column_sums / stats.nobs
    variance = stats.column_squares / stats.nobs - moved**2
    mean = moved + stats.shift
    binary = np.abs(variance - mean * (1 - mean)) <= _BINARY * np.abs(variance)
    return mean, variance, binary


def any_skewed(fit: NetworkFit) -> bool:
    """Return whether any feature is, or without rows may be, skewed."""
    stats = fit.stats
    mean, variance, binary = column_moments(stats)
    varied = np.flatnonzero(~stats.constant_features)
    if fit.rows is None:
        third = np.abs(1 - 2 * mean) / np.sqrt(np.where(variance > 0, variance, np.inf))
        return bool((~binary[varied] | (third[varied] > SKEWED)).any())
    return any((np.abs(found) > SKEWED).any() for _, found in _skewness_of(fit.rows, stats, varied))


def _skewness_of(
    rows: ModelData, stats: LabelsetStatistics, varied: IntArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Return the skewness of some features, a few of them at a time, with their places."""
    mean, variance, _ = column_moments(stats)
    features: Any = rows.features
    weights = rows.weights
    if sparse.issparse(features):
        features = sparse.csc_array(features)
    for part in chunks(len(varied), 24 * features.shape[0], limit=_CACHE_BYTES):
        at = varied[part]
        is_run = at[-1] - at[0] == len(at) - 1
        some = features[:, at[0] : at[-1] + 1] if is_run else features[:, at]
        rest = dense(some) - mean[at]
        # A power takes twenty times as long as two products.
        squares = rest * rest
        if weights is not None:
            squares *= weights[:, None]
        third = np.vecdot(squares.T, rest.T)
        yield at, third / stats.nobs / variance[at] ** 1.5


def diagnose(fit: NetworkFit) -> pd.DataFrame:
    """Tabulate the fits; `IsingResults.diagnostics` explains the columns."""
    stats, nodes = fit.stats, fit.nodes
    positives = stats.counts @ stats.patterns
    minority = np.minimum(positives, stats.nobs - positives)
    constant = minority == 0
    reasons = judge_fits(fit)
    aliases = find_aliases(fit.regressors, fit.settings.intercept)[: len(nodes)]
    names = np.array([*stats.label_names, *stats.context.column_names], dtype=object)
    constants = _theorem_constants(fit)
    known = information(fit)
    # A constant label has no likelihood to explain.
    null = np.array([node.llf_null if node.llf_null else np.nan for node in nodes])
    return ResultTable(
        {
            "positives": stats.observations @ stats.patterns,
            "prevalence": positives / stats.nobs,
            "rare": ~constant & (minority < RARE),
            "labelsets": [int(node.in_play.sum()) for node in nodes],
            "rows": [stats.counts[node.in_play].sum() for node in nodes],
            "information": known[:, 0],
            "information_per_coefficient": known[:, 1],
            "separated": ~constant & np.array([not node.in_play.all() for node in nodes]),
            "determined": reasons == Reason.DETERMINED_LABEL,
            "infinite": [int(np.isinf(node.coef).sum()) for node in nodes],
            "aliased_with": [", ".join(names[list(others)]) for others in aliases],
            "iterations": [node.iterations for node in nodes],
            "converged": [node.converged for node in nodes],
            "min_variance": constants[:, 0],
            "min_eigenvalue": constants[:, 1],
            "neighbors": [int(node.neighbors.sum()) for node in nodes],
            "pseudo_r2": 1 - np.array([node.llf for node in nodes]) / null,
            "reason": reasons,
        },
        index=pd.Index(stats.label_names),
    )


def _theorem_constants(fit: NetworkFit) -> FloatArray:
    """Smallest variances and smallest eigenvalues of the designs, over what is in play."""
    counts, design = fit.stats.counts, fit.factors.design
    whole = design.T @ (counts[:, None] * design) / counts.sum()
    constants = np.full((len(fit.nodes), 2), np.nan)
    for node, line in zip(fit.nodes, constants, strict=True):
        if not node.in_play.any():
            continue
        line[0] = node.weight[node.in_play].min()
        if not len(node.basis):
            continue
        gram = whole[np.ix_(node.basis, node.basis)]
        if not node.in_play.all():
            inner, inside = design[np.ix_(node.in_play, node.basis)], counts[node.in_play]
            gram = inner.T @ (inside[:, None] * inner) / inside.sum()
        line[1] = np.linalg.eigvalsh(gram)[0]
    return constants
