"""From a ranking to a subset of features: chosen on a validation set, or by p-values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import (
    RandomState,
    check_count,
    check_jobs,
    check_number,
    check_option,
    check_size,
    make_generator,
)
from isingmlc.base.arrays import BoolArray, Features, IntArray, dense
from isingmlc.base.readonly import table
from isingmlc.inference.pvalues import METHODS as ADJUSTMENTS
from isingmlc.input.rows import ModelData, prepare, prepare_features, prepare_labels
from isingmlc.input.tables import Dataset, check_same_rows, open_dataset
from isingmlc.metrics import METRICS, evaluate
from isingmlc.model import IsingModel
from isingmlc.ranking.methods import Ranker, check_request
from isingmlc.results.ranking import FeatureRanking
from isingmlc.selection.classifiers import VaryingLabels, logistic_chain, vary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from isingmlc.base.printing import IsingSummary

# Conditional and marginal relevance differ from one data set to the next: these four rankings
# cover both, and the validation set chooses among them.
AUTO: tuple[tuple[str, dict[str, Any]], ...] = (
    ("score", {}),
    ("score", {"null": "ridge"}),
    ("interaction", {}),
    ("score+l1", {}),
)
# Chosen columns up to this many bytes are made dense: chains work much faster on them.
_DENSE_BYTES = 2**28
# More numbers of features than this take long to try, unless rows are few.
_MANY_SIZES = 200


@dataclass(frozen=True, eq=False, repr=False)
class SelectionResult:
    """A chosen subset of features and the classifier that uses it.

    Attributes
    ----------
    features : tuple of str
        The chosen features, best first.
    method : str
        The ranking that they are the first of.
    classifier : estimator
        Fitted to all rows, on the chosen columns in the order of `features`.
    ranking : FeatureRanking
        The ranking; of the training part, where a validation set chose.
    metric : str
        What was maximised on the validation set.
    attempts : DataFrame
        What was tried; `path` hands it out.
    n_train, n_validation : int
        Rows of the two parts; no row for validation where p-values chose.
    label_names, feature_names : tuple of str
        Names of all labels and features.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> sel = im.select_features(data.labels, data.features, random_state=0)
    >>> sel.features[:2]
    ('age', 'bmi')
    >>> sel.evaluate(data.labels, data.features).index.tolist()
    ['subset', 'hamming', 'jaccard']
    """

    features: tuple[str, ...]
    method: str
    classifier: VaryingLabels
    ranking: FeatureRanking
    metric: str
    attempts: pd.DataFrame
    n_train: int
    n_validation: int
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"SelectionResult({len(self.features)} of {len(self.feature_names)} features by "
            f"{self.method}: {exc.shorten(self.features)})"
        )

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    @table
    def path(self) -> pd.DataFrame:
        """What was tried on the validation set, a row a ranking and size.

        Columns method, size, score (the measure that was maximised) and all measures. Empty where
        p-values chose.
        """
        return self.attempts

    @property
    def score(self) -> float:
        """Score of the chosen subset on the validation set; NaN where p-values chose."""
        path = self.attempts
        chosen = path[(path["method"] == self.method) & (path["size"] == len(self.features))]
        return float(chosen["score"].iloc[0]) if len(chosen) else float("nan")

    def predict(self, features: Any) -> pd.DataFrame:
        """Predict the labels of other rows.

        Parameters
        ----------
        features : array_like, DataFrame or sparse, or Dataset
            A frame with the chosen features among its columns, or all features in the order of
            the data that the choice was made on.

        Returns
        -------
        DataFrame, rows × labels
            Labels, 0 or 1.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, alpha=0.05)
        >>> sel.predict(data.features.head(2)).shape
        (2, 6)
        """
        if isinstance(features, Dataset):
            features = features.features
        rows, index = prepare_features(features, self.feature_names, self.features)
        predicted = self.classifier.predict(_compact(rows))
        return pd.DataFrame(predicted, index, pd.Index(self.label_names, name="label"))

    def evaluate(
        self, labels: Any, features: Any = None, *, zero_division: float = 0.0
    ) -> pd.Series:
        """Measure the predictions on other rows.

        Parameters
        ----------
        labels : array_like, DataFrame or sparse, or Dataset
            The true labels. A `Dataset` brings its features along.
        features : array_like, DataFrame or sparse
            As `predict` takes them.
        zero_division : {0.0, 1.0}
            Jaccard score of a row with no label, truly and by prediction.

        Returns
        -------
        Series
            Entries subset, hamming and jaccard.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, alpha=0.05)
        >>> sel.evaluate(data)["hamming"] > 0.7
        np.True_
        """
        labels, features, _ = open_dataset(labels, features, None)
        predicted = self.predict(features).to_numpy()
        truth = prepare_labels(labels, self.label_names)
        # Rows of two frames belong together by their indexes.
        are_frames = isinstance(labels, pd.DataFrame) and isinstance(features, pd.DataFrame)
        known, found = (labels, features) if are_frames else (truth, predicted)
        check_same_rows("labels", known, "features", found)
        return evaluate(truth, predicted, zero_division=zero_division)

    def summary(self, top: int = 20) -> IsingSummary:
        """Summarise the choice.

        Parameters
        ----------
        top : int
            How many of the chosen features to list.

        Returns
        -------
        IsingSummary
            A statsmodels summary.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, alpha=0.05)
        >>> print(sel.summary().as_text().splitlines()[0].strip())
        Feature Selection
        """
        from isingmlc.summaries import summarize_selection

        return summarize_selection(self, top)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw how good subsets of each size were on the validation set.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure if omitted.

        Returns
        -------
        Axes
            The picture: one curve per measure, or, where several rankings were tried, the measure
            that was maximised with one curve per ranking.

        Raises
        ------
        ModelError
            When p-values chose, so that no sizes were tried.

        Examples
        --------
        >>> import isingmlc as im
        >>> data = im.datasets.load_example()
        >>> sel = im.select_features(data.labels, data.features, random_state=0)
        >>> sel.plot().get_xlabel()
        'number of features'
        """
        from isingmlc.plots.selection import plot_result

        return plot_result(self, ax)


@dataclass(frozen=True)
class _Candidate:
    """A ranking to be tried: its name in the tables, its method and options."""

    name: str
    method: str
    options: Mapping[str, Any]


def select_features(
    labels: Any,
    features: Any = None,
    method: str | Sequence[Any] = "score",
    *,
    ranking: FeatureRanking | None = None,
    alpha: float | None = None,
    adjust: str | None = "fdr_bh",
    max_features: int | float = 0.2,
    grid: int | Sequence[int] | None = None,
    validation: float = 0.3,
    metric: str = "subset",
    classifier: Any = None,
    missing: str = "raise",
    label_names: Sequence[object] | None = None,
    feature_names: Sequence[object] | None = None,
    random_state: RandomState = None,
    n_jobs: int = 1,
) -> SelectionResult:
    """Choose a subset of features and fit a multi-label classifier on it.

    Rows are split into two parts. Features are ranked on the first, a classifier is trained there
    on the first 1, 2, … features of the ranking, and the number of features with the best score
    on the second part is kept (the smaller, where two are equal). The classifier is then fitted
    again on these features with all rows. With `alpha` there is no split: features are chosen by
    the p-values of a ranking of all rows.

    Parameters
    ----------
    labels, features, missing, label_names, feature_names
        As `IsingModel` takes them.
    method : str, pair, list or "auto"
        The ranking; see `rank_features`. A pair gives its options, such as
        ``("score", {"null": "ridge"})``. A list of names and pairs tries several rankings and
        lets the validation set choose among them too. ``"auto"`` tries ``score``, ``score`` with a
        ridge null, ``interaction`` and ``score+l1``.
    ranking : FeatureRanking, optional
        A ranking to use instead of making one. It should not know the validation rows.
    alpha : float, optional
        Choose features whose adjusted p-value is at most this.
    adjust : str
        How p-values are adjusted, any method of statsmodels' ``multipletests``; the default makes
        `alpha` the false-discovery rate.
    max_features : int or float
        The most features to try: a number, or a share in (0, 1] of them all.
    grid : int or sequence of int, optional
        Which numbers of features to try: so many of them, spread evenly on a logarithmic scale, or
        the given ones. All up to `max_features` where not given.
    validation : float
        Share of the rows that is kept for validation, in (0, 1).
    metric : {"subset", "hamming", "jaccard"}
        What is maximised on the validation rows.
    classifier : estimator, optional
        Any multi-label classifier of scikit-learn's kind; a chain of logistic regressions where
        not given. A label that is constant in the training rows is predicted as its constant.
    random_state : int, Generator or None
        Source of the split.
    n_jobs : int
        Processes to use; −1 for one a core.

    Returns
    -------
    SelectionResult
        The features, what was tried, and the classifier.

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
    >>> len(sel.features) <= 6
    True
    >>> sel.path.columns.tolist()
    ['method', 'size', 'score', 'subset', 'hamming', 'jaccard']
    """
    check_option("metric", metric, tuple(METRICS))
    check_option("adjust", adjust, (None, *ADJUSTMENTS))
    n_jobs = check_jobs(n_jobs)
    share = check_number("validation", validation, above=0, below=1)
    candidates = _candidates(method, ranking, alpha)
    estimator = VaryingLabels(_check_classifier(classifier))
    labels, features, feature_names = open_dataset(labels, features, feature_names)
    data = prepare(
        labels,
        features,
        missing=missing,
        label_names=label_names,
        feature_names=feature_names,
    )
    if data.features is None:
        raise exc.ModelError(exc.NO_FEATURES)
    if not vary(data.labels).any():
        raise exc.DataError(
            exc.NO_LABEL_VARIES.format(n_labels=len(data.label_names), n_rows=data.n_rows)
        )
    if ranking is not None and ranking.feature_names != data.feature_names:
        raise exc.DataError(
            "ranking must be of the features that are passed, in their order, but it has "
            f"{len(ranking.feature_names)} features ({exc.shorten(ranking.feature_names)}) and there "
            f"are {len(data.feature_names)} ({exc.shorten(data.feature_names)})."
        )
    sizes = _sizes(len(data.feature_names), max_features, grid)
    all_rows = np.arange(data.n_rows)
    if alpha is not None:
        found = ranking or _rank(data, all_rows, candidates)[0]
        path = pd.DataFrame(columns=["method", "size", "score", *METRICS])
        chosen = found.select(alpha, adjust)
        if not chosen:
            raise exc.ModelError(_why_none(found, alpha, adjust))
        name, parts = candidates[0].name, (all_rows, all_rows[:0])
    else:
        parts = _split(data, share, random_state)
        if grid is None and len(sizes) > _MANY_SIZES:
            exc.warn(_many_sizes(len(sizes), len(candidates)), exc.DataWarning)
        rankings = [ranking] if ranking is not None else _rank(data, parts[0], candidates)
        path = _try_sizes(data, parts, candidates, rankings, sizes, estimator, metric, n_jobs)
        # Rows are in the order of methods and sizes, but among equal scores the smaller size wins.
        best = path.sort_values(["score", "size"], ascending=[False, True], kind="stable").iloc[0]
        name = str(best["method"])
        found = rankings[[candidate.name for candidate in candidates].index(name)]
        chosen = found.order[: int(best["size"])]
    places = _places(chosen, data.feature_names)
    estimator.fit(_compact(data.features[:, places]), data.labels)
    return SelectionResult(
        tuple(chosen),
        name,
        estimator,
        found,
        metric,
        path,
        len(parts[0]),
        len(parts[1]),
        data.label_names,
        data.feature_names,
    )


def _candidates(
    method: str | Sequence[Any], ranking: FeatureRanking | None, alpha: float | None
) -> list[_Candidate]:
    """Read which rankings are to be tried, and see that each of them exists."""
    if ranking is not None:
        if not isinstance(ranking, FeatureRanking):
            raise exc.DataError(
                f"ranking must be a FeatureRanking, but is of type {type(ranking).__name__}. Make "
                "one with isingmlc.rank_features."
            )
        return [_Candidate(ranking.method, ranking.method, {})]
    is_one = isinstance(method, str) or (len(method) == 2 and isinstance(method[1], Mapping))
    candidates: list[_Candidate] = []
    for entry in [method] if is_one else method:
        for name, options in AUTO if entry == "auto" else [_read_entry(entry)]:
            asked = {"null": "mle", "alpha": None, **options}
            check_request(name, asked.pop("null"), asked.pop("alpha"), asked)
            given = ", ".join(f"{option}={value}" for option, value in options.items())
            candidates.append(_Candidate(f"{name} ({given})" if given else name, name, options))
    if not candidates:
        raise exc.DataError("method must name at least one ranking, but is an empty list.")
    if len({candidate.name for candidate in candidates}) < len(candidates):
        raise exc.DataError("method must not hold the same ranking twice with the same options.")
    if alpha is not None and len(candidates) > 1:
        raise exc.DataError(
            "alpha chooses features by the p-values of one ranking, but method names "
            f"{len(candidates)}. Name one, or leave alpha out to let a validation set choose."
        )
    return candidates


def _read_entry(entry: Any) -> tuple[str, Mapping[str, Any]]:
    """Read a method, with or without options."""
    if isinstance(entry, str):
        return entry, {}
    if not (isinstance(entry, Sequence) and len(entry) == 2 and isinstance(entry[1], Mapping)):
        raise exc.DataError(
            "method must hold names of rankings or pairs such as ('score', {'null': 'ridge'}), but "
            f"one entry is {entry!r}."
        )
    return entry[0], entry[1]


def _check_classifier(classifier: Any) -> Any:
    """Give the classifier to use, or say that it is none."""
    if classifier is None:
        return logistic_chain()
    if isinstance(classifier, type) or not all(
        hasattr(classifier, name) for name in ("fit", "predict", "get_params")
    ):
        raise exc.DataError(
            "classifier must be a multi-label estimator of scikit-learn's kind, not fitted yet, "
            f"but is {classifier!r}. Pass e.g. ClassifierChain(LogisticRegression())."
        )
    return classifier


def _sizes(available: int, max_features: int | float, grid: int | Sequence[int] | None) -> IntArray:
    """Give the numbers of features to try."""
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


def _split(data: ModelData, share: float, random_state: RandomState) -> tuple[IntArray, IntArray]:
    """Split the rows for training and validation."""
    n_validation = round(share * data.n_rows)
    if not 0 < n_validation < data.n_rows - 1:
        raise exc.DataError(
            f"validation={share:g} leaves {data.n_rows - n_validation} of {data.n_rows} rows to "
            f"train and {n_validation} to validate: both parts need some. Change validation, or "
            "give more rows."
        )
    order = make_generator(random_state).permutation(data.n_rows)
    training = np.sort(order[n_validation:])
    if not vary(data.labels[training]).any():
        raise exc.DataError(
            f"no label varies among the {len(training)} rows for training, so there is nothing to "
            "learn. Give more rows, another random_state or a smaller share for validation."
        )
    return training, np.sort(order[:n_validation])


def _rank(
    data: ModelData, rows: IntArray, candidates: Sequence[_Candidate]
) -> list[FeatureRanking]:
    """Rank the features on some of the rows, by each candidate."""
    assert data.features is not None
    model = IsingModel(
        data.labels[rows],
        data.features[rows],
        label_names=data.label_names,
        feature_names=data.feature_names,
    )
    ranker = Ranker(model)
    return [ranker.rank(candidate.method, **candidate.options) for candidate in candidates]


def _try_sizes(
    data: ModelData,
    parts: tuple[IntArray, IntArray],
    candidates: Sequence[_Candidate],
    rankings: Sequence[FeatureRanking],
    sizes: IntArray,
    estimator: VaryingLabels,
    metric: str,
    n_jobs: int,
) -> pd.DataFrame:
    """Train on the first features of each ranking and measure on the validation rows."""
    assert data.features is not None
    rows = [data.features[part] for part in parts]
    truth = [data.labels[part] for part in parts]
    tasks = [
        (candidate.name, int(size), _places(ranking.order[:size], data.feature_names))
        for candidate, ranking in zip(candidates, rankings, strict=True)
        for size in sizes
    ]
    jobs = (
        joblib.delayed(_measure)(estimator, *(_compact(part[:, places]) for part in rows), *truth)
        for _, _, places in tasks
    )
    measured = tqdm(
        joblib.Parallel(n_jobs=n_jobs, return_as="generator")(jobs),
        desc="selecting features",
        total=len(tasks),
        disable=None,
    )
    path = pd.DataFrame(list(measured)).reset_index(drop=True)
    path.insert(0, "method", [name for name, _, _ in tasks])
    path.insert(1, "size", [size for _, size, _ in tasks])
    path.insert(2, "score", path[metric])
    return path


def _measure(
    estimator: VaryingLabels,
    training: Features,
    validation: Features,
    labels: BoolArray,
    truth: BoolArray,
) -> pd.Series:
    # The problems are small: threads would wait for each other most of the time.
    with threadpool_limits(limits=1):
        return evaluate(truth, estimator.fit(training, labels).predict(validation))


def _places(chosen: Sequence[str], names: tuple[str, ...]) -> IntArray:
    place = {name: at for at, name in enumerate(names)}
    return np.array([place[name] for name in chosen], dtype=np.intp)


def _compact(columns: Features) -> Any:
    """Make columns dense where that is not too large."""
    return dense(columns) if columns.shape[0] * columns.shape[1] * 8 <= _DENSE_BYTES else columns


def _why_none(ranking: FeatureRanking, alpha: float, adjust: str | None) -> str:
    """Say why p-values choose no feature."""
    adjusted = ranking.adjusted_pvalues(adjust)
    if adjusted.isna().all():
        return (
            "no feature could be tested, so none has a p-value: "
            f"{exc.shorten(ranking.label_reasons.unique())} are the reasons of the labels. Try "
            "method=('score', {'null': 'ridge'}), which tests labels that others determine."
        )
    return (
        f"no feature has an adjusted p-value up to alpha={alpha:g}; the smallest is "
        f"{adjusted.min():.3g}. Raise alpha, or leave it out to choose on a validation set."
    )
