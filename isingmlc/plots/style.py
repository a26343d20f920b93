"""What all pictures share: colours, names as plain text, axes, legends and checks."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from isingmlc import exceptions as exc
from isingmlc.base.printing import say_given, shorten_name

Dashes: TypeAlias = tuple[float, tuple[float, ...]]
Entries: TypeAlias = list[tuple[Artist, str]]

# Okabe and Ito's blue and orange: told apart by colour-blind readers, and dark and light in grey.
RAISES = "#0072B2"
LOWERS = "#E69F00"
OPEN = "#555555"
UNTESTED = "#B5B5B5"
INK = "#222222"
FAINT = "#737373"
PAPER = "white"
SOLID: Dashes = (0.0, ())
DOTTED: Dashes = (0.0, (1.2, 1.6))
DASHED: Dashes = (0.0, (4.5, 2.5))
DASH_DOTTED: Dashes = (0.0, (6.0, 2.0, 1.2, 2.0))

# Colours and lines of curves, in turn.
LINES = (
    (RAISES, SOLID),
    (LOWERS, DASHED),
    (INK, DASH_DOTTED),
    ("#009E73", DOTTED),
    ("#CC79A7", SOLID),
    ("#56B4E9", DASHED),
    ("#D55E00", DASH_DOTTED),
    (FAINT, DOTTED),
)

TITLE_SIZE = 10.5
TEXT_SIZE = 9.0
SMALL_SIZE = 8.0
TINY_SIZE = 4.5

# The share of the width that the line about covariates may take.
_GIVEN_SHARE = 0.7
# Words of a name up to which all ways to leave some out are tried.
_MOST_WORDS = 8
_PIECES = re.compile(r"[^\s_\-/.:]*[\s_\-/.:]*")


def make_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw on, in a new figure if there are none."""
    if ax is None:
        # pyplot is asked for a figure only, so that notebooks show it.
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(min(width, 20), min(height, 30)), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise exc.DataError(
            f"ax must be matplotlib Axes, but is of type {type(ax).__name__}. Make one with "
            "fig, ax = matplotlib.pyplot.subplots()."
        )
    return ax


def make_panels(
    axes: Sequence[Axes] | npt.NDArray[np.object_] | None, n: int, of: str
) -> list[Axes]:
    """Return axes side by side, in a new figure if there are none."""
    if axes is not None:
        panels = [make_axes(ax, 0, 0) for ax in np.ravel(np.array(axes, dtype=object))]
        if len(panels) != n:
            raise exc.DataError(
                f"axes must hold one Axes per {of}, {n} in all, but holds {len(panels)}. "
                f"Make them with fig, axes = matplotlib.pyplot.subplots(1, {n})."
            )
        return panels
    import matplotlib.pyplot as plt

    columns = 2 if n == 4 else min(n, 3)
    rows = -(-n // columns)
    size = (5.4 * columns, 4.6 * rows + 0.8)
    figure = plt.figure(figsize=size, layout="constrained")
    panels = list(np.ravel(figure.subplots(rows, columns)))
    for ax in panels[n:]:
        ax.remove()
    return panels[:n]


def settle(ax: Axes) -> None:
    """Let the layout engine of the figure, if it has one, place the axes before measuring."""
    figure = ax.figure.canvas.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes in points."""
    area = ax.get_window_extent()
    return area.width * 72 / ax.figure.dpi, area.height * 72 / ax.figure.dpi


def write(ax: Axes, x: float, y: float, text: str, **style: Any) -> Text:
    """Put text on axes as it stands: a dollar sign in a name is no formula."""
    written = ax.text(x, y, text, parse_math=False, **style)
    written.set_in_layout(False)
    return written


def blank(ax: Axes) -> dict[str, Any]:
    """Return a box for behind text on lines; an outline would change how wide letters are drawn."""
    paper = ax.figure.get_facecolor()
    return {"boxstyle": "round,pad=0.12", "facecolor": paper, "edgecolor": "none", "alpha": 0.85}


def set_title(ax: Axes, text: str, adjusted_for: Sequence[str] = ()) -> None:
    """Title axes, names as they stand, in several lines if one is too short."""
    settle(ax)
    # A letter is about 0.55 of its size wide.
    room = max(int(size_in_points(ax)[0] / (0.55 * TITLE_SIZE)), 20)
    lines = [wrap(text, room, 3)]
    if adjusted_for:
        # Two lines, broken between names; what stands beside the axes may still take room.
        narrow = max(int(_GIVEN_SHARE * room), 24)
        lines += textwrap.wrap(
            say_given(adjusted_for, 2 * narrow - 12), narrow, break_on_hyphens=False
        )
    ax.set_title("\n".join(lines), fontsize=TITLE_SIZE, parse_math=False)


def add_legend(ax: Axes | Figure | SubFigure, entries: Entries, **place: Any) -> Legend | None:
    """Add a legend whose names are shown as they stand."""
    if not entries:
        return None
    style = {"fontsize": SMALL_SIZE, "frameon": False, "handlelength": 2.6, **place}
    # Names are set afterwards: matplotlib leaves out those that begin with an underscore.
    legend = ax.legend([sample for sample, _ in entries], ["name"] * len(entries), **style)
    for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
        text.set(text=name, parse_math=False)
    return legend


def below(ax: Axes, points: float) -> dict[str, Any]:
    """Return the place so many points below the middle of axes, for a legend."""
    shift = ScaledTranslation(0.0, -points / 72, ax.figure.dpi_scale_trans)
    return {"bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + shift}


def digits(value: float) -> str:
    """Write a number with three digits, more only before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def wrap(name: str, width: int, lines: int = 2) -> str:
    """Break a name into lines, and cut it in the middle where that is not enough."""
    pieces = [_cut(piece, width) for piece in _PIECES.findall(" ".join(name.split())) if piece]
    # Words are left out in the middle, as few as possible, before any is cut.
    for n_left_out in range(len(pieces)):
        first = (len(pieces) - n_left_out + 1) // 2
        kept = [*pieces[:first], *["…"] * (n_left_out > 0), *pieces[first + n_left_out :]]
        broken = _fill(kept, width)
        if len(broken) <= lines:
            return "\n".join(line.strip() for line in broken)
    return shorten_name(name, width)


def _cut(piece: str, width: int) -> str:
    """Cut a word that is longer than a line."""
    return piece if len(piece.rstrip()) <= width else shorten_name(piece, width)


def _fill(pieces: list[str], width: int) -> list[str]:
    """Fill lines with pieces as long as they fit."""
    filled = [""]
    for piece in pieces:
        if filled[-1] and len(filled[-1]) + len(piece.rstrip()) > width:
            filled.append("")
        filled[-1] += piece
    return filled


def wrap_names(names: Sequence[str], width: int, lines: int = 2) -> list[str]:
    """Break names into lines; of those that a cut makes the same, words are kept that tell them."""
    short = [wrap(name, width, lines) for name in names]
    times = Counter(short)
    words = [_PIECES.findall(" ".join(name.split()))[:-1] for name in names]
    short = [
        name if times[name] == 1 else _tell_apart(words, at, width, lines) or name
        for at, name in enumerate(short)
    ]
    times = Counter(short)
    return [
        name if times[name] == 1 else f"{name} ({number})" for number, name in enumerate(short, 1)
    ]


def _tell_apart(words: list[list[str]], at: int, width: int, lines: int) -> str | None:
    """Leave words out of a name so that those kept are in no other; None if they do not fit."""
    own = words[at]
    if len(own) > _MOST_WORDS:
        return None
    others = [{word.strip() for word in each} for k, each in enumerate(words) if k != at]
    for n_left_out in range(1, len(own)):
        # The first words are the last to go.
        for out in reversed(list(combinations(range(len(own)), n_left_out))):
            kept = [word for place, word in enumerate(own) if place not in out]
            if any(other.issuperset(word.strip() for word in kept) for other in others):
                continue
            pieces = [
                "…" if place in out else _cut(word, width - 2)
                for place, word in enumerate(own)
                if place not in out or place - 1 not in out
            ]
            broken = _fill(pieces, width)
            if len(broken) <= lines:
                return "\n".join(line.strip() for line in broken)
    return None


def join_names(first: Sequence[str], second: Sequence[str], between: str, width: int) -> list[str]:
    """Name pairs in one line each; where that is too long, both names are cut, not their middle."""
    each = list(dict.fromkeys([*first, *second]))
    short = dict(zip(each, wrap_names(each, (width - len(between)) // 2, 1), strict=True))
    whole = [f"{one}{between}{other}" for one, other in zip(first, second, strict=True)]
    return [
        name if len(name) <= width else f"{short[one]}{between}{short[other]}"
        for name, one, other in zip(whole, first, second, strict=True)
    ]


def check_feature(feature: object, known: Sequence[str]) -> str:
    """Return the name of a feature, or raise our error with names that are close to it."""
    if isinstance(feature, str) and feature in known:
        return feature
    close = get_close_matches(str(feature), known, n=3)
    hint = f"Did you mean {exc.shorten(close)}?" if close else f"There are {exc.shorten(known)}."
    raise exc.DataError(f"feature must be the name of a feature, but is {feature!r}. {hint}")


def font_for(room: float, largest: float = TEXT_SIZE) -> float:
    """Return the font size, in points, of lines that have so many points of room each."""
    return min(max(room / 1.3, TINY_SIZE), largest)


def label_axes(ax: Axes, across: str, up: str) -> None:
    """Say what the two axes of a curve show, names as they stand, and draw no frame."""
    ax.set_xlabel(across, fontsize=SMALL_SIZE, parse_math=False)
    ax.set_ylabel(up, fontsize=SMALL_SIZE, parse_math=False)
    ax.tick_params(labelsize=SMALL_SIZE)
    ax.spines[["top", "right"]].set_visible(False)


def label_bars(
    ax: Axes,
    across: str,
    names: Sequence[str],
    values: tuple[Callable[..., Any], Sequence[str]] | None = None,
) -> float:
    """Say what bars show, name them, and draw no frame."""
    ax.set_xlabel(across, fontsize=SMALL_SIZE)
    ax.tick_params(axis="x", labelsize=SMALL_SIZE)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    # Names take room from the bars, so bars are measured with names of about the right size.
    for _ in range(2):
        settle(ax)
        room = size_in_points(ax)[1] / max(len(names), 1)
        label_ticks(ax.set_yticks, names, room)
        if values is not None:
            label_ticks(*values, room)
    return room


def label_ticks(
    set_ticks: Callable[..., Any], names: Sequence[str], room: float, **style: Any
) -> None:
    """Name the places 0, 1, … of an axis; every second, third … where there is no room for all."""
    room = max(room, 0.1)
    step = int(np.ceil(1.2 * TINY_SIZE / room))
    places = range(0, len(names), step)
    set_ticks(
        list(places),
        [names[at] for at in places],
        fontsize=font_for(room * step),
        parse_math=False,
        **style,
    )
