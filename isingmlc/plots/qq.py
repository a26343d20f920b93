"""Quantile plots of p-values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import beta

from isingmlc import exceptions as exc
from isingmlc.plots.evidence import TEST_NAMES
from isingmlc.plots.style import (
    FAINT,
    RAISES,
    SMALL_SIZE,
    UNTESTED,
    add_legend,
    make_axes,
    set_title,
)

if TYPE_CHECKING:
    from isingmlc.results.edge_tests import EdgeTests

# Of more p-values than this the large ones, which lie on each other, are thinned out.
_POINTS = 5000


def plot_qq(edges: EdgeTests, *, ax: Axes | None = None) -> Axes:
    """Compare the p-values of all tested edges with those to be expected if nothing acted.

    Parameters
    ----------
    edges : EdgeTests
        The tests; single products of features and labels take part.
    ax : Axes, optional
        Where to draw; a new figure where not given.

    Returns
    -------
    Axes
        The picture.

    Raises
    ------
    DataError
        When no edge was tested.

    Notes
    -----
    The band holds 95% of the values at each rank if all p-values are uniform and independent.
    Edges that share a feature or a label are not independent, so points may leave it a little
    sooner than that.

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
            "edges has no tested edge, so there is no p-value to draw. See edges.reason for why."
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
    ax.set_xlabel("expected −log10 p", fontsize=SMALL_SIZE)
    ax.set_ylabel("observed −log10 p", fontsize=SMALL_SIZE)
    ax.tick_params(labelsize=SMALL_SIZE)
    ax.set(xlim=(0, expected[0] * 1.03), ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
    set_title(ax, f"{TEST_NAMES[edges.test]} tests: p-values of {n} edges")
    entries = [(points, "edges"), (line, "nothing acts"), (band, "95% of what chance gives")]
    add_legend(ax, entries, loc="upper left")
    return ax
