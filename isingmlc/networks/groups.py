"""Whether networks of groups differ: permutations of membership, from counts, and Wald's tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.inference.pvalues import chi2_sf
from isingmlc.networks.covariance import NetworkEstimate
from isingmlc.networks.refits import Refits, refit_draws

# Differences this little below the observed ones are their rounding.
_MARGIN = 1 - 1e-9
# Covariances of more pairs than this are not inverted.
_MOST_PAIRS = 2000


class Differences(NamedTuple):
    """How far networks of groups are apart.

    Attributes
    ----------
    edges : ndarray, shape (..., P)
        The largest difference of two groups in the weight of each pair.
    largest : ndarray, shape (...,)
        M, the largest of them.
    strength : ndarray, shape (...,)
        S, the largest difference of two groups in the sum of absolute weights.
    """

    edges: FloatArray
    largest: FloatArray
    strength: FloatArray


def compare_weights(weights: FloatArray, comparable: BoolArray) -> Differences:
    """Give the differences between the networks of groups.

    Parameters
    ----------
    weights : ndarray, shape (..., groups, P)
        Weights of pairs in each group.
    comparable : ndarray of bool, shape (P,)
        Pairs to look at.

    Returns
    -------
    Differences
        The differences; those of other pairs are NaN. Where a weight is infinite or not known they
        are infinite.

    Examples
    --------
    >>> found = compare_weights(np.array([[1.0, 0.0], [0.5, -0.2]]), np.array([True, True]))
    >>> found.edges, float(found.largest), float(found.strength.round(2))
    (array([0.5, 0.2]), 0.5, 0.3)
    """
    kept = np.where(np.isfinite(weights), weights, np.inf)[..., comparable]
    with np.errstate(invalid="ignore"):
        apart = kept.max(axis=-2) - kept.min(axis=-2)
        total = np.abs(kept).sum(axis=-1)
        strength = total.max(axis=-1) - total.min(axis=-1)
    apart = np.where(np.isnan(apart), np.inf, apart)
    edges = np.full((*weights.shape[:-2], len(comparable)), np.nan)
    edges[..., comparable] = apart
    largest = apart.max(axis=-1, initial=0.0)
    return Differences(edges, largest, np.where(np.isnan(strength), np.inf, strength))


class PermutationPvalues(NamedTuple):
    """P-values of differences between groups.

    Attributes
    ----------
    edges, edges_adjusted : ndarray, shape (P,)
        Those of pairs, by themselves and among all pairs (max-T).
    largest, strength : float
        Those of M and S.
    lost : int
        Permutations in which some weight was infinite or not known; they count as exceeding.
    """

    edges: FloatArray
    edges_adjusted: FloatArray
    largest: float
    strength: float
    lost: int


def permute_groups(
    refits: Refits,
    counts: FloatArray,
    observed: Differences,
    n_permutations: int,
    generator: np.random.Generator,
    n_jobs: int,
) -> PermutationPvalues:
    """Compare differences with those of groups that are drawn from all rows.

    Parameters
    ----------
    refits : Refits
        What fits networks to counts of the cells of all groups.
    counts : ndarray, shape (groups, L)
        Counts of the cells in each group, whole numbers.
    observed : Differences
        The differences between the groups; NaN for pairs that are not compared.
    n_permutations : int
        How many permutations.
    generator : Generator
        Source of randomness.
    n_jobs : int
        Processes to use.

    Returns
    -------
    PermutationPvalues
        The p-values, (1 + hits) / (1 + permutations).
    """
    sizes, n_groups = counts.sum(axis=1).astype(np.int64), len(counts)
    pooled = counts.sum(axis=0).astype(np.int64)

    def draw(size: int) -> FloatArray:
        lines = []
        for _ in range(size):
            rest = pooled.copy()
            for members in sizes[:-1]:
                lines.append(generator.multivariate_hypergeometric(rest, members))
                rest -= lines[-1]
            lines.append(rest)
        return np.array(lines, dtype=np.float64)

    networks = refit_draws(refits.fit_counts, draw, n_permutations, n_jobs, "permutations")
    first, second = np.triu_indices(networks.weights.shape[-1], 1)
    weights = networks.weights[:, first, second].reshape(n_permutations, n_groups, -1)
    comparable = ~np.isnan(observed.edges)
    drawn = compare_weights(weights, comparable)
    hits = (drawn.edges >= observed.edges * _MARGIN).sum(axis=0)
    among_all = (drawn.largest[:, None] >= observed.edges * _MARGIN).sum(axis=0)
    total = 1 + n_permutations
    return PermutationPvalues(
        np.where(comparable, (1 + hits) / total, np.nan),
        np.where(comparable, (1 + among_all) / total, np.nan),
        float((1 + (drawn.largest >= observed.largest * _MARGIN).sum()) / total),
        float((1 + (drawn.strength >= observed.strength * _MARGIN).sum()) / total),
        int(np.isinf(drawn.largest).sum()),
    )


class WaldDifferences(NamedTuple):
    """Wald's tests of equal weights.

    Attributes
    ----------
    statistic, pvalue : ndarray, shape (P,)
        Of each pair, with one degree of freedom less than groups.
    joint, joint_df, joint_pvalue : float
        Of all pairs that are compared together; NaN where there are too many.
    """

    statistic: FloatArray
    pvalue: FloatArray
    joint: float
    joint_df: int
    joint_pvalue: float


def wald_differences(
    estimates: Sequence[NetworkEstimate], comparable: BoolArray
) -> WaldDifferences:
    """Test weights for equality between groups, which are independent samples.

    Parameters
    ----------
    estimates : sequence of NetworkEstimate
        The network of each group.
    comparable : ndarray of bool, shape (P,)
        Pairs to look at.

    Returns
    -------
    WaldDifferences
        The tests.
    """
    first, second = np.triu_indices(estimates[0].n_labels, 1)
    weights = np.array([each.weights[first, second] for each in estimates])
    errors = np.array([each.pair_errors[first, second] for each in estimates])
    df = len(estimates) - 1
    precision = 1 / errors**2
    mean = (precision * weights).sum(axis=0) / precision.sum(axis=0)
    statistic = np.where(comparable, (precision * (weights - mean) ** 2).sum(axis=0), np.nan)
    at = np.flatnonzero(comparable & ~np.isnan(statistic))
    joint, joint_df = np.nan, df * len(at)
    if 0 < len(at) <= _MOST_PAIRS:
        joint = _joint_statistic(
            weights[:, at], [_pair_covariance(each, first[at], second[at]) for each in estimates]
        )
    return WaldDifferences(
        statistic,
        np.asarray(chi2_sf(statistic, df)),
        joint,
        joint_df,
        float(chi2_sf(joint, max(joint_df, 1))),
    )


def _pair_covariance(estimate: NetworkEstimate, first: IntArray, second: IntArray) -> FloatArray:
    """Give the covariance of the weights of some pairs."""
    n_labels, parts = estimate.n_labels, []
    for some in chunks(len(first), 8 * n_labels**2):
        lines = np.zeros((some.stop - some.start, n_labels, n_labels))
        at = np.arange(len(lines))
        lines[at, first[some], second[some]] = lines[at, second[some], first[some]] = 1.0
        parts.append(estimate.influence(lines))
    return estimate.fit.dependence.covariance(np.hstack(parts))


def _joint_statistic(weights: FloatArray, covariances: Sequence[FloatArray]) -> float:
    """Give Wald's statistic of equal weights in all groups; NaN where covariances are singular."""
    try:
        apart = weights[1:] - weights[0]
        size = weights.shape[1]
        total = np.tile(covariances[0], (len(apart), len(apart)))
        for group, covariance in enumerate(covariances[1:]):
            own = slice(group * size, (group + 1) * size)
            total[own, own] += covariance
        scale = np.sqrt(total.diagonal())
        upper = np.linalg.cholesky(total / np.outer(scale, scale))
        solved = np.linalg.solve(upper, apart.ravel() / scale)
    except np.linalg.LinAlgError:
        return float("nan")
    return float(solved @ solved)
