r"""The finite ends of intervals of infinite effects, by the profile likelihood.

A feature that separates a label has an infinite effect without a standard error, so that Wald's
interval has no ends. The likelihood has: with :math:`\ell_\infty` its limit and
:math:`\ell(\gamma)` what is left of it if the effect is :math:`\gamma`, all other coefficients
fitted, the interval holds the :math:`\gamma` with
:math:`2(\ell_\infty - \ell(\gamma)) \le \chi^2_{1, 1 - \alpha}`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit
from scipy.stats import chi2

from isingmlc.base.arrays import FloatArray, dense
from isingmlc.fitting.flat import climb_flat
from isingmlc.fitting.newton import Points, certain_from, climb, newton_step
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.inference.refits import refit_edges
from isingmlc.statistics.labelsets import cells_of

# More edges than this take long: the others have no limit.
MOST_EDGES = 500
# Where a limit is looked for, in standard deviations of the feature.
_FURTHEST = 64.0
_MAX_STEPS = 100


class _LostError(Exception):
    """A likelihood whose maximum is not found."""


def profile_limits(
    fit: NetworkFit, names: Sequence[str], coef: FloatArray, level: float
) -> FloatArray:
    """Return the finite limits of effects that are infinite."""
    limits = np.full(coef.shape, np.nan)
    edges = np.argwhere(np.isinf(coef))[:MOST_EDGES]
    if not len(edges) or fit.rows is None or fit.is_penalised or fit.is_robust:
        return limits
    features = np.unique(edges[:, 0])
    refits, _ = refit_edges(fit, "intervals", [names[at] for at in features], None, min_count=1)
    gains = refits.lr[..., 0]
    place = {name: at for at, name in enumerate(fit.stats.feature_names)}
    for feature, label in edges.tolist():
        gain = gains[np.searchsorted(features, feature), label]
        if np.isfinite(gain):
            limits[feature, label] = _find_limit(
                *_profile(fit, place[names[feature]], label),
                float(gain),
                float(np.sign(coef[feature, label])),
                float(chi2.isf(1 - level, 1)),
            )
    return limits


def _profile(fit: NetworkFit, column: int, label: int) -> tuple[Callable[[float], float], float]:
    """Return the log-likelihood at effects per standard deviation of a feature, and the latter."""
    assert fit.rows is not None
    assert fit.rows.features is not None
    node, patterns = fit.nodes[label], fit.stats.patterns
    cells = cells_of(fit.stats, fit.rows)
    weights = np.ones(len(cells)) if fit.rows.weights is None else fit.rows.weights
    # Rows of one cell with the same value of the feature are one.
    values, kind = np.unique(dense(fit.rows.features[:, [column]]).ravel(), return_inverse=True)
    pairs, pair = np.unique(cells * len(values) + kind, return_inverse=True)
    counts = np.bincount(pair, weights)
    cells, x = pairs // len(values), values[pairs % len(values)].astype(np.float64)
    inside = node.in_play[cells]
    cells, x, counts = cells[inside], x[inside], counts[inside]
    share = counts / counts.sum()
    if fit.settings.intercept:
        x = x - share @ x
    spread = float(np.sqrt(share @ x**2))
    sign = np.where(patterns[cells, label], 1.0, -1.0)
    pull = sign * x / spread
    design = sign[:, None] * fit.regressors.matrix[cells][:, node.basis]
    certain = certain_from(counts)
    # Effects that were asked for: their likelihoods, and the coefficients that go with them.
    known = {0.0: (node.llf, np.asarray(node.basis_coef, dtype=np.float64))}

    def likelihood(effect: float) -> float:
        if effect in known:
            return known[effect][0]
        offset = effect * pull

        def value(margin: FloatArray) -> float:
            return float(counts @ log_expit(margin))

        def evaluate(_: object, coef: FloatArray) -> Points:
            margin = design @ coef[0] + offset
            surprise = expit(-margin)
            gradient = design.T @ (counts * surprise)
            information = (design * (counts * surprise * expit(margin))[:, None]).T @ design
            step = newton_step(information, gradient)
            if step is None:
                return Points.of_one(value(margin), np.zeros(len(gradient)), np.nan, information)
            return Points.of_one(value(margin), step, float(gradient @ step), information)

        coef = _start_at(effect, known)
        if len(coef):
            end = climb(
                evaluate,
                coef[None].copy(),
                _MAX_STEPS,
                margins=lambda _, change: design @ change,
                certain=lambda _: certain - offset,
            )
            coef, converged = end.coef[0], bool(end.converged[0])
            if not converged:
                no_penalty = np.zeros(len(coef))
                flat = climb_flat(design, counts, no_penalty, coef, _MAX_STEPS, offset)
                coef, converged = flat.coef, flat.converged
            if not converged:
                raise _LostError
        known[effect] = value(design @ coef + offset), coef
        return known[effect][0]

    return likelihood, spread


def _start_at(effect: float, known: dict[float, tuple[float, FloatArray]]) -> FloatArray:
    """Return coefficients to begin with at an effect, from those of others on its side of zero."""
    nearer = max((each for each in known if abs(each) < abs(effect)), key=abs)
    beyond = [each for each in known if abs(each) > abs(effect)]
    coef = known[nearer][1]
    if beyond:
        further = min(beyond, key=abs)
        share = (effect - nearer) / (further - nearer)
        return coef + share * (known[further][1] - coef)
    return coef * (effect / nearer) if nearer else coef


def _find_limit(
    likelihood: Callable[[float], float], spread: float, gain: float, side: float, most: float
) -> float:
    """Find where the likelihood has fallen from its limit by as much as an interval allows."""
    top = likelihood(0.0) + gain / 2

    def beyond(effect: float) -> float:
        return 2 * (top - likelihood(effect)) - most

    # From zero the likelihood rises towards its limit, and falls on the other side.
    at_zero = beyond(0.0)
    away = side if at_zero > 0 else -side
    near, reach = 0.0, 1.0
    try:
        while beyond(away * reach) * at_zero > 0:
            near, reach = reach, 2 * reach
            if reach > _FURTHEST:
                return np.nan
        return float(brentq(beyond, away * near, away * reach, xtol=1e-10)) / spread
    except _LostError:
        return np.nan
