"""Pareto front of designs by two measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fiberscope.base.errors import InputError
from fiberscope.results.figures.style import (
    INK,
    PATTERNS,
    TEXT,
    add_legend,
    add_note,
    choose_pattern,
    convert_to_points,
    label_scale,
    open_paper_figure,
    trim_axes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 2.1  # inches, height of the axes with their labels
LOGARITHMIC = 10.0  # minimum ratio of two values for a logarithmic scale


def draw_front(
    designs: Mapping[str, Sequence[tuple[float, float]]],
    labels: tuple[str, str],
    width: float,
    note: str = "",
    ends: Mapping[str, Sequence[float | None]] | None = None,
) -> Figure:
    """Draw designs by two measures, both minimized, and their Pareto front.

    Args:
        designs: the measures of the designs by machine; every machine has at least one design.
        labels: the labels of the two axes.
        width: the width of the figure, in inches.
        note: a line below the figure.
        ends: by machine, the upper end of the first measure of each of its designs, in order; None draws an
            arrow from the lower bound. A machine without an entry has exact measures.

    Raises:
        InputError: matplotlib is missing, there are no designs, or more machines than patterns.
    """
    points = [design for machine_designs in designs.values() for design in machine_designs]
    if not points:
        raise InputError("no design has a known area on all workloads; nothing to draw")
    if len(designs) > (most := len(PATTERNS)):
        raise InputError(f"{len(designs)} machines, and a figure has at most {most}; choose with --where")
    with open_paper_figure(width, HEIGHT) as figure:
        from matplotlib.lines import Line2D  # noqa: PLC0415  (heavy, and an extra)

        axes = figure.subplots()
        front = pareto_front(points, [False, False])
        line: Any = {"color": INK, "linewidth": 0.8}
        axes.plot(*zip(*front, strict=True), drawstyle="steps-post", zorder=2, **line)
        handles = [Line2D([], [], **line)]
        for number, machine_designs in enumerate(designs.values()):
            pattern = choose_pattern(number)
            dots: Any = {"color": pattern.colour, "marker": pattern.marker, "linestyle": "none"}
            dots |= {"markersize": 5, "markeredgecolor": INK, "markeredgewidth": 0.4}
            handles += axes.plot(*zip(*machine_designs, strict=True), zorder=3, **dots)
        firsts, others = zip(*points, strict=True)
        _scale(axes.xaxis, [*firsts, *_draw_intervals(axes, designs, ends or {})])
        _scale(axes.yaxis, others)
        axes.set_xlabel(labels[0], fontsize=TEXT)
        label_scale(figure, [axes], labels[1], 0.6 * HEIGHT)
        axes.grid(visible=True, linewidth=0.3, color="#BBBBBB")
        axes.set_axisbelow(True)
        trim_axes(axes)
        lines = add_legend(figure, ["front", *designs], handles) + add_note(figure, note)
        figure.set_figheight(round(HEIGHT + 1.35 * lines * TEXT / convert_to_points(1), 2))
    return figure


def _draw_intervals(
    axes: Any,  # noqa: ANN401  (of matplotlib)
    designs: Mapping[str, Sequence[tuple[float, float]]],
    ends: Mapping[str, Sequence[float | None]],
) -> list[float]:
    """Draw intervals of the first measure as lines, or as arrows without an upper end; return the ends."""
    line: Any = {"color": "#777777", "linewidth": 0.8}
    arrow: Any = {"arrowstyle": "<-", "shrinkA": 0, "shrinkB": 3, **line}
    pairs = [
        pair for name, upper_ends in ends.items() for pair in zip(designs[name], upper_ends, strict=True)
    ]
    for (first, other), end in pairs:
        if end is not None:
            axes.plot([first, end], [other, other], marker="|", markersize=4, markevery=[1], zorder=2, **line)
        else:
            axes.annotate("", (first, other), (16, 0), textcoords="offset points", arrowprops=arrow)
    return [end for _design, end in pairs if end is not None]


def _scale(axis: Any, values: Sequence[float]) -> None:  # noqa: ANN401  (an axis of matplotlib)
    """Set a linear scale, or a logarithmic scale for a ratio above ``LOGARITHMIC``, with plain numbers."""
    low, high = min(values), max(values)
    if low > 0 and high > LOGARITHMIC * low:
        axis._set_axes_scale("log")
        axis.set_major_formatter("{x:g}")
        return
    margin = 0.08 * (high - low) or 0.1 * high  # the second if all values are equal
    axis.set_view_interval(max(0.0, low - margin), high + margin, ignore=True)


def pareto_front(designs: Sequence[Sequence[float]], largest: Sequence[bool]) -> list[tuple[float, float]]:
    """Return the designs that no other design dominates, the best by the first measure first.

    Equal designs are returned once.

    Args:
        designs: two measures of each design.
        largest: for each measure, whether larger is better.
    """
    signs = [-1.0 if large else 1.0 for large in largest]
    points: list[tuple[float, float]] = []
    least = float("inf")
    # With smaller as better and in the order of the first measure, a design is dominated if and only if an
    # earlier design is at most as large in the second measure.
    for first, second in sorted((first_ * signs[0], other * signs[1]) for first_, other in designs):
        if second < least:
            points.append((first * signs[0], second * signs[1]))
            least = second
    return points
