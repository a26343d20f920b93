"""Whether networks of groups differ: permutations of membership, from counts, and Wald's tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.linear_model import LogisticRegression

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.inference.pvalues import chi2_sf
from isingmlc.networks.covariance import NetworkEstimate
from isingmlc.networks.refits import Refits, refit_draws

# Differences this little below the observed ones are their rounding, or where a fit has stopped.
_MARGIN = 1 - 1e-6
# What a coefficient that says which group a row is from is held by: hardly anything.
_LITTLE = 1e4
# Of a pair with fewer rows than this in one of its four cells in a group the covariance with other
# pairs is not known well enough to be inverted: a joint test of such pairs rejects too often.
_LEAST_ROWS = 5
# Covariances of more pairs than this are not inverted.
_MOST_PAIRS = 2000


class Differences(NamedTuple):
    """How far networks of groups are apart.

    Pairs of which some group has a weight that is infinite or not known are left out.

    Attributes
    ----------
    edges : ndarray, shape (..., P)
        The largest difference of two groups in the weight of each pair; NaN if it is left out.
    largest : ndarray, shape (...,)
        M, the largest of them.
    strength : ndarray, shape (...,)
        S, the largest difference of two groups in the sum of absolute weights.
    """

    edges: FloatArray
    largest: FloatArray
    strength: FloatArray


def compare_weights(weights: FloatArray) -> Differences:
    """Give the differences between the networks of groups.

    Parameters
    ----------
    weights : ndarray, shape (..., groups, P)
        Weights of pairs in each group.

    Returns
    -------
    Differences
        The differences.

    Examples
    --------
    >>> found = compare_weights(np.array([[1.0, 0.0, np.inf], [0.5, -0.2, 3.0]]))
    >>> found.edges, float(found.largest), float(found.strength.round(2))
    (array([0.5, 0.2, nan]), 0.5, 0.3)
    """
    comparable = np.asarray(np.isfinite(weights).all(axis=-2))
    kept = np.where(comparable[..., None, :], weights, 0.0)
    apart = kept.max(axis=-2) - kept.min(axis=-2)
    total = np.abs(kept).sum(axis=-1)
    return Differences(
        np.where(comparable, apart, np.nan),
        apart.max(axis=-1, initial=0.0),
        total.max(axis=-1) - total.min(axis=-1),
    )


def direct_differences(weights: FloatArray) -> FloatArray:
    """Give the signs of the largest differences of two groups, the later one less the earlier.

    Parameters
    ----------
    weights : ndarray, shape (groups, P)
        Weights of pairs in each group.

    Returns
    -------
    ndarray, shape (P,)
        1 or −1, and 0 where groups are alike.

    Examples
    --------
    >>> direct_differences(np.array([[1.0, 0.0, 2.0], [0.5, 0.2, 2.0]]))
    array([-1.,  1.,  0.])
    """
    order = np.argmax(weights, axis=0) - np.argmin(weights, axis=0)
    return np.asarray(np.sign(order), dtype=np.float64)


class PermutationPvalues(NamedTuple):
    """P-values of differences between groups.

    Attributes
    ----------
    edges, edges_adjusted : ndarray, shape (P,)
        Those of pairs, by themselves and among all pairs (max-T).
    largest, strength : float
        Those of M and S.
    """

    edges: FloatArray
    edges_adjusted: FloatArray
    largest: float
    strength: float


class Dealing(Protocol):
    """A way to deal out rows to groups as if their networks did not differ."""

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Give the counts of the cells in all groups, shape (size, groups, L)."""


@dataclass(frozen=True, eq=False)
class Shuffle:
    """Rows are dealt out anew, groups as large as they are: groups differ in nothing.

    Attributes
    ----------
    counts : ndarray, shape (groups, L)
        Counts of the cells in each group, whole numbers.
    """

    counts: FloatArray

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Give one hypergeometric split of all counts per draw."""
        sizes = self.counts.sum(axis=1).astype(np.int64)
        pooled = self.counts.sum(axis=0).astype(np.int64)
        drawn = np.empty((size, *self.counts.shape))
        for groups in drawn:
            rest = pooled.copy()
            for group, members in zip(groups[:-1], sizes[:-1], strict=True):
                group[:] = generator.multivariate_hypergeometric(rest, members)
                rest -= group.astype(np.int64)
            groups[-1] = rest
        return drawn


@dataclass(frozen=True, eq=False)
class Redraw:
    r"""The group of each row is drawn given its labels: groups may differ in thresholds.

    Where groups have the same interactions, their distributions differ by a factor
    :math:`\exp(\tau' y)`, so that the group of a row follows a logistic regression on its labels,
    without products of labels.

    Attributes
    ----------
    counts : ndarray, shape (groups, L)
        Counts of the cells in each group, whole numbers.
    columns : ndarray, shape (L, q)
        Labels and covariates of the cells.
    """

    counts: FloatArray
    columns: FloatArray

    @cached_property
    def probabilities(self) -> FloatArray:
        """The probability of each group in each cell, shape (L, groups)."""
        n_groups, n_cells = self.counts.shape
        scale = self.columns.std(axis=0)
        columns = self.columns / np.where(scale > 0, scale, 1.0)
        # Next to no penalty: it only keeps finite what a label that all rows of a group have, or
        # a covariate, makes certain.
        model = LogisticRegression(C=_LITTLE, tol=1e-8, max_iter=2000)
        model.fit(
            np.tile(columns, (n_groups, 1)),
            np.repeat(np.arange(n_groups), n_cells),
            sample_weight=self.counts.ravel(),
        )
        return np.asarray(model.predict_proba(columns))

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Give one multinomial split of each cell per draw."""
        pooled = self.counts.sum(axis=0).astype(np.int64)
        drawn = generator.multinomial(pooled, self.probabilities, size=(size, len(pooled)))
        return np.asarray(drawn.transpose(0, 2, 1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ShuffleWithin:
    """Rows that belong together are dealt out among the groups: groups differ in nothing.

    Attributes
    ----------
    cells : ndarray of int, shape (sets, groups)
        The cell of each row, one line per set of rows that belong together.
    n_cells : int
        Number of cells.
    """

    cells: IntArray
    n_cells: int

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Give the counts after the rows of each set were shuffled."""
        n_groups = self.cells.shape[1]
        drawn = np.empty((size, n_groups, self.n_cells))
        for groups in drawn:
            shuffled = generator.permuted(self.cells, axis=1)
            for group, column in zip(groups, shuffled.T, strict=True):
                group[:] = np.bincount(column, minlength=self.n_cells)
        return drawn


@dataclass(frozen=True, eq=False)
class RedrawWithin:
    r"""Which row of a pair is whose is drawn given both: two groups may differ in thresholds.

    Where groups have the same interactions, and answers of a person go together in the same way
    whichever comes first, exchanging the rows a and b of a pair changes its probability by a factor
    :math:`\exp(\tau'(b - a))`: a logistic regression without a constant, on differences of labels.

    Attributes
    ----------
    cells : ndarray of int, shape (pairs, 2)
        The cell of each row, one line per pair.
    columns : ndarray, shape (L, q)
        Labels and covariates of the cells.
    """

    cells: IntArray
    columns: FloatArray

    @cached_property
    def exchanges(self) -> FloatArray:
        """The probability that the rows of a pair change places, shape (pairs,)."""
        scale = self.columns.std(axis=0)
        columns = self.columns / np.where(scale > 0, scale, 1.0)
        apart = columns[self.cells[:, 1]] - columns[self.cells[:, 0]]
        model = LogisticRegression(C=_LITTLE, tol=1e-8, max_iter=2000, fit_intercept=False)
        model.fit(np.vstack([apart, -apart]), np.repeat([1, 0], len(apart)))
        return np.asarray(model.predict_proba(apart)[:, 0])

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Give the counts after rows of some pairs changed places."""
        drawn = np.empty((size, 2, len(self.columns)))
        for groups in drawn:
            changes = generator.random(len(self.cells)) < self.exchanges
            placed = np.where(changes[:, None], self.cells[:, ::-1], self.cells)
            for group, column in zip(groups, placed.T, strict=True):
                group[:] = np.bincount(column, minlength=len(self.columns))
        return drawn


def permute_groups(
    refits: Refits,
    dealing: Dealing,
    observed: Differences,
    n_permutations: int,
    generator: np.random.Generator,
    n_jobs: int,
) -> PermutationPvalues:
    """Compare differences with those of groups to which rows are dealt out.

    Parameters
    ----------
    refits : Refits
        What fits networks to counts of the cells of all groups.
    dealing : Dealing
        How rows are dealt out.
    observed : Differences
        The differences between the groups; NaN for pairs that are not compared.
    n_permutations : int
        How often.
    generator : Generator
        Source of randomness.
    n_jobs : int
        Processes to use.

    Returns
    -------
    PermutationPvalues
        The p-values, (1 + hits) / (1 + permutations).
    """

    def draw(size: int) -> FloatArray:
        counts = dealing.draw(generator, size)
        return counts.reshape(-1, counts.shape[-1])

    networks = refit_draws(refits.fit_counts, draw, n_permutations, n_jobs, "permutations")
    first, second = np.triu_indices(networks.weights.shape[-1], 1)
    drawn = compare_weights(
        networks.weights[:, first, second].reshape(n_permutations, -1, len(first))
    )
    hits = (drawn.edges >= observed.edges * _MARGIN).sum(axis=0)
    # A pair is compared with the draws that have it, as the groups do.
    n_own = 1 + np.isfinite(drawn.edges).sum(axis=0)
    among_own = (1 + hits) / n_own
    # Weights of rare pairs vary most. Measured by how much each one varies, all have a say.
    squares = np.nansum(drawn.edges**2, axis=0) + np.nan_to_num(observed.edges) ** 2
    spread = np.sqrt(np.where(squares > 0, squares / n_own, 1.0))
    largest = np.nan_to_num(drawn.edges / spread).max(axis=1, initial=0.0)
    among_all = (largest[:, None] >= observed.edges / spread * _MARGIN).sum(axis=0)
    total = 1 + n_permutations
    adjusted = np.maximum((1 + among_all) / total, among_own)
    comparable = np.isfinite(observed.edges)
    return PermutationPvalues(
        np.where(comparable, among_own, np.nan),
        np.where(comparable, adjusted, np.nan),
        float((1 + (drawn.largest >= observed.largest * _MARGIN).sum()) / total),
        float((1 + (drawn.strength >= observed.strength * _MARGIN).sum()) / total),
    )


class WaldDifferences(NamedTuple):
    """Wald's tests of equal weights.

    Attributes
    ----------
    statistic, pvalue : ndarray, shape (P,)
        Of each pair, with one degree of freedom less than groups.
    joint, joint_df, joint_pvalue : float
        Of all pairs together that have at least five rows in each of their four cells in every
        group; NaN if there are none or too many.
    """

    statistic: FloatArray
    pvalue: FloatArray
    joint: float
    joint_df: int
    joint_pvalue: float


def wald_differences(
    estimates: Sequence[NetworkEstimate],
    comparable: BoolArray,
    sets: Sequence[IntArray] | None = None,
) -> WaldDifferences:
    """Test weights for equality between groups.

    Parameters
    ----------
    estimates : sequence of NetworkEstimate
        The network of each group.
    comparable : ndarray of bool, shape (P,)
        Pairs to look at.
    sets : sequence of ndarray of int, optional
        The cell that each set of rows has in each group, among the cells of that group's network,
        where rows of different groups belong together. Otherwise groups are independent samples.

    Returns
    -------
    WaldDifferences
        The tests.
    """
    first, second = np.triu_indices(estimates[0].n_labels, 1)
    weights = np.array([each.weights[first, second] for each in estimates])
    df = len(estimates) - 1
    if sets is None and comparable.sum() > _MOST_PAIRS:
        errors = np.array([each.pair_errors[first, second] for each in estimates])
        precision = 1 / errors**2
        mean = (precision * weights).sum(axis=0) / precision.sum(axis=0)
        statistic = np.where(comparable, (precision * (weights - mean) ** 2).sum(axis=0), np.nan)
        nothing = float("nan")
        pvalue = np.asarray(chi2_sf(statistic, df))
        return WaldDifferences(statistic, pvalue, nothing, df * int(comparable.sum()), nothing)
    at = np.flatnonzero(comparable)
    influences = [_pair_influences(each, first[at], second[at]) for each in estimates]
    size, n_groups = len(at), len(estimates)
    # The covariance of all weights, group by group.
    covariance = np.zeros((n_groups * size, n_groups * size))
    if sets is None:
        for group, (estimate, own) in enumerate(zip(estimates, influences, strict=True)):
            block = slice(group * size, (group + 1) * size)
            covariance[block, block] = estimate.fit.dependence.covariance(own)
    else:
        together = np.hstack([own[cells] for own, cells in zip(influences, sets, strict=True)])
        covariance = together.T @ together
    found, statistic = weights[:, at], np.full(len(first), np.nan)
    places = np.arange(n_groups) * size
    statistic[at] = [
        _equality(found[:, [pair]], covariance[np.ix_(places + pair, places + pair)])
        for pair in range(size)
    ]
    kept = np.flatnonzero(_fewest_rows(estimates)[at] >= _LEAST_ROWS)
    both = (places[:, None] + kept).ravel()
    joint = _equality(found[:, kept], covariance[np.ix_(both, both)]) if len(kept) else np.nan
    joint_df = df * len(kept)
    joint_pvalue = float(chi2_sf(joint, max(joint_df, 1)))
    return WaldDifferences(
        statistic, np.asarray(chi2_sf(statistic, df)), float(joint), joint_df, joint_pvalue
    )


def _fewest_rows(estimates: Sequence[NetworkEstimate]) -> FloatArray:
    """Give the rows in the rarest of the four cells of each pair, in the group with the fewest."""
    first, second = np.triu_indices(estimates[0].n_labels, 1)
    fewest = np.full(len(first), np.inf)
    for estimate in estimates:
        stats = estimate.fit.stats
        for kinds in product((stats.patterns, 1 - stats.patterns), repeat=2):
            one, other = (kind.astype(np.float64) for kind in kinds)
            rows = (one * stats.counts[:, None]).T @ other
            fewest = np.minimum(fewest, rows[first, second])
    return fewest


def _pair_influences(estimate: NetworkEstimate, first: IntArray, second: IntArray) -> FloatArray:
    """Give what one row of each cell adds to the weights of some pairs."""
    n_labels, parts = estimate.n_labels, [np.zeros((len(estimate.fit.stats.counts), 0))]
    for some in chunks(len(first), 8 * n_labels**2):
        lines = np.zeros((some.stop - some.start, n_labels, n_labels))
        at = np.arange(len(lines))
        lines[at, first[some], second[some]] = lines[at, second[some], first[some]] = 1.0
        parts.append(estimate.influence(lines))
    return np.hstack(parts)


def _equality(weights: FloatArray, covariance: FloatArray) -> float:
    """Give Wald's statistic of equal weights in all groups; NaN where covariances are singular."""
    n_groups, size = weights.shape
    apart = (weights[1:] - weights[0]).ravel()
    contrast = np.hstack([-np.ones((n_groups - 1, 1)), np.eye(n_groups - 1)])
    lines = np.kron(contrast, np.eye(size))
    total = lines @ covariance @ lines.T
    scale = np.sqrt(total.diagonal())
    if not (scale > 0).all():
        return float("nan")
    try:
        lower = np.linalg.cholesky(total / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return float("nan")
    solved = np.linalg.solve(lower, apart / scale)
    return float(solved @ solved)
