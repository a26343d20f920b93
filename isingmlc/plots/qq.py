"""Quantile plots of p-values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import beta

from isingmlc import exceptions as exc
from isingmlc.plots.style import (
    FAINT,
    RAISES,
    UNTESTED,
    add_legend,
    label_axes,
    make_axes,
    set_title,
)
from isingmlc.summaries import TEST_NAMES

if TYPE_CHECKING:
    from isingmlc.results.edge_tests import EdgeTests

# Of more p-values than this the large ones, which lie on each other, are thinned out.
_POINTS = 5000


def plot_qq(edges: EdgeTests, *, ax: Axes | None = None) -> Axes:
    """Compare p-values with what chance gives; `EdgeTests.plot_qq` explains the picture.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_qq
    >>> from matplotlib.figure import Figure
    >>> data = im.datasets.load_example()
    >>> edges = im.IsingModel(data.labels, data.features).fit().score_test()
    >>> plot_qq(edges, ax=Figure().subplots()).get_title()
    'Score tests: p-values of 180 edges'
    """
    frame = edges.to_frame(adjust=None)
    observed = np.sort(-frame["log10p"].dropna().to_numpy())[::-1]
    n = len(observed)
    if n == 0:
        raise exc.DataError(
            "edges has no tested edge, so there is no p-value to draw. See edges.reasons for why."
        )
    rank = np.unique(np.geomspace(1, n, min(n, _POINTS)).round().astype(int))
    if n <= _POINTS:
        rank = np.arange(1, n + 1)
    expected = -np.log10((rank - 0.5) / n)
    low, high = (-np.log10(beta.ppf(tail, rank, n - rank + 1)) for tail in (0.975, 0.025))

    ax = make_axes(ax, 5.2, 5.2)
    band = ax.fill_between(expected, low, high, color=UNTESTED, alpha=0.45, linewidth=0)
    (line,) = ax.plot([0, expected[0]], [0, expected[0]], color=FAINT, linewidth=1.0)
    (points,) = ax.plot(
        expected,
        observed[rank - 1],
        linestyle="none",
        marker="o",
        markersize=3.5,
        markeredgewidth=0.0,
        color=RAISES,
        alpha=0.8,
    )
    label_axes(ax, "expected −log10 p", "observed −log10 p")
    ax.set(xlim=(0, expected[0] * 1.03), ylim=(0, None))
    title = f"{TEST_NAMES[edges.test]} tests: p-values of {n} edges"
    set_title(ax, title, edges.adjusted_for)
    entries = [(points, "edges"), (line, "nothing acts"), (band, "95% of what chance gives")]
    add_legend(ax, entries, loc="upper left")
    return ax
