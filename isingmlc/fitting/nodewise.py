r"""Nodewise logistic regressions: each label explained by all others, on the labelset table.

A fit on L labelsets with their counts as weights has the estimates, standard errors and
likelihood of the fit on n rows. Where labels are separated the fit is the limit of maximum
likelihood: certain labelsets (see :mod:`isingmlc.fitting.separation`) drop out with probability 0
or 1, coefficients along the separating directions are infinite, and the rest is an ordinary fit of
lower rank. Ridge and Firth penalties keep everything finite instead. Where label models share
their coefficients these are fitted elsewhere (:mod:`isingmlc.fitting.joint`,
:mod:`isingmlc.fitting.pseudo`), and each model is what they make of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, log_expit, logit, xlogy
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, chunks
from isingmlc.base.readonly import FrozenArrays
from isingmlc.base.threads import one_thread
from isingmlc.base.tolerances import NO_DIRECTION
from isingmlc.fitting.design import Factors, Regressors
from isingmlc.fitting.logistic import (
    Design,
    NarrowDesign,
    SharedDesign,
    maximize,
    proves_overlap,
)
from isingmlc.fitting.pseudo import SHARED, SharedFit, SharedTerms
from isingmlc.fitting.separation import (
    CERTAIN,
    STILL,
    MatrixRows,
    find_direction,
    null_space,
    peel,
    shortest_direction,
)
from isingmlc.input.rows import ModelData, require_rows
from isingmlc.statistics.dependence import Dependence
from isingmlc.statistics.labelsets import LabelsetStatistics, take_features

# Newton steps after which fits that have not converged are looked at for separation.
_LOOK = 8
# Along a separated direction a Newton step moves the margins of certain cells by about one, if
# several directions share them by less, and no other cell.
_CERTAIN_MOVE = 0.2
# A weight below this is felt nowhere, but what is divided by it may overflow.
_UNFELT = 1e-150
# What the models that are fitted together may take, and what the directions of coefficients that
# rows do not identify may take in all.
_BLOCK_BYTES = 2**28
_MOST_BYTES = 16e9


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
class NodeFit(FrozenArrays):
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
            certain = np.abs(push) > NO_DIRECTION
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
            self.regressors.products,
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
            whole = _spread(factor.matrix, node.basis, regressors.n_columns)
            spread = regressors.in_units(whole)[node.basis]
            line[node.basis] = np.sqrt(np.einsum("ij,ij->i", spread, spread))
            line[node.basis[factor.aliased]] = np.nan
            line[~np.isfinite(node.coef)] = np.nan
        return errors

    @cached_property
    def plain_residuals(self) -> FloatArray:
        """Labels less their probabilities, shape (K, L)."""
        lines = [
            np.where(self.stats.patterns[:, node.label], node.complement, -node.probability)
            for node in self.nodes
        ]
        return np.array(lines).reshape(self.stats.patterns.T.shape)

    @cached_property
    def residuals(self) -> FloatArray:
        """What scores are the products of sums with, shape (K, L)."""
        factors, residuals = self.factors, self.plain_residuals.copy()
        gradients = (self.stats.counts * residuals) @ factors.design
        steps = np.zeros(gradients.shape)
        for node, gradient, step in zip(self.nodes, gradients, steps, strict=True):
            factor = factors[node.label].matrix
            step[node.basis] = factor @ (gradient[node.basis] @ factor)
        residuals -= self.weights * (steps @ factors.design.T)
        return residuals


def _touches(design: FloatArray, directions: FloatArray) -> BoolArray:
    """Mark rows whose linear predictor changes along any of the directions."""
    return np.asarray((np.abs(design @ directions) > NO_DIRECTION).any(axis=1))


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
    table = _Table(regressors, patterns.T, counts, settings)
    uses = regressors.used_by(neighbors, settings.intercept)
    few = regressors.products.are_few([np.flatnonzero(own) for own in uses])
    width = int(uses.sum(axis=1).max()) if few else regressors.n_columns
    each = 8 * (12 * len(counts) + 4 * width**2)
    needed = 8.0 * uses[:, table.is_free].sum() * regressors.n_columns
    if needed > _MOST_BYTES and not settings.is_firth:
        raise exc.ModelError(
            exc.TOO_LARGE.format(n_labels=len(uses), needed=needed / 1e9, most=_MOST_BYTES / 1e9)
        )
    with one_thread():
        nodes = _start(table, uses)
        blocks = [nodes[block] for block in chunks(len(nodes), each, limit=_BLOCK_BYTES)]
        done: Iterable[int] = (_fit_block(table, block) for block in blocks)
        if n_jobs != 1 and len(blocks) > 1:
            done = Parallel(n_jobs, backend="threading", return_as="generator_unordered")(
                delayed(_fit_block)(table, block) for block in blocks
            )
        if len(blocks) > 1:
            done = tqdm(done, "label models", len(blocks), disable=None, leave=False)
        for _ in done:
            pass
    return assemble_fits(regressors, patterns, counts, settings.intercept, neighbors, nodes)


def fit_alone(
    regressors: Regressors, outcome: BoolArray, counts: FloatArray, settings: FitSettings
) -> Node:
    """Fit the model of one label that has all columns."""
    table = _Table(regressors, outcome[None], counts, settings)
    uses = np.ones((1, regressors.n_columns), dtype=np.bool_)
    uses[:, 0] = settings.intercept
    (node,) = nodes = _start(table, uses)
    _fit_block(table, nodes)
    return node


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


@dataclass(frozen=True, eq=False)
class _Table:
    """What the models of all labels share: columns, outcomes (labels × cells) and counts."""

    regressors: Regressors
    outcomes: BoolArray
    counts: FloatArray
    settings: FitSettings

    @cached_property
    def penalty(self) -> FloatArray:
        """Ridge penalties of the columns; zero for those that are free."""
        penalty = ridge_penalty(self.settings, self.regressors)
        return np.zeros(self.regressors.n_columns) if penalty is None else penalty

    @cached_property
    def is_free(self) -> BoolArray:
        """The columns without a ridge penalty."""
        return np.asarray(self.penalty == 0)

    @cached_property
    def padded(self) -> FloatArray:
        """All columns, and one of zeros."""
        return np.asfortranarray(np.pad(self.regressors.matrix, ((0, 0), (0, 1))))

    def design_of(self, nodes: Sequence[Node]) -> tuple[Design, IntArray]:
        """Return the design of some models, and which columns its coefficients are of."""
        size, products = self.regressors.n_columns, self.regressors.products
        bases = [node.basis for node in nodes]
        if products.are_few(bases):
            columns = np.full((len(nodes), max(1, *map(len, bases))), size)
            for line, basis in zip(columns, bases, strict=True):
                line[: len(basis)] = basis
            return NarrowDesign(self.padded, columns), columns
        uses = np.array([_spread(np.ones(len(at)), at, size) for at in bases]) > 0
        return SharedDesign(products, uses), np.tile(np.arange(size), (len(nodes), 1))

    def signed(self, node: Node, columns: IntArray) -> FloatArray:
        """Return signed regressors of a label in its uncertain cells."""
        signs = np.where(self.outcomes[node.label, node.uncertain], 1.0, -1.0)
        return self.regressors.matrix[np.ix_(node.uncertain, columns)] * signs[:, None]


@dataclass
class Node:
    """The model of one label on its way to a fit; `NodeFit` explains the fields.

    `columns` are those that are not aliased; `is_final` says that no more cell is separated.
    """

    label: int
    columns: IntArray
    aliased: FloatArray
    uncertain: BoolArray
    directions: list[FloatArray]
    coef: FloatArray
    unidentified: FloatArray
    basis: IntArray
    steps: int = 0
    is_final: bool = False
    converged: bool = False

    def choose_basis(self, table: _Table, gram: FloatArray) -> None:
        """Choose columns that are independent in the uncertain cells, by their products."""
        is_free = table.is_free[self.columns]
        free, gram = self.columns[is_free], gram[np.ix_(is_free, is_free)]
        # Columns that separation leaves next to nothing of have no share in the limit.
        cells = None if self.directions else self.uncertain
        chosen = table.regressors.independent(gram, free, cells)
        self.unidentified = _spread(chosen.null_space, free, len(self.coef))
        self.coef[free[chosen.kept]] = chosen.carry_over(self.coef[free])
        self.coef[free[chosen.dropped]] = 0.0
        is_kept = ~is_free
        is_kept[np.flatnonzero(is_free)[chosen.kept]] = True
        self.basis = self.columns[is_kept]


def _start(table: _Table, uses: BoolArray) -> list[Node]:
    """Choose the columns of all label models, and drop cells that counting finds certain."""
    regressors, counts, intercept = table.regressors, table.counts, table.settings.intercept
    size = regressors.n_columns
    uncertain = np.ones(table.outcomes.shape, dtype=np.bool_)
    peeled: list[list[FloatArray]] = [[] for _ in uses]
    is_used = table.is_free & uses.any(axis=0)
    binary = np.flatnonzero(regressors.binary & is_used)
    binary = binary[binary > 0]  # rows with the constant are all rows
    if not table.settings.is_firth:
        binary_columns = regressors.matrix[:, binary]
        uncertain, peeled = peel(table.outcomes.T, binary_columns, uses[:, binary], intercept)
    places = np.concatenate([[0], binary])
    has_relations = bool(len(regressors.relations_among(np.flatnonzero(is_used)).dropped))
    nodes = []
    for label, own in enumerate(uses):
        columns: IntArray = np.flatnonzero(own)
        aliased = np.zeros((size, 0))
        directions = [_spread(each, places, size) for each in peeled[label]]
        if has_relations:
            free = columns[table.is_free[columns]]
            relations = regressors.relations_among(free)
            aliased = _spread(relations.null_space, free, size)
            dropped = free[relations.dropped]
            columns = np.setdiff1d(columns, dropped)
            # Directions are those of the coefficients that the model has.
            directions = [each - aliased @ each[dropped] for each in directions]
        coef = np.zeros(size)
        share = counts[uncertain[label]] @ table.outcomes[label, uncertain[label]]
        share /= max(counts[uncertain[label]].sum(), 1.0)
        if intercept and 0 < share < 1:
            coef[0] = logit(share)
        nodes.append(
            Node(
                label,
                columns,
                aliased,
                uncertain[label],
                directions,
                coef,
                unidentified=aliased,
                basis=columns,
                is_final=table.settings.is_firth,
            )
        )
    return nodes


def _fit_block(table: _Table, nodes: list[Node]) -> int:
    """Fit some label models by (penalised) maximum likelihood, or its limit; count them."""
    n_models, settings, products = len(nodes), table.settings, table.regressors.products
    masks = np.array([node.uncertain for node in nodes]).astype(np.float64)
    grams = products.of_columns([node.columns for node in nodes], masks)
    for node, gram in zip(nodes, grams, strict=True):
        node.choose_basis(table, gram)
    while nodes:
        design, columns = table.design_of(nodes)
        counts = table.counts * np.array([node.uncertain for node in nodes])
        steps_left = [max(settings.max_iter - node.steps, 0) for node in nodes]
        size = table.regressors.n_columns
        start = [_spread(node.coef[node.basis], node.basis, size + 1) for node in nodes]
        fits = maximize(
            design,
            table.outcomes[[node.label for node in nodes]],
            counts,
            columns.shape[1],
            penalty=np.append(table.penalty, 0.0)[columns],
            firth=settings.is_firth,
            start=np.take_along_axis(np.array(start), columns, axis=1),
            max_iter=[
                left if node.is_final else min(left, _LOOK)
                for left, node in zip(steps_left, nodes, strict=True)
            ],
        )
        proven = proves_overlap(design, fits, counts)
        coef, steps = np.zeros((2, len(nodes), size + 1))
        np.put_along_axis(coef, columns, fits.coef, axis=1)
        np.put_along_axis(steps, columns, fits.step, axis=1)
        undecided = []
        for at, node in enumerate(nodes):
            node.coef, node.converged = coef[at, :size], bool(fits.converged[at])
            node.steps += int(fits.steps[at])
            if not (node.is_final or proven[at]):
                undecided.append(node)
                _look_for_certain(table, node, steps[at, :size])
        nodes = undecided
    return n_models


def _look_for_certain(table: _Table, node: Node, step: FloatArray) -> None:
    """Drop cells that separation makes certain; where there are none the model is final."""
    moves = table.signed(node, node.basis) @ step[node.basis]
    is_still = np.abs(moves).max(initial=0.0) < _CERTAIN_MOVE
    if is_still and not node.converged and node.steps < table.settings.max_iter:
        return  # it only takes more steps
    free = node.columns[table.is_free[node.columns]]
    rows = MatrixRows(table.signed(node, free))
    # Along a separated direction a Newton step moves certain cells by about one, and no other.
    direction = _direction_of(rows, np.flatnonzero(moves > _CERTAIN_MOVE))
    if direction is None:
        found = find_direction(rows, np.argsort(-moves, kind="stable"), np.eye(len(free)))
        if found is None:
            node.is_final = True
            return
        direction = _direction_of(rows, np.flatnonzero(rows.margins(found) > CERTAIN))
        direction = found if direction is None else direction
    certain = rows.margins(direction) > CERTAIN
    node.directions.append(_spread(direction, free, len(node.coef)))
    node.uncertain = node.uncertain.copy()
    node.uncertain[np.flatnonzero(node.uncertain)[certain]] = False
    left = table.regressors.matrix[np.ix_(node.uncertain, node.columns)]
    node.choose_basis(table, left.T @ left)


def _direction_of(rows: MatrixRows, certain: IntArray) -> FloatArray | None:
    """Return the shortest direction that makes rows certain and lowers no other, if any does."""
    if not len(certain):
        return None
    others = np.ones(len(rows.signed), dtype=np.bool_)
    others[certain] = False
    direction = shortest_direction(rows, certain, null_space(rows.signed[others]))
    if direction is None or rows.margins(direction).min() < -STILL:
        return None
    return direction


def _spread(values: FloatArray, places: IntArray, size: int) -> FloatArray:
    """Put values where they belong among `size` of them, the others being zero."""
    whole = np.zeros((size, *values.shape[1:]))
    whole[places] = values
    return whole


def assemble_fits(
    regressors: Regressors,
    patterns: BoolArray,
    counts: FloatArray,
    intercept: bool,
    neighbors: BoolArray,
    nodes: Sequence[Node],
) -> tuple[NodeFit, ...]:
    """Compute probabilities, likelihoods, and coefficients in the user's units."""
    outcomes, size = patterns.T, regressors.n_columns
    values = np.array([_spread(node.coef[node.basis], node.basis, size) for node in nodes])
    eta = values @ regressors.matrix.T
    uncertain = np.array([node.uncertain for node in nodes])
    probability = np.where(uncertain, expit(eta), outcomes)
    complement = np.where(uncertain, expit(-eta), ~outcomes)
    llf = (uncertain * log_expit(np.where(outcomes, eta, -eta))) @ counts
    total, positives = counts.sum(), outcomes @ counts
    llf_null = np.full(len(nodes), -total * np.log(2))
    if intercept:
        negatives = total - positives
        llf_null = xlogy(positives, positives / total) + xlogy(negatives, negatives / total)
    restored = regressors.in_units(values.T).T
    fits = []
    for at, node in enumerate(nodes):
        directions = np.array(node.directions).reshape(-1, size)
        fits.append(
            NodeFit(
                label=node.label,
                neighbors=neighbors[node.label],
                coef=_limits(regressors, node, restored[at], directions, neighbors[node.label]),
                basis=node.basis,
                basis_coef=values[at, node.basis],
                directions=directions,
                aliased=node.aliased,
                unidentified=node.unidentified,
                in_play=node.uncertain,
                probability=probability[at],
                complement=complement[at],
                llf=float(llf[at]),
                llf_null=float(llf_null[at]),
                iterations=node.steps,
                converged=node.converged,
            )
        )
    return tuple(fits)


def _limits(
    regressors: Regressors,
    node: Node,
    restored: FloatArray,
    directions: FloatArray,
    neighbors: BoolArray,
) -> FloatArray:
    """Return coefficients in the user's units; infinite or NaN where they have no value."""
    coef = np.full(len(restored), np.nan)
    coef[1 : 1 + len(neighbors)][~neighbors] = 0.0
    coef[1 + node.label] = np.nan
    # A coefficient is known unless it goes with one that cannot be told.
    unknown = np.asarray(regressors.changed_by(node.unidentified, NO_DIRECTION).any(axis=1))
    known = node.basis[~unknown[node.basis]]
    coef[known] = restored[known]
    # The limits of earlier directions outweigh those of later ones.
    changed = regressors.changed_by(directions.T, NO_DIRECTION)
    infinite = np.copysign(np.inf, regressors.in_units(directions.T))
    for at in reversed(range(len(directions))):
        places = changed[:, at] & ~np.isfinite(coef)
        coef[places] = infinite[places, at]
    return coef
