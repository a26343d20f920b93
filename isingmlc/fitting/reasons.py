"""Why something cannot be tested, and what else there is to know about the fit of each label."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count
from isingmlc.base.arrays import BoolArray, FloatArray, StrArray, chunks, dense
from isingmlc.base.latex import IDLE_WORDS
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.nodewise import NetworkFit, find_aliases
from isingmlc.statistics.labelsets import LabelsetStatistics

# Residuals below this are rounding.
_NOTHING_LEFT = 1e-9
# Labels with fewer rows of one kind than this are called rare.
RARE = 10
# Less information than this, per coefficient of a label's model or in all, and large-sample
# p-values of its edges are not to be trusted; in all it matters for skewed features only.
LEAST_PER_COEFFICIENT = 4.0
LEAST_INFORMATION = 75.0
# The like of it in rows that carry a label, for products of features with the label.
LEAST_AMONG_CARRIERS = 3.0
# A label that never occurs without another would do so in this many rows if they were independent;
# with two screening labels, each is needed in this many rows.
_LEAST_EXPECTED = 10.0
_LEAST_NEEDED = 5.0
# So many of these patterns are written out.
_LISTED = 5
# Features with more skewness than this are skewed.
SKEWED = 1.0
# A mean and a variance this close to those of a column of zeros and ones are those of one.
_BINARY = 1e-9
# Temporaries of this size are soon in the processor's cache again.
_CACHE_BYTES = 2**18


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
        nothing |= np.abs(fit.residuals).max(axis=1) < _NOTHING_LEFT
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


def describe_skips(stats: LabelsetStatistics) -> str:
    """Describe labels that are never 1 unless another is, or one of two; empty if none."""
    names, counts = stats.label_names, stats.counts
    absent = (~stats.patterns).astype(np.float64)
    share = absent.T @ (counts[:, None] * absent) / stats.nobs
    items: dict[tuple[int, int], list[str]] = {}
    for label, name in enumerate(names):
        has = stats.patterns[:, label]
        together = counts[has] @ stats.patterns[has]
        others = np.flatnonzero(together >= _LEAST_NEEDED)
        others = others[others != label]
        part = absent[np.ix_(has, others)]
        lacking = part.T @ (counts[has][:, None] * part)
        without = lacking.diagonal()
        expected = counts[has].sum() * share[np.ix_(others, others)]
        # A copy of the label is no screening label.
        copies = (without == 0) & (counts @ stats.patterns[:, others] == counts[has].sum())
        needed = without >= _LEAST_NEEDED
        skips = (lacking == 0) & (expected >= _LEAST_EXPECTED)
        skips &= np.outer(needed, needed) | np.diag(~copies)
        for pair in np.argwhere(np.triu(skips)):
            first, second = others[pair].tolist()
            items.setdefault((first, second), []).append(name)
    said = []
    for (first, second), skipped in items.items():
        if first == second or len(skipped) > 1:
            screens = " or ".join(repr(names[at]) for at in dict.fromkeys((first, second)))
            be = "is" if len(skipped) == 1 else "are"
            said.append(f"{exc.shorten(skipped)} {be} never 1 unless {screens} is 1")
    more = f"; and {len(said) - _LISTED} more" if len(said) > _LISTED else ""
    return exc.SKIPPED.format(patterns="; ".join(said[:_LISTED]) + more) if said else ""


def information(fit: NetworkFit) -> FloatArray:
    """Return how much the rows say about each label: Σp(1−p), and that per coefficient."""
    total = fit.weights @ fit.stats.counts
    n_coefficients = np.array([len(node.basis) for node in fit.nodes])
    share = np.divide(
        total, n_coefficients, out=np.full(len(total), np.nan), where=n_coefficients > 0
    )
    return np.column_stack([total, share])


def warn_of_little_information(
    fit: NetworkFit, *, corrected: bool, remedy: str | None = None
) -> None:
    """Name the labels that large-sample p-values do not hold for, in one warning."""
    total, share = information(fit).T
    tested = judge_fits(fit, min_count=1) == Reason.OK
    low = tested & (share < LEAST_PER_COEFFICIENT)
    little = tested & (total < LEAST_INFORMATION) & ~low
    # Rows tell the skewness of a score, and corrected p-values go by it.
    unknown = fit.rows is None or not corrected
    skewed = bool(little.any()) and unknown and any_skewed(fit)
    if skewed:
        low |= little
    if low.any():
        names = np.array(fit.stats.label_names, dtype=object)[low]
        message = exc.LOW_INFORMATION.format(
            names=exc.shorten(names),
            least=f"{LEAST_INFORMATION:g}",
            per_coefficient=LEAST_PER_COEFFICIENT,
            skewed=exc.SKEWED if skewed else "",
            remedy=remedy or (exc.MEND_AUTO if corrected else exc.MEND_CHI2),
        )
        exc.warn(message, exc.LowInformationWarning)


def warn_of_few_carriers(fit: NetworkFit) -> bool:
    """Warn of labels whose products with features are in rows of little information."""
    stats = fit.stats
    tested = judge_fits(fit, min_count=1) == Reason.OK
    among = np.array([(stats.counts * node.weight) @ stats.patterns for node in fit.nodes])
    few = (among > 0) & (among < LEAST_AMONG_CARRIERS) & tested[:, None]
    np.fill_diagonal(few, False)
    low = few.any(axis=0)
    if low.any():
        names = np.array(stats.label_names, dtype=object)[low]
        message = exc.LOW_INFORMATION_PRODUCTS.format(
            names=exc.shorten(names), least=LEAST_AMONG_CARRIERS
        )
        exc.warn(message, exc.LowInformationWarning)
    return bool(low.any())


def column_moments(stats: LabelsetStatistics) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return means and variances of features, and tell which are of zeros and ones."""
    moved = stats.column_sums / stats.nobs
    variance = stats.column_squares / stats.nobs - moved**2
    mean = moved + stats.shift
    binary = np.abs(variance - mean * (1 - mean)) <= _BINARY * np.abs(variance)
    return mean, variance, binary


def any_skewed(fit: NetworkFit) -> bool:
    """Return whether any feature is, or without rows may be, skewed."""
    stats, rows = fit.stats, fit.rows
    mean, variance, binary = column_moments(stats)
    varied = np.flatnonzero(~stats.constant_features)
    if rows is None:
        third = np.abs(1 - 2 * mean) / np.sqrt(np.where(variance > 0, variance, np.inf))
        return bool((~binary[varied] | (third[varied] > SKEWED)).any())
    features: Any = rows.features
    if sparse.issparse(features):
        features = sparse.csc_array(features)
    most = SKEWED * stats.nobs * np.maximum(variance, 0.0) ** 1.5
    for part in chunks(len(varied), 24 * features.shape[0], limit=_CACHE_BYTES):
        at = varied[part]
        is_run = at[-1] - at[0] == len(at) - 1
        some = features[:, at[0] : at[-1] + 1] if is_run else features[:, at]
        rest = dense(some) - mean[at]
        # A power takes twenty times as long as two products.
        squares = rest * rest
        if rows.weights is not None:
            squares *= rows.weights[:, None]
        if (np.abs(np.vecdot(squares.T, rest.T)) > most[at]).any():
            return True
    return False


def diagnose(fit: NetworkFit) -> pd.DataFrame:
    """Tabulate the fits; `IsingResults.diagnostics` explains the columns."""
    stats, nodes = fit.stats, fit.nodes
    positives = stats.counts @ stats.patterns
    minority = np.minimum(positives, stats.nobs - positives)
    constant = minority == 0
    reasons = judge_fits(fit)
    aliases = find_aliases(fit.regressors, fit.settings.intercept)[: len(nodes)]
    names = np.array([*stats.label_names, *stats.context.column_names], dtype=object)
    constants = _theorem_constants(fit)
    known = information(fit)
    # A constant label has no likelihood to explain.
    null = np.array([node.llf_null if node.llf_null else np.nan for node in nodes])
    return ResultTable(
        {
            "positives": stats.observations @ stats.patterns,
            "prevalence": positives / stats.nobs,
            "rare": ~constant & (minority < RARE),
            "labelsets": [int(node.in_play.sum()) for node in nodes],
            "rows": [stats.counts[node.in_play].sum() for node in nodes],
            "information": known[:, 0],
            "information_per_coefficient": known[:, 1],
            "separated": ~constant & np.array([not node.in_play.all() for node in nodes]),
            "determined": reasons == Reason.DETERMINED_LABEL,
            "infinite": [int(np.isinf(node.coef).sum()) for node in nodes],
            "aliased_with": [", ".join(names[list(others)]) for others in aliases],
            "iterations": [node.iterations for node in nodes],
            "converged": [node.converged for node in nodes],
            "min_variance": constants[:, 0],
            "min_eigenvalue": constants[:, 1],
            "neighbors": [int(node.neighbors.sum()) for node in nodes],
            "pseudo_r2": 1 - np.array([node.llf for node in nodes]) / null,
            "reason": reasons,
        },
        index=pd.Index(stats.label_names),
    )


def _theorem_constants(fit: NetworkFit) -> FloatArray:
    """Smallest variances and smallest eigenvalues of the designs, over what is in play."""
    counts, design = fit.stats.counts, fit.factors.design
    whole = design.T @ (counts[:, None] * design) / counts.sum()
    constants = np.full((len(fit.nodes), 2), np.nan)
    for node, line in zip(fit.nodes, constants, strict=True):
        if not node.in_play.any():
            continue
        line[0] = node.weight[node.in_play].min()
        if not len(node.basis):
            continue
        gram = whole[np.ix_(node.basis, node.basis)]
        if not node.in_play.all():
            inner, inside = design[np.ix_(node.in_play, node.basis)], counts[node.in_play]
            gram = inner.T @ (inside[:, None] * inner) / inside.sum()
        line[1] = np.linalg.eigvalsh(gram)[0]
    return constants
