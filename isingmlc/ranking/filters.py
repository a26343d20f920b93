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
    check_count,
    check_jobs,
    check_option,
)
from isingmlc.base.arrays import BoolArray, Features, FloatArray, IntArray
from isingmlc.fitting.reasons import judge_counts, judge_features
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
    n_jobs: int = 1,
) -> FeatureScores:
    """Score each feature for each label by itself, and combine the scores."""
    check_option("combine", combine, COMBINE)
    settings = _Settings(criterion, discretize, n_bins, n_jobs)
    settings.check()
    features, labels, varies = _open(data)
    used = labels[:, varies]
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
    n_jobs: int = 1,
) -> FeatureScores:
    """Score each feature for the labelset: each distinct label vector is a class."""
    least = check_count("min_count", min_count, 1)
    settings = _Settings(criterion, discretize, n_bins, n_jobs)
    settings.check()
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
    found = _score_by_tables(features, Classes.of_codes(codes, weights), settings)
    settings.check_categories(found.n_values, data.feature_names)
    notes += settings.notes(found, "the labelset")
    return _summarise(found, np.ones(1, dtype=np.bool_), "sum", notes)


def one_rule(
    data: ModelData, *, combine: str = "sum", min_bucket: int = 6, n_jobs: int = 1
) -> FeatureScores:
    """Score each feature by the rule that predicts each label from it alone (OneR)."""
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
    n_jobs: int

    def check(self) -> None:
        """Raise our error for settings that do not exist."""
        check_option("discretize", self.discretize, DISCRETIZE)
        check_count("n_bins", self.n_bins, 2)
        check_jobs(self.n_jobs)

    def check_categories(self, n_values: IntArray, names: Sequence[str]) -> None:
        """Raise our error for features with too many values to be categories."""
        if self.discretize == "none":
            wrong = np.flatnonzero(n_values > MOST_CATEGORIES)
            if len(wrong):
                listed = exc.shorten(np.asarray(names, dtype=object)[wrong])
                raise exc.DataError(TOO_MANY_VALUES.format(names=listed, most=MOST_CATEGORIES))

    def notes(self, found: _Found, target: str) -> tuple[str, ...]:
        """Say what was done to features with many values."""
        many = found.n_values > FEW_VALUES
        if not many.any() or self.discretize == "none":
            return ()
        start = f"{many.sum()} of {len(many)} features have more than {FEW_VALUES} values"
        if self.discretize == "quantile":
            return (f"{start} and are cut into {self.n_bins} intervals of equally many rows.",)
        uncut = many & ~found.scores.any(axis=1)
        notes = (
            f"{start} and are cut by minimum description length for {target}; "
            f"no cut is worth its description in {uncut.sum()} of them, which have importance 0.",
        )
        return (*notes, NO_CUTS) if uncut.all() else notes


def _open(data: ModelData) -> tuple[Features, BoolArray, BoolArray]:
    """Return features, labels, and which labels vary."""
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
