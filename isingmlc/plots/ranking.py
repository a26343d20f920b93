"""Rankings of features as bars: what each label adds, and what products with pairs of labels do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from isingmlc import exceptions as exc
from isingmlc.base.arguments import check_count
from isingmlc.base.arrays import FloatArray
from isingmlc.base.names import display_names
from isingmlc.plots.canvas import measure
from isingmlc.plots.style import (
    PAPER,
    RAISES,
    SMALL_SIZE,
    UNTESTED,
    Entries,
    add_legend,
    below,
    check_feature,
    digits,
    font_for,
    label_bars,
    make_axes,
    set_title,
    wrap,
    wrap_names,
    write,
)

if TYPE_CHECKING:
    from isingmlc.results.ranking import FeatureRanking

# Okabe and Ito's colours, dark and light in turn, so that neighbours differ in grey too.
_LOOKS = (
    ("#0072B2", ""),
    ("#F0E442", ""),
    ("#D55E00", "////"),
    ("#56B4E9", ""),
    ("#009E73", "----"),
    ("#E69F00", "\\\\\\\\"),
    ("#7B3F72", "||||"),
    ("#CC79A7", "...."),
)
_NAME_LENGTH = 30
# If there are more labels than looks, each bar shows its own strongest labels, which are named
# beside it in so many letters if they have at least this share of the importance.
_ORDINALS = ("strongest", "second", "third")
_LABEL_LENGTH, _NOTABLE = 26, 0.1


@dataclass(frozen=True)
class _Part:
    """A part of every bar: its name in the legend, its widths, and how it looks."""

    name: str
    widths: FloatArray
    color: str
    hatch: str

    @property
    def look(self) -> dict[str, Any]:
        """Arguments of a patch."""
        return {"facecolor": self.color, "hatch": self.hatch, "edgecolor": PAPER}


def plot_ranking(ranking: FeatureRanking, top: int = 20, *, ax: Axes | None = None) -> Axes:
    """Draw the best features; `FeatureRanking.plot` explains the arguments.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_ranking
    >>> from matplotlib.figure import Figure
    >>> data = im.datasets.load_example()
    >>> ranking = im.IsingModel(data.labels, data.features).fit().rank_features()
    >>> plot_ranking(ranking, 5, ax=Figure().subplots()).get_title()
    'The 5 most important of 30 features (score)'
    """
    features = list(ranking.order)[: check_count("top", top, 1)]
    importance = ranking.importance[features]
    contributions = ranking.contributions.loc[features]
    parts = _divide(contributions, importance)
    many = contributions.shape[1] > len(_LOOKS)
    strongest = _name_strongest(contributions) if many else [""] * len(features)
    legend_lines = 2 if many else sum(part.name.count("\n") + 1 for part in parts)
    height = max((1.7 if many else 1.2) + 0.27 * len(features), 0.7 + 0.18 * legend_lines)
    ax = make_axes(ax, 10.0 if many else 7.6, height)
    start = np.zeros(len(features))
    for part in parts:
        place = np.arange(len(features))
        ax.barh(place, part.widths, left=start, height=0.72, linewidth=0.7, **part.look)
        start += part.widths
    total = len(ranking.importance)
    of = f"most important of {total} features" if len(features) < total else "features"
    set_title(ax, f"The {len(features)} {of} ({ranking.method})", ranking.adjusted_for)
    if len(parts) > 1:
        entries: Entries = [(Patch(**part.look, linewidth=0.7), part.name) for part in parts]
        where: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        if many:
            where = {"loc": "upper center", "ncols": len(entries), **below(ax, 34)}
        add_legend(ax, entries, **where, handlelength=1.4)
    names = wrap_names(display_names(features), _NAME_LENGTH, 1)
    _finish(ax, names, importance.to_numpy(), "importance", strongest)
    return ax


def plot_pairs(
    ranking: FeatureRanking, feature: str, top: int = 20, *, ax: Axes | None = None
) -> Axes:
    """Draw products with pairs of labels; `FeatureRanking.plot_pairs` explains the arguments.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_pairs
    >>> from matplotlib.figure import Figure
    >>> data = im.datasets.load_example()
    >>> ranking = im.rank_features(data.labels, data.features, method="products")
    >>> ax = plot_pairs(ranking, "deprivation_decile", ax=Figure().subplots())
    >>> ax.get_yticklabels()[0].get_text()
    'depression × asthma'
    """
    if ranking.pairs is None:
        raise exc.ModelError(
            f"method {ranking.method!r} does not look at pairs of labels. Rank with "
            "rank_features(method='products')."
        )
    top = check_count("top", top, 1)
    name = check_feature(feature, tuple(ranking.importance.index))
    pairs = ranking.pairs.loc[name]
    shown = pairs.dropna().sort_values(ascending=False, kind="stable")[:top]
    ax = make_axes(ax, 7.0, 1.5 + 0.27 * max(len(shown), 1))
    values = shown.to_numpy()
    ax.barh(np.arange(len(shown)), values, height=0.66, color=RAISES)
    of = f"{len(shown)} of {len(pairs)}" if len(shown) < len(pairs) else f"{len(pairs)}"
    set_title(ax, f"Products of {name} with pairs of labels ({of})", ranking.adjusted_for)
    labels = pairs.index.unique(0).union(pairs.index.unique(1), sort=False)
    short = dict(zip(labels, wrap_names(labels, 20, 1), strict=True))
    names = [f"{short[first]} × {short[second]}" for first, second in shown.index]
    _finish(ax, names, values, "statistic")
    return ax


def _divide(contributions: pd.DataFrame, importance: pd.Series) -> list[_Part]:
    """Divide importances among labels, or the strongest of each and the rest, and what is left."""
    known = contributions.fillna(0.0)
    known = known[known.sum().sort_values(ascending=False, kind="stable").index]
    total = known.sum(axis=1)
    # If not the sum of the labels counts but the largest or the mean, parts are shares of it.
    known = known.mul((importance / total).where(total > importance, 1.0), axis=0)
    if known.shape[1] <= len(_LOOKS):
        parts = [
            _Part(wrap(str(label), 22, 2), known[label].to_numpy(), *look)
            for label, look in zip(known, _LOOKS, strict=False)
        ]
    else:
        ordered = -np.sort(-known.to_numpy(), axis=1)
        parts = [
            _Part(f"its {word} label", ordered[:, at], *look)
            for at, (word, look) in enumerate(zip(_ORDINALS, _LOOKS, strict=False))
        ]
        n_others = known.shape[1] - len(_ORDINALS)
        rest = ordered[:, len(_ORDINALS) :].sum(axis=1)
        parts.append(_Part(f"the {n_others} other labels", rest, UNTESTED, ""))
    beyond = (importance - known.sum(axis=1)).to_numpy()
    if (beyond > 1e-9 * importance.max()).any():
        parts.append(_Part("not of single labels", beyond, "#E4E4E4", ""))
    return parts


def _name_strongest(contributions: pd.DataFrame) -> list[str]:
    """Name the labels that add most to each feature."""
    labels = contributions.columns
    known = contributions.fillna(0.0).to_numpy()
    short = wrap_names([str(label) for label in labels], _LABEL_LENGTH, 1)
    order = np.argsort(-known, axis=1, kind="stable")[:, : len(_ORDINALS)]
    notable = np.take_along_axis(known, order, 1) >= _NOTABLE * known.sum(axis=1, keepdims=True)
    return [
        "  " + ", ".join(short[at] for at, kept in zip(*line, strict=True) if kept)
        for line in zip(order, notable & (known.max(axis=1) > 0)[:, None], strict=True)
    ]


def _finish(
    ax: Axes, names: list[str], values: FloatArray, what: str, after: list[str] | None = None
) -> None:
    """Name the bars and write their values at their ends, and what stands after them."""
    ax.set_ylim(len(names) - 0.4, -0.6)
    largest = float(np.max(values, initial=0.0)) or 1.0
    size = font_for(label_bars(ax, what, names), SMALL_SIZE)
    texts = [digits(value) for value in values]
    if after is not None:
        texts = [text + more for text, more in zip(texts, after, strict=True)]
    width = ax.get_window_extent().width
    # Texts may take up to three quarters of a bar's line.
    taken = np.minimum(measure(ax, texts, size)[:, 0] / width + 0.02, 0.75)
    ax.set_xlim(0, max(float(np.max(values / (1 - taken), initial=0.0)), 1.05 * largest))
    for at, (value, text) in enumerate(zip(values, texts, strict=True)):
        write(ax, value + 0.01 * largest, at, text, va="center", ha="left", fontsize=size)
