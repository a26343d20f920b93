r"""Conventional filters: chi-square, information gain and OneR, label by label or by labelset.

*Binary relevance* looks at each label by itself and combines what a feature has for each of them;
the *label powerset* makes one class of the whole label vector. Neither knows of dependences
between labels. They are what the package's own rankings are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from isingmlc import exceptions as exc
from isingmlc.base.arguments import (
    RandomState,
    check_count,
    check_jobs,
    check_option,
    make_generator,
)
from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray, chunks, dense
from isingmlc.fitting.testable import judge_counts, judge_features
from isingmlc.input.rows import ModelData
from isingmlc.ranking.contingency import (
    MEASURES,
    Classes,
    Piece,
    Tables,
    as_columns,
    cut_into_pieces,
    finish_scores,
    label_cells,
    score_tables,
    tabulate,
)
from isingmlc.ranking.discretize import (
    LabelRuns,
    bucket_intervals,
    mdl_bins,
    mdl_intervals,
    quantile_bins,
)
from isingmlc.results.ranking import FeatureScores
from isingmlc.statistics.sums import find_labelsets

_Score: TypeAlias = Callable[[Tables], FloatArray]

COMBINE = ("sum", "max", "mean")
DISCRETIZE = ("mdl", "quantile", "none")
ESTIMATORS = ("plugin", "knn")
# Features with at most so many distinct values are categories already.
FEW_VALUES = 10
# More distinct values than this are no categories.
MOST_CATEGORIES = 256

TOO_MANY_VALUES = (
    "discretize='none' makes each distinct value a category, but feature(s) {names} have more than "
    "{most} of them. Use discretize='mdl' or discretize='quantile'."
)
NO_CUTS = (
    "No feature has a cut, so the ranking is the order of the columns: use discretize='quantile'."
)


def br_filter(
    data: ModelData,
    criterion: str = "chi2",
    *,
    combine: str = "sum",
    discretize: str = "mdl",
    n_bins: int = 5,
    estimator: str = "plugin",
    n_neighbors: int = 3,
    random_state: RandomState = None,
    n_jobs: int = 1,
) -> FeatureScores:
    r"""Score each feature for each label by itself, and combine the scores.

    Parameters
    ----------
    data : ModelData
        The rows.
    criterion : {"chi2", "ig"}
        Pearson's chi-square of the contingency table of feature and label, without continuity
        correction; or their mutual information ("information gain") in nats.
    combine : {"sum", "max", "mean"}
        How the scores of a feature for the labels make its importance.
    discretize : {"mdl", "quantile", "none"}
        What makes categories of features with many values: minimum description length, for each
        pair of feature and label anew; `n_bins` intervals of about equally many rows; or nothing,
        so that each distinct value is a category. Features with at most ten distinct values are
        categories already and taken as they are.
    n_bins : int
        Intervals, with ``discretize="quantile"``.
    estimator : {"plugin", "knn"}
        How information gain is estimated: from the contingency table, or by nearest neighbours
        (scikit-learn's `mutual_info_classif`), which needs no discretisation.
    n_neighbors : int
        Neighbours, with ``estimator="knn"``.
    random_state : int, Generator or None
        Source of the tiny noise by which ``estimator="knn"`` breaks ties.
    n_jobs : int
        Threads to use, or processes with ``estimator="knn"``; −1 for one per core.

    Returns
    -------
    FeatureScores
        Scores of features and labels as contributions, and importances.

    Raises
    ------
    DataError
        For options that do not exist, ``discretize="none"`` with continuous features,
        ``estimator="knn"`` with weights or chi-squares.

    Notes
    -----
    Weights count rows as often as they say. There are no p-values: intervals that were chosen by
    looking at the label make large chi-squares also if there is no effect. A feature in which
    minimum description length finds no cut has one category, and scores 0; on weak effects that
    may be nearly all of them, and their order says nothing.

    Weka puts every numeric feature through minimum description length, so that a 0/1 feature may
    lose its two values there; here it keeps them. Its ``ChiSquaredAttributeEval`` also counts a cut
    as cheaper where values are tied (``useBetterEncoding``), so that it may cut such features more
    often.

    References
    ----------
    .. [1] Trohidis, K., Tsoumakas, G., Kalliris, G. and Vlahavas, I. (2008). Multi-label
       classification of music into emotions. *Proc. ISMIR*, 325–330.
    .. [2] Fayyad, U. M. and Irani, K. B. (1993). Multi-interval discretization of
       continuous-valued attributes for classification learning. *Proc. 13th Int. Joint Conf. on
       Artificial Intelligence*, 1022–1027.
    .. [3] Ross, B. C. (2014). Mutual information between discrete and continuous data sets.
       *PLoS ONE* 9(2), e87357.

    Examples
    --------
    >>> from isingmlc.input.rows import prepare
    >>> data = prepare([[0, 0], [0, 1], [1, 0], [1, 1]], [[0, 5], [0, 5], [1, 5], [1, 5]])
    >>> scores = br_filter(data)
    >>> scores.contributions, scores.feature_reason
    (array([[4., 0.],
           [0., 0.]]), array(['ok', 'constant-feature'], dtype=object))
    """
    check_option("combine", combine, COMBINE)
    settings = _Settings(criterion, discretize, n_bins, estimator, n_neighbors, n_jobs)
    settings.check(data.weights)
    generator = make_generator(random_state)
    features, labels, varies = _open(data)
    used = labels[:, varies]
    if estimator == "knn":
        classes = list(used.T.astype(np.intp))
        found = _score_by_neighbours(features, classes, settings, generator)
    else:
        found = _score_by_tables(features, Classes.of_labels(used, data.weights), settings)
    settings.check_categories(found.n_values, data.feature_names)
    return _summarise(found, varies, combine, settings.notes(found, "each label"))


def lp_filter(
    data: ModelData,
    criterion: str = "chi2",
    *,
    min_count: int = 1,
    discretize: str = "mdl",
    n_bins: int = 5,
    estimator: str = "plugin",
    n_neighbors: int = 3,
    random_state: RandomState = None,
    n_jobs: int = 1,
) -> FeatureScores:
    r"""Score each feature for the labelset: each distinct label vector is a class.

    Parameters
    ----------
    data : ModelData
        The rows.
    criterion : {"chi2", "ig"}
        Pearson's chi-square of the contingency table of feature and labelset; or their mutual
        information ("information gain") in nats.
    min_count : int
        Rows whose labelset is rarer than this are left out [1]_; 1 keeps all.
    discretize : {"mdl", "quantile", "none"}
        As for `br_filter`; minimum description length takes the labelset as the class.
    n_bins, estimator, n_neighbors, random_state, n_jobs
        As for `br_filter`.

    Returns
    -------
    FeatureScores
        Scores as contributions of one "label", and as importances.

    Raises
    ------
    DataError
        As for `br_filter`; and if fewer than two labelsets have `min_count` rows.

    Notes
    -----
    There are no p-values: labelsets are many and mostly rare, so the large-sample distribution of
    these statistics does not hold.

    References
    ----------
    .. [1] Read, J. (2008). A pruned problem transformation method for multi-label classification.
       *Proc. NZ Computer Science Research Student Conference*, 143–150.
    .. [2] Doquire, G. and Verleysen, M. (2013). Mutual information-based feature selection for
       multilabel classification. *Neurocomputing* 122, 148–155.

    Examples
    --------
    >>> from isingmlc.input.rows import prepare
    >>> data = prepare([[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [0]])
    >>> lp_filter(data, "ig").importance.round(4), br_filter(data, "ig").importance
    (array([0.6931]), array([0.]))
    """
    least = check_count("min_count", min_count, 1)
    settings = _Settings(criterion, discretize, n_bins, estimator, n_neighbors, n_jobs)
    settings.check(data.weights)
    generator = make_generator(random_state)
    features: Features = data.features
    weights = data.weights
    codes = find_labelsets(data.packed_labels, len(data.label_names))[1]
    counts = np.bincount(codes, weights)
    kept = counts >= least
    if kept.sum() < 2:
        raise exc.DataError(
            f"min_count={least} leaves {kept.sum()} of {len(kept)} labelsets, but two are needed. "
            f"Take at most {np.sort(counts)[-2]:g}."
        )
    notes: tuple[str, ...] = ()
    if not kept.all():
        rows = kept[codes]
        notes = (
            f"{len(rows) - rows.sum()} of {len(rows)} rows are left out: their labelsets, "
            f"{len(kept) - kept.sum()} of {len(kept)}, have fewer than {least} rows.",
        )
        features, codes = features[rows], np.cumsum(kept)[codes[rows]] - 1
        weights = None if weights is None else weights[rows]
    if estimator == "knn":
        found = _score_by_neighbours(features, [codes], settings, generator)
    else:
        found = _score_by_tables(features, Classes.of_codes(codes, weights), settings)
    settings.check_categories(found.n_values, data.feature_names)
    notes += settings.notes(found, "the labelset")
    return _summarise(found, np.ones(1, dtype=np.bool_), "sum", notes)


def one_rule(
    data: ModelData, *, combine: str = "sum", min_bucket: int = 6, n_jobs: int = 1
) -> FeatureScores:
    """Score each feature by the rule that predicts each label from it alone (OneR).

    Parameters
    ----------
    data : ModelData
        The rows.
    combine : {"sum", "max", "mean"}
        How the scores of a feature for the labels make its importance.
    min_bucket : int
        Rows of one kind that an interval of a feature wants.
    n_jobs : int
        Threads to use; −1 for one per core.

    Returns
    -------
    FeatureScores
        As contributions the share of rows that the rule gets right beyond those that guessing
        the commoner value of the label gets right; and importances.

    Raises
    ------
    DataError
        For options that do not exist.

    Notes
    -----
    Features with at most ten distinct values are categories; the rule predicts the commoner value
    of the label in each. Other features are cut into intervals as Holte did [1]_: from the
    smallest value on, an interval grows until one value of the label has `min_bucket` rows in it,
    and on while only such rows follow; rows with equal values stay together. The rule is judged
    on the rows that made it, as is Weka's ``OneRAttributeEval`` when told not to cross-validate.
    Its accuracy there is this score plus the share of the commoner value of the label.

    References
    ----------
    .. [1] Holte, R. C. (1993). Very simple classification rules perform well on most commonly used
       datasets. *Machine Learning* 11, 63–90.

    Examples
    --------
    >>> from isingmlc.input.rows import prepare
    >>> data = prepare([[0], [0], [0], [1]], [[0, 0], [0, 1], [0, 0], [1, 0]])
    >>> one_rule(data).importance
    array([0.25, 0.  ])
    """
    check_option("combine", combine, COMBINE)
    bucket = check_count("min_bucket", min_bucket, 1)
    jobs = check_jobs(n_jobs)
    features, labels, varies = _open(data)
    classes = Classes.of_labels(labels[:, varies], data.weights)
    n = classes.n

    def of_categories(tables: Tables) -> FloatArray:
        right = np.maximum(tables.counts, tables.rows[:, None] - tables.counts)
        return np.add.reduceat(right, tables.starts[:-1], axis=0)

    def of_numbers(tables: Tables) -> FloatArray:
        runs = LabelRuns.of(tables)
        buckets = bucket_intervals(runs, bucket)
        return runs.sum_up(buckets, np.maximum(*runs.count(buckets)))

    def score(tables: Tables) -> FloatArray:
        right = _score_by_kind(tables, of_categories, of_numbers)
        return np.maximum(right - np.maximum(classes.totals, n - classes.totals), 0.0) / n

    found = _score_features(features, classes, score, jobs)
    return _summarise(found, varies, combine, ())


@dataclass(frozen=True)
class _Found:
    """Scores, features × labels that vary, and how many distinct values each feature has."""

    scores: FloatArray
    n_values: IntArray


@dataclass(frozen=True)
class _Settings:
    """How features are scored; the arguments of `br_filter`."""

    criterion: str
    discretize: str
    n_bins: int
    estimator: str
    n_neighbors: int
    n_jobs: int

    def check(self, weights: FloatArray | None) -> None:
        """Raise our error for settings that do not exist or do not go together."""
        check_option("discretize", self.discretize, DISCRETIZE)
        check_option("estimator", self.estimator, ESTIMATORS)
        check_count("n_bins", self.n_bins, 2)
        check_count("n_neighbors", self.n_neighbors, 1)
        check_jobs(self.n_jobs)
        if self.estimator == "plugin":
            return
        if self.criterion != "ig":
            raise exc.DataError(
                "estimator='knn' estimates information gain, but the method has chi-squares. Use "
                "method 'br-ig' or 'lp-ig', or estimator='plugin'."
            )
        if weights is not None and (weights != 1).any():
            raise exc.DataError(
                "estimator='knn' counts neighbours, so each row must stand for one observation, "
                "but freq_weights differ from 1. Repeat the rows, or use estimator='plugin'."
            )

    def check_categories(self, n_values: IntArray, names: Sequence[str]) -> None:
        """Raise our error for features with too many values to be categories."""
        if self.estimator == "plugin" and self.discretize == "none":
            wrong = np.flatnonzero(n_values > MOST_CATEGORIES)
            if len(wrong):
                listed = exc.shorten(np.asarray(names, dtype=object)[wrong])
                raise exc.DataError(TOO_MANY_VALUES.format(names=listed, most=MOST_CATEGORIES))

    def notes(self, found: _Found, target: str) -> tuple[str, ...]:
        """Say what was done to features with many values."""
        many = found.n_values > FEW_VALUES
        if not many.any() or (self.estimator, self.discretize) == ("plugin", "none"):
            return ()
        start = f"{many.sum()} of {len(many)} features have more than {FEW_VALUES} values"
        if self.estimator == "knn":
            return (f"{start}; their information gain is estimated by nearest neighbours.",)
        if self.discretize == "quantile":
            return (f"{start} and are cut into {self.n_bins} intervals of equally many rows.",)
        uncut = many & ~found.scores.any(axis=1)
        notes = (
            f"{start} and are cut by minimum description length for {target}; "
            f"no cut is worth its description in {uncut.sum()} of them, which have importance 0.",
        )
        return (*notes, NO_CUTS) if uncut.all() else notes


def _open(data: ModelData) -> tuple[Features, BoolArray, BoolArray]:
    """Give features, labels, and which labels vary."""
    labels = data.labels
    varies: BoolArray = np.ptp(labels.view(np.uint8), axis=0) > 0
    return data.features, labels, varies


def _score_features(features: Features, classes: Classes, score: _Score, n_jobs: int) -> _Found:
    """Tabulate features, a piece at a time, and score their tables."""
    columns = as_columns(features)
    pieces = cut_into_pieces(columns, classes)

    def work(piece: Piece) -> tuple[FloatArray, IntArray]:
        tables = tabulate(columns, piece, classes)
        return score(tables), tables.n_categories

    n_columns = 1 if classes.exclusive else len(classes.totals)
    found = _Found(
        np.empty((features.shape[1], n_columns)), np.empty(features.shape[1], dtype=np.intp)
    )
    results = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")(
        delayed(work)(piece) for piece in pieces
    )
    bar = tqdm(results, "features", len(pieces), disable=None, leave=False)
    for piece, (scores, n_values) in zip(pieces, bar, strict=True):
        found.scores[piece.columns], found.n_values[piece.columns] = scores, n_values
    found.scores[found.n_values == 1] = 0.0
    return found


def _score_by_tables(features: Features, classes: Classes, settings: _Settings) -> _Found:
    """Score features by chi-square or information gain."""
    criterion = settings.criterion

    def of_categories(tables: Tables) -> FloatArray:
        return score_tables(tables, classes, criterion)

    def of_numbers(tables: Tables) -> FloatArray:
        if settings.discretize == "none":
            return of_categories(tables)
        if settings.discretize == "quantile":
            return of_categories(tables.merge(quantile_bins(tables, settings.n_bins)))
        if classes.exclusive:
            return of_categories(tables.merge(mdl_bins(tables)))
        runs = LabelRuns.of(tables)
        intervals = mdl_intervals(runs)
        ones, zeros = runs.count(intervals)
        pair = runs.pair(intervals)
        totals = np.repeat(classes.totals, len(tables.starts) - 1)[pair]
        cells = label_cells(ones, ones + zeros, totals, classes.n, MEASURES[criterion])
        cells[np.bincount(pair)[pair] == 1] = 0.0
        return finish_scores(runs.sum_up(intervals, cells), classes.n, criterion)

    def score(tables: Tables) -> FloatArray:
        return _score_by_kind(tables, of_categories, of_numbers)

    return _score_features(features, classes, score, settings.n_jobs)


def _score_by_kind(tables: Tables, of_categories: _Score, of_numbers: _Score) -> FloatArray:
    """Score features with few values as categories, others as numbers."""
    few = tables.n_categories <= FEW_VALUES
    if few.all():
        return of_categories(tables)
    if not few.any():
        return of_numbers(tables)
    categories = of_categories(tables.take(few))
    scores = np.empty((len(few), categories.shape[1]))
    scores[few], scores[~few] = categories, of_numbers(tables.take(~few))
    return scores


def _score_by_neighbours(
    features: Features, classes: list[IntArray], settings: _Settings, generator: np.random.Generator
) -> _Found:
    """Estimate information gain by nearest neighbours, for each class variable."""
    from sklearn.feature_selection import mutual_info_classif

    n_rows, n_features = features.shape
    columns = as_columns(features)
    rows_only = Classes.of_labels(np.empty((n_rows, 0), dtype=np.bool_), None)
    found = _Found(np.empty((n_features, len(classes))), np.empty(n_features, dtype=np.intp))
    for piece in cut_into_pieces(columns, rows_only):
        found.n_values[piece.columns] = tabulate(columns, piece, rows_only).n_categories
    jobs = [(at, part) for at in range(len(classes)) for part in chunks(n_features, 8 * n_rows)]
    seeds = generator.integers(2**31, size=len(jobs)).tolist()
    results = Parallel(n_jobs=settings.n_jobs, return_as="generator")(
        delayed(mutual_info_classif)(
            dense(columns[:, block]),
            classes[at],
            discrete_features=found.n_values[block] <= FEW_VALUES,
            n_neighbors=settings.n_neighbors,
            random_state=seed,
        )
        for (at, block), seed in zip(jobs, seeds, strict=True)
    )
    bar = tqdm(results, "nearest neighbours", len(jobs), disable=None, leave=False)
    for (at, block), values in zip(jobs, bar, strict=True):
        found.scores[block, at] = values
    return found


def _summarise(
    found: _Found, varies: BoolArray, combine: str, notes: tuple[str, ...]
) -> FeatureScores:
    """Put together what a filter gives; labels that do not vary have no scores."""
    contributions = np.full((len(found.scores), len(varies)), np.nan)
    contributions[:, varies] = found.scores
    importance: FloatArray = getattr(np, combine)(found.scores, axis=1)
    labels = judge_counts(varies.astype(np.float64), 1)
    return FeatureScores(
        importance,
        contributions,
        judge_features(found.n_values == 1, labels),
        labels,
        notes=notes,
    )
