r"""Forward rankings: each feature is ranked for what it adds to those picked before it.

``forward`` adds up, over labels, score statistics given what was picked, each times the mean weight
of its label. The label models are fitted once, without features, and their weights are kept: with
the weights :math:`w_{ik} = p_{ik}(1 - p_{ik})` and residuals :math:`e_{ik}` of label k, the
statistic of a feature given others is that of a weighted least-squares regression of e / w, so that
all steps are one weighted Gram–Schmidt sweep (see :mod:`isingmlc.ranking.sweep`). Times the mean
weight it estimates by how much the squared errors :math:`\sum_i e_{ik}^2` of a label fall, and is
just that if weights are equal. A rare label, which has few errors, counts less than a frequent one;
none can fall by more than it has left.

``ssc`` adds up squared canonical correlations of the features picked with the labels: the same
sweep with equal weights, on labels that are made orthonormal.

Formula terms are picked with all their columns. What a term adds counts as what one column adds
that has the same tail probability, as in the ranking of terms by score tests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_number, check_option, check_size
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, StrArray, dense
from isingmlc.fitting.design import Factors, Regressors
from isingmlc.fitting.nodewise import FitSettings, NetworkFit, fit_nodes
from isingmlc.fitting.reasons import (
    Reason,
    find_constant,
    judge_counts,
    judge_features,
    judge_fits,
)
from isingmlc.inference.covariance import MODEL_BASED
from isingmlc.inference.score import (
    Batches,
    NullModel,
    feature_scores,
    feature_variances,
    null_models,
    score_columns,
)
from isingmlc.model import IsingModel
from isingmlc.ranking.cross_products import AskedProducts, RowProducts, find_products
from isingmlc.ranking.sweep import Standing, Sweep, Terms, sweep
from isingmlc.results.ranking import FeatureRanking, FeatureScores
from isingmlc.results.steps import FeatureSteps
from isingmlc.statistics.labelsets import LabelsetStatistics, feature_blocks

# How many features are picked if nobody says; all if there are fewer.
N_FEATURES = 50
# Gains up to this are none: in squared errors, and in squared correlations.
_NO_ERROR = 1e-9
_NO_CORRELATION = 1e-12
# Directions of the labels with less than this share of the variance are relations among them.
_RELATED = 1e-10
STOPS = (None, "ebic")


def rank_by_forward(
    model: IsingModel,
    unit: str = "column",
    *,
    n_features: int | float | None = None,
    stop: str | None = None,
    gamma: float = 0.5,
    min_count: int = 2,
) -> FeatureRanking:
    """Pick features, or terms, one after the other by what they add to the models of the labels."""
    check_option("stop", stop, STOPS)
    if check_number("gamma", gamma) < 0:
        raise exc.DataError(f"gamma must not be negative, but is {gamma:g}.")
    terms = _terms_of(model, unit)
    size = _check_size(model, terms, n_features)
    products = find_products(model.statistics, _rows(model, "forward"), "method='forward'")
    null = _fit_null(model, min_count)
    reasons = judge_features(_constant(model, terms), null.label_reason)
    usable = reasons == Reason.OK
    n_used = len(null.labels)
    if not n_used or not usable.any():
        found = _nothing(len(usable), n_used)
    else:
        n_columns = len(model.feature_names)
        cost = np.log(model.nobs) + 2 * gamma * np.log(n_columns) if stop else 0.0
        found = sweep(
            _stand(model, null, products),
            usable,
            size,
            nothing=_NO_ERROR,
            worthwhile=float(cost),
            terms=terms,
        )
    settings: dict[str, object] = {
        "n_features": size,
        "stop": stop,
        **({"gamma": gamma} if stop else {}),
        "min_count": min_count,
        **_say_terms(terms),
    }
    return _rank("forward", model, found, null.labels, null.label_reason, reasons, settings)


def rank_by_ssc(
    model: IsingModel,
    unit: str = "column",
    *,
    n_features: int | float | None = None,
    min_count: int = 2,
) -> FeatureRanking:
    """Pick features, or terms, one after the other by the canonical correlations of all."""
    stats = model.statistics
    terms = _terms_of(model, unit)
    size = _check_size(model, terms, n_features)
    products = find_products(stats, _rows(model, "ssc"), "method='ssc'")
    positives = stats.counts @ stats.patterns
    minority = np.minimum(positives, stats.nobs - positives)
    label_reason = judge_counts(minority, check_count("min_count", min_count, 0))
    labels = np.flatnonzero(label_reason == Reason.OK)
    reasons = judge_features(_constant(model, terms), label_reason)
    usable = reasons == Reason.OK
    if not len(labels) or not usable.any():
        found = _nothing(len(usable), len(labels))
    else:
        standing = _stand_canonical(model, labels, products)
        found = sweep(standing, usable, size, nothing=_NO_CORRELATION, terms=terms)
    settings: dict[str, object] = {
        "n_features": size,
        "min_count": min_count,
        **_say_terms(terms),
    }
    return _rank("ssc", model, found, labels, label_reason, reasons, settings)


def _terms_of(model: IsingModel, unit: str) -> Terms | None:
    """Return the terms of a formula, if these are picked."""
    if unit == "column":
        return None
    place = {name: at for at, name in enumerate(model.feature_names)}
    columns = (np.array([place[name] for name in names]) for names in model.terms.values())
    return Terms(tuple(columns))


def _say_terms(terms: Terms | None) -> dict[str, object]:
    """Return the setting that says that terms were picked."""
    return {} if terms is None else {"unit": "term"}


def _check_size(model: IsingModel, terms: Terms | None, n_features: int | float | None) -> int:
    """Return how many features, or terms, are picked."""
    available = len(model.feature_names) if terms is None else len(terms.columns)
    if not available:
        raise exc.ModelError(exc.NO_FEATURES)
    if n_features is None:
        return min(N_FEATURES, available)
    return check_size("n_features", n_features, available)


def _rows(model: IsingModel, method: str) -> Any:
    """Return the rows, if there are any."""
    return None if model.data is None else model._rows(f"method={method!r}")


def _constant(model: IsingModel, terms: Terms | None = None) -> BoolArray:
    """Mark the features that cannot be used, or the terms all of whose columns cannot."""
    constant = find_constant(model.statistics, model.intercept)
    if terms is None:
        return constant
    return np.array([constant[columns].all() for columns in terms.columns], dtype=np.bool_)


# Where a sweep begins


class _Null(NamedTuple):
    """The label models before any feature is picked."""

    labels: IntArray
    label_reason: StrArray
    nulls: list[NullModel]
    error: FloatArray


def _fit_null(model: IsingModel, min_count: int) -> _Null:
    """Fit each label on the covariates alone."""
    stats = model.statistics
    settings = FitSettings(intercept=model.intercept)
    n_labels = len(model.label_names)
    neighbors = np.zeros((n_labels, n_labels), dtype=np.bool_)
    regressors = Regressors.of_statistics(stats, model.intercept)
    nodes = fit_nodes(stats.patterns, stats.counts, settings, neighbors, regressors=regressors)
    fit = NetworkFit(stats, settings, nodes, model.data, model.terms, regressors)
    label_reason = judge_fits(fit, min_count)
    labels = np.flatnonzero(label_reason == Reason.OK)
    nulls = null_models(fit, labels.tolist(), MODEL_BASED)
    error = np.array([stats.counts @ null.effective**2 for null in nulls])
    return _Null(labels, label_reason, nulls, error)


def _stand(model: IsingModel, null: _Null, products: RowProducts | AskedProducts) -> Standing:
    """Return scores and variances of all features in the label models."""
    stats, nulls = model.statistics, null.nulls
    weights = np.array([each.weight for each in nulls]).T
    rate = stats.counts @ weights / stats.nobs
    if (weights == weights[0]).all():
        # Labels without other regressors than the constant differ by a factor alone.
        target = np.array([each.effective for each in nulls]).T / np.sqrt(rate)
        return _stand_equal(model, _equal_null(model), target, rate, null.error, products)
    found = feature_scores(stats, nulls, feature_variances(stats, model.intercept))
    score, variance, scale = (
        np.ascontiguousarray(each.T) for each in (found.score, found.variance, found.scale)
    )

    def cross(column: int) -> FloatArray:
        fitted = np.zeros_like(weights)
        sums = products.sums_of(column)[:, None]
        for at, each in enumerate(nulls):
            fitted[each.rows, at] = each.fit_to(each.lean(sums)).ravel()
        return products(column, weights, fitted)

    variance[_constant(model)] = 0.0
    blocks = _blocks(stats, nulls, variance)
    return Standing(score, variance, scale, rate, null.error, cross, blocks)


def _blocks(
    stats: LabelsetStatistics, nulls: list[NullModel], variance: FloatArray
) -> list[tuple[IntArray, FloatArray]]:
    """Return the variance matrices of the columns of each term that has several."""
    blocks = []
    for term, columns in stats.term_columns.items():
        products, sums = stats.term_products[term], dense(stats.sums[:, columns])
        parts = []
        for null in nulls:
            leaning = null.lean(sums)
            total = np.einsum("g,gij->ij", null.weight, products)
            parts.append(total - leaning.T @ leaning)
        blocks.append((columns, _with_diagonal(np.stack(parts, axis=-1), variance[columns])))
    return blocks


def _with_diagonal(block: FloatArray, variance: FloatArray) -> FloatArray:
    """Put variances that were computed with care into their matrix; those of zero leave nothing."""
    at = np.arange(len(block))
    block[at, at] = variance
    alive = variance > 0
    return np.asarray(block * (alive[:, None] & alive))


def _stand_canonical(
    model: IsingModel, labels: IntArray, products: RowProducts | AskedProducts
) -> Standing:
    """Return scores and variances of all features for orthonormal labels, under equal weights."""
    stats, null = model.statistics, _equal_null(model)
    target = stats.patterns[:, labels].astype(np.float64)
    target -= null.fit_to(null.lean(stats.counts[:, None] * target))
    target = target @ _whiten((target * stats.counts[:, None]).T @ target) * np.sqrt(stats.nobs)
    # A squared correlation times the number of rows is a statistic.
    rate, unlimited = np.full(len(labels), 1 / stats.nobs), np.full(len(labels), np.inf)
    return _stand_equal(model, null, target, rate, unlimited, products)


def _equal_null(model: IsingModel) -> NullModel:
    """Return the model that takes constant and covariates out of columns, under equal weights."""
    stats = model.statistics
    regressors = Regressors.of_statistics(stats, model.intercept)
    basis = np.flatnonzero(regressors.free)[0 if model.intercept else 1 :]
    weight = np.ones(len(stats.counts))
    factors = Factors(regressors.products, stats.counts, [basis], weight[None], None)
    return NullModel(
        0, stats.counts, factors, np.arange(len(weight)), weight, weight, weight, False
    )


def _stand_equal(
    model: IsingModel,
    null: NullModel,
    target: FloatArray,
    rate: FloatArray,
    left: FloatArray,
    products: RowProducts | AskedProducts,
) -> Standing:
    """Return scores and variances of all features for targets that share the weights of `null`."""
    stats = model.statistics
    n_features = len(model.feature_names)
    score = np.empty((n_features, target.shape[1]))
    variance, scale = (np.empty((n_features, 1)) for _ in range(2))
    variances, batches = feature_variances(stats, model.intercept), Batches([null])
    for part, block in feature_blocks(stats):
        found = score_columns(batches, block.sums, block.squares, variances[part])
        variance[part], scale[part] = found.variance.T, found.scale.T
        score[part] = block.sums.T @ target

    def cross(column: int) -> FloatArray:
        fitted = null.fit_to(null.lean(products.sums_of(column)[:, None]))
        return products(column, null.weight[:, None], fitted)

    variance[_constant(model)] = 0.0
    blocks = _blocks(stats, [null], variance)
    return Standing(score, variance, scale, rate, left, cross, blocks)


def _whiten(covariance: FloatArray) -> FloatArray:
    """Return the symmetric map that makes columns orthonormal."""
    size = np.sqrt(covariance.diagonal())
    size[size == 0] = np.inf
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    roots = np.zeros_like(values)
    kept = values > _RELATED * values[-1]
    roots[kept] = values[kept] ** -0.5
    return np.asarray((vectors * roots) @ vectors.T / size[:, None])


# What was found


def _nothing(n_features: int, n_targets: int) -> Sweep:
    """Return what a sweep finds if there is no feature, or no label, to use."""
    return Sweep(
        np.zeros(0, dtype=np.intp),
        np.zeros((0, n_targets)),
        (),
        np.zeros((n_features, n_targets)),
        np.zeros(n_features, dtype=np.bool_),
    )


def _rank(
    method: str,
    model: IsingModel,
    found: Sweep,
    labels: IntArray,
    label_reason: StrArray,
    reasons: StrArray,
    settings: dict[str, object],
) -> FeatureRanking:
    """Make a ranking of what a sweep picked, and what it left."""
    parts = found.remaining.copy()
    parts[found.picked] = found.gains
    contributions = np.full((len(reasons), len(model.label_names)), np.nan)
    contributions[:, labels] = parts
    reasons = reasons.copy()
    reasons[found.redundant] = Reason.REDUNDANT_FEATURE
    steps = FeatureSteps(found.picked, found.gains.sum(axis=1), found.displaced)
    scores = FeatureScores(
        parts.sum(axis=1),
        contributions,
        reasons,
        label_reason,
        notes=_notes(model, found, settings),
        steps=steps,
    )
    names = tuple(model.terms) if "unit" in settings else model.feature_names
    return FeatureRanking(method, names, model.label_names, scores, settings)


def _notes(model: IsingModel, found: Sweep, settings: dict[str, object]) -> tuple[str, ...]:
    """Say how features were picked, and what was not."""
    by_term = "unit" in settings
    names = np.array(list(model.terms) if by_term else model.feature_names, dtype=object)
    kind = "term" if by_term else "feature"
    n_picked = len(found.picked)
    notes = [
        f"{n_picked} {kind}s were picked one after the other, each for what it adds to those "
        "before it, which is its importance; the others follow in the order of what they would add "
        f"to these. There are no p-values: {kind}s that were picked by the labels would have too "
        "small ones.",
    ]
    if by_term:
        notes.append(
            "Variables are picked as a whole: what a term of several columns adds counts as "
            "what one column adds that has the same tail probability."
        )
    if n_picked != settings["n_features"] and n_picked:
        why = (
            "the EBIC of no label falls any more"
            if settings.get("stop") and (found.remaining > 0).any()
            else f"no other {kind} adds anything"
        )
        notes.append(f"Picking stopped after {names[found.picked[-1]]}: {why}.")
    if found.redundant.any():
        redundant = names[found.redundant]
        notes.append(
            f"{len(redundant)} {kind}s ({exc.shorten(redundant)}) are linear functions of those "
            "picked before them, and were not picked."
        )
    return tuple(notes)
