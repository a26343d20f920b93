"""What the short reports of networks, comparisons, draws, rankings and selections say."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.printing import say_count
from isingmlc.report.short import Part, ShortReport, draw, join_pairs

if TYPE_CHECKING:
    from isingmlc.networks.bootstrap import NetworkBootstrap
    from isingmlc.networks.case_dropping import CaseDropping
    from isingmlc.results.network_comparison import NetworkComparison
    from isingmlc.results.ranking import FeatureRanking
    from isingmlc.results.regularized import RegularizedIsingResults
    from isingmlc.selection.result import SelectionResult

_SAMPLE_WORDS = "Draws say what other samples might have given, not what is true."


def describe_network(net: RegularizedIsingResults, title: str | None) -> ShortReport:
    """Say what a sparse network holds."""
    edges = net.to_frame()
    n_labels = len(net.label_names)
    n_pairs = n_labels * (n_labels - 1) // 2
    findings = [f"{net.n_edges:,} of {n_pairs:,} pairs of labels have an edge."]
    if len(edges):
        best = edges.iloc[0]
        verb = "goes with" if best["weight"] > 0 else "goes against"
        findings.append(
            f"The strongest: {best['first']} {verb} {best['second']} given the other labels "
            f"(weight {best['weight']:.2f}, shrunken towards zero)."
        )
    parts = [_picture("Network", net.plot_label_network, "The network of the labels")]
    listed = join_pairs(edges)
    listed.insert(1, "direction", np.where(edges["weight"] > 0, "attract", "repel"))
    listed.insert(3, "odds_ratio", np.exp(edges["weight"]))
    parts.append(
        Part("Edges", "Weights are log odds ratios, shrunken. refit() gives them errors.", listed)
    )
    effects = net.effects
    if len(effects):
        parts.append(
            Part("Features", "Coefficients for one unit, shrunken.", _list_effects(effects))
        )
    parts.append(Part("Centrality", "", _spread_centrality(net)))
    columns = ["positives", "prevalence", "lam", "n_nonzero", "edges", "reason"]
    diagnostics = net.diagnostics[columns].rename_axis("label").reset_index()
    parts.append(Part("Labels", "", diagnostics))
    return ShortReport(
        title or "A sparse network of labels",
        f"{n_labels} labels on {say_count(net.nobs)} observations",
        [
            (say_count(net.nobs), "observations"),
            (f"{n_labels:,}", "labels"),
            (f"{net.n_edges:,}", f"edges of {n_pairs:,} pairs"),
        ],
        findings,
        net.summary().notes,
        parts,
        {"criterion": net.criterion, "gamma": f"{net.gamma:g}", "rule": net.rule},
        net.adjusted_for,
        net.feature_names,
    )


def describe_comparison(found: NetworkComparison, title: str | None) -> ShortReport:
    """Say how networks of groups differ."""
    edges = found.edges
    differ = len(edges.loc[edges["pvalue_adj"] <= 0.05, ["first", "second"]].drop_duplicates())
    tests, n_pairs = found.tests, comb(len(found.label_names), 2)
    findings = [
        f"The largest difference of two groups in a pair, M, is {found.M:.2f} "
        f"({_say_p(found.pvalue)}); that of their global strengths, S, is {found.S:.2f} "
        f"({_say_p(tests.loc[['S'], 'pvalue_adj'].min())}).",
        f"{differ} of {n_pairs:,} pairs of labels differ between groups (adjusted p ≤ 0.05).",
    ]
    order = edges.sort_values(["pvalue", "difference"], ascending=[True, False], kind="stable")
    groups = found.groups
    return ShortReport(
        title or "Networks of groups",
        f"{len(found.label_names)} labels in {len(groups)} groups",
        [
            (f"{len(groups)}", "groups"),
            (f"{len(found.label_names)}", "labels"),
            (f"{found.n_permutations:,}", "permutations"),
        ],
        findings,
        found.summary().notes,
        [
            _picture("Networks", found.plot, "The networks of the groups on one scale"),
            Part("Tests", "Of whole networks.", tests.reset_index()),
            Part("Pairs of labels", "Those that differ most first.", join_pairs(order)),
            Part("Groups", "", groups.reset_index()),
        ],
        {"permutations": f"{found.n_permutations:,}", "null": found.null},
        found.adjusted_for,
    )


def describe_bootstrap(boot: NetworkBootstrap, title: str | None) -> ShortReport:
    """Say what draws tell of a network."""
    edges = boot.edges()
    clear = int((~edges["covers_zero"].astype(bool)).sum())
    order = edges["sample"].abs().sort_values(ascending=False, kind="stable").index
    parts = [
        _picture("Intervals", boot.plot, "Intervals of the pairs of labels"),
        Part(
            "Pairs of labels",
            "Limits are quantiles of the draws at 95%; share is that of draws with the sign of "
            "all rows.",
            join_pairs(edges.loc[order]),
        ),
        Part("Centrality", "", _label_first(boot.centrality())),
    ]
    if boot.feature_names:
        parts.append(Part("Ranks of features", "Limits are those of ranks.", boot.ranks()))
    drawn = "the fitted network" if boot.parametric else "the rows"
    return ShortReport(
        title or "A network in other samples",
        f"{boot.n_draws:,} draws from {drawn}",
        [
            (f"{boot.n_draws:,}", "draws"),
            (f"{len(boot.label_names)}", "labels"),
            (f"{clear}", f"of {len(edges):,} intervals leave out zero"),
        ],
        [
            f"{clear} of {len(edges):,} pairs of labels have intervals at 95% that leave out zero.",
            _SAMPLE_WORDS,
        ],
        boot.summary().notes[1:],
        parts,
        {"draws": f"{boot.n_draws:,}", "drawn from": drawn},
        boot.adjusted_for,
        feature_names=boot.feature_names,
    )


def describe_dropping(drop: CaseDropping, title: str | None) -> ShortReport:
    """Say what is left of a network with fewer rows."""
    found = drop.cs_coefficient().reset_index()
    found["measure"] = [str(name).replace("_", " ") for name in found["measure"]]
    findings = [
        f"{row['measure'].capitalize()}: with {row['cs']:.0%} of the rows left out more than 95% "
        "of draws still correlate above 0.7 with all rows."
        for row in found.to_dict("records")
    ]
    n_draws = len(drop.correlations())
    return ShortReport(
        title or "A network of fewer rows",
        f"{n_draws:,} draws from {drop.nobs:,} observations",
        [
            (f"{drop.nobs:,}", "observations"),
            (f"{n_draws:,}", "draws"),
            *((f"{row['cs']:.2f}", f"CS, {row['measure']}") for row in found.to_dict("records")),
        ],
        findings,
        drop.summary().notes[:1],
        [
            _picture("Correlations", drop.plot, "Correlations with all rows, by rows left out"),
            Part("CS-coefficients", "0.25 is wanted at least, and better 0.5.", found),
            Part("Levels", "", drop.to_frame()),
        ],
        {"draws": f"{n_draws:,}"},
        drop.adjusted_for,
    )


def describe_ranking(ranking: FeatureRanking, title: str | None) -> ShortReport:
    """Say which features come first, and how they were picked."""
    path = ranking.path
    n_features = len(ranking.feature_names)
    parts = [_picture("Importance", ranking.plot, "Importance of the first features")]
    if path is None:
        findings = [f"First come {exc.shorten(ranking.top(min(5, n_features)), 5)}."]
    else:
        findings = [
            f"{len(path)} features were picked one after the other, each for what it adds to "
            f"those before it: {exc.shorten(path['feature'], 8)}."
        ]
        hint = (
            "Gain: what the feature adds to those before it, to all labels together. Redundant: "
            "features that lost more than half of what they would have added before."
        )
        parts.append(Part("Path", hint, _feature_first(path)))
    frame = ranking.to_frame().drop(columns="adjusted_for", errors="ignore").reset_index()
    parts.append(Part("Features", "", frame))
    return ShortReport(
        title or "Features in order",
        f"{n_features:,} features by {ranking.method}",
        [
            (f"{n_features:,}", "features"),
            (f"{len(ranking.label_names):,}", "labels"),
            *([] if path is None else [(f"{len(path):,}", "picked one after the other")]),
        ],
        findings,
        ranking.summary().notes,
        parts,
        {"method": ranking.method, **{name: str(v) for name, v in ranking.settings.items()}},
        ranking.adjusted_for,
        ranking.feature_names,
    )


def describe_selection(selection: SelectionResult, title: str | None) -> ShortReport:
    """Say what was chosen, and what else was tried."""
    chosen = list(selection.selected)
    path = selection.path
    findings = [
        f"{len(chosen)} of {len(selection.terms):,} were chosen by {selection.method}: "
        f"{exc.shorten(chosen, 8)}."
        if chosen
        else "Nothing was chosen."
    ]
    cards = [
        (f"{len(chosen)}", f"of {len(selection.terms):,} chosen"),
        (f"{selection.n_train:,}", "rows to rank on"),
    ]
    parts = []
    if len(path):
        findings.append(f"Its {selection.metric} on rows for validation is {selection.score:.3f}.")
        cards.append((f"{selection.n_validation:,}", "rows to validate on"))
        parts.append(_picture("Sizes", selection.plot, "Scores of subsets by size"))
    frame = selection.ranking.to_frame().drop(columns="adjusted_for", errors="ignore")
    parts.append(Part("Chosen", "Best first.", frame.loc[chosen].reset_index()))
    if len(path):
        parts.append(Part("Tried", "", path))
    return ShortReport(
        title or "Chosen features",
        f"{len(chosen)} of {len(selection.terms):,} by {selection.method}",
        cards,
        findings,
        selection.summary().notes,
        parts,
        {"method": selection.method, "measure": selection.metric},
        selection.ranking.adjusted_for,
        selection.ranking.feature_names,
    )


def _picture(title: str, plot: object, described: str) -> Part:
    assert callable(plot)
    return Part(title, picture=draw(plot), described=f"{described}; the tables say the same.")


def _say_p(value: float) -> str:
    if value != value:
        return "not tested"
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _spread_centrality(net: RegularizedIsingResults) -> pd.DataFrame:
    """Return one row per label and one column per measure."""
    wide = net.centrality().pivot_table(index="label", columns="measure", values="value")
    known = [name for name in net.label_names if name in wide.index]
    return wide.loc[known].reset_index()


def _label_first(frame: pd.DataFrame) -> pd.DataFrame:
    others = [name for name in frame if name != "label"]
    return frame[["label", *others]]


def _feature_first(path: pd.DataFrame) -> pd.DataFrame:
    frame = path.reset_index()
    return frame[["feature", *(name for name in frame if name != "feature")]]


def _list_effects(effects: pd.DataFrame) -> pd.DataFrame:
    """List the effects that are not zero, the strongest first."""
    listed = effects.rename_axis("feature").reset_index()
    listed = listed.melt("feature", var_name="label", value_name="coefficient")
    listed = listed[listed["coefficient"] != 0]
    listed.insert(2, "direction", np.where(listed["coefficient"] > 0, "with", "against"))
    listed["odds_ratio"] = np.exp(listed["coefficient"])
    order = listed["coefficient"].abs().sort_values(ascending=False, kind="stable").index
    return listed.loc[order].reset_index(drop=True)
