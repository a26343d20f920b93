"""The path of a selection: how good a subset of each size is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from isingmlc import exceptions as exc
from isingmlc.metrics import METRICS
from isingmlc.plots.style import (
    DOTTED,
    FAINT,
    INK,
    LINES,
    PAPER,
    Entries,
    add_legend,
    label_axes,
    make_axes,
    set_title,
    wrap,
)

if TYPE_CHECKING:
    from isingmlc.selection.result import SelectionResult

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def plot_result(selection: SelectionResult, ax: Axes | None) -> Axes:
    """Draw the path of a selection; `SelectionResult.plot` explains the picture."""
    path = selection.path
    size = len(selection.selected)
    if path.empty:
        raise exc.ModelError(
            "the features were chosen by their p-values, so no sizes were tried on a validation "
            "set. Draw selection.ranking.plot() instead, or choose without alpha."
        )
    if len(path["method"].unique()) > 1:
        name = f"score ({selection.metric})"
        path = path.rename(columns={"score": name})
        return plot_selection(
            path,
            size,
            measures=[name],
            by="method",
            winner=selection.method,
            adjusted_for=selection.ranking.adjusted_for,
            ax=ax,
        )
    adjusted_for = selection.ranking.adjusted_for
    shown = list(METRICS)
    if selection.metric not in METRICS:
        path, shown = path.rename(columns={"score": selection.metric}), [selection.metric, *shown]
    path = path[["size", *shown]]
    return plot_selection(path, size, adjusted_for=adjusted_for, ax=ax)


def plot_selection(
    path: pd.DataFrame,
    chosen: int,
    *,
    measures: Sequence[str] | None = None,
    by: str | None = None,
    winner: object = None,
    adjusted_for: Sequence[str] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw how measures on the validation set change with the number of features.

    Parameters
    ----------
    path : DataFrame
        A column ``size``, the number of features, and one column per measure.
    chosen : int
        The size that was chosen.
    measures : sequence of str, optional
        The columns to draw; all other numeric columns if omitted.
    by : str, optional
        A column such as the ranking method: each of its values gets a curve of the first measure.
    winner : object, optional
        The value of `by` that was chosen; all curves are marked if omitted.
    adjusted_for : sequence of str
        The covariates that features are chosen given, for the title.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Returns
    -------
    Axes
        The picture.

    Raises
    ------
    DataError
        When `path` has no such columns, or `chosen` is none of its sizes.

    Examples
    --------
    >>> import pandas as pd
    >>> from isingmlc.plots import plot_selection
    >>> from matplotlib.figure import Figure
    >>> path = pd.DataFrame({"size": [1, 2, 3], "subset": [0.2, 0.5, 0.4]})
    >>> plot_selection(path, 2, ax=Figure().subplots()).get_title()
    'Validation by number of features (2 chosen)'
    """
    missing = [
        name for name in ("size", *(measures or ()), *filter(None, [by])) if name not in path
    ]
    if missing:
        raise exc.DataError(
            f"path must have the column(s) {exc.shorten(missing)}, but has "
            f"{exc.shorten(path.columns)}."
        )
    numeric = path.drop(columns=["size"]).select_dtypes("number").columns
    shown = list(numeric if measures is None else measures)
    if not shown:
        raise exc.DataError("path must have a column with a measure besides 'size', but has none.")
    if chosen not in set(path["size"]):
        raise exc.DataError(
            f"chosen must be one of the sizes of path, {exc.shorten(path['size'].unique())}, but "
            f"is {chosen!r}."
        )
    if path.duplicated([*filter(None, [by]), "size"]).any():
        raise exc.DataError(
            "path must have each size once, but some occur more often. Pass the column that tells "
            "them apart, e.g. by='method'."
        )
    curves = (
        {name: path.set_index("size")[name] for name in shown}
        if by is None
        else {name: part.set_index("size")[shown[0]] for name, part in path.groupby(by, sort=False)}
    )
    ax = make_axes(ax, 7.0, 4.2)
    ax.axvline(chosen, color=FAINT, linewidth=1.0, linestyle=DOTTED, zorder=1)
    entries: Entries = []
    for at, (name, curve) in enumerate(curves.items()):
        color, style = LINES[at % len(LINES)]
        marker = _MARKERS[at % len(_MARKERS)]
        curve = curve.sort_index()
        mark: dict[str, Any] = {"marker": marker, "markeredgecolor": PAPER, "markeredgewidth": 0.6}
        (line,) = ax.plot(
            curve.index, curve, color=color, linestyle=style, linewidth=1.6, markersize=5, **mark
        )
        if chosen in curve.index and winner in (None, name):
            ax.plot([chosen], curve.loc[[chosen]], marker, color=color, ms=9, mec=INK, zorder=4)
        entries.append((line, wrap(str(name), 22, 2)))
    label_axes(ax, "number of features", shown[0] if len(shown) == 1 else "measure")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    set_title(ax, f"Validation by number of features ({chosen} chosen)", adjusted_for)
    add_legend(ax, entries, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax
