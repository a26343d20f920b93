"""What a person reads of a comparison of methods."""

from __future__ import annotations

from isingmlc.base.printing import COLUMN, IsingSummary, Table, list_rows, shorten_name, two_columns
from isingmlc.compare import UNANIMOUS, CompareResult

# Up to so many methods there is a table of all pairs.
MAX_PAIRS = 10
# Demšar's rule of thumb: with fewer the chi-square distribution is a rough approximation.
FEW_DATASETS, FEW_METHODS = 10, 5


def summarize_comparison(result: CompareResult) -> IsingSummary:
    """Summarise a comparison of methods.

    Parameters
    ----------
    result : CompareResult
        The comparison.

    Returns
    -------
    IsingSummary
        Head, methods by rank, p-values of pairs, notes.
    """
    frame = result.table().reset_index()
    digits = {"rank": "{:.3f}", "mean": "{:#.4g}", "median": "{:#.4g}", "wins": "{:d}"}
    methods = list_rows(frame, ["method"], digits, "Methods by average rank")
    tables = [methods]
    if len(result.methods) <= MAX_PAIRS:
        tables.append(_pair_table(result, list(frame["method"])))
    left = [
        ("Methods:", f"{len(result.methods)}"),
        ("Data sets:", f"{len(result.datasets)}"),
        ("Better:", "higher" if result.higher_is_better else "lower"),
        ("Kendall's W:", f"{result.concordance:.3f}"),
    ]
    right = [
        ("Chi-square:", f"{result.statistic:.3f}"),
        ("Degrees of freedom:", f"{result.df}"),
        ("P-value:", f"{result.pvalue:.3g}"),
        ("P-value, F test:", f"{result.iman_davenport[1]:.3g}"),
    ]
    head = two_columns("Friedman Test", left, right, max(table.width for table in tables))
    return IsingSummary([head, *tables], _notes(result))


def _pair_table(result: CompareResult, order: list[str]) -> Table:
    """Tabulate p-values of pairs below the diagonal, methods numbered by rank."""
    pvalues = result.posthoc.loc[order, order].to_numpy()
    names = [f"{number} {name}" for number, name in enumerate(order, 1)]
    rows = [
        [name, *(f"{p:.3g}" for p in pvalues[at, :at]), *[""] * (len(order) - 1 - at)]
        for at, name in enumerate(names)
    ]
    width = max(len(shorten_name(name)) for name in names)
    return Table(
        rows,
        [" " * width, *(str(number) for number in range(1, len(order)))],
        "p-values of pairs (Conover, adjusted by holm)",
        "l" + "r" * (len(order) - 1),
        [width] + [COLUMN] * (len(order) - 1),
    )


def _notes(result: CompareResult) -> list[str]:
    n_methods, n_datasets = len(result.methods), len(result.datasets)
    notes = [
        f"Null: {result.null}.",
        f"The best method on a data set has rank {n_methods} there; equal ones share ranks.",
    ]
    if result.all_tied:
        notes.append("All methods are equal on every data set: there is nothing to compare.")
    elif result.unanimous:
        notes.append(f"{UNANIMOUS[0].upper()}{UNANIMOUS[1:]}")
    if result.pvalue > 0.05:
        notes.append("Friedman's test is not significant at 0.05: do not read much into the pairs.")
    if n_datasets <= FEW_DATASETS or n_methods <= FEW_METHODS:
        notes.append(
            f"With up to {FEW_DATASETS} data sets or {FEW_METHODS} methods the chi-square "
            "distribution is a rough approximation; see also the F test of Iman and Davenport."
        )
    return notes
