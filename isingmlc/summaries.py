"""Summaries as a statistics package prints them: tables, then what needs attention in words."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count
from isingmlc.base.arrays import BoolArray
from isingmlc.base.latex import escape
from isingmlc.base.printing import (
    COLUMN,
    IsingSummary,
    Table,
    list_covariates,
    list_rows,
    say_given,
    shorten_name,
    two_columns,
)
from isingmlc.base.tables import ResultTable
from isingmlc.fitting.pseudo import SHARED
from isingmlc.fitting.reasons import LEAST_PER_COEFFICIENT, Reason, describe_skips
from isingmlc.inference.covariance import degrees_of_clusters, say_robust
from isingmlc.inference.effects import BY_LEVEL
from isingmlc.metrics import METRICS

if TYPE_CHECKING:
    from isingmlc.results.calibration import CalibrationResults
    from isingmlc.results.edge_tests import EdgeTests
    from isingmlc.results.ising import IsingResults
    from isingmlc.results.ranking import FeatureRanking
    from isingmlc.results.regularized import RegularizedIsingResults
    from isingmlc.results.sample_size import EdgePlan, NetworkPlan
    from isingmlc.selection.result import SelectionResult

# Tests as titles call them.
TEST_NAMES = {"score": "Score", "wald": "Wald", "lr": "Likelihood-ratio"}

# Up to so many labels every label has a table of its own; beyond, the strongest pairs share one.
MAX_BLOCKS = 8
N_STRONGEST = 20
# More names or pairs than this are counted instead of listed.
_MAX_LISTED = 4
# From this share of determined labels on, or this share of rows with information down, the
# summary recommends a penalty.
_MUCH_DETERMINED = 0.25
_FEW_ROWS = 0.5
# Sizes beyond the chosen one whose gain is listed.
_FOLLOWING = 5


def summarize(
    results: IsingResults, alpha: float = 0.05, exponentiate: bool = False
) -> IsingSummary:
    """Summarise a fit; `IsingResults.summary` explains the arguments."""
    frame = results.to_frame(alpha, exponentiate=exponentiate)
    if degrees_of_clusters(results._fit) is not None:
        frame = frame.rename(columns={"z": "t", "P>|z|": "P>|t|"})
    columns = results.model.statistics.context.column_names
    if len(results.label_names) <= MAX_BLOCKS:
        width = max(len(shorten_name(name)) for name in ("const", *results.label_names, *columns))
        # A single label without threshold has no coefficient at all.
        of_label = frame.index.get_level_values(0)
        tables = [
            _block(label, frame[of_label == label].droplevel(0), width)
            for label in results.label_names
        ]
    else:
        tables = _strongest(frame, columns)
    width = tables[0].width
    covariates = list_covariates(results.adjusted_for, width)
    return IsingSummary([_head(results, width), *covariates, *tables], attention(results))


def summarize_edges(
    edges: EdgeTests, top: int, adjust: str | None, within: str | None, effects: dict[str, Any]
) -> IsingSummary:
    """Summarise the strongest edges of many tests; `EdgeTests.summary` explains the arguments."""
    top = check_count("top", top, 1)
    is_effect = any(value not in (None, False) for value in effects.values())
    frame = edges.to_frame(adjust, within, **effects, refit=top if is_effect else 0)
    is_test = ~edges._is_level(frame)
    tested = frame[is_test & frame["statistic"].notna()]
    listed = edges._list_strongest(frame[~is_test | frame["statistic"].notna()], top)
    names = ["feature", "label", *(["with"] if "with" in frame else [])]
    # A coefficient has its sign; a statistic needs to be told.
    forms = dict.fromkeys(("coef", "odds_ratio"), "{:.4g}")
    forms |= {"bse": "{:.3g}", "lower": "{:.4g}", "upper": "{:.4g}"}
    effect = {name: form for name, form in forms.items() if name in frame} or {"sign": "{:+.0f}"}
    digits = {**effect, "statistic": "{:.3f}", "df": "{:.0f}", "pvalue": "{:.3g}"}
    digits["pvalue_adj"] = "{:.3g}"
    if is_effect:
        # There is room for one p-value beside an interval.
        del digits["df"], digits["pvalue"]
    title = f"The {min(top, len(tested))} strongest of {len(tested)} edges"
    table = list_rows(listed, names, digits, title)
    left = [
        ("Features:", f"{len(edges.feature_names)}"),
        ("Labels:", f"{len(edges.label_names)}"),
        ("Products:", edges.products or "none"),
    ]
    right = [
        ("Edges tested:", f"{len(tested)} of {is_test.sum()}"),
        ("Distribution:", edges.distribution),
        ("Adjusted p-values:", f"{adjust or 'none'}{f' by {within}' if within else ''}"),
    ]
    head = two_columns(
        f"{TEST_NAMES[edges.test]} Tests of Feature-Label Edges", left, right, table.width
    )
    notes = [f"Null: {edges.null}."]
    if edges.test == "score" and edges._fit is not None:
        fitted = edges._fit.settings
        notes.append(f"Score statistics of {_name_null(fitted.method, fitted.penalty)}.")
    if is_effect:
        notes += _about_effects(listed, effects, bool(edges.adjusted_for))
    untested = is_test & frame["statistic"].isna()
    for reason, count in frame.loc[untested, "reason"].value_counts().items():
        edges_were = "1 edge was" if count == 1 else f"{count} edges were"
        notes.append(f"{edges_were} not tested: {reason}.")
    if edges.note:
        notes.append(f"{edges.note[0].upper()}{edges.note[1:]}.")
    corrected = tested[tested["pvalue_method"].str.startswith("saddlepoint")]
    if edges.distribution == "auto" and len(corrected):
        labels = exc.shorten(corrected["label"].unique())
        notes.append(
            f"{len(corrected)} of {len(tested)} p-values are saddlepoint approximations, as "
            f"chi-square would be off, for label(s) {labels}."
        )
    covariates = list_covariates(edges.adjusted_for, head.width)
    return IsingSummary([head, *covariates, table], notes)


def _about_effects(listed: pd.DataFrame, effects: dict[str, Any], is_adjusted: bool) -> list[str]:
    """Say what effects are those of, and how they were found."""
    what = "Odds ratios" if effects["exponentiate"] else "Coefficients"
    unit = "standard deviation" if effects["per"] == "sd" else "unit"
    level = effects["conf_int"] or 0.95
    notes = [
        f"{what} are those of one {unit} of a feature, with {100 * level:g}% intervals (Wald), "
        f"given the other labels{' and covariates' * is_adjusted}."
    ]
    if (listed["estimate"] == BY_LEVEL).any():
        notes.append(
            "A category is tested as a whole; below it are its levels against the reference level, "
            "from a fit with all of them, and their Wald statistics."
        )
    n_steps = int((listed["estimate"] == "one-step").sum())
    if n_steps:
        notes.append(
            f"{n_steps} of {len(listed)} are one Newton step from the null model (estimate: "
            "one-step), too near zero where effects are strong."
        )
    return notes


def tabulate_edges(
    edges: EdgeTests, top: int | None, options: dict[str, Any]
) -> tuple[ResultTable, str]:
    """Choose what a paper shows of many tests; `EdgeTests.to_latex` explains the arguments."""
    n_listed = None if top is None else check_count("top", top, 1)
    wants_effects = any(options.get(name) for name in ("exponentiate", "conf_int", "per"))
    if n_listed is not None and wants_effects:
        options = {"refit": n_listed, **options}
    frame = edges.to_frame(**options)
    n_tests = int((~edges._is_level(frame)).sum())
    listed = edges._list_strongest(frame, n_listed or n_tests)
    listed = listed.drop(columns="term", errors="ignore")
    idle = ["pvalue_method", *(["df"] if (listed["df"].dropna() == 1).all() else [])]
    # Beside an interval a statistic says nothing new.
    idle += ["statistic"] if wants_effects else []
    has_effect = "coef" in listed or "odds_ratio" in listed
    listed = listed.drop(columns=[*idle, *(["sign"] if has_effect else [])])
    if "sign" in listed:
        # Beside names, as a word.
        words = listed.pop("sign").map({1.0: "+", -1.0: "−", 0.0: ""})
        listed.insert(listed.columns.get_loc("statistic"), "sign", words)
    title = f"{TEST_NAMES[edges.test]} tests of feature--label edges"
    given = f" {escape(say_given(edges.adjusted_for))}" if edges.adjusted_for else ""
    return ResultTable(listed.reset_index(drop=True)), f"{title}{given}."


def _name_null(method: str, penalty: object) -> str:
    """Say in words how a null model is fitted."""
    if penalty is not None:
        return f"a null model with {'Firth’s' if penalty == 'firth' else 'a ridge'} penalty"
    fits = {
        "nodewise": "a maximum-likelihood null model",
        "joint": "a null model fitted by joint maximum likelihood",
        "pseudo": "a null model fitted by pseudo-likelihood",
    }
    return fits[method]


def summarize_ranking(ranking: FeatureRanking, top: int) -> IsingSummary:
    """Summarise the best features of a ranking; `FeatureRanking.summary` explains the arguments."""
    frame = ranking.to_frame()
    table = _list_features(frame, top, "features")
    used = ranking.label_reasons == Reason.OK
    left = [("Method:", ranking.method), ("Features:", f"{len(frame)}")]
    right = [
        ("Labels:", f"{used.sum()} of {len(used)}"),
        ("p-values:", "no" if ranking.pvalues is None else ranking.scores.combine),
    ]
    head = two_columns("Feature Ranking", left, right, table.width)
    options = ", ".join(f"{name}={value!r}" for name, value in ranking.settings.items())
    notes = [f"Options: {options}."] if options else []
    if "penalty" in ranking.settings:
        penalty = ranking.settings["penalty"]
        products = ranking.method.startswith("products") and penalty is not None
        kind = "Regularised score" if products else "Score"
        fitted = str(ranking.settings.get("fit", "nodewise"))
        notes.insert(0, f"{kind} statistics of {_name_null(fitted, penalty)}.")
    for what, reasons in (("label", ranking.label_reasons), ("feature", ranking.reasons)):
        for reason in reasons[reasons != Reason.OK].unique():
            names = reasons.index[reasons == reason]
            notes.append(
                f"{len(names)} {what}{'s' if len(names) > 1 else ''} not used ({reason}): "
                f"{_list(names, what)}."
            )
    covariates = list_covariates(ranking.adjusted_for, head.width)
    return IsingSummary([head, *covariates, table], [*notes, *ranking.scores.notes])


def summarize_calibration(check: CalibrationResults) -> IsingSummary:
    """Summarise how often null features are found; see `CalibrationResults.summary`."""
    frame = check.to_frame()
    order = ["too often", "too seldom", "unclear", "holds", ""]
    lines = []
    for name, part in frame.groupby("label", sort=False):
        cells = [
            "" if np.isnan(ratio) else f"{ratio:.2f} ({error:.2f})"
            for ratio, error in zip(part["ratio"], part["error"], strict=True)
        ]
        lines.append([str(name), *cells, min(part["verdict"], key=order.index) or "not tested"])
    header = ["label", *(f"p ≤ {level:g}" for level in frame["level"].unique()), "verdict"]
    widths = [
        max(len(shorten_name(line[at])) for line in [header, *lines]) for at in range(len(header))
    ]
    title = "Share of small p-values over the level (1 is right)"
    align = "l" + "r" * (len(header) - 2) + "l"
    body = Table(lines, [header[0].ljust(widths[0]), *header[1:]], title, align, widths)
    notes = [
        f"{check.note[0].upper()}{check.note[1:]}: null features are independent of the labels and "
        "keep their distributions.",
        "In brackets: Monte-Carlo standard errors. Ratios from 0.8 to 1.25 (from 0.4 to 2 at "
        "levels below 0.005) are as good as 1.",
    ]
    if check.to_blame:
        notes.append(f"Found too often: edges of {_list(check.to_blame, 'label')}.")
    left, right = (
        [("Features:", f"{check.n_features}")],
        [("Permutations:", f"{check.n_permutations}")],
    )
    head = two_columns("Calibration of p-values", left, right, body.width)
    return IsingSummary([head, body], notes)


def summarize_network(results: RegularizedIsingResults) -> IsingSummary:
    """Summarise a sparse network: its strongest edges, and its labels if they are few."""
    edges = results.to_frame()
    listed = edges.head(N_STRONGEST)
    diagnostics = results.diagnostics.assign(threshold=results.thresholds)
    fitted = diagnostics[diagnostics["reason"] == Reason.OK]
    tables = []
    if len(edges):
        weights = dict.fromkeys(("weight", "first_model", "second_model"), "{:.4f}")
        title = f"The {len(listed)} strongest of {len(edges)} edges"
        title = title if len(listed) < len(edges) else "Edges"
        tables.append(list_rows(listed, ["first", "second"], weights, title))
    if 0 < len(fitted) <= N_STRONGEST:
        numbers = {"threshold": "{:.4f}", "lam": "{:.4g}", "n_nonzero": "{:d}", "edges": "{:d}"}
        frame = fitted.rename_axis("label").reset_index()
        tables.append(list_rows(frame, ["label"], numbers, "Labels"))
    n_labels = len(results.label_names)
    left = [
        ("Labels:", f"{len(fitted)} of {n_labels}"),
        ("Features:", f"{len(results.feature_names)}"),
        ("Criterion:", results.criterion),
        ("Gamma:", f"{results.gamma:g}" if results.criterion == "ebic" else "--"),
        ("Rule:", results.rule),
    ]
    right = [
        ("No. Observations:", f"{results.nobs:g}"),
        ("Edges:", f"{results.n_edges} of {n_labels * (n_labels - 1) // 2}"),
        ("Density:", f"{results.density:.3f}"),
        ("Largest violation:", f"{fitted['kkt'].max():.1e}" if len(fitted) else "--"),
        ("Converged:", "yes" if results.converged else "NO"),
    ]
    width = max([table.width for table in tables], default=0)
    head = two_columns("Sparse Ising Network", left, right, width)
    covariates = list_covariates(results.adjusted_for, head.width)
    tables = [_widen(table, head.width) for table in tables]
    return IsingSummary([head, *covariates, *tables], _about_network(results, diagnostics))


def _widen(table: Table, width: int) -> Table:
    """Return the first column of a table with a header what it lacks to a width."""
    assert table.header is not None
    first = table.widths[0] + width - table.width
    header = [table.header[0].ljust(first), *table.header[1:]]
    return replace(table, header=header, widths=[first, *table.widths[1:]])


def _about_network(results: RegularizedIsingResults, diagnostics: pd.DataFrame) -> list[str]:
    """Say how to read the network, and which labels need attention."""
    needed = "both coefficients" if results.rule == "and" else "one of the two coefficients"
    notes = [f"An edge needs {needed} of a pair to differ from zero; its weight is their mean."]
    for reason, names in diagnostics.groupby("reason", sort=False).groups.items():
        if reason != Reason.OK:
            notes.append(f"{_list(names)} {_be(names)} left out: {reason}.")
    return notes + _about_skips(results) + _about_convergence(diagnostics)


def _about_skips(results: IsingResults | RegularizedIsingResults) -> list[str]:
    """Name labels that occur only with another."""
    skips = describe_skips(results.model.statistics)
    return [skips] if skips else []


def summarize_selection(selection: SelectionResult, top: int) -> IsingSummary:
    """Summarise a choice of features; `SelectionResult.summary` explains the arguments."""
    chosen = list(selection.selected)
    frame = selection.ranking.to_frame().loc[chosen]
    tables = [_list_features(frame, top, "chosen features")]
    validated = selection.n_validation > 0
    folds = f"{selection.n_folds} folds of " if selection.n_folds > 1 else ""
    left = [
        ("Method:", selection.method),
        ("Chosen:", f"{len(chosen)} of {len(selection.terms)}"),
        ("Chosen by:", f"{folds}validation" if validated else "p-values"),
    ]
    right = [
        ("Rows to rank on:", f"{selection.n_train}"),
        ("Rows to validate on:", f"{selection.n_validation}"),
        (f"Score ({selection.metric}):", f"{selection.score:.4f}" if validated else "--"),
    ]
    path = selection.path
    if len(path["method"].unique()) > 1:
        best = path.sort_values(["score", "size"], ascending=[False, True], kind="stable")
        best = best.drop_duplicates("method")
        measures = ["score_se", *METRICS]
        forms = {"size": "{:d}", **dict.fromkeys(measures, "{:.4f}")}
        tables.append(list_rows(best, ["method"], forms, "The best size of each ranking"))
    following = path[(path["method"] == selection.method) & (path["size"] > len(chosen))]
    if len(following):
        tables.append(_list_following(selection, following.head(_FOLLOWING)))
    head = two_columns("Feature Selection", left, right, tables[0].width)
    covariates = list_covariates(selection.ranking.adjusted_for, head.width)
    notes = [*_about_largest_size(selection), *selection.ranking.scores.notes]
    return IsingSummary([head, *covariates, *tables], notes)


def _about_largest_size(selection: SelectionResult) -> list[str]:
    """Say if no larger number of features was tried than the one that was chosen."""
    size, available = len(selection.selected), len(selection.terms)
    if selection.path.empty or size < selection.path["size"].max() or size == available:
        return []
    return [
        f"The best number of features, {size}, is the largest that was tried, and there are "
        f"{available}: more may predict better. max_features= says how many to try."
    ]


def _list_following(selection: SelectionResult, following: pd.DataFrame) -> Table:
    """Tabulate what the next features of the ranking would add."""
    order = selection.ranking.order
    # With several folds the features are those of the ranking of all rows.
    before = [len(selection.selected), *following["size"].iloc[:-1]]
    added = [
        exc.shorten(order[start:stop], 2).replace("'", "")
        for start, stop in zip(before, following["size"], strict=True)
    ]
    listed = following.assign(feature=added)[["feature", "size", "difference", "score_se"]]
    forms = {"size": "{:d}", "difference": "{:+.4f}", "score_se": "{:.4f}"}
    return list_rows(listed, ["feature"], forms, "What the next features would add to the score")


def _list_features(frame: pd.DataFrame, top: int, what: str) -> Table:
    """Tabulate the best of ranked features."""
    listed = frame.head(check_count("top", top, 1)).reset_index()
    words = [name for name in ("feature", "strongest", "strongest_pair") if name in listed]
    digits = {"rank": "{:d}", "importance": "{:.4g}", "pvalue": "{:.3g}"}
    known = {name: form for name, form in digits.items() if name in listed}
    return list_rows(listed, words, known, f"The {len(listed)} best of {len(frame)} {what}")


def _about_convergence(diagnostics: pd.DataFrame) -> list[str]:
    """Name the labels whose fits did not converge."""
    failed = diagnostics.index[~diagnostics["converged"]]
    return [f"The fit of {_list(failed)} did not converge."] if len(failed) else []


def summarize_edge_plan(plan: EdgePlan) -> IsingSummary:
    """Summarise a plan for edges; `EdgePlan.summary` explains it."""
    frame = plan.to_frame()
    tested = frame[frame["reason"] == Reason.OK]
    groups = tested.groupby(["label", "kind"], sort=False)
    medians = groups[["information", "raising", "lowering", "needed"]].median()
    rows = []
    for (label, kind), part in groups:
        line = {"label": label, "odds ratio": kind, "features": len(part)}
        rows.append(line | medians.loc[(label, kind)].to_dict() | {"most": part["needed"].max()})
    forms = {"features": "{:d}", "information": "{:.3g}"}
    if plan.n_rows is not None:
        forms |= {"raising": "{:.2f}", "lowering": "{:.2f}"}
    if plan.odds_ratio is not None:
        forms |= {"needed": "{:.0f}", "most": "{:.0f}"}
    columns = ["label", "odds ratio", "features", "information", "raising", "lowering", "needed"]
    table = list_rows(
        pd.DataFrame(rows, columns=[*columns, "most"]),
        ["label", "odds ratio"],
        forms,
        "The median feature of each label",
    )
    left = [
        ("Edges:", f"{len(frame)}"),
        ("Power:", f"{plan.power:g}"),
        ("Rows:", "--" if plan.n_rows is None else f"{plan.n_rows:g}"),
    ]
    right = [
        ("Level over all tests:", f"{plan.alpha:g}"),
        ("Level of each test:", f"{plan.level:.3g}"),
        ("Odds ratio:", "--" if plan.odds_ratio is None else f"{plan.odds_ratio:g}"),
    ]
    notes = [
        f"The level is divided by {plan.n_tests} tests (Bonferroni). Odds ratios are per standard "
        "deviation of a feature, or of one against zero where it is binary."
    ]
    if plan.n_rows is not None:
        notes.append(
            f"raising, lowering: the odds ratios nearest to one that are found on {plan.n_rows:g} "
            f"rows with power {plan.power:g}."
        )
    if plan.odds_ratio is not None:
        notes.append(
            f"needed, most: rows that an odds ratio of {plan.odds_ratio:g} needs, for the median "
            "feature and for that which needs most."
        )
    if len(tested) < len(frame):
        notes.append(f"{len(frame) - len(tested)} edges cannot be tested; the table has reasons.")
    return IsingSummary([two_columns("Plan for edges", left, right, table.width), table], notes)


def summarize_network_plan(plan: NetworkPlan) -> IsingSummary:
    """Summarise a plan for a network; `NetworkPlan.summary` explains it."""
    wide = (
        plan.to_frame().pivot_table("mean", "n", "measure", sort=False, dropna=False).reset_index()
    )
    forms = {name: "{:.2f}" for name in plan.measures if name in wide}
    means = list_rows(wide.astype({"n": int}), ["n"], forms, "Means over draws")
    needed = plan.needed().reset_index()
    forms = {"target": "{:.2f}", "n": "{:.0f}", "lower": "{:.0f}", "upper": "{:.0f}"}
    rows = list_rows(needed, ["measure", "reason"], forms, "Rows at which targets are reached")
    about = plan.about
    left = [("Labels:", f"{about['labels']}"), ("Estimator:", str(about["estimator"]))]
    right = [
        ("Edges:", f"{about['edges']} of {about['pairs']} pairs"),
        ("Draws per size:", f"{about['draws']}"),
    ]
    width = max(means.width, rows.width)
    notes = [
        "Means over draws are made not to fall with the number of rows (isotonic regression); "
        "intervals are from draws drawn again, and take the network for the true one."
    ]
    if (needed["reason"] == Reason.NOT_REACHED).any():
        notes.append("A target that is not reached needs more rows than the largest size tried.")
    return IsingSummary([two_columns("Plan for a network", left, right, width), means, rows], notes)


def _head(results: IsingResults, width: int) -> Table:
    settings, n_cells = results.settings, len(results.model.statistics.counts)
    is_split = results.adjusted_for or results.model.statistics.context.sampling is not None
    method = settings.described
    left = [
        ("Labels:", f"{len(results.label_names)}"),
        ("Features:", f"{len(results.feature_names)}"),
        # Covariates, clusters and sampling weights tell rows apart, too.
        ("Cells:" if is_split else "Labelsets:", f"{n_cells}"),
        ("Method:", method),
        ("Intercept:", "yes" if settings.intercept else "no"),
    ]
    right = [
        ("No. Observations:", f"{results.nobs:g}"),
        (f"{results._likelihood.capitalize()}:", f"{results.llf:.4f}"),
        ("AIC:", f"{results.aic:.4f}"),
        ("BIC:", f"{results.bic:.4f}"),
        ("Converged:", "yes" if results.converged else "NO"),
    ]
    if results.cov_type != "nonrobust":
        clusters = results._fit.dependence.clusters
        left.append(("Covariance Type:", results.cov_type))
        right.append(("No. Clusters:", "none" if clusters is None else f"{clusters.n_clusters}"))
    return two_columns("Ising Model Results", left, right, width)


def _number(value: float, digits: int) -> str:
    if np.isnan(value):
        return "--"
    return f"{value:.{digits}f}" if np.isfinite(value) else f"{value:g}"


def _cells(names: Iterable[str], frame: pd.DataFrame) -> list[list[str]]:
    return [
        [name, *(_number(value, 3 if at else 4) for at, value in enumerate(row))]
        for name, row in zip(names, frame.to_numpy(), strict=True)
    ]


def _coefficients(
    corner: str, names: list[str], frame: pd.DataFrame, width: int, title: str | None = None
) -> Table:
    """Tabulate coefficients, the corner above their names."""
    header = [shorten_name(corner).ljust(width) if len(corner) <= width else corner, *frame.columns]
    n = frame.shape[1]
    return Table(_cells(names, frame), header, title, "l" + "r" * n, [width] + [COLUMN] * n)


def _block(label: str, frame: pd.DataFrame, width: int) -> Table:
    """Tabulate the regression of one label on the others."""
    return _coefficients(label, list(frame.index), frame, width)


def _strongest(frame: pd.DataFrame, columns: tuple[str, ...]) -> list[Table]:
    """Tabulate the pairs with the largest z-values; all are in ``to_frame()``."""
    terms = frame.index.get_level_values("term")
    of_covariates = terms.isin(columns)
    kinds = {"other": frame[~of_covariates & (terms != "const")]}
    if columns:
        kinds["covariate"] = frame[of_covariates]
    parts = []
    for kind, pairs in kinds.items():
        size = pairs["t" if "t" in pairs else "z"].abs()
        order = size.sort_values(ascending=False, kind="stable", na_position="last")
        chosen = pairs.loc[order.index[:N_STRONGEST]]
        names = [f"{label} ~ {term}" for label, term in chosen.index]
        what = "label" if kind == "other" else kind
        title = f"The {len(chosen)} strongest of {len(pairs)} label-{what} coefficients"
        parts.append((f"label ~ {kind}", names, chosen, title))
    width = max(len(shorten_name(name)) for corner, names, *_ in parts for name in [corner, *names])
    return [
        _coefficients(corner, names, chosen, width, title) for corner, names, chosen, title in parts
    ]


def attention(results: IsingResults) -> list[str]:
    """Say in sentences what a reader of the fit should know."""
    diagnostics = results.diagnostics
    notes = _about_certain_labels(results)
    varies = (diagnostics["reason"] != Reason.CONSTANT_LABEL).to_numpy()
    notes += _about_pairs(results, varies)
    notes += _about_skips(results)
    if not results._fit.is_penalised:
        notes += _about_lost_rows(diagnostics, results.nobs, _others(results))
    notes += _about_covariates(results)
    for label, others in diagnostics["aliased_with"].items():
        if others:
            notes.append(f"{label} is a linear function of {others}.")
    notes += _about_information(diagnostics)
    notes += _about_convergence(diagnostics)
    kind = results.settings.neighbors
    if kind != "all":
        words = {"ebic": "by EBIC", "given": "by a given graph", "l1": "by an l1 penalty"}
        after = "standard errors take the choice as given."
        if results.is_after_selection:
            after = (
                "the same rows chose them, and standard errors and p-values of interactions do "
                "not know of that (after selection)."
            )
        notes.append(
            f"Each label has {diagnostics['neighbors'].mean():.3g} of the "
            f"{len(diagnostics) - 1} other labels on average in its model, chosen "
            f"{words.get(kind, 'by association')}; {after}"
        )
    notes += _about_shared(results)
    notes += _about_errors(results)
    if results.settings.ridge and results.cov_type == "nonrobust":
        notes.append("Standard errors come from the penalised information and are approximate.")
    if results.settings.penalize_covariates:
        notes.append("The penalty is on covariates too, at unit variance.")
    data = results.model.data
    if data is not None and data.n_dropped:
        notes.append(f"{data.n_dropped} rows with missing values were dropped.")
    return notes


def _about_shared(results: IsingResults) -> list[str]:
    """Say what a fit with one interaction per pair is, and how well it fits."""
    if results.method not in SHARED:
        return []
    notes = ["Each pair has one interaction, which stands in the tables of both labels."]
    if results.method == "joint" and results.cov_type == "nonrobust":
        fit = results.goodness_of_fit(n_samples=0)
        notes.append(f"Against the table of all label vectors: {fit}")
    return notes


def _about_errors(results: IsingResults) -> list[str]:
    """Say which errors these are, and whether they use what is known of the rows."""
    stats, notes = results.model.statistics, []
    if results.cov_type != "nonrobust":
        said = say_robust(results._fit)
        notes.append(f"{said[0].upper()}{said[1:]}.")
    if stats.groups is not None and results.cov_type != "cluster":
        notes.append(
            "Rows are taken for independent, though the model has groups of dependent ones: "
            "fit(cov_type='cluster') uses them."
        )
    return notes


def _about_certain_labels(results: IsingResults) -> list[str]:
    """Name the labels that cannot be tested, and why."""
    patterns = results.model.statistics.patterns
    reasons = results.diagnostics["reason"].to_numpy()
    names = np.array(results.label_names, dtype=object)
    notes = []
    for value, text in ((False, "0"), (True, "1")):
        same = names[(reasons == Reason.CONSTANT_LABEL) & (patterns[0] == value)]
        if len(same):
            notes.append(f"{_list(same)} {_be(same)} {text} in every row: {_untestable(same)}.")
    determined = np.flatnonzero(reasons == Reason.DETERMINED_LABEL)
    rules = {int(at): _rule(patterns, int(at), names) for at in determined}
    for at, rule in rules.items():
        if rule:
            notes.append(f"{names[at]} is {rule}: {_untestable(names[[at]])}.")
    rest = names[[at for at, rule in rules.items() if not rule]]
    if len(rest):
        verb = _be(rest)
        notes.append(f"{_list(rest)} {verb} determined by {_others(results)}: {_untestable(rest)}.")
    return notes


def _others(results: IsingResults) -> str:
    """Say what the model of a label has."""
    return "the other labels and covariates" if results.adjusted_for else "the other labels"


def _about_covariates(results: IsingResults) -> list[str]:
    """Name the columns of covariates that no model has a coefficient of their own for."""
    params = results.params.loc[list(results.model.statistics.context.column_names)]
    fitted = results.diagnostics.index[results.diagnostics["reason"] == Reason.OK]
    aliased = params.index[params[fitted].isna().all(axis=1)] if len(fitted) else []
    if not len(aliased):
        return []
    what = "a linear function" if len(aliased) == 1 else "linear functions"
    return [
        f"{_list(aliased, 'covariate')} {_be(aliased)} {what} of other covariates or of labels: "
        "models are the same without."
    ]


def _rule(patterns: BoolArray, label: int, names: npt.NDArray[np.object_]) -> str:
    """Say how a label follows from the others, if that takes few words."""
    outcome = patterns[:, label]
    others = np.delete(patterns, label, axis=1)
    if np.array_equal(outcome, ~others.any(axis=1)):
        return "1 exactly when no other label is"
    if np.array_equal(outcome, others.any(axis=1)):
        return "1 exactly when some other label is"
    for other, name in enumerate(names):
        if other != label and np.array_equal(outcome, patterns[:, other]):
            return f"1 exactly when {name} is"
        if other != label and np.array_equal(outcome, ~patterns[:, other]):
            return f"1 exactly when {name} is 0"
    return ""


def _about_pairs(results: IsingResults, varies: BoolArray) -> list[str]:
    """Say which labels of one model never meet, and whether every row has a label."""
    patterns = results.model.statistics.patterns
    names = np.array(results.label_names, dtype=object)
    together = patterns.T.astype(np.float64) @ patterns
    has = np.array([fit.neighbors for fit in results.fits])
    modelled = np.triu(has | has.T) & np.outer(varies, varies)
    never = modelled & (together == 0)
    pairs = [f"{names[a]} and {names[b]}" for a, b in zip(*np.nonzero(never), strict=True)]
    effect = "" if results._fit.is_penalised else ": the interaction runs to −inf"
    notes = []
    if 0 < len(pairs) <= _MAX_LISTED:
        notes += [f"{pair} never occur together{effect}." for pair in pairs]
    elif pairs:
        what = "labels" if results.settings.neighbors == "all" else "neighbours"
        effect = effect.replace("the interaction runs", "their interactions run")
        shown = "; ".join(pairs[:_MAX_LISTED])
        notes.append(
            f"{len(pairs)} of {modelled.sum()} pairs of {what} never occur together{effect} "
            f"(first: {shown})."
        )
    if patterns.any(axis=1).all():
        notes.append("Every row carries at least one label.")
    return notes


def _about_information(diagnostics: pd.DataFrame) -> list[str]:
    """Name the labels of which the rows say too little for large-sample p-values."""
    fitted = diagnostics[diagnostics["reason"] == Reason.OK]
    low = fitted[fitted["information_per_coefficient"] < LEAST_PER_COEFFICIENT]
    if low.empty:
        return []
    worst = low["information_per_coefficient"].idxmin()
    total, share = low.loc[worst, ["information", "information_per_coefficient"]]
    least = f", least of all about {worst}" if len(low) > 1 else ""
    return [
        f"The rows say little about {_list(low.index)}{least}: information Σp(1−p) of {total:.3g}, "
        f"{share:.2g} per coefficient. Below {LEAST_PER_COEFFICIENT:g} large-sample p-values and "
        "standard errors are not to be trusted."
    ]


def _about_lost_rows(diagnostics: pd.DataFrame, nobs: float, others: str) -> list[str]:
    """Recommend a penalty if separation leaves little to test."""
    tested = diagnostics[diagnostics["reason"] != Reason.CONSTANT_LABEL]
    partly = tested.index[tested["separated"] & ~tested["determined"]]
    notes = []
    if len(partly):
        notes.append(
            f"{_list(partly)} {_be(partly)} certain in part of the rows given {others}: "
            "coefficients along those directions are infinite, and only the other rows carry "
            "information (see diagnostics)."
        )
    share = float((tested["rows"] / nobs).mean())
    determined = float(tested["determined"].mean())
    if determined >= _MUCH_DETERMINED or share <= _FEW_ROWS:
        notes.append(
            f"On average {share:.0%} of the rows carry information about a label, and "
            f"{tested['determined'].sum()} of {len(tested)} labels cannot be tested at all. To use "
            "every row for every label, fit(penalty=1.0)."
        )
    return notes


def _list(names: Iterable[object], what: str = "label") -> str:
    listed = [str(name) for name in names]
    if len(listed) > _MAX_LISTED + 1:
        return f"{', '.join(listed[:_MAX_LISTED])} and {len(listed) - _MAX_LISTED} other {what}s"
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))


def _be(names: Sized) -> str:
    return "is" if len(names) == 1 else "are"


def _untestable(names: Sized) -> str:
    return f"{'its' if len(names) == 1 else 'their'} edges cannot be tested"
