r"""Nodewise logistic regressions: each label explained by all others, on the labelset table.

A fit on L labelsets with their counts as weights has the estimates, standard errors and
likelihood of the fit on n rows. Where labels are separated the fit is the limit of maximum
likelihood: settled labelsets (see :mod:`isingmlc.fitting.separation`) drop out with probability 0
or 1, coefficients along the settling directions are infinite, and the rest is an ordinary fit of
lower rank. Ridge and Firth penalties keep everything finite instead. Where label models share
their coefficients these are fitted elsewhere (:mod:`isingmlc.fitting.joint`,
:mod:`isingmlc.fitting.pseudo`), and each model is what they make of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, xlogy
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.base.threads import one_thread
from isingmlc.fitting.dependence import Dependence
from isingmlc.fitting.flat import climb_flat
from isingmlc.fitting.information import Factors
from isingmlc.fitting.newton import Solution, firth_newton, newton_together
from isingmlc.fitting.old_separation import (
    Columns,
    find_separation,
    peel,
    shortest_direction,
    unit_rows,
)
from isingmlc.fitting.pair_sums import PairSums
from isingmlc.fitting.regressors import Regressors
from isingmlc.fitting.shared import SHARED, SharedFit, SharedTerms
from isingmlc.input.rows import ModelData, require_rows
from isingmlc.statistics.labelsets import LabelsetStatistics, take_features
from isingmlc.statistics.sums import find_labelsets

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
# A weight below this is felt nowhere, but what is divided by it may overflow.
_UNFELT = 1e-150
# Share of cells that labelsets may be for a fit on them to pay.
_FEWER = 0.5


@dataclass(frozen=True)
class FitSettings:
    """How the label models are fitted."""

    method: str = "nodewise"
    penalty: float | str | None = None
    intercept: bool = True
    max_iter: int = 100
    neighbors: str = "all"
    cov_type: str = "nonrobust"
    use_correction: bool = True
    penalize_covariates: bool = False

    @property
    def is_firth(self) -> bool:
        """Whether the penalty is Jeffreys' prior."""
        return self.penalty == "firth"

    @property
    def ridge(self) -> float:
        """The ridge penalty; zero if there is none."""
        return self.penalty if isinstance(self.penalty, float) else 0.0

    @property
    def described(self) -> str:
        """The method, with its penalty if it has one."""
        if self.penalty is None:
            return self.method
        return f"{self.method}, penalty={self.penalty if self.is_firth else f'{self.penalty:g}'}"


@dataclass(frozen=True)
class NodeFit:
    """The fitted model of one label given the others and the context."""

    label: int
    neighbors: BoolArray
    coef: FloatArray
    basis: IntArray
    basis_coef: FloatArray
    directions: FloatArray
    aliased: FloatArray
    unidentified: FloatArray
    in_play: BoolArray
    probability: FloatArray
    complement: FloatArray
    llf: float
    llf_null: float
    iterations: int
    converged: bool

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def weight(self) -> FloatArray:
        """The variance of the label at each labelset; zero where it is certain, or as good as."""
        weight = self.probability * self.complement
        return np.where(weight > _UNFELT, weight, 0.0)

    def predict(self, design: FloatArray) -> FloatArray:
        """Return the probability of the label in any rows."""
        probability = expit(design[:, self.basis] @ self.basis_coef)
        probability[_touches(design, self.unidentified)] = np.nan
        for direction in self.directions[::-1]:
            push = design @ direction
            certain = np.abs(push) > _ROUNDING
            probability[certain] = push[certain] > 0
        probability[_touches(design, self.aliased)] = np.nan
        return np.asarray(probability)


@dataclass(frozen=True, eq=False)
class NetworkFit:
    """The fits of all labels, with what they were fitted to: all that tests need to know."""

    stats: LabelsetStatistics
    settings: FitSettings
    nodes: tuple[NodeFit, ...]
    rows: ModelData | None
    terms: Mapping[str, tuple[str, ...]]
    known_regressors: Regressors | None = None
    shared: SharedFit | None = None

    def rows_for(self, purpose: str) -> ModelData:
        """Return the rows, or say that they are needed."""
        return require_rows(purpose, self.rows, self.stats.feature_names)

    def take_features(self, positions: IntArray) -> NetworkFit:
        """Return the same fits with some of the features."""
        rows = None if self.rows is None else self.rows.take_features(positions)
        stats = take_features(self.stats, positions)
        return replace(self, stats=stats, rows=rows)

    @property
    def is_penalised(self) -> bool:
        """Whether a penalty keeps coefficients small."""
        return self.settings.penalty is not None

    @property
    def can_refit(self) -> bool:
        """Whether label models with more columns can be fitted as these are."""
        return self.shared is None and not self.settings.is_firth

    @property
    def is_nodewise(self) -> bool:
        """Whether each label model is at the maximum of its own likelihood."""
        return self.settings.method == "nodewise" and not self.is_penalised

    def refuse_shared(self, purpose: str, remedy: str) -> None:
        """Say what cannot be had of label models that share coefficients."""
        if self.settings.method in SHARED:
            raise exc.ModelError(
                f"{purpose} is for label models that are fitted one by one, but "
                f"method={self.settings.method!r} has one interaction per pair. {remedy}"
            )

    @cached_property
    def shared_terms(self) -> SharedTerms:
        """Which coefficients label models share."""
        neighbors = np.array([node.neighbors for node in self.nodes])
        n_context = self.regressors.n_columns - 1 - len(self.nodes)
        return SharedTerms.of(neighbors, n_context, self.settings.intercept)

    @property
    def is_robust(self) -> bool:
        """Whether variances are taken from residuals, and not from what the models say of them."""
        return self.settings.cov_type != "nonrobust"

    @cached_property
    def dependence(self) -> Dependence:
        """How rows depend on each other, and how much they count in a variance."""
        settings = self.settings
        return Dependence.of(self.stats, settings.cov_type, settings.use_correction)

    @cached_property
    def regressors(self) -> Regressors:
        """The columns of all label models."""
        if self.known_regressors is not None:
            return self.known_regressors
        return Regressors.of_statistics(self.stats, self.settings.intercept)

    @cached_property
    def weights(self) -> FloatArray:
        """The variances of all labels at each labelset, shape (K, L); zero where certain."""
        weights = np.array([node.weight for node in self.nodes])
        return weights.reshape(self.stats.patterns.T.shape)

    @cached_property
    def factors(self) -> Factors:
        """Factors of the inverse information of all labels."""
        return Factors(
            self.regressors.pairs,
            self.stats.counts,
            [node.basis for node in self.nodes],
            self.weights,
            ridge_penalty(self.settings, self.regressors),
        )

    @cached_property
    def errors(self) -> FloatArray:
        """Standard errors of all coefficients, shape (K, m); NaN where one is not finite."""
        regressors = self.regressors
        errors = np.full((len(self.nodes), regressors.n_columns), np.nan)
        for node, line in zip(self.nodes, errors, strict=True):
            factor = self.factors[node.label]
            spread = factor.matrix
            if not regressors.in_their_units:
                whole = _spread(spread, node.basis, regressors.n_columns)
                spread = regressors.in_units(whole)[node.basis]
            line[node.basis] = np.sqrt(np.einsum("ij,ij->i", spread, spread))
            line[node.basis[factor.aliased]] = np.nan
            line[~np.isfinite(node.coef)] = np.nan
        return errors

    @cached_property
    def residuals(self) -> FloatArray:
        """What scores are the products of sums with, shape (K, L)."""
        patterns, factors = self.stats.patterns.T, self.factors
        probability, complement = (
            np.array([getattr(node, name) for node in self.nodes]).reshape(patterns.shape)
            for name in ("probability", "complement")
        )
        residuals = np.where(patterns, complement, -probability)
        gradients = (self.stats.counts * residuals) @ factors.design
        steps = np.zeros(gradients.shape)
        for node, gradient, step in zip(self.nodes, gradients, steps, strict=True):
            factor = factors[node.label].matrix
            step[node.basis] = factor @ (gradient[node.basis] @ factor)
        residuals -= self.weights * (steps @ factors.design.T)
        return residuals


def _touches(design: FloatArray, directions: FloatArray) -> BoolArray:
    """Mark rows whose linear predictor changes along any of the directions."""
    return np.asarray((np.abs(design @ directions) > _ROUNDING).any(axis=1))


def fit_nodes(
    patterns: BoolArray,
    counts: FloatArray,
    settings: FitSettings,
    neighbors: BoolArray | None = None,
    n_jobs: int = 1,
    *,
    regressors: Regressors | None = None,
) -> tuple[NodeFit, ...]:
    """Fit the model of every label given the others, or given some of them."""
    if neighbors is None:
        neighbors = ~np.eye(patterns.shape[1], dtype=np.bool_)
    if regressors is None:
        regressors = Regressors.of(patterns, counts)
    # These matrices are small: more threads only get in each other's way.
    with one_thread():
        table = _Table(regressors, np.where(patterns.T, 1.0, -1.0), counts)
        uses = regressors.used_by(neighbors, settings.intercept)
        nodes = _begin(table, settings, uses, _fit_labelsets(table, settings, neighbors))
        find = _find_firth if settings.is_firth else _find_limits
        blocks = [nodes[block] for block in chunks(len(nodes), 8 * len(counts), least=16)]
        done: Iterable[None] = (find(table, block, settings) for block in blocks)
        if n_jobs != 1 and len(blocks) > 1:
            done = Parallel(n_jobs, backend="threading", return_as="generator_unordered")(
                delayed(find)(table, block, settings) for block in blocks
            )
        if len(blocks) > 1:
            done = tqdm(done, "label models", len(blocks), disable=None, leave=False)
        for _ in done:
            pass
        return _collect(table, nodes, settings, neighbors)


class _Ahead(NamedTuple):
    """What models of the labels alone tell: their ends, and the labelset of each cell."""

    nodes: list[_Node]
    codes: IntArray


def _fit_labelsets(table: _Table, settings: FitSettings, neighbors: BoolArray) -> _Ahead | None:
    """Fit models without the context on labelsets, where these are far fewer than cells."""
    n_labels, n_cells = table.signs.shape
    if table.regressors.n_columns == 1 + n_labels or settings.is_firth:
        return None
    labelsets, codes = find_labelsets(np.packbits(table.signs.T > 0, axis=1), n_labels)
    if len(labelsets) > _FEWER * n_cells:
        return None
    counts = np.bincount(codes, table.counts).astype(np.float64)
    alone = _Table(Regressors.of(labelsets, counts), np.where(labelsets.T, 1.0, -1.0), counts)
    nodes = _begin(alone, settings, alone.regressors.used_by(neighbors, settings.intercept))
    for block in chunks(len(nodes), 8 * len(counts), least=16):
        _find_limits(alone, nodes[block], settings)
    return _Ahead(nodes, codes)


def ridge_penalty(settings: FitSettings, regressors: Regressors) -> FloatArray | None:
    """Return the penalties of all columns, if any; the constant is free, and mostly the context."""
    if not settings.ridge:
        return None
    penalties = np.where(regressors.free, 0.0, settings.ridge)
    if settings.penalize_covariates:
        penalties[1:] = settings.ridge * regressors.variance[1:]
    return penalties


def find_aliases(regressors: Regressors, intercept: bool) -> tuple[tuple[int, ...], ...]:
    """Find labels and columns of the context that are linear functions of others."""
    matrix = regressors.matrix
    is_constant_label = (regressors.label_of >= 0) & (matrix == matrix[:1]).all(axis=0)
    # The constant comes first.
    columns = np.flatnonzero(~is_constant_label)[0 if intercept else 1 :]
    relations = regressors.relations_among(columns)
    related: list[set[int]] = [set() for _ in range(regressors.n_columns - 1)]
    for dropped, shares in zip(relations.dropped, relations.dependence.T, strict=True):
        members = {int(columns[dropped]), *columns[relations.kept[shares != 0]].tolist()} - {0}
        for member in members:
            related[member - 1] |= {other - 1 for other in members - {member}}
    return tuple(tuple(sorted(others)) for others in related)


@dataclass(frozen=True)
class _Table:
    """What the models of all labels share."""

    regressors: Regressors
    signs: FloatArray
    counts: FloatArray

    @property
    def design(self) -> FloatArray:
        """The columns of all models."""
        return self.regressors.matrix

    @property
    def pairs(self) -> PairSums:
        """Cross-products of the columns."""
        return self.regressors.pairs

    @cached_property
    def nobs(self) -> float:
        """Number of observations."""
        return float(self.counts.sum())

    @cached_property
    def largest(self) -> FloatArray:
        """The largest entry of each row, or one: rows are divided by it where rank is looked at."""
        return np.asarray(np.maximum(np.abs(self.design).max(axis=1), 1.0))

    def signed(self, node: _Node, columns: IntArray) -> FloatArray:
        """Return signed regressors of a label in the rows in play."""
        regressors = self.design[node.in_play][:, columns]
        regressors *= self.signs[node.label, node.in_play, None]
        return regressors


@dataclass
class _Node:
    """The model of one label on its way to a fit; `is_final` if nothing more can be settled."""

    label: int
    columns: IntArray
    free: IntArray
    aliased: FloatArray
    in_play: BoolArray
    directions: list[FloatArray]
    chosen: Columns
    is_final: bool
    start: FloatArray = field(default_factory=lambda: np.zeros(0))
    steps: int = 0
    guesses: int = 0
    coef: FloatArray | None = None
    converged: bool = False

    @property
    def basis(self) -> IntArray:
        """The columns that the fit is made with."""
        return self.columns[self.chosen.kept]


def _begin(
    table: _Table, settings: FitSettings, uses: BoolArray, ahead: _Ahead | None = None
) -> list[_Node]:
    """Choose columns for the models of all labels, and settle by counting."""
    regressors, patterns = table.regressors, table.signs.T > 0
    n_labels, size = uses.shape
    penalties = ridge_penalty(settings, regressors)
    is_free = np.ones(size, dtype=np.bool_) if penalties is None else penalties == 0
    candidates = np.flatnonzero(is_free & uses.any(axis=0))
    whole = regressors.relations
    if len(candidates) < size:
        whole = regressors.relations_among(candidates)
    in_play = np.ones(table.signs.shape, dtype=np.bool_)
    directions: list[list[FloatArray]] = [[] for _ in range(n_labels)]
    if ahead is not None:
        in_play = np.array([node.in_play[ahead.codes] for node in ahead.nodes])
        for before, node in zip(directions, ahead.nodes, strict=True):
            before += [_spread(each, np.arange(len(each)), size) for each in node.directions]
    # A side of the constant is that of all rows.
    binary = np.flatnonzero(regressors.binary & is_free)
    binary = binary[binary > 0]
    # What labels alone settle was found ahead.
    if not settings.is_firth and (ahead is None or (binary > n_labels).any()):
        in_play, found = peel(
            patterns, table.design[:, binary], uses[:, binary], settings.intercept, in_play
        )
        places = np.concatenate([[0], binary])
        for before, lines in zip(directions, found, strict=True):
            before += [_spread(each, places, size) for each in lines]
    nodes = []
    # Most models have as many columns.
    all_of = cache(Columns.all_of)
    for label in range(n_labels):
        columns = uses[label].nonzero()[0]
        free = is_free[columns].nonzero()[0]
        aliased, dropped = np.zeros((size, 0)), columns[:0]
        if len(whole.dropped):
            own = np.flatnonzero(candidates == 1 + label)
            is_whole = len(free) == len(candidates) - len(own)
            chosen = whole.without(int(own[0])) if is_whole and len(own) else None
            if chosen is None:
                chosen = regressors.relations_among(columns[free])
            chosen = chosen.among(free, len(columns))
            aliased = _spread(chosen.null_space, columns, size)
            columns, dropped = columns[chosen.kept], columns[chosen.dropped]
            free = np.flatnonzero(is_free[columns])
        # What runs off is said of the coefficients that the model has.
        settling = directions[label]
        if len(dropped):
            moved = [each - aliased @ each[dropped] for each in settling]
            settling = [np.where(np.abs(each) < _ROUNDING, 0.0, each) for each in moved]
        # With no other free column than a constant counting finds all.
        is_final = settings.is_firth or (settings.ridge > 0 and not (columns[free] > 0).any())
        chosen = all_of(len(columns))
        own_rows = in_play[label]
        nodes.append(_Node(label, columns, free, aliased, own_rows, settling, chosen, is_final))
    # Columns that are independent in all rows need not be so in those that are left.
    left = [nodes[label] for label in np.flatnonzero(~in_play.all(axis=1)).tolist()]
    for block in chunks(len(left), 8 * table.pairs.n_sums, limit=2**26):
        crossing = table.pairs.crossing([node.columns for node in left[block]])
        rows_left = np.array([node.in_play for node in left[block]]) / table.largest**2
        for node, products in zip(
            left[block], crossing(range(len(rows_left)), rows_left), strict=True
        ):
            ranked = np.arange(len(node.columns))
            known = None if ahead is None else _known_columns(regressors, node, ahead)
            if node.in_play.any() and len(node.free) < len(node.columns):
                ranked, products = node.free, products[node.free[:, None], node.free]
            at = node.columns[ranked]
            rows = partial(_unit_rows_in_play, table, node, at)
            chosen = regressors.rank(products, at, rows, known=known)
            node.chosen = chosen.among(ranked, len(node.columns))
    for node, earlier in zip(nodes, [] if ahead is None else ahead.nodes, strict=False):
        assert earlier.coef is not None
        start = _spread(earlier.coef, earlier.basis, size)
        node.start = _spread(node.chosen.carry_over(start[node.columns]), node.basis, size)
        # Of a start that rounding keeps from its end no step counts.
        node.steps = earlier.steps if earlier.converged else 0
    return nodes


def _known_columns(regressors: Regressors, node: _Node, ahead: _Ahead) -> Columns | None:
    """Return what labelsets told of the 0/1 columns of a model, if it has no others."""
    before = ahead.nodes[node.label]
    binary = node.columns[regressors.binary[node.columns]]
    is_same = len(node.free) == len(node.columns) and np.array_equal(binary, before.columns)
    # Where columns are centred a constant is needed.
    has_first = len(before.chosen.kept) > 0 and before.chosen.kept[0] == 0
    return before.chosen if is_same and (has_first or not regressors.is_centred) else None


def _find_firth(table: _Table, nodes: list[_Node], settings: FitSettings) -> None:
    """Fit with Jeffreys' prior."""
    signs, columns = table.signs[[node.label for node in nodes]], [node.basis for node in nodes]
    solutions = firth_newton(table.pairs, signs, table.counts, columns, max_steps=settings.max_iter)
    for node, solution in zip(nodes, solutions, strict=True):
        _learn(table, node, solution)


def _find_limits(table: _Table, nodes: list[_Node], settings: FitSettings) -> None:
    """Fit by (penalised) maximum likelihood, or its limit where labels are separated."""
    penalty = ridge_penalty(settings, table.regressors)
    start = np.array([node.start for node in nodes]) if len(nodes[0].start) else None
    while nodes:
        solutions = newton_together(
            table.pairs,
            table.signs[[node.label for node in nodes]],
            table.counts * np.array([node.in_play for node in nodes]),
            [node.basis for node in nodes],
            start=start,
            max_steps=[settings.max_iter - node.steps for node in nodes],
            penalty=penalty,
            patience=_PATIENCE if start is None else _PATIENCE_WARM,
            gives_up=partial(_looks_separated, table, nodes),
        )
        for node, solution in zip(nodes, solutions, strict=True):
            _learn(table, node, solution)
            if node.coef is not None and not node.converged and node.steps < settings.max_iter:
                _go_on(table, node, penalty, settings.max_iter)
        nodes = [node for node in nodes if node.coef is None]
        start = np.array([node.start for node in nodes])


def _looks_separated(
    table: _Table, nodes: list[_Node], order: int, step: FloatArray, steps: int
) -> bool:
    """Return whether a step shows which rows are settled, so that a guess should be tried."""
    node = nodes[order]
    if node.is_final:
        return False
    moves = _moves(table, node, step)
    settling = moves > _SETTLING
    is_clear = (settling | (np.abs(moves) <= _QUIET)).all() and settling.any()
    return bool(is_clear or steps >= _LONGEST)


def _learn(table: _Table, node: _Node, solution: Solution) -> None:
    """Take a solution for the limit, or settle rows that it shows to be separated."""
    node.steps += solution.steps
    radius_squared = table.regressors.radius_squared
    is_final = node.is_final or solution.proves_overlap(radius_squared, table.nobs)
    if is_final or not node.in_play.any():
        node.coef, node.converged = solution.coef, solution.converged
        return
    coef = _spread(solution.coef, node.chosen.kept, len(node.columns))
    # A guess is checked, and only where guesses fail a programme is solved.
    node.guesses += 1
    signed = table.signed(node, node.columns[node.free])
    if node.guesses <= _GUESSES:
        settled, length = _moves(table, node, solution.step) > _SETTLING, 1.0
    else:
        proved, settled = find_separation(signed[:, np.isin(node.free, node.chosen.kept)])
        length = max(float(np.linalg.norm(proved)), 1.0)
        node.is_final = True
    if settled.any():
        remaining = signed[~settled]
        if not table.regressors.binary.all():
            remaining = unit_rows(remaining)
        rest = table.regressors.rank(
            remaining.T @ remaining, node.columns[node.free], lambda: remaining
        )
        direction = shortest_direction(signed[settled], rest.null_space, length)
        if direction is not None:
            places = node.columns[node.free]
            node.directions.append(_spread(direction, places, table.design.shape[1]))
            node.in_play = node.in_play.copy()
            node.in_play[node.in_play] = ~settled
            node.chosen = rest.among(node.free, len(node.columns))
    node.start = _spread(node.chosen.carry_over(coef), node.basis, table.design.shape[1])


def _go_on(table: _Table, node: _Node, penalty: FloatArray | None, max_steps: int) -> None:
    """Go on from where cross-products had no digits left for another step."""
    assert node.coef is not None
    solution = climb_flat(
        table.signed(node, node.basis),
        table.counts[node.in_play],
        np.zeros(len(node.basis)) if penalty is None else penalty[node.basis],
        node.coef,
        max_steps - node.steps,
    )
    node.coef, node.converged = solution.coef, solution.converged
    node.steps += solution.steps


def _moves(table: _Table, node: _Node, step: FloatArray) -> FloatArray:
    """Return how much a step moves the margins of the rows in play."""
    whole = _spread(step, node.basis, table.design.shape[1])
    moves: FloatArray = (table.signs[node.label] * (table.design @ whole))[node.in_play]
    return moves


def _spread(values: FloatArray, places: IntArray, size: int) -> FloatArray:
    """Put values where they belong among `size` of them, the others being zero."""
    whole = np.zeros((size, *values.shape[1:]))
    whole[places] = values
    return whole


def _unit_rows_in_play(table: _Table, node: _Node, columns: IntArray) -> FloatArray:
    """Return columns in the rows in play, brought to unit size as their cross-products are."""
    regressors = table.design[node.in_play][:, columns]
    return np.asarray(regressors / table.largest[node.in_play, None])


def _collect(
    table: _Table, nodes: list[_Node], settings: FitSettings, neighbors: BoolArray
) -> tuple[NodeFit, ...]:
    """Put the fits of all labels together."""
    size, ends = table.design.shape[1], []
    for node in nodes:
        assert node.coef is not None
        ends.append(
            NodeEnd(
                label=node.label,
                basis=node.basis,
                coef=node.coef,
                directions=np.array(node.directions).reshape(-1, size),
                aliased=node.aliased,
                unidentified=_spread(node.chosen.null_space, node.columns, size),
                in_play=node.in_play,
                steps=node.steps,
                converged=node.converged,
            )
        )
    return assemble_fits(
        table.regressors, table.signs, table.counts, settings.intercept, neighbors, ends
    )


class NodeEnd(NamedTuple):
    """Where the fit of one label ended; `NodeFit` explains the fields."""

    label: int
    basis: IntArray
    coef: FloatArray
    directions: FloatArray
    aliased: FloatArray
    unidentified: FloatArray
    in_play: BoolArray
    steps: int
    converged: bool


def assemble_fits(
    regressors: Regressors,
    signs: FloatArray,
    counts: FloatArray,
    intercept: bool,
    neighbors: BoolArray,
    ends: Sequence[NodeEnd],
) -> tuple[NodeFit, ...]:
    """Return fits their probabilities, likelihoods, and coefficients in the user's units."""
    size = regressors.n_columns
    values = np.zeros((len(ends), size))
    for end in ends:
        values[end.label, end.basis] = end.coef
    in_play = np.array([end.in_play for end in ends])
    eta = values @ regressors.matrix.T
    # One exponential and one logarithm give probabilities and likelihoods with all their digits.
    odds = np.exp(-np.abs(eta))
    larger = 1 / (1 + odds)
    smaller = odds * larger
    probability = np.where(in_play, np.where(eta > 0, larger, smaller), signs > 0)
    complement = np.where(in_play, np.where(eta > 0, smaller, larger), signs < 0)
    llf = (in_play * (np.minimum(signs * eta, 0.0) - np.log1p(odds))) @ counts
    total, positives = counts.sum(), (signs > 0) @ counts
    llf_null = np.full(len(ends), -total * np.log(2))
    if intercept:
        negatives = total - positives
        llf_null = xlogy(positives, positives / total) + xlogy(negatives, negatives / total)
    fits = []
    in_units, changed_by = regressors.in_units, regressors.changed_by
    coefs = np.full((len(ends), size), np.nan)
    coefs[:, 1 : 1 + len(ends)][~neighbors] = 0.0
    coefs[np.arange(len(ends)), 1 + np.arange(len(ends))] = np.nan
    restored = in_units(values.T).T
    # What all of them change is looked at together, and taken apart again.
    unidentified = np.hstack([end.unidentified for end in ends])
    directions = np.vstack([end.directions for end in ends]).T
    goes, runs = changed_by(unidentified, _ROUNDING), changed_by(directions, _ROUNDING)
    infinite = np.copysign(np.inf, in_units(directions))
    n_gone = n_run = 0
    for end, coef in zip(ends, coefs, strict=True):
        known = end.basis
        if end.unidentified.shape[1]:
            # Among the rows in play a coefficient is known unless it goes with one dropped.
            gone = slice(n_gone, n_gone + end.unidentified.shape[1])
            known = known[~goes[known, gone].any(axis=1)]
            n_gone = gone.stop
        coef[known] = restored[end.label, known]
        for at in reversed(range(n_run, n_run + len(end.directions))):
            running = runs[:, at] & ~np.isfinite(coef)
            coef[running] = infinite[running, at]
        n_run += len(end.directions)
        fits.append(
            NodeFit(
                label=end.label,
                neighbors=neighbors[end.label],
                coef=coef,
                basis=end.basis,
                basis_coef=values[end.label, end.basis],
                directions=end.directions,
                aliased=end.aliased,
                unidentified=end.unidentified,
                in_play=end.in_play,
                probability=probability[end.label],
                complement=complement[end.label],
                llf=float(llf[end.label]),
                llf_null=float(llf_null[end.label]),
                iterations=end.steps,
                converged=end.converged,
            )
        )
    return tuple(fits)
