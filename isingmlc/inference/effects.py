r"""Effects of features on labels, with errors: one step from the score, or fitted.

A score s with variance v says what one Newton step from the null model would give: a coefficient
s/v with the error 1/√v. That costs nothing beyond the test, and is right while effects are small.

A feature that separates a label has an infinite effect without a standard error, so that Wald's
interval has no ends. The likelihood has: with :math:`\ell_\infty` its limit and
:math:`\ell(\gamma)` what is left of it if the effect is :math:`\gamma`, all other coefficients
fitted, the interval holds the :math:`\gamma` with
:math:`2(\ell_\infty - \ell(\gamma)) \le \chi^2_{1, 1 - \alpha}`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2

from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, dense
from isingmlc.fitting.logistic import StackedDesign, maximize
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.fitting.reasons import Reason
from isingmlc.inference.edges import EdgeArrays
from isingmlc.inference.larger import distinct_rows
from isingmlc.inference.moderation import pool_sides
from isingmlc.inference.pvalues import wald_limits
from isingmlc.inference.refit import Rows, fit_products, refit_edges
from isingmlc.inference.score import feature_scores, feature_variances, null_models
from isingmlc.statistics.labelsets import take_features

ONE_STEP = "one-step"
FITTED = "fitted"
INFINITE = "infinite"
BY_LEVEL = "by-level"
NEEDS_ROWS = "needs-rows"
# More infinite effects than this take long: the others have no limit.
MOST_EDGES = 500
# Where a limit is looked for, in standard deviations of the feature.
_FURTHEST = 64.0
# Rounding of sums leaves less than this of a row.
_NO_DIFFERENCE = 1e-9


@dataclass(frozen=True, eq=False)
class EdgeEffects:
    """Effects of edges, features × labels, or of products, features × labels × labels."""

    coef: FloatArray
    bse: FloatArray
    estimate: StrArray

    def per(self, unit: FloatArray) -> EdgeEffects:
        """Return the effects for as much of each feature as is said, instead of one."""
        times = unit.reshape(-1, *[1] * (self.coef.ndim - 1))
        return EdgeEffects(self.coef * times, self.bse * times, self.estimate)


def find_effects(fit: NetworkFit, arrays: EdgeArrays) -> EdgeEffects:
    """Return the effects that tests of single features have, by one step if they fitted none."""
    if arrays.coef is None or arrays.bse is None:
        coef, bse = _one_step(fit, arrays)
        return EdgeEffects(coef, bse, _mark(coef, ONE_STEP))
    return mark_effects(arrays.coef, arrays.bse)


def mark_effects(coef: FloatArray, bse: FloatArray) -> EdgeEffects:
    """Mark coefficients that were fitted."""
    return EdgeEffects(coef, bse, _mark(coef, FITTED))


def product_effects(
    arrays: EdgeArrays, at: tuple[IntArray, IntArray, IntArray] | None = None
) -> EdgeEffects | None:
    """Return the effects that tests of products given their feature have, or None."""
    some = np.s_[...] if at is None else at
    if arrays.product_bse is None:
        return None
    bse = arrays.product_bse[some]
    if arrays.product_coef is not None:
        coef = arrays.product_coef[some]
        return EdgeEffects(coef, bse, _mark(coef, FITTED))
    assert arrays.product_statistic is not None
    assert arrays.product_sign is not None
    # A coefficient is as many of its errors from zero as the score is of its own.
    coef = arrays.product_sign[some] * np.sqrt(arrays.product_statistic[some]) * bse
    return EdgeEffects(coef, bse, _mark(coef, ONE_STEP))


def _mark(coef: FloatArray, how: str) -> StrArray:
    said = np.where(np.isnan(coef), "", np.where(np.isinf(coef), INFINITE, how))
    return np.asarray(said.astype(object))


def _one_step(fit: NetworkFit, arrays: EdgeArrays) -> tuple[FloatArray, FloatArray]:
    """Take one Newton step from the null models towards each feature."""
    if arrays.feature_names != fit.stats.feature_names:
        fit = fit.take_features(find_features(fit, arrays.feature_names))
    tested = ~np.isnan(arrays.statistic)
    nulls = null_models(fit, np.flatnonzero(tested.any(axis=0)).tolist())
    spread = feature_variances(fit.stats, fit.settings.intercept)
    scores = feature_scores(fit.stats, nulls, spread)
    coef, bse = np.full((2, *tested.shape), np.nan)
    labels = [null.label for null in nulls]
    coef[:, labels], bse[:, labels] = (each.T for each in scores.one_step())
    return np.where(tested, coef, np.nan), np.where(tested, bse, np.nan)


def find_features(fit: NetworkFit, names: Sequence[str]) -> IntArray:
    """Find the positions of features, of terms those of their first columns."""
    place = {name: at for at, name in enumerate(fit.stats.feature_names)}
    columns = (name if name in place else fit.terms[name][0] for name in names)
    return np.array([place[name] for name in columns], dtype=np.intp)


def can_refit(fit: NetworkFit) -> bool:
    """Return whether larger models can be fitted: that takes rows, and no Firth penalty."""
    return fit.rows is not None and not fit.settings.is_firth


def refit_effects(
    fit: NetworkFit, arrays: EdgeArrays, effects: EdgeEffects, edges: IntArray
) -> EdgeEffects:
    """Replace some effects that are one step by those of models that have the feature."""
    wanted = edges[effects.estimate[edges[:, 0], edges[:, 1]] == ONE_STEP]
    if not len(wanted) or not can_refit(fit):
        return effects
    rows = np.unique(wanted[:, 0])
    names = [arrays.feature_names[at] for at in rows]
    found, _ = refit_edges(fit, "effects", names, None, min_count=1)
    at = np.searchsorted(rows, wanted[:, 0]), wanted[:, 1]
    is_known = np.isin(found.reason[..., 0][at], [Reason.OK, Reason.SEPARATED_ALTERNATIVE])
    coef, bse, estimate = effects.coef.copy(), effects.bse.copy(), effects.estimate.copy()
    target = wanted[is_known, 0], wanted[is_known, 1]
    coef[target] = found.coef[..., 0][at][is_known]
    bse[target] = found.bse[..., 0][at][is_known]
    estimate[target] = _mark(coef[target], FITTED)
    return EdgeEffects(coef, bse, estimate)


def refit_product_effects(
    fit: NetworkFit,
    effects: EdgeEffects,
    at: tuple[IntArray, ...],
    products: IntArray,
    rho: FloatArray,
) -> EdgeEffects:
    """Replace some effects of pairs that are one step by those of models that have them."""
    wanted = effects.estimate[at] == ONE_STEP
    if not wanted.any() or not can_refit(fit):
        return effects
    sides = [products[wanted], products[wanted][:, [0, 2, 1]]]
    fitted = [fit_products(fit, *side.T) for side in sides]
    found, errors = pool_sides(*fitted[0], *fitted[1], rho[wanted])
    coef, bse, estimate = effects.coef.copy(), effects.bse.copy(), effects.estimate.copy()
    is_known = ~np.isnan(found)
    target = tuple(axis[wanted][is_known] for axis in at)
    coef[target], bse[target] = found[is_known], errors[is_known]
    estimate[target] = _mark(found[is_known], FITTED)
    return EdgeEffects(coef, bse, estimate)


def feature_spread(fit: NetworkFit, names: Sequence[str]) -> FloatArray:
    """Return standard deviations of features, and one for those of zeros and ones."""
    positions = find_features(fit, names)
    variance = feature_variances(fit.stats, intercept=True)[positions]
    nobs = fit.stats.nobs
    spread = np.sqrt(np.maximum(variance, 0.0) * (nobs / max(nobs - 1.0, 1.0)))
    return np.where(_find_binary(fit, positions), 1.0, spread)


def _find_binary(fit: NetworkFit, positions: IntArray) -> BoolArray:
    """Tell which features are of zeros and ones: these are their own squares in every cell."""
    stats = take_features(fit.stats, positions)
    shift, counts = stats.shift, stats.counts[:, None]
    sums, squares = dense(stats.sums), dense(stats.squares)
    beyond = squares + (2 * shift - 1) * sums + counts * (shift**2 - shift)
    return np.asarray((np.abs(beyond) <= _NO_DIFFERENCE * counts).all(axis=0))


def effect_columns(
    effects: EdgeEffects,
    level: float,
    degrees: FloatArray | None,
    exponentiate: bool,
    finite: FloatArray | None = None,
) -> dict[str, FloatArray | StrArray]:
    """Return what tables have of effects, with Wald intervals."""
    shape = effects.coef.shape
    if degrees is not None and len(shape) > 2:
        degrees = degrees[:, None]
    df = None if degrees is None else np.broadcast_to(degrees, shape).ravel()
    limits = wald_limits(effects.coef.ravel(), effects.bse.ravel(), 1 - level, None, df)
    lower, upper = (limits[end].to_numpy().reshape(shape) for end in ("lower", "upper"))
    lower, upper = with_finite_limits(effects.coef, lower, upper, finite)
    if not exponentiate:
        found: dict[str, FloatArray | StrArray] = {"coef": effects.coef, "bse": effects.bse}
    else:
        # An odds ratio beyond all numbers is infinite.
        with np.errstate(over="ignore"):
            found = {"odds_ratio": np.exp(effects.coef)}
            lower, upper = np.exp(lower), np.exp(upper)
    return {**found, "lower": lower, "upper": upper, "estimate": effects.estimate}


def with_finite_limits(
    coef: FloatArray, lower: FloatArray, upper: FloatArray, finite: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return intervals of infinite effects their ends, of which Wald's intervals have none."""
    other = np.full(coef.shape, np.nan) if finite is None else finite
    falls, rises = coef == -np.inf, coef == np.inf
    return (
        np.where(falls, -np.inf, np.where(rises, other, lower)),
        np.where(rises, np.inf, np.where(falls, other, upper)),
    )


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
    rows, fall = Rows(fit, "intervals"), float(chi2.isf(1 - level, 1))
    for feature, label in edges.tolist():
        gain = float(gains[np.searchsorted(features, feature), label])
        if np.isfinite(gain):
            excess, spread = _profile(rows, place[names[feature]], label, gain - fall)
            side = np.sign(coef[feature, label])
            limits[feature, label] = _find_limit(excess, side) / spread
    return limits


def _profile(
    rows: Rows, column: int, label: int, least: float
) -> tuple[Callable[[float], float], float]:
    """Return how far twice the gain in likelihood is below `least` at effects of a feature.

    Effects are those of a standard deviation, which is returned too.
    """
    null = rows.null(label)
    x = rows.take(null, np.array([[column]]))[0]
    cells, x, counts = distinct_rows(
        np.repeat(np.arange(len(null.cells)), null.sizes), x, null.counts
    )
    spread = float(np.sqrt(np.average(x[0] ** 2, weights=counts)))
    design = StackedDesign(null.columns[cells][None])
    known = {0.0: null.coef}

    def excess(effect: float) -> float:
        nearest = min(known, key=lambda each: abs(each - effect))
        fits = maximize(
            design,
            null.outcome[cells][None],
            counts,
            len(null.coef),
            offset=effect * x / spread,
            start=known[nearest][None],
        )
        known[effect] = fits.coef[0]
        return least - 2 * (float(fits.llf[0]) - null.value)

    return excess, spread


def _find_limit(excess: Callable[[float], float], side: float) -> float:
    """Find the zero of a function that falls towards an infinite effect on one side."""
    at_zero = excess(0.0)
    away = side if at_zero > 0 else -side
    near, reach = 0.0, 1.0
    while excess(away * reach) * at_zero > 0:
        near, reach = reach, 2 * reach
        if reach > _FURTHEST:
            return np.nan
    return float(brentq(excess, away * near, away * reach, xtol=1e-10))
