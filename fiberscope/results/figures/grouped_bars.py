"""Grouped bars of a measure: a group for each workload, a bar for each machine, the means last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final

from fiberscope.results.figures.style import (
    INK,
    SMALL,
    TEXT,
    add_legend,
    add_note,
    choose_pattern,
    convert_to_points,
    label_scale,
    measure_text_points,
    open_paper_figure,
    trim_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUP_SHARE = 0.82  # fraction of the distance of two groups that bars fill
NARROWEST_BAR = 3.0  # points
PANEL = 1.15  # inches, height of the bars of a row of groups
AXIS_INCHES = 0.5  # inches, width of the scale and its label
LOGARITHMIC_RATIO = 20.0  # minimum ratio of two bars for a logarithmic scale
MISSING = "\N{MULTIPLICATION SIGN}"
ERROR_BARS: Final[Any] = {"elinewidth": 0.6, "capthick": 0.6, "capsize": 1.2, "ecolor": INK}


@dataclass(frozen=True)
class GroupedBars:
    """Ratios of grouped bars.

    Args:
        groups: the names of the groups; the last group is the means.
        series: the names of the bars of each group.
        heights: a row for each series with a ratio for each group; None for a missing ratio.
        errors: the half-widths of the intervals of the ratios, in rows as ``heights``; 0 for exact ratios.
        label: the label of the scale.
        note: a line below the figure.
    """

    groups: Sequence[str]
    series: Sequence[str]
    heights: Sequence[Sequence[float | None]]
    errors: Sequence[Sequence[float]]
    label: str
    note: str = ""

    @property
    def is_logarithmic(self) -> bool:
        """Return whether the largest and smallest ratio, 1 included, need a logarithmic scale."""
        values = [1.0, *(height for height in chain.from_iterable(self.heights) if height)]
        return max(values) > LOGARITHMIC_RATIO * min(values)


@dataclass(frozen=True)
class Panels:
    """Rows of groups, from top to bottom.

    Args:
        rows: the indices of the groups of each row.
        pitch: the distance of two groups, in points.
        rotation: the rotation of the names of the groups, in degrees.
        label_inches: the height of these names.
    """

    rows: Sequence[range]
    pitch: float
    rotation: int
    label_inches: float

    @property
    def groups_per_row(self) -> int:
        """Return the largest number of groups in a row."""
        return max(map(len, self.rows))


def plan_panels(groups: Sequence[str], bars: int, width: float, min_bar_points: float) -> Panels:
    """Divide groups into rows so that no bar is narrower than ``min_bar_points``.

    Args:
        groups: the names of the groups, at least one.
        bars: the number of bars of a group.
        width: the width of the figure, in inches.
        min_bar_points: the minimum width of a bar, in points; a row has at least one group in any case.
    """
    points = convert_to_points(width - AXIS_INCHES)
    # A group is at least as wide as a line of upright text, so that its name never overlaps the next name
    max_groups = max(1, int(points / max(bars * min_bar_points / GROUP_SHARE, SMALL + 2)))
    rows = -(-len(groups) // max_groups)  # rounded up, here and below; rows differ by at most one group
    groups_per_row = -(-len(groups) // rows)
    pitch = points / groups_per_row
    text = measure_text_points(groups, SMALL)
    # Names stay horizontal if they fit the distance of two groups, and stand upright if 45 degrees overlap.
    rotation = 0 if text < 0.95 * pitch else 45 if pitch >= 1.6 * SMALL else 90
    # 0.71 is the sine of 45 degrees
    height = {0: SMALL, 45: 0.71 * (text + SMALL), 90: text}[rotation]
    ends = [-(-len(groups) * row // rows) for row in range(rows + 1)]
    numbers = [range(start, end) for start, end in pairwise(ends)]
    return Panels(numbers, pitch, rotation, (height + TEXT) / convert_to_points(1))


def label_groups(axes: Axes, names: Sequence[str], panels: Panels) -> None:
    """Label the groups of a row, and give all rows the same length, so that bars are equally wide."""
    axes.set_xticks(range(len(names)), names, rotation=panels.rotation, fontsize=SMALL)
    for label in axes.get_xticklabels() if panels.rotation == 45 else ():
        label.set(ha="right", rotation_mode="anchor")
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, panels.groups_per_row - 0.5)


def draw_grouped_bars(bars: GroupedBars, width: float) -> Figure:
    """Draw ratios as grouped bars; on a logarithmic scale the bars start at 1.

    Args:
        bars: the names and the ratios.
        width: the width of the figure, in inches.

    Raises:
        InputError: matplotlib is missing.
    """
    with open_paper_figure(width, PANEL) as figure:
        panels = plan_panels(bars.groups, len(bars.series), width, NARROWEST_BAR)
        rows = list(figure.subplots(len(panels.rows), 1, sharey=True, squeeze=False)[:, 0])
        for axes, groups in zip(rows, panels.rows, strict=True):
            _draw_row(axes, bars, groups, panels)
        _set_scale(rows, bars)
        label_scale(figure, rows, bars.label, 1.1 * PANEL)
        legend_rows = add_legend(figure, bars.series)
        lines = legend_rows + add_note(figure, bars.note)
        inches = len(panels.rows) * (PANEL + panels.label_inches) + 1.35 * lines * TEXT / convert_to_points(1)
        figure.set_figheight(round(inches, 2))
    return figure


def _draw_row(axes: Axes, bars: GroupedBars, groups: range, panels: Panels) -> None:
    """Draw a row of groups, and a cross for a failed run."""
    bar_width = GROUP_SHARE / len(bars.series)
    base = 1.0 if bars.is_logarithmic else 0.0
    for number, heights in enumerate(bars.heights):
        pattern = choose_pattern(number)
        offset = (number + 0.5) * bar_width - GROUP_SHARE / 2
        present = list(_present_bars(heights, bars.errors[number], groups))
        for index, group in enumerate(groups):
            if heights[group] is None:
                axes.text(index + offset, base, MISSING, ha="center", va="bottom", fontsize=SMALL, color=INK)
        positions, tops, errors = zip(*present, strict=True) if present else ((), (), ())
        axes.bar(
            [index + offset for index in positions],
            [top - base for top in tops],
            bar_width,
            bottom=base,
            yerr=errors if any(errors) else None,
            error_kw=ERROR_BARS,
            color=pattern.colour,
            hatch=pattern.hatch,
            edgecolor=INK,
            linewidth=0.4,
            label=bars.series[number],
        )
    axes.axhline(1.0, color=INK, linewidth=0.6)
    # a dotted line before the means
    if groups[-1] == len(bars.groups) - 1 and len(groups) > 1:
        axes.axvline(len(groups) - 1.5, color=INK, linewidth=0.4, linestyle=":")
    label_groups(axes, [bars.groups[group] for group in groups], panels)
    trim_axes(axes)


def _present_bars(
    heights: Sequence[float | None], errors: Sequence[float], groups: range
) -> Iterator[tuple[int, float, float]]:
    """Yield position in the row, height and error of each bar that has a height."""
    for index, group in enumerate(groups):
        height = heights[group]
        if height is not None:
            yield index, height, errors[group]


def _set_scale(rows: Sequence[Axes], bars: GroupedBars) -> None:
    """Set the grid, and on a logarithmic scale the limits and ticks; the limits include 1."""
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415  (heavy, and an extra)

    values = [height for height in chain.from_iterable(bars.heights) if height] or [1.0]
    for axes in rows:
        axes.yaxis.grid(visible=True, linewidth=0.3, color="#BBBBBB")
        axes.set_axisbelow(True)
        if not bars.is_logarithmic:
            continue
        axes.set_yscale("log")
        low, high = min(1.0, *values), max(1.0, *values)
        axes.set_ylim(low / 1.4 if low < 1 else 1.0, high * 1.4 if high > 1 else 1.0)
        steps = (1.0, 2.0, 5.0) if high / low < 100 else (1.0,)
        axes.yaxis.set_major_locator(LogLocator(subs=steps))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
