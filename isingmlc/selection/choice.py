"""From a ranking to a subset of features: chosen on a validation set, or by p-values."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from isingmlc import exceptions as exc
from isingmlc.base.arguments import (
    RandomState,
    check_count,
    check_jobs,
    check_number,
    check_option,
    check_size,
)
from isingmlc.base.arrays import IntArray
from isingmlc.base.tables import ResultTable
from isingmlc.inference.edges import UNITS
from isingmlc.inference.pvalues import METHODS as ADJUSTMENTS
from isingmlc.input.rows import ModelData, prepare, scale_rows
from isingmlc.input.sampling import GROUPS, SAMPLING_WEIGHTS
from isingmlc.metrics import MEASURES, METRICS
from isingmlc.model import IsingModel
from isingmlc.ranking.forward import N_FEATURES
from isingmlc.ranking.methods import (
    RANKING_METHODS,
    Ranker,
    check_request,
    default_method,
    given_model,
)
from isingmlc.results.ranking import FeatureRanking
from isingmlc.selection.classifiers import VaryingLabels, join_columns, make_classifier, vary
from isingmlc.selection.folds import make_folds
from isingmlc.selection.result import SelectionResult
from isingmlc.selection.validation import (
    Fold,
    Measure,
    choose,
    choose_cautiously,
    find_columns,
    try_sizes,
)

# Features that complement each other, for all labels by their errors or for all directions of the
# labels alike. With score as a third choices were no better. One validation set of a few hundred
# rows says little about which is better: folds choose, and the first unless another clearly is.
AUTO: tuple[tuple[str, dict[str, Any]], ...] = (("forward", {}), ("ssc", {}))
_AUTO = ("auto", ["auto"])
_AUTO_FOLDS = 5
RULES = ("best", "one-se")
# Options of rankings that say what the label models are.
_LABEL_MODELS = ("penalty", "neighbors")
# The share of rows to validate on if nobody says.
_VALIDATION = 0.3
# The most features to try if nobody says: a share, as in the paper, but not fewer than this.
_SHARE = 0.2
_AT_LEAST = 20
# In brackets it is said once, if it is true of all rows as well.
_TRAINING = "every row (of the training rows of a split)"
# More numbers of features than this take long to try, unless rows are few.
_MANY_SIZES = 200


# Rankings of several folds, and the classifier, say the same several times.
@exc.warn_once()
def select_features(
    labels: Any,
    features: Any = None,
    method: str | Sequence[Any] | None = None,
    *,
    covariates: Any = None,
    ranking: FeatureRanking | None = None,
    neighbors: Any = None,
    unit: str = "term",
    intercept: bool = True,
    freq_weights: Any = None,
    alpha: float | None = None,
    adjust: str | None = "fdr_bh",
    max_features: int | float | None = None,
    grid: int | Sequence[int] | None = None,
    validation: float | None = None,
    cv: Any = None,
    split: str = "stratified",
    groups: Any = None,
    sampling_weights: Any = None,
    cov_type: str | None = None,
    rule: str = "best",
    metric: str | Measure = "subset",
    classifier: Any = "ising",
    missing: str = "raise",
    label_names: Sequence[object] | None = None,
    feature_names: Sequence[object] | None = None,
    covariate_names: Sequence[object] | None = None,
    random_state: RandomState = None,
    n_jobs: int = 1,
) -> SelectionResult:
    """Choose a subset of features and fit a multi-label classifier on it.

    Rows are split into two parts. Features are ranked on the first, a classifier is trained there
    on the first 1, 2, … features of the ranking, and the number of features with the best score
    on the second part is kept (the smaller one of two that are equal). The classifier is then
    fitted again on these features with all rows. With `cv` every row has its turn in the second
    part, and the features that are kept are the first of a ranking of all rows. With `alpha` there
    is no split: features are chosen by the p-values of a ranking of all rows.

    Parameters
    ----------
    labels, features, intercept, freq_weights, missing, label_names, feature_names, covariate_names
        As `IsingModel` takes them. With `freq_weights` rows count as often in rankings, classifier
        and measures. Or an `IsingModel`, such as one of `IsingModel.from_formula`, instead of all
        of them, the covariates, groups and weights.
    covariates : array_like, DataFrame, list of Series or sparse, shape (n, c), optional
        What features are chosen given, such as age and sex, as `IsingModel` takes it. The label
        models of rankings have them, and so has the classifier, whatever is chosen; they are
        neither ranked nor counted.
    method : str, pair, list or "auto", optional
        The ranking; see `rank_features`. If omitted, ``forward``, whose features predict better
        than those of ``score``; but ``score`` with `alpha`, `neighbors` or `cov_type`, which need
        its tests. A pair gives its options, such as
        ``("score", {"penalty": 2.0})``. A list of names and pairs tries several rankings and
        lets the validation set choose among them too. ``"auto"`` tries ``forward`` and ``ssc``,
        in five folds unless `validation` or `cv` says otherwise, and takes ``ssc`` only if it is
        better by more than one standard error of the difference, row by row.
    ranking : FeatureRanking, optional
        A ranking to use instead of making one. It should not know the validation rows, and must be
        given the same covariates.
    neighbors : "ebic", int, or graph, optional
        Which other labels the label models of rankings have, as `IsingModel.fit` takes it; all if
        omitted. A pair in `method` may say otherwise for its ranking, and has to, with None, for
        one without label models.
    unit : {"term", "column"}
        Choose variables as a whole (categories with the rankings ``forward``, ``ssc`` and
        ``score``), or single columns; see `rank_features`.
    alpha : float, optional
        Choose features whose adjusted p-value is at most this, of all rows: nothing is validated,
        so that what says how (`validation`, `cv`, `split`, `rule`, `max_features`, `grid`) is an
        error.
    adjust : str
        How p-values are adjusted, any method of statsmodels' ``multipletests``; the default makes
        `alpha` the false-discovery rate.
    max_features : int or float, optional
        The most features to try: a number, or a share in (0, 1] of them all. If omitted, a fifth of
        them or 20, whichever is more; the paper has 0.2. Where the largest number tried is the
        best, the summary says so. ``forward`` and ``ssc`` pick so many one after the other, but no
        fewer than 50.
    grid : int or sequence of int, optional
        Which numbers of features to try: so many of them, spread evenly on a logarithmic scale, or
        the given ones. All up to `max_features` if omitted.
    validation : float, optional
        Share of the rows that is kept for validation, in (0, 1); 0.3 if omitted.
    cv : int, splitter or iterable, optional
        Folds instead of one validation set: so many, made as `split` says, or any splitter of
        scikit-learn's, or pairs of rows to train and to validate on.
    split : {"stratified", "random", "ordered"}
        How rows are split: so that both parts have the labels in the same shares
        (`MultilabelStratifiedKFold` explains it), at random, or so that later rows validate what
        earlier ones teach (with `cv`, as scikit-learn's ``TimeSeriesSplit``).
    groups : array_like, shape (n,), optional
        Clusters of dependent rows, such as those of one person, as `IsingModel` takes them. They
        stay in one part; groups are split at random. With `alpha` p-values come from them.
    sampling_weights : array_like, shape (n,), optional
        Inverse probabilities of being drawn, as `IsingModel` takes them, for rankings, classifier
        and measures.
    cov_type : {"nonrobust", "HC0", "HC2", "cluster"}, optional
        Where the variances of scores come from, as `IsingModel.fit` takes it. On validation rows
        statistics are for picking: groups alone do not change them.
    rule : {"best", "one-se"}
        Whether the size with the best score is kept, or the smallest one whose score is within one
        standard error of it.
    metric : {"subset", "hamming", "jaccard", "f1", "f1-micro", "f1-macro"} or callable
        What is maximised on the validation rows: the share of rows with all labels right, the share
        of single labels, the overlap of label sets, or F1 as the mean over rows, of all labels
        together, or as the mean over labels. Or a function of true and predicted labels, such as
        one of ``sklearn.metrics``; larger is better. Measures from ``"f1"`` on have no standard
        errors.
    classifier : {"ising", "chain"} or estimator
        `IsingClassifier`, which predicts for `metric` (for the mean F1 of rows, if it is any F1,
        and for subset accuracy if it is a function); the paper's chain of logistic regressions;
        or any multi-label classifier of scikit-learn's kind. A label that is constant in the
        training rows is predicted as its constant.
    random_state : int, Generator or None
        Source of the split.
    n_jobs : int
        Processes to use; −1 for one per core.

    Returns
    -------
    SelectionResult
        The chosen features, what was tried, and the classifier.

    Raises
    ------
    DataError
        When an argument is out of range or the classifier takes no multi-label data.
    ModelError
        When no feature has a p-value up to `alpha`.

    Warns
    -----
    DataWarning
        When more than 200 numbers of features are to be tried and `grid` is not given.

    References
    ----------
    .. [1] Teisseyre, P. (2016). Feature ranking for multi-label classification using Markov
       networks. *Neurocomputing*. arXiv:1602.07464.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> sel = im.select_features(data.labels, data.features, random_state=0)
    >>> sel.selected[0], len(sel.selected) <= 20
    ('age', True)
    >>> sel.path.columns.tolist()
    ['method', 'size', 'score', 'score_se', 'difference', 'subset', 'hamming', 'jaccard']

    What to measure besides age and sex, which are known anyway:

    >>> known = data.features[["age", "female"]]
    >>> others = data.features.drop(columns=["age", "female"])
    >>> sel = im.select_features(data.labels, others, covariates=known, alpha=0.05)
    >>> sel.selected[:2]
    ('bmi', 'hay_fever')
    >>> sel.predict(others.head(2), known.head(2)).shape
    (2, 6)

    Terms of a formula, each with all its columns:

    >>> frame = data.labels.join(data.features)
    >>> model = im.IsingModel.from_formula(
    ...     "hypertension + diabetes + asthma ~ bs(age, df=4) + bmi + C(smoker)", frame
    ... )
    >>> sel = im.select_features(model, unit="term", alpha=0.05)
    >>> sel.selected, len(sel.columns)
    (('bs(age, df=4)', 'bmi', 'C(smoker)'), 6)
    """
    if not callable(metric):
        check_option("metric", metric, tuple(MEASURES))
    check_option("adjust", adjust, (None, *ADJUSTMENTS))
    check_option("rule", rule, RULES)
    if rule == "one-se" and metric not in METRICS:
        raise exc.DataError(
            f"rule='one-se' needs a standard error over rows, which {exc.shorten(METRICS)} have, "
            f"but metric is {metric!r}. Leave one of them out."
        )
    check_option("unit", unit, UNITS)
    n_jobs = check_jobs(n_jobs)
    share = _VALIDATION if validation is None else validation
    share = check_number("validation", share, above=0, below=1)
    if ranking is not None and neighbors is not None:
        raise exc.DataError(
            "neighbors are for rankings that are made here, but ranking is given. Leave one out."
        )
    if alpha is not None:
        _check_no_validation(
            cv=cv,
            split=split,
            rule=rule,
            grid=grid,
            max_features=max_features,
            validation=validation,
        )
    has_covariates = covariates is not None
    if method is None:
        method = default_method(alpha=alpha, neighbors=neighbors, cov_type=cov_type)
    asked = (
        {}
        if ranking is not None
        else _read_methods(method, alpha, neighbors, unit, has_covariates=has_covariates)
    )
    estimator = VaryingLabels(make_classifier(classifier, metric))
    passed = {
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
    model = given_model(labels, intercept=intercept, **passed)
    if model is None:
        data = scale_rows(prepare(labels, **passed))
    else:
        data, intercept = model._rows("select_features"), model.intercept
    clusters = data.context.sampled(GROUPS)
    is_weighted = data.context.sampled(SAMPLING_WEIGHTS) is not None
    if data.features is None:
        raise exc.ModelError(exc.NO_FEATURES)
    if not vary(data.labels).any():
        raise exc.DataError(
            exc.NO_LABEL_VARIES.format(n_labels=len(data.label_names), n_rows=data.n_rows)
        )
    terms = _terms_of(data, unit)
    given = {} if ranking is None else {_check_ranking(ranking, data, terms, unit).method: ranking}
    sizes = _sizes(len(terms), max_features, grid)
    if alpha is None:
        is_auto = ranking is None and (method if isinstance(method, str) else [*method]) in _AUTO
        if is_auto and cv is None and validation is None:
            n_units = data.n_rows if clusters is None else len(np.unique(clusters))
            cv = min(_AUTO_FOLDS, n_units)
        pairs = make_folds(
            data,
            validation=share,
            cv=cv,
            split=split,
            groups=clusters,
            random_state=random_state,
        )
        if grid is None and len(sizes) > _MANY_SIZES:
            exc.warn(_many_sizes(len(sizes), max(len(asked), 1)), exc.DataWarning)
        how = cov_type
        if cov_type is None and clusters is not None:
            how = "HC0" if is_weighted else "nonrobust"
        enough = _pick_enough(asked, int(sizes[-1]))
        folds = []
        for rows, others in pairs:
            training = data.take_rows(rows)
            rankings = given or _rank(training, enough, intercept, how, unit, where=_TRAINING)
            folds.append(Fold(training, data.take_rows(others), rankings))
        tried = try_sizes(folds, data.context, terms, sizes, estimator, metric, n_jobs)
        path = tried.path
        name, size = choose_cautiously(tried, rule) if is_auto else choose(path, rule)
        found = folds[0].rankings[name]
        if len(folds) > 1 and not given:
            found = _rank(data, {name: enough[name]}, intercept, how, unit)[name]
        selected = found.order[:size]
        is_chosen = (path["method"] == name) & (path["size"] == size)
        difference = path["score"] - float(path.loc[is_chosen, "score"].iloc[0])
        path.insert(4, "difference", difference)
        n_train, n_validation = len(pairs[0][0]), sum(len(others) for _, others in pairs)
    else:
        ((name, found),) = (
            given or _rank(data, asked, intercept, cov_type, unit, tests=True)
        ).items()
        path = ResultTable(columns=["method", "size", "score", "score_se", "difference", *METRICS])
        selected = found.select(alpha, adjust)
        if not selected:
            raise exc.ModelError(_why_none(found, alpha, adjust))
        pairs = []
        n_train, n_validation = data.n_rows, 0
    chosen = data.take_features(find_columns(data, terms, selected))
    columns = join_columns(data.context.columns, chosen.features)
    fitted = estimator.fit(columns, chosen.labels, chosen.weights)
    return SelectionResult(
        selected=selected,
        method=name,
        classifier=fitted,
        ranking=found,
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", "metric"),
        attempts=path,
        n_train=n_train,
        n_validation=n_validation,
        n_folds=len(pairs),
        label_names=data.label_names,
        feature_names=data.feature_names,
        terms=terms,
        context=data.context.without_rows(),
        recipe=data.recipe,
    )


def _check_no_validation(**given: Any) -> None:
    """See that nothing is said about validation, where p-values choose."""
    known = inspect.signature(select_features).parameters
    defaults = {name: known[name].default for name in given}
    idle = [
        name
        for name, value in given.items()
        if (value is not None if defaults[name] is None else value != defaults[name])
    ]
    if idle:
        raise exc.DataError(
            "alpha chooses features by p-values of all rows, without validation: leave "
            f"{exc.shorten(idle)} or alpha out."
        )


def _terms_of(data: ModelData, unit: str) -> dict[str, tuple[str, ...]]:
    """Name what is chosen from, and the columns of each: formula terms, or single columns."""
    if unit == "term" and data.terms:
        return dict(data.terms)
    return {name: (name,) for name in data.feature_names}


def _read_methods(
    method: str | Sequence[Any],
    alpha: float | None,
    neighbors: Any,
    unit: str,
    *,
    has_covariates: bool,
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Read which rankings are to be tried, by name, and see that each of them exists."""
    is_one = isinstance(method, str) or (len(method) == 2 and isinstance(method[1], Mapping))
    asked: dict[str, tuple[str, Mapping[str, Any]]] = {}
    everywhere = {} if neighbors is None else {"neighbors": neighbors}
    graphs: list[Any] = []
    for entry in [method] if is_one else method:
        is_auto = isinstance(entry, str) and entry == "auto"
        for name, own in AUTO if is_auto else [_read_entry(entry)]:
            options = {**everywhere, **own}
            others = dict(options)
            label_models = {key: others.pop(key) for key in _LABEL_MODELS if key in others}
            check_request(name, others, unit=unit, **label_models, has_covariates=has_covariates)
            said = {**options, **_say_neighbors(options, graphs)}
            given = ", ".join(f"{option}={value}" for option, value in said.items())
            title = f"{name} ({given})" if given else name
            if title in asked:
                raise exc.DataError(
                    "method must not hold the same ranking twice with the same options, but "
                    f"{title!r} comes again. Leave one of them out."
                )
            asked[title] = name, options
    if not asked:
        raise exc.DataError("method must name at least one ranking, but is an empty list.")
    if alpha is not None and len(asked) > 1:
        raise exc.DataError(
            "alpha chooses features by the p-values of one ranking, but method names "
            f"{len(asked)}. Name one, or leave alpha out to let a validation set choose."
        )
    return asked


def _say_neighbors(options: Mapping[str, Any], graphs: list[Any]) -> dict[str, str]:
    """Return the numbers by which graphs among the options are called."""
    graph = options.get("neighbors")
    if graph is None or isinstance(graph, int | str | np.integer):
        return {}
    known = [at for at, other in enumerate(graphs) if other is graph]
    if not known:
        graphs.append(graph)
    return {"neighbors": f"graph {known[0] + 1 if known else len(graphs)}"}


def _read_entry(entry: Any) -> tuple[str, Mapping[str, Any]]:
    """Read a method, with or without options."""
    if isinstance(entry, str):
        return entry, {}
    if not (isinstance(entry, Sequence) and len(entry) == 2 and isinstance(entry[1], Mapping)):
        raise exc.DataError(
            "method must hold names of rankings or pairs such as ('score', {'penalty': 2.0}), but "
            f"one entry is {entry!r}."
        )
    return entry[0], entry[1]


def _check_ranking(
    ranking: Any, data: ModelData, terms: Mapping[str, tuple[str, ...]], unit: str
) -> FeatureRanking:
    """See that a ranking is of the features at hand, or of their terms."""
    if not isinstance(ranking, FeatureRanking):
        raise exc.DataError(
            f"ranking must be a FeatureRanking, but is of type {type(ranking).__name__}. Make "
            "one with isingmlc.rank_features."
        )
    if ranking.feature_names != tuple(terms):
        raise exc.DataError(
            f"ranking must be of the {unit}s that are passed, in their order, but it has "
            f"{len(ranking.feature_names)} {unit}s ({exc.shorten(ranking.feature_names)}) and "
            f"there are {len(terms)} ({exc.shorten(terms)})."
        )
    varying = data.context.select(data.context.find_varying(anywhere=True))
    if set(ranking.adjusted_for) != set(varying.described):
        raise exc.DataError(
            "ranking must be given the covariates that are passed, but is given "
            f"{exc.shorten(ranking.adjusted_for) or 'none'}, and passed are "
            f"{exc.shorten(varying.described) or 'none'}."
        )
    return ranking


def _sizes(
    available: int, max_features: int | float | None, grid: int | Sequence[int] | None
) -> IntArray:
    """Return the numbers of features to try."""
    if max_features is None:
        most = min(available, max(_AT_LEAST, check_size("max_features", _SHARE, available)))
    else:
        most = check_size("max_features", max_features, available)
    if grid is None:
        return np.arange(1, most + 1)
    if isinstance(grid, Sequence | np.ndarray):
        sizes = np.unique([check_count("grid", size, 1) for size in grid])
        if not len(sizes) or sizes[-1] > most:
            raise exc.DataError(
                f"grid must hold numbers of features from 1 to max_features, here {most}, but is "
                f"{list(grid)}."
            )
        return sizes
    count = check_count("grid", grid, 1)
    spread = np.geomspace(1, most, count) if count > 1 else np.array([most])
    return np.unique(spread.round().astype(np.intp))


def _many_sizes(n_sizes: int, n_rankings: int) -> str:
    """Say that there is much to try, and how to try less."""
    rankings = f" for each of {n_rankings} rankings" if n_rankings > 1 else ""
    return (
        f"{n_sizes} numbers of features are to be tried{rankings}, with a classifier fitted for "
        "each, which may take long. grid=40 tries at most 40 of them, spread evenly on a "
        "logarithmic scale."
    )


def _pick_enough(
    asked: Mapping[str, tuple[str, Mapping[str, Any]]], most: int
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Let rankings that pick features one after the other pick as many as are tried."""
    return {
        title: (name, {"n_features": most, **options})
        if most > N_FEATURES and "n_features" in RANKING_METHODS[name].defaults
        else (name, options)
        for title, (name, options) in asked.items()
    }


def _rank(
    data: ModelData,
    asked: Mapping[str, tuple[str, Mapping[str, Any]]],
    intercept: bool,
    cov_type: str | None,
    unit: str,
    *,
    tests: bool = False,
    where: str = "every row",
) -> dict[str, FeatureRanking]:
    """Rank the features by each method, for p-values if it `tests`; `where` names the rows."""
    model = IsingModel._from_rows(data, intercept, tests=tests, where=where)
    ranker = Ranker(model, cov_type, tests=tests)
    return {
        name: ranker.rank(method, unit=unit, **options) for name, (method, options) in asked.items()
    }


def _why_none(ranking: FeatureRanking, alpha: float, adjust: str | None) -> str:
    """Say why p-values choose no feature."""
    adjusted = ranking.adjusted_pvalues(adjust)
    if adjusted.isna().all():
        return (
            "no feature could be tested, so none has a p-value: "
            f"{exc.shorten(ranking.label_reasons.unique())} are the reasons of the labels. Try "
            "method=('score', {'penalty': 1.0}), which tests labels that others determine."
        )
    return (
        f"no feature has an adjusted p-value up to alpha={alpha:g}; the smallest is "
        f"{adjusted.min():.3g}. Raise alpha, or leave it out to choose on a validation set."
    )
