"""ROC curves of rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from isingmlc.base.printing import say_given
from isingmlc.plots.style import (
    LINES,
    UNTESTED,
    Entries,
    add_legend,
    label_axes,
    make_axes,
    set_title,
)

if TYPE_CHECKING:
    from isingmlc.results.ranking import RankingRoc


def plot_roc(roc: RankingRoc, *, name: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the ROC curve of a ranking; `RankingRoc.plot` explains the arguments.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_roc
    >>> from matplotlib.figure import Figure
    >>> data = im.datasets.load_example()
    >>> ranking = im.IsingModel(data.labels, data.features).fit().rank_features()
    >>> ax = plot_roc(ranking.roc(data.relevant), ax=Figure().subplots())
    >>> ax.get_xlabel()
    'false positive rate'
    """
    ax = make_axes(ax, 5.2, 5.2)
    drawn = [line for line in ax.lines if line.get_gid() == "roc"]
    if not drawn:
        ax.plot([0, 1], [0, 1], color=UNTESTED, linewidth=0.8, zorder=1)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        label_axes(ax, "false positive rate", "true positive rate")
        set_title(ax, "How early relevant features are ranked")
    color, style = LINES[len(drawn) % len(LINES)]
    (line,) = ax.plot(
        np.append(0.0, roc.fpr), np.append(0.0, roc.tpr), color=color, linestyle=style, gid="roc"
    )
    line.set(linewidth=1.8, clip_on=False, zorder=2 + len(drawn))
    given = f", {say_given(roc.adjusted_for, 40)}" if roc.adjusted_for else ""
    line.set_label(f"{roc.method + given if name is None else name}: AUC {roc.auc:.3f}")
    entries: Entries = [(one, str(one.get_label())) for one in (*drawn, line)]
    add_legend(ax, entries, loc="lower right")
    return ax
