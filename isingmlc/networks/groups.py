"""Whether networks of groups differ: permutations of membership, from counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.linear_model import LogisticRegression

from isingmlc.base.arrays import FloatArray, IntArray
from isingmlc.networks.refits import Refits, refit_draws

# Differences this little below the observed ones are their rounding, or where a fit has stopped.
_MARGIN = 1 - 1e-6
# What a coefficient that says which group a row is from is held by: hardly anything.
_LITTLE = 1e4


class Differences(NamedTuple):
    """How far networks of groups are apart."""

    edges: FloatArray
    largest: FloatArray
    strength: FloatArray


def compare_weights(weights: FloatArray) -> Differences:
    """Return the differences between the networks of groups."""
    comparable = np.asarray(np.isfinite(weights).all(axis=-2))
    kept = np.where(comparable[..., None, :], weights, 0.0)
    apart = kept.max(axis=-2) - kept.min(axis=-2)
    total = np.abs(kept).sum(axis=-1)
    return Differences(
        np.where(comparable, apart, np.nan),
        apart.max(axis=-1, initial=0.0),
        total.max(axis=-1) - total.min(axis=-1),
    )


class PermutationPvalues(NamedTuple):
    """P-values of differences between groups."""

    edges: FloatArray
    edges_adjusted: FloatArray
    largest: float
    strength: float


class Dealing(Protocol):
    """A way to deal out rows to groups as if their networks did not differ."""

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Return the counts of the cells in all groups, shape (size, groups, L)."""


@dataclass(frozen=True, eq=False)
class Shuffle:
    """Rows are dealt out anew, groups as large as they are: groups differ in nothing."""

    counts: FloatArray

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Return one hypergeometric split of all counts per draw."""
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
    """The group of each row is drawn given its labels: groups may differ in thresholds."""

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
        """Return one multinomial split of each cell per draw."""
        pooled = self.counts.sum(axis=0).astype(np.int64)
        drawn = generator.multinomial(pooled, self.probabilities, size=(size, len(pooled)))
        return np.asarray(drawn.transpose(0, 2, 1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ShuffleWithin:
    """Rows that belong together are dealt out among the groups: groups differ in nothing."""

    cells: IntArray
    n_cells: int

    def draw(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Return the counts after the rows of each set were shuffled."""
        n_groups = self.cells.shape[1]
        drawn = np.empty((size, n_groups, self.n_cells))
        for groups in drawn:
            shuffled = generator.permuted(self.cells, axis=1)
            for group, column in zip(groups, shuffled.T, strict=True):
                group[:] = np.bincount(column, minlength=self.n_cells)
        return drawn


@dataclass(frozen=True, eq=False)
class RedrawWithin:
    """Which row of a pair is whose is drawn given both: two groups may differ in thresholds."""

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
        """Return the counts after rows of some pairs changed places."""
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
    """Compare differences with those of groups to which rows are dealt out."""

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
