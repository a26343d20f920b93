"""What a report shows, as tables and sentences: the best features first, nothing drawn yet."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count, check_number, check_option
from isingmlc.base.arrays import BoolArray, FloatArray, IntArray, best_first
from isingmlc.base.names import display_names, name_writer
from isingmlc.base.printing import say_count, say_given
from isingmlc.fitting.reasons import Reason, split_reasons
from isingmlc.inference.combine import DEFAULT_COMBINE
from isingmlc.inference.effects import (
    ONE_STEP,
    feature_spread,
    find_features,
    product_effects,
    refit_product_effects,
)
from isingmlc.inference.moderation import can_refit
from isingmlc.inference.pvalues import METHODS, wald_limits
from isingmlc.inference.pvalues import adjust as adjust_pvalues
from isingmlc.plots.evidence import check_edges
from isingmlc.plots.style import digits
from isingmlc.report.sureness import Sureness, gather_sureness
from isingmlc.summaries import TEST_NAMES, attention

if TYPE_CHECKING:
    from isingmlc.networks.bootstrap import NetworkBootstrap
    from isingmlc.networks.case_dropping import CaseDropping
    from isingmlc.results.edge_tests import EdgeTests
    from isingmlc.results.ising import IsingResults
    from isingmlc.results.ranking import FeatureRanking

# Pairs of labels kept for each feature if their number is left to us; the number of products
# (features × labels²) that are then tested, those of the best features; and features at least.
_PAIRS = 10
_MAX_PRODUCTS = 60_000
_FEWEST = 10
# Of so many edges, the strongest, effects are fitted; those of others are one step from the score.
_FITTED = 100
_PACKAGES = ("isingmlc", "numpy", "scipy", "pandas", "statsmodels", "bokeh")


@dataclass(frozen=True)
class ReportOptions:
    """What a report is to show; `IsingResults.report` explains it."""

    alpha: float = 0.05
    adjust: str | None = "fdr_bh"
    top: int = 2000
    pairs: int | None = None
    title: str | None = None

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, above=0, below=1)
        if self.adjust is not None:
            check_option("adjust", self.adjust, METHODS)
        check_count("top", self.top, 1)
        if self.pairs is not None:
            check_count("pairs", self.pairs, 0)

    @property
    def significance(self) -> str:
        """When something is significant, in words."""
        kind = "p-value" if self.adjust is None else f"{self.adjust}-adjusted p-value"
        return f"{kind} ≤ {self.alpha:g}"


@dataclass(frozen=True)
class StrongPairs:
    """The pairs of labels with which each feature's products are largest, strongest first."""

    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    statistic: FloatArray
    coef: FloatArray
    bse: FloatArray
    fitted: BoolArray
    critical: FloatArray


@dataclass(frozen=True)
class FeaturePart:
    """What a report shows of features and their edges, the best features first."""

    tests: EdgeTests
    table: pd.DataFrame
    edges: Mapping[str, npt.NDArray[Any]]
    terms: Mapping[str, tuple[str, ...]]
    spread: FloatArray | None
    critical: FloatArray | None
    total: int
    counts: Mapping[str, int]
    pairs: StrongPairs | None
    without_pairs: str
    method: str
    combine: str
    notes: tuple[str, ...]

    @property
    def has_pvalues(self) -> bool:
        """Whether features have p-values."""
        return bool(self.table["pvalue"].notna().any())

    @property
    def has_effects(self) -> bool:
        """Whether edges have effects: those of single features have."""
        return self.spread is not None

    @property
    def has_steps(self) -> bool:
        """Whether some effects are one step from the score."""
        if not self.has_effects:
            return False
        return bool((~self.edges["fitted"] & ~np.isnan(self.edges["coef"])).any())

    @property
    def has_terms(self) -> bool:
        """Whether some features belong together, as columns of one term."""
        features = set(self.table["feature"])
        return any(len(features.intersection(columns)) > 1 for columns in self.terms.values())


@dataclass(frozen=True)
class ReportData:
    """All that a report shows."""

    results: IsingResults
    options: ReportOptions
    features: FeaturePart | None
    sure: Sureness

    notes_head = "What needs attention"

    @property
    def title(self) -> str:
        """The headline."""
        default = "The label network" if self.features is None else "Features and labels"
        return self.options.title or default

    @property
    def given(self) -> str:
        """What everything is conditioned on, in a few words; empty without covariates."""
        return say_given(self.results.adjusted_for)

    @property
    def subtitle(self) -> str:
        """What was done to what, in a line."""
        labels = f"{len(self.results.label_names):,} labels"
        rows = f"{say_count(self.results.nobs)} observations"
        given = f", {self.given}" if self.given else ""
        if self.features is None:
            return f"Ising network of {labels} on {rows}{given}"
        test = TEST_NAMES[self.features.tests.test]
        return f"{test} tests of {self.features.total:,} features and {labels} on {rows}{given}"

    @cached_property
    def cards(self) -> list[tuple[str, str]]:
        """Numbers to begin with, and what they are."""
        results, part = self.results, self.features
        cards = [
            (say_count(results.nobs), "observations"),
            (f"{len(results.label_names):,}", "labels"),
            (
                f"{len(results.model.statistics.counts):,}",
                "cells of labels and covariates" if results.adjusted_for else "labelsets",
            ),
        ]
        if part is None:
            return cards
        features, edges, tested = (
            f"{part.counts[name]:,}" for name in ("features", "edges", "tested")
        )
        cards.append((f"{part.total:,}", "features"))
        if part.has_pvalues:
            cards.append((features, "significant features"))
        cards.append((edges, f"significant of {tested} edges"))
        return cards

    @cached_property
    def findings(self) -> list[str]:
        """What the tests say, in sentences."""
        part = self.features
        if part is None:
            return []
        sentences = []
        if part.has_pvalues:
            sentences.append(
                f"{part.counts['features']:,} of {part.total:,} features go with some label"
                f"{f', {self.given}' if self.given else ''} ({self.options.significance})."
            )
        sentences.append(
            f"{part.counts['edges']:,} of {part.counts['tested']:,} tested edges between a feature "
            f"and a label are significant ({self.options.significance})."
        )
        strongest = _strongest_edge(part)
        if strongest:
            sentences.append(strongest)
        if len(part.table) < part.total:
            sentences.append(
                f"The {len(part.table):,} most important of {part.total:,} features are shown."
            )
        return sentences

    @cached_property
    def notes(self) -> list[str]:
        """What needs attention, in sentences."""
        notes = attention(self.results)
        if self.features is not None:
            # The first note says what the null is; that stands elsewhere.
            notes += self.features.tests.summary(top=1).notes[1:]
            notes += self.features.notes
        model = self.results.model
        of_features = name_writer([*model.feature_names, *model.terms], model.terms)
        of_covariates = name_writer(self.results.adjusted_for)
        # Tests and rankings may say the same.
        return [of_covariates(of_features(note)) for note in dict.fromkeys(notes)]

    @cached_property
    def reasons(self) -> list[Reason]:
        """The reasons that occur among labels, features and edges."""
        found = set(self.results.diagnostics["reason"])
        if self.features is not None:
            found |= {*self.features.table["reason"], *self.features.edges["reason"].ravel()}
        return [reason for reason in Reason if reason.meaning and reason in found]

    @cached_property
    def settings(self) -> dict[str, dict[str, str]]:
        """What made the report: settings of the fit, the tests and the page, and versions."""
        settings = dataclasses.asdict(self.results.settings)
        if self.results.penalty is None:
            del settings["penalty"]
        data = self.results.model.data
        groups = {
            "Fit": {
                **{name.replace("_", " "): str(value) for name, value in settings.items()},
                "rows": "statistics only" if data is None else f"{data.n_rows:,}",
                "adjusted for": ", ".join(display_names(self.results.adjusted_for)) or "nothing",
            }
        }
        part = self.features
        if part is not None:
            groups["Tests"] = {
                "test": part.tests.test,
                "null": part.tests.null,
                "products": part.tests.products or "none",
                "p-values": part.tests.distribution,
                "p-values of features": part.combine if part.has_pvalues else "none",
                "importance": part.method,
                "adjusted by": self.options.adjust or "not adjusted",
                "alpha": f"{self.options.alpha:g}",
            }
        versions = {name: version(name) for name in _PACKAGES}
        groups["Versions"] = {"Python": platform.python_version(), **versions}
        return groups


def gather(
    results: IsingResults,
    options: ReportOptions,
    edges: EdgeTests | None = None,
    ranking: FeatureRanking | None = None,
    bootstrap: NetworkBootstrap | None = None,
    dropping: CaseDropping | None = None,
) -> ReportData:
    """Collect what a report shows; `IsingResults.report` explains the arguments."""
    sure = gather_sureness(results, options.alpha, options.adjust, bootstrap, dropping)
    if edges is None and results.feature_names:
        edges = results.score_test()
    if edges is None:
        return ReportData(results, options, None, sure)
    check_edges(edges, results)
    if ranking is not None and set(ranking.feature_names) != set(edges.feature_names):
        raise exc.DataError(
            f"ranking must be of the features that are tested, {exc.shorten(edges.feature_names)}, "
            f"but is of {exc.shorten(ranking.feature_names)}. Take it from the same results, e.g. "
            "with results.rank_features()."
        )
    if ranking is not None and ranking.adjusted_for != results.adjusted_for:
        raise exc.DataError(
            "ranking must be given the covariates of the fit, "
            f"{exc.shorten(results.adjusted_for) or 'none'}, but is given "
            f"{exc.shorten(ranking.adjusted_for) or 'none'}. Take it from the same results, e.g. "
            "with results.rank_features()."
        )
    part = _gather_features(results, options, edges, ranking)
    return ReportData(results, options, part, sure)


def _gather_features(
    results: IsingResults,
    options: ReportOptions,
    edges: EdgeTests,
    ranking: FeatureRanking | None,
) -> FeaturePart:
    """Order features, cut them, and look up their edges."""
    cells = _cells(edges, options)
    table = _feature_table(edges, ranking, cells)
    if options.adjust is None:
        table["pvalue_adj"] = table["pvalue"]
    else:
        table["pvalue_adj"] = adjust_pvalues(table["pvalue"], options.adjust, alpha=options.alpha)
    tested = ~np.isnan(cells["statistic"])
    counts = {
        "features": int((table["pvalue_adj"] <= options.alpha).sum()),
        "edges": int(cells["significant"].sum()),
        "tested": int(tested.sum()),
    }
    best = _order(table, ranking)[: options.top]
    pairs, without_pairs = _strong_pairs(results, options, edges, ranking, best)
    terms = results.model.terms
    table["shown"] = display_names(table["feature"].tolist(), terms)
    has_effects = edges._has_effects
    spread = feature_spread(results._fit, edges.feature_names) if has_effects else None
    return FeaturePart(
        tests=edges,
        table=table.iloc[best].reset_index(drop=True),
        edges={name: values[best] for name, values in cells.items()},
        terms=terms,
        spread=None if spread is None else spread[best],
        critical=_critical(options, edges) if has_effects else None,
        total=len(table),
        counts=counts,
        pairs=pairs,
        without_pairs=without_pairs,
        method=f"sum of {edges.test} statistics" if ranking is None else ranking.method,
        combine=DEFAULT_COMBINE if ranking is None else ranking.scores.combine,
        notes=() if ranking is None else ranking.scores.notes,
    )


def _cells(edges: EdgeTests, options: ReportOptions) -> dict[str, npt.NDArray[Any]]:
    """Return what is known of each edge, features × labels."""
    effects = edges._has_effects
    asked: dict[str, Any] = {"conf_int": 1 - options.alpha, "refit": _FITTED} if effects else {}
    frame = edges.to_frame(options.adjust, **asked)
    if "with" in frame:
        frame = frame[frame["with"] == ""]
    frame = frame[~edges._is_level(frame)]
    shape = edges.arrays.statistic.shape
    of_effects = ("coef", "bse", "estimate", "lower", "upper") if effects else ()
    names = ["pvalue_adj", "reason", *of_effects]
    found = {name: frame[name].to_numpy().reshape(shape) for name in names}
    if effects:
        found["fitted"] = found.pop("estimate") != ONE_STEP
        lower, upper = found.pop("lower"), found.pop("upper")
        # Other limits follow from errors.
        known = np.where(found["coef"] == -np.inf, upper, np.nan)
        found["limit"] = np.where(found["coef"] == np.inf, lower, known)
    significant = found["pvalue_adj"] <= options.alpha
    return {**edges.arrays.columns(), **found, "significant": significant}


def _critical(options: ReportOptions, edges: EdgeTests) -> FloatArray:
    """Say by how many errors intervals go to either side, for each label."""
    one = np.ones(len(edges.label_names))
    degrees = edges.arrays.df_denom
    df = None if degrees is None else np.broadcast_to(degrees, one.shape)
    limits = wald_limits(0 * one, one, options.alpha, pd.RangeIndex(len(one)), df)
    return np.asarray(limits["upper"].to_numpy())


def _feature_table(
    edges: EdgeTests, ranking: FeatureRanking | None, cells: Mapping[str, npt.NDArray[Any]]
) -> pd.DataFrame:
    """Return one row per feature, in the order of the tests."""
    names = list(edges.feature_names)
    depth = np.where(np.isnan(cells["log10p"]), np.inf, cells["log10p"])
    strongest = depth.argmin(axis=1)
    rows = np.arange(len(names))
    tested = np.isfinite(depth[rows, strongest])
    if ranking is None:
        pvalue: FloatArray | None = edges.arrays.feature_tests(DEFAULT_COMBINE).pvalue
        reason = _feature_reasons(edges)
        importance = edges.importance.to_numpy()
    else:
        pvalues = ranking.pvalues
        pvalue = None if pvalues is None else pvalues[names].to_numpy()
        reason = ranking.reasons[names].to_numpy()
        importance = ranking.importance[names].to_numpy()
    # Where nothing was tested there is no p-value, not one of 1.
    known = np.full(len(names), np.nan) if pvalue is None else pvalue
    return pd.DataFrame(
        {
            "feature": pd.array(names, dtype=object),
            "importance": importance,
            "pvalue": np.where(tested, known, np.nan),
            "strongest": np.where(tested, np.array(edges.label_names, dtype=object)[strongest], ""),
            "reason": reason,
        }
    )


def _order(table: pd.DataFrame, ranking: FeatureRanking | None) -> IntArray:
    """Return the rows of the table, best first: in the order of the ranking, if there is one."""
    if ranking is None:
        return best_first(table["importance"].to_numpy())
    place = {name: at for at, name in enumerate(table["feature"])}
    return np.array([place[name] for name in ranking.order], dtype=np.intp)


def _feature_reasons(edges: EdgeTests) -> npt.NDArray[Any]:
    """Say of each feature why nothing was tested, as a ranking by the same tests does."""
    tested = ~np.isnan(edges.arrays.statistic)
    products = edges.arrays.product_statistic
    if products is not None:
        tested |= ~np.isnan(products).all(axis=2)
    return split_reasons(edges.arrays.reason, tested)[0]


def _strong_pairs(
    results: IsingResults,
    options: ReportOptions,
    edges: EdgeTests,
    ranking: FeatureRanking | None,
    best: IntArray,
) -> tuple[StrongPairs | None, str]:
    """Find the pairs of labels that the best features move most, or say why there are none."""
    n_labels = len(results.label_names)
    wanted = _PAIRS if options.pairs is None else options.pairs
    if not wanted:
        return None, "They were left out with pairs=0."
    if n_labels < 2:
        return None, "There is only one label."
    if not set(edges.feature_names) <= set(results.feature_names):
        return (
            None,
            "They are shown for single columns, not for categories and other terms.",
        )
    tests = _known_pairs(edges, ranking)
    if tests is None:
        if options.pairs is None:
            best = best[: max(_MAX_PRODUCTS // n_labels**2, _FEWEST)]
        asked = [edges.feature_names[at] for at in best]
        refit = "auto" if can_refit(results._fit) else False
        # Statistics and effects are shown, no p-values: chi-square costs nothing.
        asked_for: dict[str, Any] = {"unit": "column", "pvalue": "chi2", "refit": refit}
        tests = results.score_test(asked, products="given", **asked_for)
    place = {name: at for at, name in enumerate(tests.feature_names)}
    lines = np.array([place[edges.feature_names[at]] for at in best], dtype=np.intp)
    return _pick_pairs(results, options, tests, lines, wanted), ""


def _pick_pairs(
    results: IsingResults, options: ReportOptions, tests: EdgeTests, lines: IntArray, wanted: int
) -> StrongPairs:
    """Pick the pairs of labels that some features move most, with their effects."""
    values = tests.pair_statistics()[lines]
    kept = np.argsort(-values, axis=1, kind="stable")[:, :wanted]
    first, second = (axis[kept] for axis in np.triu_indices(len(tests.label_names), 1))
    at = (np.broadcast_to(lines[:, None], first.shape), first, second)
    effects, rho = product_effects(tests.arrays, at), tests.arrays.product_rho
    assert effects is not None
    assert rho is not None
    statistic = np.take_along_axis(values, kept, axis=1)
    # Of as many pairs as of edges, the strongest, effects are fitted.
    some = np.unravel_index(
        np.argsort(-statistic, axis=None, kind="stable")[:_FITTED], statistic.shape
    )
    place = find_features(results._fit, tests.feature_names)
    meant = np.column_stack([place[at[0][some]], first[some], second[some]])
    effects = refit_product_effects(results._fit, effects, some, meant, rho[at][some])
    return StrongPairs(
        first=first,
        second=second,
        statistic=statistic,
        coef=effects.coef,
        bse=effects.bse,
        fitted=np.asarray(effects.estimate != ONE_STEP),
        critical=_critical(options, tests),
    )


def _known_pairs(edges: EdgeTests, ranking: FeatureRanking | None) -> EdgeTests | None:
    """Return the tests of products given their feature, if there are such tests already."""
    if edges.products == "given":
        return edges
    if ranking is None or ranking.label_names != edges.label_names:
        return None
    return ranking.scores.moved_pairs


def _strongest_edge(part: FeaturePart) -> str:
    """Say which edge has the smallest p-value."""
    depth = part.edges["log10p"]
    if np.isnan(depth).all():
        return ""
    row, column = np.unravel_index(np.nanargmin(depth), depth.shape)
    verbs = {1.0: "goes with", -1.0: "goes against", 0.0: part.tests.undirected}
    verb = verbs[float(part.edges["sign"][row, column])]
    return (
        f"The strongest edge: {part.table['shown'][row]} {verb} {part.tests.label_names[column]} "
        f"({_say_effect(part, row, column)}"
        f"statistic {digits(part.edges['statistic'][row, column])}, "
        f"p = {say_power(depth[row, column])})."
    )


def _say_effect(part: FeaturePart, row: np.intp, column: np.intp) -> str:
    """Return the odds ratio of an edge with its interval, if it is known."""
    if part.critical is None or not np.isfinite(part.edges["bse"][row, column]):
        return ""
    width = part.critical[column] * part.edges["bse"][row, column]
    coef = part.edges["coef"][row, column]
    with np.errstate(over="ignore"):
        middle, lower, upper = np.exp([coef, coef - width, coef + width])
    step = "" if part.edges["fitted"][row, column] else ", one step"
    return f"odds ratio {middle:#.3g} per unit, {lower:#.3g} to {upper:#.3g}{step}; "


def say_power(log10: float) -> str:
    """Write a power of ten, even one that is too small for a number."""
    exponent = int(np.floor(log10))
    return f"{10 ** (log10 - exponent):.1f}e{exponent}"
