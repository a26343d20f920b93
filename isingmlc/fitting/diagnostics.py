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
# Features with more skewness than this are skewed.
SKEWED = 1.0
# A mean and a variance this close to those of a column of zeros and ones are those of one.
_BINARY = 1e-9
# Temporaries of this size are soon in the processor's cache again.
_CACHE_BYTES = 2**18


def information(fit: NetworkFit) -> FloatArray:
    """Give how much the rows say about each label: Σp(1−p), and that per coefficient.

    Parameters
    ----------
    fit : NetworkFit
        The fits.

    Returns
    -------
    ndarray, shape (K, 2)
        Both numbers; NaN per coefficient where a model has none.

    Notes
    -----
    It is not how often a label occurs that decides whether large-sample p-values hold: a label at
    50% of the rows that others all but determine leaves as little to test with as a rare one.
    """
    total = fit.weights @ fit.stats.counts
    n_coefficients = np.array([len(node.basis) for node in fit.nodes])
    share = np.divide(
        total, n_coefficients, out=np.full(len(total), np.nan), where=n_coefficients > 0
    )
    return np.column_stack([total, share])


def warn_of_little_information(
    fit: NetworkFit, *, corrected: bool, remedy: str | None = None
) -> None:
    """Name the labels that large-sample p-values do not hold for, in one warning.

    Parameters
    ----------
    fit : NetworkFit
        The fits.
    corrected : bool
        Whether the p-values at hand are corrected for it.
    remedy : str, optional
        What to do; what suits tests of single features if omitted.
    """
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
    """Name the labels with which products of features are in rows that say little, in one warning.

    A product of a feature with a label is zero in rows without the label. What these rows say about
    the label that is modelled does not matter.

    Parameters
    ----------
    fit : NetworkFit
        The fits.

    Returns
    -------
    bool
        Whether there are such labels.
    """
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
    """Give means and variances of features, and tell which are of zeros and ones.

    Parameters
    ----------
    stats : LabelsetStatistics
        The statistics.

    Returns
    -------
    mean, variance : ndarray, shape (p,)
        Both.
    binary : ndarray of bool, shape (p,)
        Features whose moments are those of zeros and ones.
    """
    moved = stats.column_sums / stats.nobs
    variance = stats.column_squares / stats.nobs - moved**2
    mean = moved + stats.shift
    binary = np.abs(variance - mean * (1 - mean)) <= _BINARY * np.abs(variance)
    return mean, variance, binary


def any_skewed(fit: NetworkFit) -> bool:
    """Tell whether any feature is skewed; without rows, of features other than 0/1, whether it may.

    Parameters
    ----------
    fit : NetworkFit
        The fits, with rows or without.

    Returns
    -------
    bool
        Whether a skewness is above 1 or below −1.
    """
    stats = fit.stats
    mean, variance, binary = column_moments(stats)
    varied = np.flatnonzero(~stats.constant_features)
    if fit.rows is None:
        third = np.abs(1 - 2 * mean) / np.sqrt(np.where(variance > 0, variance, np.inf))
        return bool((~binary[varied] | (third[varied] > SKEWED)).any())
    return any((np.abs(found) > SKEWED).any() for _, found in _skewness_of(fit.rows, stats, varied))


def column_skewness(fit: NetworkFit) -> FloatArray:
    """Give the skewness of features.

    Parameters
    ----------
    fit : NetworkFit
        The fits.

    Returns
    -------
    ndarray, shape (p,)
        Skewness; zero for features that do not vary, and for all where rows are not held.
    """
    skewness = np.zeros(len(fit.stats.feature_names))
    if fit.rows is not None:
        varied = np.flatnonzero(~fit.stats.constant_features)
        for at, found in _skewness_of(fit.rows, fit.stats, varied):
            skewness[at] = found
    return skewness


def _skewness_of(
    rows: ModelData, stats: LabelsetStatistics, varied: IntArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Give the skewness of some features, a few of them at a time, with their places."""
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
            "positives": positives,
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
