"""Quantile plots of the p-values of permuted features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from isingmlc import exceptions as exc
from isingmlc.base.arrays import FloatArray
from isingmlc.inference.calibration import GRID
from isingmlc.plots.style import (
    FAINT,
    INK,
    LOWERS,
    RAISES,
    UNTESTED,
    Entries,
    add_legend,
    label_axes,
    make_axes,
    set_title,
    wrap_names,
)

if TYPE_CHECKING:
    from isingmlc.results.calibration import CalibrationResults

# The tail beyond so many p-values is noise, and so is not drawn.
_LEAST = 5
# Labels that are found too often have names and lines of their own, up to so many.
_STYLES = ("-", "--", ":", "-.")
_NAME_LENGTH = 24


def plot_calibration(check: CalibrationResults, *, ax: Axes | None = None) -> Axes:
    """Draw p-values of null features against uniform ones; see `CalibrationResults.plot`.

    Examples
    --------
    >>> import isingmlc as im
    >>> from isingmlc.plots import plot_calibration
    >>> from matplotlib.figure import Figure
    >>> data = im.datasets.load_example()
    >>> res = im.IsingModel(data.labels, data.features).fit()
    >>> check = res.check_calibration(20, compare=False, random_state=0)
    >>> plot_calibration(check, ax=Figure().subplots()).get_title()
    'p-values of 600 permuted features'
    """
    below = check.counts.below[0]
    if not below.any():
        raise exc.DataError(
            "nothing could be tested, so there is no p-value to draw. See res.diagnostics for why."
        )
    ax = make_axes(ax, 5.6, 5.2)
    blamed = list(check.to_blame[: len(_STYLES)])
    furthest = 0.0
    entries: Entries = []
    names = dict(zip(blamed, wrap_names(blamed, _NAME_LENGTH, 1), strict=True))
    for name, counts in zip(check.label_names, below[:-1], strict=True):
        look: dict[str, Any] = {"color": UNTESTED, "linewidth": 1.0, "zorder": 2.0}
        if name in blamed:
            style = _STYLES[blamed.index(name)]
            look = {"color": LOWERS, "linewidth": 1.6, "linestyle": style, "zorder": 3.0}
        expected, line = _draw(ax, counts, look)
        furthest = max(furthest, expected)
        if name in blamed and line is not None:
            entries.append((line, names[name]))
    if len(blamed) < len(check.label_names):
        other = "other labels" if blamed else "labels"
        entries.append((Line2D([], [], color=UNTESTED, linewidth=1.0), other))
    expected, line = _draw(ax, below[-1], {"color": RAISES, "linewidth": 2.0, "zorder": 4.0})
    furthest = max(furthest, expected)
    if line is not None:
        entries.append((line, f"features ({check.combine})"))
    (diagonal,) = ax.plot([0, furthest], [0, furthest], color=INK, linewidth=1.0, zorder=5.0)
    entries.append((diagonal, "uniform p-values"))
    for level in check.levels:
        if -np.log10(level) < furthest:
            ax.axvline(-np.log10(level), color=FAINT, linewidth=0.6, linestyle=":", zorder=1.0)
    label_axes(ax, "expected −log10 p", "observed −log10 p")
    ax.set(xlim=(0, furthest * 1.03), ylim=(0, None))
    set_title(ax, f"p-values of {check.n_permutations * check.n_features} permuted features")
    add_legend(ax, entries, loc="upper left")
    return ax


def _draw(ax: Axes, counts: FloatArray, look: dict[str, Any]) -> tuple[float, Line2D | None]:
    """Draw a line of quantiles; give how far it goes."""
    total = counts[0]
    shown = counts >= _LEAST
    if not total or not shown.any():
        return 0.0, None
    expected = -np.log10(counts[shown] / total)
    (line,) = ax.plot(expected, -GRID[shown], **look)
    return float(expected.max()), line
