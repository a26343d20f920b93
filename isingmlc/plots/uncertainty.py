"""Networks with what is uncertain about them: draws, differences, centrality, groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from isingmlc.base.arguments import check_count, check_number
from isingmlc.base.arrays import FloatArray
from isingmlc.fitting.reasons import Reason
from isingmlc.plots.label_network import Panel, draw_labels
from isingmlc.plots.look import LookOptions, NetworkLook
from isingmlc.plots.style import (
    DASHED,
    FAINT,
    INK,
    LOWERS,
    PAPER,
    RAISES,
    SMALL_SIZE,
    UNTESTED,
    Entries,
    add_legend,
    below,
    font_for,
    join_names,
    label_ticks,
    make_axes,
    make_panels,
    set_title,
    settle,
    size_in_points,
    wrap_names,
    write,
)
from isingmlc.plots.ties import Ties, choose_ties

if TYPE_CHECKING:
    from isingmlc.networks.bootstrap import NetworkBootstrap
    from isingmlc.results.network_comparison import NetworkComparison

_NAME_LENGTH = 30
_PAIR_LENGTH = 44


def plot_uncertain_network(
    boot: NetworkBootstrap,
    *,
    alpha: float = 0.05,
    ax: Axes | None = None,
    **look: Unpack[LookOptions],
) -> Axes:
    """Draw the network of all rows with what draws say; see `NetworkBootstrap.plot_network`.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_uncertain_network
    >>> from matplotlib.figure import Figure
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> boot = res.bootstrap(50, random_state=0)
    >>> plot_uncertain_network(boot, ax=Figure().subplots()).get_title()
    'Interactions of 6 labels in 50 draws (15 of 15 pairs)'
    """
    wanted = NetworkLook.of(look, min_weight=0.0)
    labels, table = boot.label_names, boot.edges(alpha=alpha)
    ties = choose_ties(_square(labels, table, "sample"), wanted.min_weight)
    share, covers = (_square(labels, table, name) for name in ("share", "covers_zero"))
    table = table.assign(unknown=table["reason"] == Reason.INFINITE_PAIR)
    at = ties.first, ties.second
    ties = replace(
        ties,
        sureness=np.nan_to_num(share[at]),
        doubtful=covers[at] > 0,
        unestimable=_square(labels, table, "unknown")[at] > 0,
    )
    ax = make_axes(ax, 7.0, 5.8)
    ax.set_axis_off()
    title = (
        f"Interactions of {len(labels)} labels in {boot.n_draws} draws "
        f"({len(ties.weight)} of {len(table)} pairs)"
    )
    wanted.set_titles([ax], [title], [()])
    weights = _square(labels, table, "sample")
    weights[_square(labels, table, "unknown") > 0] = 0.0
    places = wanted.place(weights, labels)
    sizes = wanted.measure(labels, weights, None, None)
    said = [
        *_say_doubtful(ties, f"interval ({1 - alpha:.0%}) covers zero"),
        (Line2D([], [], color=INK, alpha=0.2, linewidth=3), "paler: sign in fewer draws"),
    ]
    draw_labels([ax], labels, [Panel(ties, sizes, said)], places, wanted)
    return ax


def plot_groups(
    comparison: NetworkComparison,
    *,
    alpha: float = 0.05,
    axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None,
    **look: Unpack[LookOptions],
) -> npt.NDArray[np.object_]:
    """Draw the networks of groups on one scale; see `NetworkComparison.plot`.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_groups
    >>> from matplotlib.figure import Figure
    >>> data = im.datasets.load_example()
    >>> found = im.compare_networks(
    ...     im.IsingModel(data.labels), data.features["smoker"], n_permutations=19, random_state=0
    ... )
    >>> [ax.get_title() for ax in plot_groups(found, axes=Figure().subplots(1, 3))]
    ['0 (1218 rows)', '1 (282 rows)', '1 less 0']
    """
    alpha = check_number("alpha", alpha, above=0, below=1)
    wanted = NetworkLook.of(look, min_weight=0.0)
    labels, groups = comparison.label_names, comparison.groups
    # Weights of all groups stand beside the comparison of the first two.
    table = comparison.edges.iloc[: len(labels) * (len(labels) - 1) // 2]
    weights = [_square(labels, table, f"weight_{name}") for name in groups.index]
    titles = [f"{name} ({rows} rows)" for name, rows in groups["observations"].items()]
    ties = [choose_ties(each, wanted.min_weight) for each in weights]
    said: list[Entries] = [[] for _ in weights]
    if len(weights) == 2:
        with np.errstate(invalid="ignore"):
            apart = choose_ties(weights[1] - weights[0], wanted.min_weight)
        pvalues = _square(labels, table, "pvalue_adj")[apart.first, apart.second]
        words = f"larger in {groups.index[1]}", f"smaller in {groups.index[1]}"
        apart = replace(apart, doubtful=~(pvalues <= alpha), words=words)
        ties.append(apart)
        titles.append(f"{groups.index[1]} less {groups.index[0]}")
        said.append(_say_doubtful(apart, f"adjusted p > {alpha:g}"))
    finite = [np.where(np.isfinite(each), each, 0.0) for each in weights]
    places = wanted.place(np.mean(finite, axis=0), labels)
    panels = make_panels(axes, len(ties), "network")
    for ax in panels:
        ax.set_axis_off()
    wanted.set_titles(panels, titles, [()] * len(panels))
    shown = [
        Panel(
            drawn,
            wanted.measure(labels, finite[min(at, len(finite) - 1)], None, None),
            entries,
        )
        for at, (drawn, entries) in enumerate(zip(ties, said, strict=True))
    ]
    draw_labels(panels, labels, shown, places, wanted)
    return np.array(panels, dtype=object)


def plot_differences(
    boot: NetworkBootstrap,
    of: str = "strength",
    *,
    alpha: float = 0.05,
    adjust: str | None = "fdr_bh",
    top: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """Draw which pairs, labels or features differ; see `NetworkBootstrap.plot_differences`.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_differences
    >>> from matplotlib.figure import Figure
    >>> res = im.IsingModel(im.datasets.load_example().labels).fit()
    >>> boot = res.bootstrap(50, random_state=0)
    >>> plot_differences(boot, ax=Figure().subplots()).get_title()
    'Differences in strength, 50 draws'
    """
    top = check_count("top", top, 2)
    table = boot.difference(of, alpha=alpha, adjust=adjust)
    sample = boot.intervals(of)
    parts = sample.iloc[:, : list(sample.columns).index("sample")]
    names = parts.agg(":".join, axis=1)
    values = pd.Series(sample["sample"].to_numpy(), index=names)
    order = values.abs().fillna(-1.0).nlargest(top, keep="first").index
    shown = values[order].sort_values(ascending=False, kind="stable", na_position="last")
    place = {name: at for at, name in enumerate(shown.index)}
    inside = table[table["one"].isin(place) & table["other"].isin(place)]
    one, other = (inside[name].map(place).to_numpy(dtype=int) for name in ("one", "other"))
    code = np.where(inside["difference"] > 0, 2, 1)
    pvalues = inside["pvalue" if adjust is None else "pvalue_adj"]
    code = np.where(pvalues <= alpha, code, 0)
    code = np.where(pvalues.isna(), 3, code)
    n = len(shown)
    cells = np.zeros((n, n))
    cells[one, other], cells[other, one] = (
        code,
        np.where(code == 1, 2, np.where(code == 2, 1, code)),
    )
    written = _name_things(parts, names, shown)
    names_length = 0.075 * max(len(name) for name in written)
    ax = make_axes(ax, max(1.4 + 0.26 * n + names_length, 4.6), 1.4 + 0.24 * n + names_length)
    what = of.replace("_", " ")
    some = f", the {n} largest of {len(values)}" if n < len(values) else ""
    set_title(ax, f"Differences in {what}, {boot.n_draws} draws{some}")
    colours = ListedColormap([PAPER, LOWERS, RAISES, UNTESTED])
    ax.imshow(cells, colours, vmin=-0.5, vmax=3.5, alpha=0.75, aspect="auto")
    ax.set_xticks(np.arange(n + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(n + 1) - 0.5, minor=True)
    ax.grid(which="minor", color=FAINT, linewidth=0.4)
    ax.tick_params(which="both", length=0)
    for _ in range(2):
        settle(ax)
        width, height = size_in_points(ax)
        label_ticks(ax.set_yticks, written, height / n)
        label_ticks(ax.set_xticks, written, width / n, rotation=90)
    size = min(font_for(height / n), font_for(width / n / 1.6), SMALL_SIZE)
    for at, value in enumerate(shown):
        text = f"{value:.2g}" if np.isfinite(value) else "–"
        write(ax, at, at, text.replace("-", "−"), fontsize=size, ha="center", va="center")
    level = f"p ≤ {alpha:g}" if adjust is None else f"adjusted p ≤ {alpha:g}"
    entries: Entries = [
        (Patch(color=RAISES, alpha=0.75), f"row larger than column ({level})"),
        (Patch(color=LOWERS, alpha=0.75), f"row smaller than column ({level})"),
    ]
    longest = max(len(name) for name in written)
    add_legend(ax, entries, loc="upper center", ncols=1, **below(ax, 14 + 5.2 * longest))
    return ax


def _name_things(parts: pd.DataFrame, names: pd.Series, shown: pd.Series) -> list[str]:
    """Write the names of things that are compared; those of pairs keep both labels."""
    rows = parts.set_axis(names, axis=0).loc[shown.index]
    if rows.shape[1] == 2:
        return join_names(list(rows.iloc[:, 0]), list(rows.iloc[:, 1]), " – ", _PAIR_LENGTH)
    return wrap_names(list(shown.index), _NAME_LENGTH, 1)


def _say_doubtful(ties: Ties, words: str) -> Entries:
    """Say what broken lines mean, if there are any."""
    if ties.doubtful is None or not (ties.doubtful & ties.scaled).any():
        return []
    return [(Line2D([], [], color=INK, linestyle=DASHED, linewidth=1.4), words)]


def _square(labels: tuple[str, ...], table: pd.DataFrame, column: str) -> FloatArray:
    """Return a column of a table of pairs, in the order of the labels, as a symmetric matrix."""
    square = np.zeros((len(labels), len(labels)))
    first, second = np.triu_indices(len(labels), 1)
    square[first, second] = square[second, first] = table[column].to_numpy(dtype=float)
    return square
