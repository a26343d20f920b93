"""ROC curves of rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from isingmlc.plots.style import (
    LINES,
    SMALL_SIZE,
    UNTESTED,
    Entries,
    add_legend,
    make_axes,
    set_title,
)

if TYPE_CHECKING:
    from isingmlc.results.ranking import RankingRoc


def plot_roc(roc: RankingRoc, *, name: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the ROC curve of a ranking; several on the same axes for a comparison.

    Parameters
    ----------
    roc : RankingRoc
        The curve.
    name : str, optional
        Its name in the legend; the method of ranking where not given.
    ax : Axes, optional
        Where to draw; a new figure where not given.

    Returns
    -------
    Axes
        The picture.

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
        ax.set_xlabel("false positive rate", fontsize=SMALL_SIZE)
        ax.set_ylabel("true positive rate", fontsize=SMALL_SIZE)
        ax.tick_params(labelsize=SMALL_SIZE)
        ax.spines[["top", "right"]].set_visible(False)
        set_title(ax, "How early relevant features are ranked")
    color, style = LINES[len(drawn) % len(LINES)]
    (line,) = ax.plot(
        np.append(0.0, roc.fpr), np.append(0.0, roc.tpr), color=color, linestyle=style, gid="roc"
    )
    line.set(linewidth=1.8, clip_on=False, zorder=2 + len(drawn))
    line.set_label(f"{roc.method if name is None else name}: AUC {roc.auc:.3f}")
    entries: Entries = [(one, str(one.get_label())) for one in (*drawn, line)]
    add_legend(ax, entries, loc="lower right")
    return ax
