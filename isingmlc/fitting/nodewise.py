r"""Nodewise logistic regressions: each label explained by all others, on the labelset table.

A fit on L labelsets with their counts as weights has the estimates, standard errors and
likelihood of the fit on n rows. Where labels are separated the fit is the limit of maximum
likelihood: settled labelsets (see :mod:`isingmlc.fitting.separation`) drop out with probability 0
or 1, coefficients along the settling directions are infinite, and the rest is an ordinary fit of
lower rank. Ridge and Firth penalties keep everything finite instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from scipy.special import expit, log_expit, xlogy

from isingmlc.base.arguments import check_option
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.fitting.newton import (
    Solution,
    firth_newton,
    newton_together,
    proves_overlap,
    thread_pools,
)
from isingmlc.fitting.pair_sums import PairSums
from isingmlc.fitting.separation import (
    Columns,
    independent_columns,
    peel,
    settled_rows,
    shortest_direction,
)
from isingmlc.input.rows import ModelData, require_rows
from isingmlc.statistics.labelsets import LabelsetStatistics, take_features

METHODS = ("mle", "ridge", "firth")

# Steps after which a fit that does not collapse is looked at for separation, fewer from a good
# start, and after which a guess is tried in any case.
_PATIENCE = 5
_PATIENCE_WARM = 2
_LONGEST = 10
# Along a separated direction a Newton step moves the margins of settled rows by about one, if
# several directions share them by less, and no other row.
_SETTLING = 0.2
_QUIET = 0.1
# Guesses at what is separated before the linear programme is asked.
_GUESSES = 3
# Entries of a direction below this are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FitSettings:
    """How the label models are fitted.

    Attributes
    ----------
    method : {"mle", "ridge", "firth"}
        Maximum likelihood (its limit under separation), or a penalty that keeps it finite.
    penalty : float
        Ridge penalty: ``penalty / 2`` times the squared coefficients, the intercept free.
    intercept : bool
        Whether each regression has a constant.
    max_iter : int
        Newton or scoring steps after which a fit is given up.
    """

    method: str = "mle"
    penalty: float = 1.0
    intercept: bool = True
    max_iter: int = 100


@dataclass(frozen=True)
class NodeFit:
    """The fitted model of one label given the others.

    Positions 0 and 1 + l in arrays of K + 1 entries stand for the constant and for label l.

    Attributes
    ----------
    label : int
        Which label is explained.
    coef, bse : ndarray, shape (K + 1,)
        Estimates and standard errors: ±inf and NaN along separated directions, NaN where a
        coefficient is aliased or not in the model.
    basis : ndarray of int
        Positions of the coefficients that the fit on the labelsets in play was made with.
    basis_coef : ndarray, shape (len(basis),)
        Their values.
    covariance : ndarray, shape (len(basis), len(basis))
        Inverse (penalised) information.
    directions : ndarray, shape (rounds, K + 1)
        Where coefficients run off; earlier rounds outweigh later ones.
    aliased, unidentified : ndarray, shape (K + 1, d)
        Directions of the coefficients about which the labelsets, or those in play, say nothing.
    in_play : ndarray of bool, shape (L,)
        Labelsets at which the label is not certain.
    probability : ndarray, shape (L,)
        Fitted probability at each labelset.
    llf, llf_null : float
        Log-likelihood of the fit and of the fit with a constant only.
    iterations : int
        Newton or scoring steps taken in all.
    converged : bool
        Whether the fit converged.
    """

    label: int
    coef: FloatArray
    bse: FloatArray
    basis: IntArray
    basis_coef: FloatArray
    covariance: FloatArray
    directions: FloatArray
    aliased: FloatArray
    unidentified: FloatArray
    in_play: BoolArray
    probability: FloatArray
    llf: float
    llf_null: float
    iterations: int
    converged: bool

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def predict(self, labels: BoolArray) -> FloatArray:
        """Give the probability of the label at any label vectors.

        Parameters
        ----------
        labels : ndarray of bool, shape (rows, K)
            Label vectors; the explained label itself is not looked at.

        Returns
        -------
        ndarray, shape (rows,)
            Probabilities; NaN where the data do not identify them.
        """
        design = np.column_stack([np.ones(len(labels)), labels])
        probability = expit(design[:, self.basis] @ self.basis_coef)
        probability[_touches(design, self.unidentified)] = np.nan
        for direction in self.directions[::-1]:
            push = design @ direction
            certain = np.abs(push) > 1e-9
            probability[certain] = push[certain] > 0
        probability[_touches(design, self.aliased)] = np.nan
        return np.asarray(probability)


@dataclass(frozen=True, eq=False)
class NetworkFit:
    """The fits of all labels, with what they were fitted to: all that tests need to know.

    Attributes
    ----------
    stats : LabelsetStatistics
        What was fitted, and what score tests are computed from.
    settings : FitSettings
        How.
    nodes : tuple of NodeFit
        One fit per label.
    rows : ModelData or None
        The rows, where there are any.
    terms : mapping of str to tuple of str
        Formula terms and their columns.
    """

    stats: LabelsetStatistics
    settings: FitSettings
    nodes: tuple[NodeFit, ...]
    rows: ModelData | None
    terms: Mapping[str, tuple[str, ...]]

    def rows_for(self, purpose: str) -> ModelData:
        """Give the rows, or say that they are needed.

        Parameters
        ----------
        purpose : str
            What needs them, for the message.

        Returns
        -------
        ModelData
            The rows.
        """
        return require_rows(purpose, self.rows, self.stats.feature_names)

    def take_features(self, positions: IntArray) -> NetworkFit:
        """Give the same fits with some of the features.

        Parameters
        ----------
        positions : ndarray of int
            Which features.

        Returns
        -------
        NetworkFit
            The fits.
        """
        rows = None if self.rows is None else self.rows.take_features(positions)
        stats = take_features(self.stats, positions)
        return replace(self, stats=stats, rows=rows)

    @property
    def is_penalised(self) -> bool:
        """Whether the fits are not those of maximum likelihood."""
        return self.settings.method != "mle"

    @cached_property
    def residuals(self) -> FloatArray:
        r"""What scores are the products of sums with, shape (K, L).

        The residuals e; of penalised fits without what the penalty adds to them,
        :math:`e - w z'A^{-1}g`, which is zero everywhere where the regressors leave nothing to
        test.
        """
        stats = self.stats
        probability = np.array([node.probability for node in self.nodes])
        residuals = stats.patterns.T - probability
        if self.is_penalised:
            design = np.column_stack([np.ones(len(stats.counts)), stats.patterns])
            gradients = (stats.counts * residuals) @ design
            steps = np.zeros_like(gradients)
            for node, gradient, step in zip(self.nodes, gradients, steps, strict=True):
                step[node.basis] = node.covariance @ gradient[node.basis]
            residuals -= probability * (1 - probability) * (steps @ design.T)
        return np.asarray(residuals)


def _touches(design: FloatArray, directions: FloatArray) -> BoolArray:
    """Mark rows whose linear predictor changes along any of the directions."""
    return np.asarray((np.abs(design @ directions) > 1e-9).any(axis=1))


def fit_nodes(
    patterns: BoolArray, counts: FloatArray, settings: FitSettings
) -> tuple[NodeFit, ...]:
    """Fit the model of every label given the others.

    Parameters
    ----------
    patterns : ndarray of bool, shape (L, K)
        The labelsets.
    counts : ndarray, shape (L,)
        Their (weighted) counts.
    settings : FitSettings
        How to fit.

    Returns
    -------
    tuple of NodeFit
        One fit a label.

    Examples
    --------
    >>> patterns = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
    >>> counts = np.array([30.0, 10.0, 10.0, 30.0])
    >>> first, second = fit_nodes(patterns, counts, FitSettings())
    >>> first.coef[2], np.log(30 * 30 / (10 * 10))  # the log odds ratio
    (np.float64(2.197...), np.float64(2.197...))
    """
    check_option("method", settings.method, METHODS)
    design = np.column_stack([np.ones(len(patterns)), patterns])
    # These matrices are small: more threads only get in each other's way.
    with thread_pools().limit(limits=1, user_api="blas"):
        table = _Table(design, PairSums(design), np.where(patterns.T, 1.0, -1.0), counts)
        nodes = _begin(table, settings)
        if settings.method == "firth":
            for block in chunks(len(nodes), 8 * design.size):
                regressors = [table.regressors(node) for node in nodes[block]]
                solutions = firth_newton(regressors, counts, settings.max_iter)
                for node, solution in zip(nodes[block], solutions, strict=True):
                    _learn(table, node, solution)
        else:
            penalty = None
            if settings.method == "ridge":
                penalty = np.full(design.shape[1], settings.penalty)
                penalty[0] = 0.0
            for block in chunks(len(nodes), 8 * len(counts), least=16):
                _find_limits(table, nodes[block], settings.max_iter, penalty)
    return _collect(table, nodes, settings)


def find_aliases(patterns: BoolArray, intercept: bool) -> tuple[tuple[int, ...], ...]:
    """Find labels that are linear functions of others.

    Parameters
    ----------
    patterns : ndarray of bool, shape (L, K)
        The labelsets.
    intercept : bool
        Whether a constant counts as one of the others.

    Returns
    -------
    tuple of tuple of int
        For each label, the others that share a linear relation with it (constant labels, which
        are told apart anyway, are left out).

    Examples
    --------
    The third label is the first one turned round:

    >>> patterns = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]], dtype=bool)
    >>> find_aliases(patterns, intercept=True)
    ((2,), (), (0,))
    """
    n_labels = patterns.shape[1]
    varies = np.flatnonzero(patterns.any(axis=0) & ~patterns.all(axis=0))
    columns = patterns[:, varies].astype(np.float64)
    if intercept:
        columns = np.column_stack([np.ones(len(patterns)), columns])
    relations = independent_columns(columns.T @ columns)
    labels_of = np.concatenate([[-1], varies]) if intercept else varies
    related: list[set[int]] = [set() for _ in range(n_labels)]
    for dropped, shares in zip(relations.dropped, relations.dependence.T, strict=True):
        members = {int(labels_of[dropped]), *labels_of[relations.kept[shares != 0]].tolist()} - {-1}
        for member in members:
            related[member] |= members - {member}
    return tuple(tuple(sorted(others)) for others in related)


@dataclass(frozen=True)
class _Table:
    """What the models of all labels share: `design` holds a constant and all labels."""

    design: FloatArray
    pairs: PairSums
    signs: FloatArray
    counts: FloatArray

    @cached_property
    def radius_squared(self) -> float:
        """The largest number of columns that a row carries, the square of its length."""
        return float(self.design.sum(axis=1).max())

    def regressors(self, node: _Node) -> FloatArray:
        """Give the signed regressors of a label in the rows in play."""
        regressors = self.design[node.in_play][:, node.columns]
        regressors *= self.signs[node.label, node.in_play, None]
        return regressors


@dataclass
class _Node:
    """The model of one label on its way to a fit; `is_final` if nothing more can be settled."""

    label: int
    columns: IntArray
    aliased: FloatArray
    in_play: BoolArray
    directions: list[FloatArray]
    chosen: Columns
    is_final: bool
    start: FloatArray = field(default_factory=lambda: np.zeros(0))
    steps: int = 0
    guesses: int = 0
    solution: Solution | None = None

    @property
    def basis(self) -> IntArray:
        """The columns that the fit is made with."""
        return self.columns[self.chosen.kept]


def _begin(table: _Table, settings: FitSettings) -> list[_Node]:
    """Choose columns for the models of all labels, and settle by counting."""
    patterns = table.design[:, 1:] > 0
    size = table.design.shape[1]
    first = 0 if settings.intercept else 1
    gram = table.design.T @ table.design
    whole = independent_columns(gram[first:, first:])
    constant = np.asarray(patterns.all(axis=0) | ~patterns.any(axis=0))
    in_play, directions = peel(patterns, settings.intercept)
    sums = table.pairs.under(in_play.astype(np.float64))
    nodes = []
    for label in range(size - 1):
        columns = np.arange(first, size)
        columns = columns[columns != label + 1]
        aliased, dropped = np.zeros((size, 0)), columns[:0]
        if len(whole.dropped) and settings.method != "ridge":
            chosen = whole.without(label + 1 - first)
            if chosen is None:
                chosen = independent_columns(gram[np.ix_(columns, columns)])
            aliased = _spread(chosen.null_space, columns, size)
            columns, dropped = columns[chosen.kept], columns[chosen.dropped]
        # The ridge penalty leaves the constant free: alone it still settles a constant label.
        settles = settings.method == "ridge" and settings.intercept and constant[label]
        if settings.method == "mle" or settles:
            chosen = _rank(sums[label][table.pairs.place[columns[:, None], columns]])
            # What runs off is said of the coefficients that the model has.
            moved = [each - aliased @ each[dropped] for each in directions[label]]
            settling = [np.where(np.abs(each) < _ROUNDING, 0.0, each) for each in moved]
            rows = in_play[label]
        else:
            chosen = Columns.all_of(len(columns))
            rows, settling = np.ones(len(patterns), dtype=np.bool_), []
        is_final = settings.method != "mle"
        nodes.append(_Node(label, columns, aliased, rows, settling, chosen, is_final))
    return nodes


def _find_limits(
    table: _Table, nodes: list[_Node], max_iter: int, penalty: FloatArray | None
) -> None:
    """Fit by maximum likelihood, or its limit where labels are separated."""
    start: FloatArray | None = None
    while nodes:
        solutions = newton_together(
            table.pairs,
            table.signs[[node.label for node in nodes]],
            table.counts * np.array([node.in_play for node in nodes]),
            [node.basis for node in nodes],
            start=start,
            max_steps=[max_iter - node.steps for node in nodes],
            penalty=penalty,
            patience=_PATIENCE if start is None else _PATIENCE_WARM,
            gives_up=partial(_looks_separated, table, nodes),
        )
        for node, solution in zip(nodes, solutions, strict=True):
            _learn(table, node, solution)
        nodes = [node for node in nodes if node.solution is None]
        start = np.array([node.start for node in nodes])


def _looks_separated(
    table: _Table, nodes: list[_Node], order: int, step: FloatArray, steps: int
) -> bool:
    """Tell whether a step shows which rows are settled, so that a guess should be tried."""
    node = nodes[order]
    if node.is_final:
        return False
    moves = _moves(table, node, step)
    settling = moves > _SETTLING
    is_clear = settling.any() and (settling | (np.abs(moves) <= _QUIET)).all()
    return bool(is_clear or steps >= _LONGEST)


def _learn(table: _Table, node: _Node, solution: Solution) -> None:
    """Take a solution for the limit, or settle rows that it shows to be separated."""
    node.steps += solution.steps
    if node.is_final or proves_overlap(solution, table.radius_squared):
        node.solution = solution
        return
    coef = _spread(solution.coef, node.chosen.kept, len(node.columns))
    # A guess is checked, and only where guesses fail a programme is solved.
    node.guesses += 1
    regressors = table.regressors(node)
    if node.guesses <= _GUESSES:
        settled = _moves(table, node, solution.step) > _SETTLING
    else:
        settled = settled_rows(regressors[:, node.chosen.kept])
        node.is_final = True
    if settled.any():
        remaining = regressors[~settled]
        rest = _rank(remaining.T @ remaining)
        direction = shortest_direction(regressors[settled], rest.null_space)
        if direction is not None:
            node.directions.append(_spread(direction, node.columns, table.design.shape[1]))
            node.in_play = node.in_play.copy()
            node.in_play[node.in_play] = ~settled
            node.chosen = rest
    node.start = _spread(node.chosen.carry_over(coef), node.basis, table.design.shape[1])


def _moves(table: _Table, node: _Node, step: FloatArray) -> FloatArray:
    """Give how much a step moves the margins of the rows in play."""
    whole = _spread(step, node.basis, table.design.shape[1])
    moves: FloatArray = (table.signs[node.label] * (table.design @ whole))[node.in_play]
    return moves


def _spread(values: FloatArray, places: IntArray, size: int) -> FloatArray:
    """Put values where they belong among `size` of them, the others being zero."""
    whole = np.zeros((size, *values.shape[1:]))
    whole[places] = values
    return whole


def _rank(gram: FloatArray) -> Columns:
    return independent_columns(gram, in_order=False)


def _collect(table: _Table, nodes: list[_Node], settings: FitSettings) -> tuple[NodeFit, ...]:
    """Put the fits of all labels together."""
    size = table.design.shape[1]
    values = np.zeros((len(nodes), size))
    for node in nodes:
        assert node.solution is not None
        values[node.label, node.basis] = node.solution.coef
    in_play = np.array([node.in_play for node in nodes])
    eta = values @ table.design.T
    probability = np.where(in_play, expit(eta), table.signs > 0)
    llf = (in_play * log_expit(table.signs * eta)) @ table.counts
    total, positives = table.counts.sum(), (table.signs > 0) @ table.counts
    llf_null = np.full(len(nodes), -total * np.log(2))
    if settings.intercept:
        negatives = total - positives
        llf_null = xlogy(positives, positives / total) + xlogy(negatives, negatives / total)
    fits = []
    for node in nodes:
        chosen, solution, basis = node.chosen, node.solution, node.basis
        assert solution is not None
        estimable = chosen.estimable
        coef, bse = np.full((2, size), np.nan)
        coef[basis[estimable]] = solution.coef[estimable]
        bse[basis[estimable]] = np.sqrt(solution.covariance.diagonal()[estimable])
        for direction in node.directions[::-1]:
            running = (direction != 0) & ~np.isfinite(coef)
            coef[running] = np.copysign(np.inf, direction[running])
        fits.append(
            NodeFit(
                label=node.label,
                coef=coef,
                bse=bse,
                basis=basis,
                basis_coef=solution.coef,
                covariance=solution.covariance,
                directions=np.array(node.directions).reshape(-1, size),
                aliased=node.aliased,
                unidentified=_spread(chosen.null_space, node.columns, size),
                in_play=node.in_play,
                probability=probability[node.label],
                llf=float(llf[node.label]),
                llf_null=float(llf_null[node.label]),
                iterations=node.steps,
                converged=solution.converged,
            )
        )
    return tuple(fits)
