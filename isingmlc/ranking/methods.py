"""The methods of ranking, by name, and `rank_features`, which runs one of them.

A method is one function: it takes a fit (or a model, if it needs no fit) and its options by
keyword, and gives a `FeatureRanking`. Put it into `RANKING_METHODS`, and every place that ranks
features knows it and its options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_number, check_option, check_penalty, check_size
from isingmlc.base.arrays import FloatArray, IntArray
from isingmlc.fitting.neighbors import check_neighbors
from isingmlc.fitting.reasons import Reason, split_reasons
from isingmlc.inference.combine import COMBINE, DEFAULT_COMBINE
from isingmlc.inference.edges import UNITS
from isingmlc.inference.moderation import CHEAP, can_refit
from isingmlc.inference.score_tests import regularized_statistics
from isingmlc.input.rows import prepare
from isingmlc.model import IsingModel
from isingmlc.ranking.filters import br_filter, lp_filter, one_rule
from isingmlc.ranking.forward import rank_by_forward, rank_by_ssc
from isingmlc.results.ranking import FeatureRanking, FeatureScores

if TYPE_CHECKING:
    from isingmlc.ranking.l1 import L1Fits
    from isingmlc.results.edge_tests import EdgeTests
    from isingmlc.results.ising import IsingResults


@dataclass(frozen=True)
class RankingMethod:
    """A method of ranking."""

    rank: Callable[..., FeatureRanking]
    defaults: Mapping[str, object]
    needs_fit: bool
    takes_covariates: bool = True
    # What predicts better (benchmarks/rankings.py).
    penalty: float | None = None
    rank_terms: Callable[..., FeatureRanking] | None = None

    def run(
        self,
        source: IsingResults | IsingModel,
        options: Mapping[str, Any],
        unit: str = "term",
    ) -> FeatureRanking:
        """Rank features, and warn if nothing sets one above another."""
        model = source if isinstance(source, IsingModel) else source.model
        given = model.statistics.context.described
        if given:
            self.check_covariates(self._name)
        rank = self._choose(model.terms) if unit == "term" else self.rank
        ranking = replace(rank(source, **options), adjusted_for=given)
        names = tuple(model.terms)
        if unit == "term" and ranking.feature_names != names:
            # Categories of two levels have one column, which has another name.
            ranking = replace(ranking, feature_names=names)
        if not ranking.scores.importance.any():
            determined = (ranking.scores.label_reason == Reason.DETERMINED_LABEL).any()
            hint = "; penalty=1.0 tests labels that others determine" if determined else ""
            message = exc.NOTHING_RANKED.format(method=ranking.method, hint=hint)
            exc.warn(message, exc.DataWarning)
        return ranking

    @property
    def _name(self) -> str:
        return next(name for name, each in RANKING_METHODS.items() if each is self)

    def _choose(self, terms: Mapping[str, tuple[str, ...]]) -> Callable[..., FeatureRanking]:
        """Choose how terms are ranked: as columns, unless some have several."""
        wide = [term for term, columns in terms.items() if len(columns) > 1]
        if not wide:
            return self.rank
        if self.rank_terms is None:
            able = [name for name, each in RANKING_METHODS.items() if each.rank_terms is not None]
            raise exc.DataError(
                f"{exc.shorten(wide)} have several columns, which method {self._name!r} cannot "
                f"rank as one variable. Use one of {exc.shorten(able)}, or rank single columns "
                "with unit='column'."
            )
        return self.rank_terms

    def check_covariates(self, name: str) -> None:
        """Say that the method cannot be given covariates, if that is so."""
        if not self.takes_covariates:
            able = [other for other, how in RANKING_METHODS.items() if how.takes_covariates]
            raise exc.DataError(
                f"method {name!r} looks at features and labels alone and cannot be given "
                f"covariates. Leave them out, or use one of {exc.shorten(able)}."
            )

    @classmethod
    def of(
        cls,
        rank: Callable[..., FeatureRanking],
        needs_fit: bool = True,
        penalty: float | None = None,
        rank_terms: Callable[..., FeatureRanking] | None = None,
    ) -> RankingMethod:
        """Describe a function whose options are its arguments by keyword."""
        return cls(rank, keyword_defaults(rank), needs_fit, penalty=penalty, rank_terms=rank_terms)


def keyword_defaults(function: Callable[..., object]) -> dict[str, object]:
    """Return the arguments that a function takes by keyword only, with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY
    }


# Methods that the null model and the score tests carry


def rank_by_score(
    results: IsingResults, *, min_count: int = 2, combine: str = DEFAULT_COMBINE
) -> FeatureRanking:
    """Sum the score statistics of each feature over the labels (the paper's Algorithm 1)."""
    check_option("combine", combine, COMBINE)
    edges = results._test_edges(unit="column", min_count=min_count)
    contributions = edges.arrays.statistic
    ranking = _from_edges("score", results, edges, contributions, min_count=min_count)
    settings = {**ranking.settings, "combine": combine}
    return replace(ranking, scores=replace(ranking.scores, combine=combine), settings=settings)


def rank_terms_by_score(
    results: IsingResults, *, min_count: int = 2, combine: str = DEFAULT_COMBINE
) -> FeatureRanking:
    """Sum the score statistics of each formula term, brought to one degree of freedom."""
    check_option("combine", combine, COMBINE)
    if combine != DEFAULT_COMBINE:
        raise exc.DataError(
            f"combine={combine!r} needs one score per label, but terms may have several columns. "
            f"Use combine={DEFAULT_COMBINE!r} with unit='term'."
        )
    edges = results._test_edges(unit="term", min_count=min_count)
    contributions = edges.arrays.with_one_df()
    ranking = _from_edges("score", results, edges, contributions, unit="term", min_count=min_count)
    note = (
        "Variables are ranked as a whole: the importance of a term is the sum over labels of "
        "the statistics with one degree of freedom that have the tail probabilities of its own."
    )
    scores_of_terms = replace(ranking.scores, notes=(*ranking.scores.notes, note))
    settings = {**ranking.settings, "combine": combine, "unit": "term"}
    return replace(ranking, scores=scores_of_terms, settings=settings)


def rank_by_products(results: IsingResults, *, min_count: int = 2) -> FeatureRanking:
    """Add the statistics of the products of features and labels (Algorithm 2)."""
    edges = results._test_edges(products="individual", unit="column", min_count=min_count)
    statistic, of_products = edges.arrays.statistic, edges.arrays.product_statistic
    assert of_products is not None
    products = np.nan_to_num(of_products)
    # An edge whose feature is collinear may still have products that can be tested.
    untested = np.isnan(statistic) & np.isnan(of_products).all(axis=2)
    contributions = np.nan_to_num(statistic) + products.sum(axis=2)
    if results._fit.is_penalised:
        contributions = regularized_statistics(results._fit, "individual", min_count)
    return _from_edges(
        "products",
        results,
        edges,
        np.where(untested, np.nan, contributions),
        pairs=partial(_moved_pairs, results, min_count),
        min_count=min_count,
    )


def _moved_pairs(results: IsingResults, min_count: int) -> EdgeTests:
    """Test whether features move pairs of labels."""
    n_edges = len(results.feature_names) * len(results.label_names)
    is_cheap = n_edges * results.model.statistics.n_rows <= CHEAP
    refit = "auto" if is_cheap and can_refit(results._fit) else False
    # Statistics and effects are wanted, no p-values: chi-square costs nothing.
    return results._test_edges(
        products="given", unit="column", min_count=min_count, pvalue="chi2", refit=refit
    )


def rank_by_joint_products(results: IsingResults, *, min_count: int = 2) -> FeatureRanking:
    """Sum the joint statistics of each feature with all its products."""
    edges = results._test_edges(products="joint", unit="column", min_count=min_count)
    contributions = edges.arrays.statistic
    if results._fit.is_penalised:
        regularized = regularized_statistics(results._fit, "joint", min_count)
        contributions = np.where(np.isnan(contributions), np.nan, regularized)
    return _from_edges("products-joint", results, edges, contributions, min_count=min_count)


def _from_edges(
    method: str,
    results: IsingResults,
    edges: EdgeTests,
    contributions: FloatArray,
    *,
    pairs: Callable[[], EdgeTests] | None = None,
    unit: str = "column",
    **settings: object,
) -> FeatureRanking:
    """Make a ranking from tests of edges."""
    null: dict[str, object] = {"penalty": results.penalty}
    if results.method != "nodewise":
        null = {"fit": results.method, **null}
    kind = results.settings.neighbors
    if kind != "all":
        null["neighbors"] = int(kind) if kind.isdecimal() else kind
    if results.cov_type != "nonrobust":
        null["cov_type"] = results.cov_type
    feature_reason, label_reason = split_reasons(edges.arrays.reason, ~np.isnan(contributions))
    return FeatureRanking(
        method,
        edges.feature_names,
        edges.label_names,
        FeatureScores(
            np.nansum(contributions, axis=1),
            contributions,
            feature_reason,
            label_reason,
            pairs=pairs,
            notes=(f"{edges.note[0].upper()}{edges.note[1:]}.",) if edges.note else (),
            tests=edges,
            caution=partial(results._say_how_much_is_known, "auto", edges.products, unit),
        ),
        {**null, **settings},
    )


# l1-penalised regressions on all features at once


def rank_by_l1(
    model: IsingModel,
    *,
    lam_ratio: float | str = "ebic",
    penalize_covariates: bool = False,
    min_count: int = 2,
    n_jobs: int = 1,
) -> FeatureRanking:
    """Sum the absolute coefficients of l1-penalised label models with all features."""
    options = {"penalize_covariates": penalize_covariates, "min_count": min_count, "n_jobs": n_jobs}
    fits = _fit_l1(model, "l1", None, lam_ratio, options)
    contributions = np.abs(fits.coefficients)
    importance = np.nansum(contributions, axis=1)
    notes = fits.notes
    idle = (importance == 0) & (fits.feature_reason == Reason.OK)
    if lam_ratio == "ebic" and idle.any():
        # The penalty is large enough to leave many without a coefficient, which are not all alike.
        least = importance[importance > 0].min(initial=1.0)
        pull = np.nansum(fits.pull[idle], axis=1)
        importance[idle] = least / 2 * pull / max(pull.max(), np.finfo(float).tiny)
        notes += (
            f"{idle.sum()} features have no coefficient in any model; they follow in the order of "
            "how near they are to having one, by their gradients.",
        )
    scores = FeatureScores(
        importance, contributions, fits.feature_reason, fits.label_reason, notes=notes
    )
    settings = {"lam_ratio": lam_ratio, **_penalised(model, options), "min_count": min_count}
    return FeatureRanking("l1", model.feature_names, model.label_names, scores, settings, fits)


def rank_by_score_and_l1(
    results: IsingResults,
    *,
    keep: int | float = 0.2,
    keep_pvalue: float | None = None,
    lam_ratio: float | str = "ebic",
    penalize_covariates: bool = False,
    min_count: int = 2,
    combine: str = DEFAULT_COMBINE,
    n_jobs: int = 1,
) -> FeatureRanking:
    """Rank by l1 the features that the score keeps; the others follow in the score's order."""
    screening = rank_by_score(results, min_count=min_count, combine=combine)
    order = screening.positions
    kept = _kept(screening, order, keep, keep_pvalue)
    contributions = np.full(screening.scores.contributions.shape, np.nan)
    usable = screening.scores.feature_reason == Reason.OK
    # The share of features behind it in the score's order is below 1, 1 plus coefficients is not.
    n_features = len(usable)
    importance = np.empty(n_features)
    importance[order] = np.arange(n_features - 1, -1, -1) / n_features
    importance[~usable] = 0.0
    reason = screening.scores.feature_reason.copy()
    reason[usable] = Reason.SCREENED_OUT
    label_reason, fits = screening.scores.label_reason, None
    options = {"penalize_covariates": penalize_covariates, "min_count": min_count, "n_jobs": n_jobs}
    if len(kept):
        fits = _fit_l1(results.model, "score+l1", kept, lam_ratio, options)
        contributions[kept] = np.abs(fits.coefficients)
        total = np.nansum(contributions[kept], axis=1)
        # A penalty may leave kept features without a coefficient: these keep the score's order.
        importance[kept] = np.where(total > 0, 1 + total, importance[kept])
        label_reason = fits.label_reason
        reason[kept] = fits.feature_reason
    note = (
        f"Score tests kept {len(kept)} of {n_features} features, which l1-penalised models ranked; "
        "those without a coefficient and the others follow in the order of their scores. The "
        "importance of a feature with coefficients is 1 plus the sum of their absolute values, "
        "that of another the share of features that it precedes."
    )
    settings = {"keep": keep} if keep_pvalue is None else {"keep_pvalue": keep_pvalue}
    return FeatureRanking(
        "score+l1",
        screening.feature_names,
        screening.label_names,
        FeatureScores(
            importance,
            contributions,
            reason,
            label_reason,
            notes=(*screening.scores.notes, *(fits.notes if fits else ()), note),
        ),
        {
            **screening.settings,
            **settings,
            "lam_ratio": lam_ratio,
            **_penalised(results.model, options),
        },
        fits,
    )


def _fit_l1(
    model: IsingModel,
    method: str,
    kept: IntArray | None,
    lam_ratio: float | str,
    options: Mapping[str, Any],
) -> L1Fits:
    """Fit the penalised regressions of a model, with all features or those that are kept."""
    from isingmlc.ranking.l1 import fit_l1

    if not model.intercept:
        raise exc.ModelError(exc.FREE_THRESHOLD.format(what=f"method={method!r}"))
    rows = model._rows(f"method={method!r}")
    rows = rows if kept is None else rows.take_features(kept)
    return fit_l1(rows, lam_ratio, **options)


def _penalised(model: IsingModel, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the setting that says how covariates are treated, if there are any."""
    name = "penalize_covariates"
    return {name: options[name]} if model.covariate_names else {}


def _kept(
    screening: FeatureRanking, order: IntArray, keep: int | float, keep_pvalue: float | None
) -> IntArray:
    """Find the positions of the features that a screening keeps, in the user's order."""
    usable = screening.scores.feature_reason == Reason.OK
    if keep_pvalue is None:
        size = check_size("keep", keep, len(usable))
        chosen = np.isin(np.arange(len(usable)), order[:size])
    else:
        level = check_number("keep_pvalue", keep_pvalue, above=0, below=1)
        chosen = (screening.adjusted_pvalues("fdr_bh", level) <= level).to_numpy()
    return np.flatnonzero(chosen & usable)


# Filters that know nothing of a network


def by_filter(
    name: str, score: Callable[..., FeatureScores], *criterion: str, per_label: bool = True
) -> RankingMethod:
    """Make a method of a filter."""
    defaults = keyword_defaults(score)

    def rank(model: IsingModel, **options: Any) -> FeatureRanking:
        if model.covariate_names:
            RANKING_METHODS[name].check_covariates(name)
        settings = {**defaults, **options}
        scores = score(model._rows(f"method={name!r}"), *criterion, **settings)
        settings.pop("n_jobs")
        labels = model.label_names if per_label else ("labelset",)
        return FeatureRanking(name, model.feature_names, labels, scores, settings)

    return RankingMethod(rank, defaults, needs_fit=False, takes_covariates=False)


RANKING_METHODS: Mapping[str, RankingMethod] = MappingProxyType(
    {
        "score": RankingMethod.of(rank_by_score, penalty=1.0, rank_terms=rank_terms_by_score),
        "products": RankingMethod.of(rank_by_products, penalty=1.0),
        "products-joint": RankingMethod.of(rank_by_joint_products, penalty=1.0),
        "l1": RankingMethod.of(rank_by_l1, needs_fit=False),
        "score+l1": RankingMethod.of(rank_by_score_and_l1, penalty=1.0),
        "forward": RankingMethod.of(
            rank_by_forward, needs_fit=False, rank_terms=partial(rank_by_forward, unit="term")
        ),
        "ssc": RankingMethod.of(
            rank_by_ssc, needs_fit=False, rank_terms=partial(rank_by_ssc, unit="term")
        ),
        "br-chi2": by_filter("br-chi2", br_filter, "chi2"),
        "br-ig": by_filter("br-ig", br_filter, "ig"),
        "lp-chi2": by_filter("lp-chi2", lp_filter, "chi2", per_label=False),
        "lp-ig": by_filter("lp-ig", lp_filter, "ig", per_label=False),
        "oner": by_filter("oner", one_rule),
    }
)


def default_method(**asked: Any) -> str:
    """Return the method that ranks features for picking, if nobody names one."""
    is_asked = any(value is not None and value is not False for value in asked.values())
    return "score" if is_asked else "forward"


def find_method(method: str, options: Mapping[str, object], unit: str = "term") -> RankingMethod:
    """Find a method by its name and see that it has the options."""
    check_option("method", method, tuple(RANKING_METHODS))
    found = RANKING_METHODS[method]
    unknown = [name for name in options if name not in found.defaults]
    if unknown:
        hint = (
            " The null model is that of the fit: model.fit(penalty=…, neighbors=…), or "
            "isingmlc.rank_features(labels, features, penalty=…)."
            if {"penalty", "neighbors"} & set(unknown)
            else ""
        )
        raise exc.DataError(
            f"method {method!r} has no option {exc.shorten(unknown)}: its options are "
            f"{exc.shorten(found.defaults, limit=20)}.{hint}"
        )
    check_option("unit", unit, UNITS)
    return found


def check_request(
    method: str,
    options: Mapping[str, object],
    *,
    penalty: float | str | None = "auto",
    neighbors: Any = None,
    unit: str = "term",
    has_covariates: bool = False,
) -> RankingMethod:
    """Find a method and see that it has the options and the null model."""
    found = find_method(method, options, unit)
    if penalty != "auto":
        check_penalty(penalty)
    check_neighbors(neighbors)
    if not found.needs_fit and not (penalty == "auto" and neighbors is None):
        users = [name for name, other in RANKING_METHODS.items() if other.needs_fit]
        raise exc.DataError(
            "penalty and neighbors are for methods with label models "
            f"({exc.shorten(users)}), but method is {method!r}. Leave them out."
        )
    if has_covariates:
        found.check_covariates(method)
    return found


class Ranker:
    """Ranks the features of one model by several methods; a label model is fitted once."""

    def __init__(
        self, model: IsingModel, cov_type: str | None = None, *, tests: bool = False
    ) -> None:
        self.model, self.cov_type, self._tests = model, cov_type, tests
        self._fits: dict[tuple[float | str | None, int | str | None], IsingResults] = {}

    def rank(
        self,
        method: str,
        *,
        penalty: float | str | None = "auto",
        neighbors: Any = None,
        unit: str = "term",
        **options: Any,
    ) -> FeatureRanking:
        """Rank the features by one method."""
        found = check_request(method, options, unit=unit, penalty=penalty, neighbors=neighbors)
        if not found.needs_fit:
            return found.run(self.model, options, unit)
        if penalty == "auto":
            penalty = None if self._tests else found.penalty
        return found.run(self._fit(penalty, neighbors), options, unit)

    def _fit(self, penalty: float | str | None, neighbors: Any) -> IsingResults:
        """Fit the label models, or give them if they are fitted already."""
        if neighbors is not None and not isinstance(neighbors, int | str):
            # A graph may be another one next time though it is the same object.
            return self._fit_anew(penalty, neighbors)
        if (penalty, neighbors) not in self._fits:
            self._fits[penalty, neighbors] = self._fit_anew(penalty, neighbors)
        return self._fits[penalty, neighbors]

    def _fit_anew(self, penalty: float | str | None, neighbors: Any) -> IsingResults:
        """Fit the label models."""
        return self.model.fit(penalty=penalty, neighbors=neighbors, cov_type=self.cov_type)


def given_model(labels: Any, *, intercept: bool, missing: str, **others: Any) -> IsingModel | None:
    """Return the model that is handed in instead of data, if one is."""
    if not isinstance(labels, IsingModel):
        return None
    beside = [name for name, value in others.items() if value is not None]
    beside += ["intercept"] * (intercept is not True) + ["missing"] * (missing != "raise")
    if beside:
        raise exc.DataError(
            f"{exc.shorten(beside)} cannot be given beside a model, which has its own. Leave it "
            "out, and give it where the model is made."
        )
    return labels


def rank_features(
    labels: Any,
    features: Any = None,
    method: str = "score",
    *,
    covariates: Any = None,
    penalty: float | str | None = "auto",
    neighbors: Any = None,
    unit: str = "term",
    intercept: bool = True,
    freq_weights: Any = None,
    groups: Any = None,
    sampling_weights: Any = None,
    cov_type: str | None = None,
    missing: str = "raise",
    label_names: Sequence[object] | None = None,
    feature_names: Sequence[object] | None = None,
    covariate_names: Sequence[object] | None = None,
    **options: Any,
) -> FeatureRanking:
    r"""Rank features by how much they matter to the labels.

    Parameters
    ----------
    labels, features, intercept, freq_weights, missing, label_names, feature_names, covariate_names
        As `IsingModel` takes them. Or an `IsingModel`, such as one of `IsingModel.from_formula`, as
        the only one of them: it has all of this and the covariates.
    groups, sampling_weights : array_like, shape (n,), optional
        Clusters of dependent rows, and inverse probabilities of being drawn, as `IsingModel` takes
        them: statistics and p-values of methods with score tests mind them. Other methods take
        sampling weights for how often a row counts, and no notice of groups.
    cov_type : {"nonrobust", "HC0", "HC2", "cluster"}, optional
        Where the variances of scores come from, as `IsingModel.fit` takes it.
    covariates : array_like, DataFrame, list of Series or sparse, shape (n, c), optional
        What features are ranked given, such as age and sex, as `IsingModel` takes it. Every label
        model has them; they are not ranked. The filters from ``br-chi2`` on have no models, and
        cannot be given covariates.
    method : str
        How importance is measured.

        - ``"score"``: the sum over labels of score statistics [1]_; has p-values.
        - ``"products"``: the same, with the statistics of the products of the feature with
          every other label added.
        - ``"products-joint"``: the sum over labels of the joint statistics of the feature and
          its products.
        - ``"l1"``: the sum of absolute coefficients of l1-penalised regressions of each label on
          the other labels and all features. Columns that are copies of each other share one
          coefficient in any proportion.
        - ``"score+l1"``: ``score`` keeps some features, ``l1`` ranks those.
        - ``"forward"``: features are picked one after the other, each for how much the squared
          errors of all labels fall by it, given the features picked before it: score statistics
          times the mean of p(1 − p) of each label. Features that complement each other come first,
          and of several that say the same one does. `FeatureRanking.path` shows the steps.
        - ``"ssc"``: the same by the sum of squared canonical correlations of the features picked
          with the labels [2]_.
        - ``"br-chi2"``, ``"br-ig"``: chi-square or information gain of the feature for each
          label by itself.
        - ``"lp-chi2"``, ``"lp-ig"``: the same for the labelset as one class.
        - ``"oner"``: accuracy of Holte's one-feature rules.
    penalty : "auto", None, float or "firth"
        The penalty of the label models of ``score``, ``products``, ``products-joint`` and
        ``score+l1``, as `IsingModel.fit` takes it. ``"auto"`` is a ridge penalty of 1, whose first
        features predict better, since labels that others determine keep residuals. Under a
        penalty, products have regularised statistics: a tenth of the variance of the feature
        itself is added to each variance, so that products that few rows carry do not come first
        by chance. The paper has maximum likelihood, None, throughout; where labels nearly
        determine each other, its products rank no better than chance. Tests have no penalty
        either: use None for p-values, as `IsingModel.fit` and `select_features` with `alpha` do.
    neighbors : "ebic", int, or graph, optional
        Which other labels the same label models have, as `IsingModel.fit` takes it: those of a
        sparse network, so many that are most associated, or those of a graph; all if omitted.
    unit : {"term", "column"}
        Rank variables as a whole, or single columns. A category or another term of several columns
        is ranked as a whole by ``score``, ``forward`` and ``ssc``: the joint statistic of its
        columns (for ``forward`` and ``ssc`` adjusted for the terms picked before it) counts as the
        statistic with one degree of freedom that has the same p-value, so that a category of many
        levels does not come first by chance. `n_features` counts terms then.
    **options
        Options of the method:

        - ``min_count`` (all from score to ssc): labels with fewer rows of one kind in play are not
          used. For ``lp-chi2`` and ``lp-ig`` rows whose labelset is rarer than this are left out.
        - ``lam_ratio`` (l1, score+l1): the penalty of each label as a share of the smallest one at
          which all its coefficients vanish, or ``"ebic"``, the default, which chooses it for each
          label. The paper has 0.0001, which is next to none: of features that all but explain each
          other those that matter and those that do not share large coefficients then.
        - ``penalize_covariates`` (l1, score+l1): whether covariates are penalised like labels and
          features, or free like the thresholds, the default.
        - ``keep`` (score+l1): number or share of the features that is kept, 0.2; or
          ``keep_pvalue``: keep those whose p-value, adjusted for the false-discovery rate, is at
          most this.
        - ``n_features`` (forward, ssc): how many features to pick, a number or a share; 50, or all
          if there are fewer. The others follow in the order of what they would add to these.
        - ``stop`` (forward): ``"ebic"`` stops before a feature that lowers the EBIC, with ``gamma``
          0.5, of no label; None, the default, picks ``n_features``. Each column of a term counts.
        - ``combine``: how labels are combined. For score and score+l1 (there with
          ``keep_pvalue``) the p-values of features, ``"acat"``, ``"sum"`` or ``"omnibus"``, see
          `EdgeTests.feature_pvalues`; importance is always the sum. For br-chi2, br-ig and oner the
          importance, ``"sum"``, ``"max"`` or ``"mean"``.
        - ``discretize`` (br-chi2, br-ig, lp-chi2, lp-ig): how features with many values become
          categories, ``"mdl"`` (minimum description length), ``"quantile"`` (``n_bins`` intervals)
          or ``"none"``.
        - ``min_bucket`` (oner): rows of one kind that an interval of a feature wants.
        - ``n_jobs`` (l1, score+l1 and the filters): processes or threads; −1 for one per core.

    Returns
    -------
    FeatureRanking
        The features, best first.

    Raises
    ------
    DataError
        When there is no such method or option, or the method cannot be given covariates.

    See Also
    --------
    IsingResults.rank_features : rank by a fit that is at hand.

    References
    ----------
    .. [1] Teisseyre, P. (2016). Feature ranking for multi-label classification using Markov
       networks. *Neurocomputing*. arXiv:1602.07464.
    .. [2] Zhang, S. and Lang, Z.-Q. (2022). Orthogonal least squares based fast feature selection
       for linear classification. *Pattern Recognition* 123, 108419.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> im.rank_features(data.labels, data.features, method="score").top(3)
    ('age', 'bmi', 'female')
    >>> im.rank_features(data.labels, data.features, method="score", penalty=None).top(3)
    ('age', 'bmi', 'female')
    >>> im.rank_features(data.labels, data.features, method="score", neighbors=2).settings
    {'penalty': 1.0, 'neighbors': 2, 'min_count': 2, 'combine': 'acat'}

    What each feature adds to those picked before it:

    >>> steps = im.rank_features(data.labels, data.features, method="forward", n_features=3).path
    >>> steps[["feature", "gain", "labels"]].round(1)
         feature  gain                                  labels
    step
    1        age  86.4  hypertension, arthritis, heart_disease
    2        bmi  18.2       hypertension, diabetes, arthritis
    3     female   9.5                   arthritis, depression

    What features say given age and sex:

    >>> known = data.features[["age", "female"]]
    >>> others = data.features.drop(columns=["age", "female"])
    >>> im.rank_features(data.labels, others, covariates=known)
    FeatureRanking(score, 28 features given age, female: 'bmi', ...)

    Terms of a formula:

    >>> frame = data.labels.join(data.features)
    >>> model = im.IsingModel.from_formula(
    ...     "hypertension + diabetes + asthma ~ bs(age, df=4) + bmi + C(smoker)", frame
    ... )
    >>> im.rank_features(model, unit="term").order
    ('bs(age, df=4)', 'bmi', 'C(smoker)')
    >>> im.rank_features(model, method="forward", unit="term").path[["feature", "gain"]].round(1)
                feature  gain
    step
    1     bs(age, df=4)  51.6
    2               bmi  13.8
    3         C(smoker)   1.5
    """
    # A method or option that does not exist is said before the data are looked at.
    has_covariates = covariates is not None
    label_models = {"penalty": penalty, "neighbors": neighbors}
    found = check_request(method, options, unit=unit, **label_models, has_covariates=has_covariates)
    if cov_type is not None and not found.needs_fit:
        users = [name for name, other in RANKING_METHODS.items() if other.needs_fit]
        raise exc.DataError(
            f"cov_type is for methods with score tests ({exc.shorten(users)}), but method is "
            f"{method!r}. Leave it out."
        )
    given = {
        "features": features,
        "covariates": covariates,
        "freq_weights": freq_weights,
        "groups": groups,
        "sampling_weights": sampling_weights,
        "missing": missing,
        "label_names": label_names,
        "feature_names": feature_names,
        "covariate_names": covariate_names,
    }
    model = given_model(labels, intercept=intercept, **given)
    if model is None:
        model = IsingModel._from_rows(prepare(labels, **given), intercept)
    return Ranker(model, cov_type).rank(method, unit=unit, **label_models, **options)
