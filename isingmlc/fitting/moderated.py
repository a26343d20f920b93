r"""Label models whose interactions depend on a covariate: the network at its values.

With moderators m the model of label k is
:math:`\theta_k + \sum_l (\beta_{kl} + \sum_m \delta_{klm} m) y_l + \sum_i \gamma_{ki} c_i`: the
moderators are among the covariates c, and their products with the other labels are columns besides.
Thresholds and interactions at given values of the moderators are linear functions of the
coefficients, so their standard errors follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray
from isingmlc.fitting.design import Regressors
from isingmlc.fitting.nodewise import FitSettings, NetworkFit, NodeFit, fit_nodes
from isingmlc.input.context import Context
from isingmlc.statistics.labelsets import LabelsetStatistics

# Entries of a direction below this are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class NetworkValues:
    """Thresholds and interactions at one point, with standard errors."""

    threshold: FloatArray
    threshold_bse: FloatArray
    slope: FloatArray
    slope_bse: FloatArray
    interaction_bse: FloatArray
    degrees: float | None = None


@dataclass(frozen=True, eq=False)
class ModeratedFit:
    """Label models with moderators and their products with the other labels."""

    stats: LabelsetStatistics
    settings: FitSettings
    moderators: tuple[str, ...]
    neighbors: BoolArray

    @cached_property
    def _columns(self) -> FloatArray:
        """The columns of the context."""
        return self.stats.context.columns

    @cached_property
    def _moderating(self) -> IntArray:
        """Which columns of the context are those of the moderators."""
        context = self.stats.context
        return np.concatenate([context.columns_of(name) for name in self.moderators])

    @cached_property
    def _middle(self) -> FloatArray:
        """Means of the columns of the context."""
        return np.asarray(self.stats.counts @ self._columns / self.stats.nobs)

    @cached_property
    def _origin(self) -> FloatArray:
        """Where products measure moderators from: their means, and zero for 0/1 columns."""
        moderators = self._columns[:, self._moderating]
        binary = ((moderators == 0) | (moderators == 1)).all(axis=0)
        return np.where(binary, 0.0, self._middle[self._moderating])

    @cached_property
    def regressors(self) -> Regressors:
        """The columns of all label models: products of all labels with a moderator in a row."""
        patterns = self.stats.patterns
        n_labels = patterns.shape[1]
        moved = self._columns[:, self._moderating] - self._origin
        products = (moved[:, :, None] * patterns[:, None, :]).reshape(len(patterns), -1)
        labels = np.tile(np.arange(n_labels), moved.shape[1])
        return Regressors.of(
            patterns,
            self.stats.counts,
            np.hstack([self._columns, products]),
            intercept=self.settings.intercept,
            labels=np.concatenate([np.full(self._columns.shape[1], -1), labels]),
        )

    @cached_property
    def fit(self) -> NetworkFit:
        """The fits of all labels."""
        stats, settings, regressors = self.stats, self.settings, self.regressors
        nodes = fit_nodes(
            stats.patterns, stats.counts, settings, self.neighbors, regressors=regressors
        )
        return NetworkFit(stats, settings, nodes, None, {}, regressors)

    def at(self, values: Mapping[str, Any]) -> NetworkValues:
        """Evaluate thresholds and interactions."""
        context = self.stats.context
        numbers = _numbers_at(context, self.moderators, values)
        n_labels, n_context = len(self.neighbors), len(self._middle)
        point = self._middle.copy()
        point[self._moderating] = context.columns_at(numbers)[0, self._moderating]
        # One line for the threshold, where no label is present, and one for each other label.
        lines = np.zeros((1 + n_labels, self.regressors.n_columns))
        lines[0, 0], lines[0, 1 + n_labels : 1 + n_labels + n_context] = 1.0, point
        lines[0] = self.regressors.functions_of_units(lines[0])
        every = np.arange(n_labels)
        lines[1 + every, 1 + every] = 1.0
        moved = point[self._moderating] - self._origin
        for order, value in enumerate(moved.tolist()):
            places = 1 + n_labels + n_context + order * n_labels + every
            lines[1 + every, places] = value / self.regressors.scale[places]
        network = self._evaluate(lines)
        silent = self._constant_labels(numbers)
        for table in (network.slope, network.slope_bse):
            table[silent] = table[:, silent] = np.nan
        return network

    def beyond(self, values: Mapping[str, Any]) -> list[str]:
        """Say which values are outside what was seen, and what was."""
        context = self.stats.context
        numbers = _numbers_at(context, self.moderators, values)[0]
        found = []
        for name in self.moderators:
            at = context.names.index(name)
            low, high = context.numbers[:, at].min(), context.numbers[:, at].max()
            if context.levels[at] is None and not low <= numbers[at] <= high:
                found.append(f"{name} = {numbers[at]:g} (in the data {low:g} to {high:g})")
        return found

    def _constant_labels(self, numbers: FloatArray) -> BoolArray:
        """Mark labels that do not vary in rows with these values, where categories tell which."""
        context = self.stats.context
        at = [context.names.index(name) for name in self.moderators]
        constant = np.zeros(self.stats.patterns.shape[1], dtype=np.bool_)
        if context.is_discrete[at].all():
            inside = self.stats.patterns[(context.numbers[:, at] == numbers[0, at]).all(axis=1)]
            constant = inside.all(axis=0) | ~inside.any(axis=0)
        return np.asarray(constant)

    def _evaluate(self, lines: FloatArray) -> NetworkValues:
        """Evaluate linear functions of the coefficients of each label, one line each."""
        fit, regressors, n_labels = self.fit, self.regressors, len(self.neighbors)
        counts, dependence = fit.stats.counts, fit.dependence
        estimates, errors = np.full((2, n_labels, 1 + n_labels), np.nan)
        # What each row of a cell adds to an estimate: their squares add up to its variance.
        influences = np.zeros((n_labels, n_labels, len(counts)))
        for label, (node, residual) in enumerate(zip(fit.nodes, fit.plain_residuals, strict=True)):
            used = np.where(regressors.label_of == label, 0.0, lines)
            estimates[label] = _estimate(node, used)
            factor = fit.factors[label].matrix
            leaning = used[:, node.basis] @ factor
            errors[label] = np.linalg.norm(leaning, axis=1)
            seen = regressors.matrix[:, node.basis] @ factor
            if fit.is_penalised:
                # What the penalty pulls is no part of the spread.
                pull = factor.T @ ((counts * residual) @ regressors.matrix)[node.basis]
                residual = residual - node.weight * (seen @ pull)
            if self.settings.cov_type == "HC2":
                leverage = node.weight * np.einsum("gi,gi->g", seen, seen)
                leverage *= 1.0 if dependence.drawn is None else dependence.drawn
                residual = residual / np.sqrt(np.maximum(1.0 - leverage, _ROUNDING))
            influence = (leaning @ seen.T) * residual
            influences[label] = influence[1:]
            if fit.is_robust:
                errors[label] = np.sqrt(dependence.variances(influence.T))
        errors[~np.isfinite(estimates)] = np.nan
        slopes, own = estimates[:, 1:], np.eye(n_labels, dtype=np.bool_)
        slopes[own] = np.nan
        slopes[~self.neighbors & ~own] = 0.0
        both = 0.5 * (influences + influences.transpose(1, 0, 2))
        return NetworkValues(
            estimates[:, 0],
            errors[:, 0],
            slopes,
            np.where(np.isnan(slopes) | ~self.neighbors, np.nan, errors[:, 1:]),
            np.sqrt([dependence.variances(each.T) for each in both]),
            dependence.degrees,
        )


def _estimate(node: NodeFit, lines: FloatArray) -> FloatArray:
    """Evaluate linear functions of coefficients: infinite along what is separated."""
    estimate = lines[:, node.basis] @ node.basis_coef
    for lost in (node.unidentified, node.aliased):
        estimate[(np.abs(lines @ lost) > _ROUNDING).any(axis=1)] = np.nan
    for direction in node.directions[::-1]:
        push = lines @ direction
        running = np.abs(push) > _ROUNDING
        estimate[running] = np.copysign(np.inf, push[running])
    return np.asarray(estimate)


def _numbers_at(
    context: Context, moderators: tuple[str, ...], values: Mapping[str, Any]
) -> FloatArray:
    """Return the covariates at some values, one line; only those of the moderators matter."""
    numbers = np.zeros((1, len(context)))
    made = [name for name in moderators if context.mentions[context.names.index(name)] != (name,)]
    if made:
        if context.recipe is None:
            raise exc.ModelError(
                f"covariate(s) {exc.shorten(made)} were made by a formula, which a saved fit does "
                "not hold. Fit anew."
            )
        example = context.recipe().copy()
        for name, value in values.items():
            if name in example:
                example[name] = [value]
        row = context.recipe(example)
        for name in made:
            numbers[0, context.names.index(name)] = row[name].iloc[0]
    for name in moderators:
        if name in made:
            continue
        at = context.names.index(name)
        levels, value = context.levels[at], values[name]
        if levels is None:
            numbers[0, at] = check_number(f"the value of {name!r}", value)
        elif str(value) in levels:
            numbers[0, at] = levels.index(str(value))
        else:
            raise exc.DataError(
                f"the value of {name!r} must be one of its levels, {exc.shorten(levels, 10)}, but "
                f"is {value!r}."
            )
    return numbers


def find_moderators(
    names: Sequence[str], context: Context, features: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find the covariates that are made from some of the user's columns, and the features."""
    given = set(names)
    mentioned = {name for mention in context.mentions for name in mention}
    known = (*sorted(mentioned), *features)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        problem = f"names {exc.shorten(unknown)}" if unknown else "is empty"
        raise exc.DataError(
            "values must map names of covariates or features to values, e.g. {'age': 70}, but "
            f"{problem}. There are {exc.shorten(known, 10)}."
        )
    lines = list(zip(context.names, context.sources, context.mentions, strict=True))
    for _, source, mention in lines:
        others = [name for name in mention if name not in given]
        if given & set(mention) and others:
            raise exc.DataError(
                f"values must have {exc.shorten(others)} too: the covariate {source!r} is made "
                f"from {exc.shorten(mention)}."
            )
    covariates = tuple(name for name, _, mention in lines if given & set(mention))
    return covariates, tuple(name for name in names if name not in mentioned)
