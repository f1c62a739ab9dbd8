"""Style of figures for papers: widths of templates, patterns of series, sizes of text, legends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fiberscope.base.errors import InputError
from fiberscope.results.report.pictures import create_figure
from fiberscope.results.report.surrogates import DAGGER

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS: Final[Mapping[str, float]] = {  # inches: IEEEtran and acmart, two columns on letter paper
    "column": 3.5,
    "page": 7.16,
    "acm-column": 3.33,
    "acm-page": 7.0,
}
PAGE: Final = "page"  # the default
NARROWEST, WIDEST = 2.0, 40.0  # inches
DOTS_PER_INCH = 300
TEXT, SMALL = 8.0, 7.0  # points
POINTS_PER_INCH = 72.0
SURROGATE_NOTE: Final = f"{DAGGER} surrogate of the real matrix"
INK = "#222222"  # colour of text, hatches and edges
STYLE: Final[Any] = {
    "font.size": TEXT,
    "hatch.linewidth": 0.5,
    "axes.linewidth": 0.6,
    "legend.handlelength": 1.6,
    "legend.handletextpad": 0.4,
    "legend.columnspacing": 1.0,
    "legend.labelspacing": 0.25,
    "legend.borderpad": 0.0,
}
# Width of a legend's symbol with its distance to the text, and distance of two columns, in points.
ENTRY_POINTS = TEXT * (STYLE["legend.handlelength"] + STYLE["legend.handletextpad"])
SPACING_POINTS = TEXT * STYLE["legend.columnspacing"]


class Pattern(NamedTuple):
    """Style of a series: fill colour and hatch of bars, and marker of points, in matplotlib's codes."""

    colour: str
    hatch: str
    marker: str


# Dots come last: an SVG has a path for each dot, and was ten times larger with them
PATTERNS: Final = (  # colours of Okabe and Ito and a grey, alternately light and dark
    Pattern("#56B4E9", "", "o"),
    Pattern("#D55E00", "/////", "s"),
    Pattern("#F0E442", "\\\\\\\\\\", "^"),
    Pattern("#0072B2", "xxxxx", "D"),
    Pattern("#DDDDDD", "-----", "v"),
    Pattern("#009E73", "|||||", "P"),
    Pattern("#E69F00", "+++++", "X"),
    Pattern("#CC79A7", ".....", "*"),
)


def parse_width(text: str) -> float:
    """Return the width of a figure in inches, from a name of ``WIDTHS`` or a number.

    Raises:
        InputError: the text is neither, or the width is out of range.
    """
    if text in WIDTHS:
        return WIDTHS[text]
    try:
        width = float(text)
    except ValueError:
        width = float("nan")
    if not isfinite(width) or not NARROWEST <= width <= WIDEST:
        names = ", ".join(WIDTHS)
        raise InputError(
            f"a figure cannot be {text} wide; {names}, or inches from {NARROWEST:g} to {WIDEST:g}"
        )
    return width


@contextmanager
def open_paper_figure(width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure of this size in inches, and lay out the figure at exit.

    Raises:
        InputError: matplotlib is missing.
    """
    figure = create_figure(width, height, DOTS_PER_INCH)
    from matplotlib import rc_context  # noqa: PLC0415  (heavy, and an extra)
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415

    with rc_context(STYLE):
        figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02, hspace=0.02))
        yield figure
        figure.draw_without_rendering()


def choose_pattern(number: int) -> Pattern:
    """Return the pattern of a series by its number; patterns repeat."""
    return PATTERNS[number % len(PATTERNS)]


def convert_to_points(inches: float) -> float:
    """Return a length in points."""
    return inches * POINTS_PER_INCH


def measure_text_points(texts: Sequence[str], size: float) -> float:
    """Return the width of the widest of several texts, in points."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415  (heavy, and an extra)
    from matplotlib.textpath import text_to_path  # noqa: PLC0415

    font = FontProperties(size=size)
    widths = (text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] for text in texts)
    return max(map(float, widths), default=0.0)


def wrap_text(text: str, width: float) -> list[str]:
    """Wrap a text of the common size at a width in points; a longer single word stays whole."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if not lines[-1] or measure_text_points([longer], TEXT) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def label_scale(figure: Figure, rows: Sequence[Axes], label: str, height: float) -> None:
    """Label the vertical scale that all rows share, wrapped at the height of the rows.

    Args:
        rows: the axes, from top to bottom.
        height: the height of a row, in inches.
    """
    lines = wrap_text(label, convert_to_points(len(rows) * height))
    if len(rows) > 1:
        figure.supylabel("\n".join(lines), fontsize=TEXT)
    else:
        rows[0].set_ylabel("\n".join(lines), fontsize=TEXT)


def trim_axes(axes: Axes) -> None:
    """Remove the top and right frames, and set the size of the numbers."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SMALL, width=0.6, length=2.5, which="major")
    axes.tick_params(width=0.4, length=1.5, which="minor")


def add_legend(figure: Figure, labels: Sequence[str], handles: Sequence[Artist] | None = None) -> int:
    """Put a legend above the axes, row by row, in as few rows as the width allows.

    Args:
        labels: the names of the series.
        handles: the symbols of the series; boxes with their patterns by default.

    Returns:
        The number of rows.
    """
    from matplotlib.patches import Patch  # noqa: PLC0415  (heavy, and an extra)

    handles = handles or [
        Patch(facecolor=pattern.colour, hatch=pattern.hatch, edgecolor=INK, linewidth=0.4)
        for pattern in map(choose_pattern, range(len(labels)))
    ]
    width = convert_to_points(figure.get_figwidth()) - TEXT
    columns = next(
        (count for count in range(len(labels), 1, -1) if _measure_legend_points(labels, count) <= width), 1
    )
    # matplotlib fills a legend column by column; this order makes it row by row.
    order = [number for column in range(columns) for number in range(column, len(labels), columns)]
    figure.legend(
        [handles[number] for number in order],
        [labels[number] for number in order],
        loc="outside upper center",
        ncols=columns,
        fontsize=TEXT,
        frameon=False,
        borderaxespad=0.2,
    )
    return -(-len(labels) // columns)


def _measure_legend_points(labels: Sequence[str], columns: int) -> float:
    """Return the width of a legend with this number of columns, in points."""
    texts = [measure_text_points(labels[column::columns], TEXT) for column in range(columns)]
    points: float = sum(texts) + columns * ENTRY_POINTS + (columns - 1) * SPACING_POINTS
    return points


def add_note(figure: Figure, note: str) -> int:
    """Put small wrapped text under the axes, and return the number of lines.

    Text is wrapped by a mean width of 0.6 of the font size for a letter.
    """
    if not note:
        return 0
    letters_per_line = int(convert_to_points(figure.get_figwidth()) / (0.6 * SMALL))
    lines = [text_line for line in note.splitlines() for text_line in wrap(line, letters_per_line)]
    figure.supxlabel("\n".join(lines), fontsize=SMALL, color=INK)
    return len(lines)
