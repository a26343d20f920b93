"""Why something cannot be tested: the reasons, and the only place that decides on them."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from isingmlc.base.arguments import check_count
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray
from isingmlc.base.latex import IDLE_WORDS
from isingmlc.fitting.nodewise import NetworkFit
from isingmlc.statistics.labelsets import LabelsetStatistics

# Residuals below this are rounding.
NOTHING_LEFT = 1e-9


class Reason(StrEnum):
    """Why a label, a feature or an edge is not tested, or what is special about its test.

    Examples
    --------
    >>> import isingmlc as im
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
    >>> edges.loc["bmi", "diabetes"].reason == Reason.OK == "ok"
    True
    >>> Reason.DETERMINED_LABEL.meaning
    'the other labels and covariates determine the label'
    """

    OK = "ok"
    CONSTANT_LABEL = "constant-label"
    DETERMINED_LABEL = "determined-label"
    TOO_RARE = "too-rare"
    NOT_CONVERGED = "not-converged"
    ONE_CLUSTER = "one-cluster"
    CONSTANT_FEATURE = "constant-feature"
    COLLINEAR_FEATURE = "collinear-feature"
    SEPARATED_ALTERNATIVE = "separated-alternative"
    SCREENED_OUT = "screened-out"
    REDUNDANT_FEATURE = "redundant-feature"
    NO_TESTABLE_LABEL = "no-testable-label"
    INFINITE_PAIR = "infinite-pair"
    UNKNOWN_PAIR = "unknown-pair"
    TOO_MANY_COMBINATIONS = "too-many-combinations"
    TOO_FEW_ROWS = "too-few-rows"
    ONE_MODEL = "one-model"
    NO_MODEL = "no-model"
    NO_ERROR = "no-error"
    UNSURE_SIGNS = "unsure-signs"
    INFINITE_COVARIATE = "infinite-covariate"
    AT_THE_SMALLEST = "at-the-smallest"
    NOT_REACHED = "not-reached"
    NOTHING_TO_FIND = "nothing-to-find"

    @property
    def meaning(self) -> str:
        """The reason in words; empty where there is nothing to say."""
        return _MEANINGS[self]

    def __repr__(self) -> str:
        # In tables and arrays a reason looks like the text that it is.
        return repr(self.value)


_MEANINGS = {
    Reason.OK: "",
    Reason.CONSTANT_LABEL: "the label is the same in every row",
    Reason.DETERMINED_LABEL: "the other labels and covariates determine the label",
    Reason.TOO_RARE: "too few rows of one kind carry information about the label",
    Reason.NOT_CONVERGED: "the label's model did not converge",
    Reason.ONE_CLUSTER: "the rows that carry information about the label are of one cluster",
    Reason.CONSTANT_FEATURE: "the feature is the same in every row",
    Reason.COLLINEAR_FEATURE: (
        "nothing of the feature is left once the labels and covariates are known"
    ),
    Reason.SEPARATED_ALTERNATIVE: "the feature separates the label: its coefficient is infinite",
    Reason.SCREENED_OUT: "the score tests did not keep the feature for the penalised models",
    Reason.REDUNDANT_FEATURE: (
        "nothing of the feature is left once the features picked before it are known"
    ),
    Reason.NO_TESTABLE_LABEL: "no label can be tested",
    Reason.INFINITE_PAIR: "one label settles the other: their interaction is infinite",
    Reason.UNKNOWN_PAIR: "the data do not identify the interaction of the labels",
    Reason.TOO_MANY_COMBINATIONS: (
        "too many combinations for the rows to be tested together: test pairs one by one with "
        "network_table(adjust='holm')"
    ),
    Reason.TOO_FEW_ROWS: (
        "a group has fewer than 20 rows per label, where the test of strength rejects too rarely: "
        "use M"
    ),
    Reason.ONE_MODEL: "the interaction comes from the model of one of the labels alone",
    Reason.NO_MODEL: "neither label is in the model of the other",
    Reason.NO_ERROR: "it has no standard error; a bootstrap tells how far it varies",
    Reason.UNSURE_SIGNS: (
        "interactions that may be zero count by their size: too large a sum, too narrow an interval"
    ),
    Reason.INFINITE_COVARIATE: "a covariate settles the label in part of the rows",
    Reason.AT_THE_SMALLEST: "the smallest number of rows that was tried is enough",
    Reason.NOT_REACHED: "the largest number of rows that was tried is not enough",
    Reason.NOTHING_TO_FIND: "the network has no such pairs",
}
IDLE_WORDS.update(reason for reason, meaning in _MEANINGS.items() if not meaning)
_ABOUT_LABELS = (
    Reason.CONSTANT_LABEL,
    Reason.DETERMINED_LABEL,
    Reason.TOO_RARE,
    Reason.NOT_CONVERGED,
    Reason.ONE_CLUSTER,
)


def judge_counts(minority: FloatArray, least: float) -> StrArray:
    """Say of labels whether they vary enough, by their rows of the rarer kind."""
    reasons = np.full(len(minority), Reason.OK, dtype=object)
    reasons[minority < least] = Reason.TOO_RARE
    reasons[minority == 0] = Reason.CONSTANT_LABEL
    return reasons


def judge_fits(fit: NetworkFit, min_count: int = 0) -> StrArray:
    """Say of each fitted label whether there is anything to test."""
    least = check_count("min_count", min_count, 0)
    patterns = fit.stats.patterns
    in_play = np.array([node.in_play for node in fit.nodes]).T
    weights = in_play * fit.stats.counts[:, None]
    enough = weights.sum(axis=0)
    if fit.settings.intercept:
        ones = (weights * patterns).sum(axis=0)
        enough = np.minimum(ones, enough - ones)
    nothing = ~in_play.any(axis=0)
    if not fit.is_nodewise:
        # A penalised model may still leave nothing to test, where it has a coefficient for each
        # combination of the other labels.
        nothing |= np.abs(fit.residuals).max(axis=1) < NOTHING_LEFT
    reasons = np.full(len(fit.nodes), Reason.OK, dtype=object)
    # Scores are those of efficient tests at a maximum alone.
    reasons[[not node.converged for node in fit.nodes]] = Reason.NOT_CONVERGED
    reasons[enough < least] = Reason.TOO_RARE
    clusters = fit.dependence.clusters
    if clusters is not None:
        alone = [clusters.among(np.flatnonzero(rows)).n_clusters < 2 for rows in in_play.T]
        reasons[alone] = Reason.ONE_CLUSTER
    reasons[nothing] = Reason.DETERMINED_LABEL
    reasons[patterns.all(axis=0) | ~patterns.any(axis=0)] = Reason.CONSTANT_LABEL
    return reasons


def judge_pairs(fit: NetworkFit, weights: FloatArray, shares: FloatArray) -> StrArray:
    """Say of pairs of labels what is special about their interactions."""
    labels = judge_fits(fit)
    has = np.array([node.neighbors for node in fit.nodes])
    reasons = np.full(weights.shape, Reason.OK, dtype=object)
    reasons[(shares == 0) != (shares.T == 0)] = Reason.ONE_MODEL
    failed = labels == Reason.NOT_CONVERGED
    reasons[failed[:, None] | failed] = Reason.NOT_CONVERGED
    reasons[np.isnan(weights)] = Reason.UNKNOWN_PAIR
    for reason in (Reason.DETERMINED_LABEL, Reason.CONSTANT_LABEL):
        concerned = labels == reason
        reasons[np.isnan(weights) & (concerned[:, None] | concerned)] = reason
    reasons[np.isinf(weights)] = Reason.INFINITE_PAIR
    reasons[~(has | has.T)] = Reason.NO_MODEL
    return reasons


def find_constant(stats: LabelsetStatistics, intercept: bool) -> BoolArray:
    """Mark the features that no label model can be tested for."""
    if intercept:
        return np.asarray(stats.constant_features)
    return np.asarray(stats.column_squares == 0)


def judge_edges(labels: StrArray, constant: BoolArray) -> StrArray:
    """Say of each edge whether label and feature vary."""
    reasons = np.tile(labels, (len(constant), 1))
    reasons[np.ix_(constant, labels == Reason.OK)] = Reason.CONSTANT_FEATURE
    return reasons


def judge_tests(reasons: StrArray, collinear: BoolArray, separated: BoolArray) -> StrArray:
    """Say what became of the tests of edges."""
    reasons = reasons.copy()
    reasons[separated] = Reason.SEPARATED_ALTERNATIVE
    reasons[collinear] = Reason.COLLINEAR_FEATURE
    return reasons


def judge_products(reasons: StrArray, tested: BoolArray) -> StrArray:
    """Say of products of features with labels why they are not tested."""
    reasons = reasons.copy()
    # A product may have a test where its feature has none.
    reasons[tested] = Reason.OK
    reasons[~tested & (reasons == Reason.OK)] = Reason.COLLINEAR_FEATURE
    return reasons


def split_reasons(reasons: StrArray, used: BoolArray) -> tuple[StrArray, StrArray]:
    """Say of each feature and of each label why it adds nothing, from the reasons of edges."""
    labels = np.full(reasons.shape[1], Reason.OK, dtype=object)
    about_labels = np.isin(reasons[0].astype(str), [str(reason) for reason in _ABOUT_LABELS])
    labels[about_labels] = reasons[0, about_labels]
    features = np.full(len(reasons), Reason.OK, dtype=object)
    unused = ~used.any(axis=1)
    if not about_labels.all():
        features[unused] = reasons[unused, np.flatnonzero(~about_labels)[0]]
    return without_labels(features, labels), labels


def judge_features(constant: BoolArray, labels: StrArray) -> StrArray:
    """Say of features whether they vary, and whether there is a label to use them for."""
    features = np.full(len(constant), Reason.OK, dtype=object)
    features[constant] = Reason.CONSTANT_FEATURE
    return without_labels(features, labels)


def without_labels(features: StrArray, labels: StrArray) -> StrArray:
    """Say of features that nothing can be told of them where no label could be used."""
    if not (labels == Reason.OK).any():
        features = np.where(features == Reason.OK, Reason.NO_TESTABLE_LABEL, features)
    return features.astype(object)
