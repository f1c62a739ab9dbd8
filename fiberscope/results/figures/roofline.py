"""Rooflines of machines: work in a cycle against work for each byte of traffic, a point for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from fiberscope.base.errors import InputError
from fiberscope.results.figures.style import (
    INK,
    TEXT,
    add_legend,
    add_note,
    paper_figure,
    pattern_of,
    points_of,
    trim_axes,
)
from fiberscope.results.report.document import Report
from fiberscope.results.report.roofline import roofline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_roofline"]

HEIGHT = 2.1  # inches, of the axes with their labels
DASHES: Final[Sequence[Any]] = (
    *("-", (0, (4, 1)), (0, (1, 1)), (0, (4, 1, 1, 1)), (0, (7, 1)), (0, (2, 2)), (0, (6, 1, 1, 1, 1, 1))),
    (0, (1, 2)),
)


def draw_roofline(
    reports: Mapping[str, Sequence[Report]],
    multipliers: Mapping[str, float | None],
    width: float,
    note: str = "",
) -> Figure:
    """Draw the runs of machines under the roofs of each machine, on logarithmic scales.

    The slope is the peak bandwidth of the memory. The flat part is the multipliers of the machine; if they
    are not known, what its workers would do at the rate of its runs if they were never without work.

    Args:
        reports: the reports of the runs by machine.
        multipliers: products that a machine can make in a cycle; None where that is not known.
        width: that of the figure, in inches.
        note: a line under the figure.

    Raises:
        InputError: matplotlib is missing, or no run has operations and traffic.
    """
    points = {
        name: [point for each in several if (point := roofline(each))] for name, several in reports.items()
    }
    points = {name: several for name, several in points.items() if several}
    if not points:
        raise InputError("no run has both operations and traffic; nothing to draw")
    intensities = [point["intensity"] for several in points.values() for point in several]
    across = min(intensities) / 2, max(intensities) * 2
    with paper_figure(width, HEIGHT) as figure:
        axes = figure.subplots()
        axes.set_xscale("log")
        axes.set_yscale("log")
        handles = [
            _draw_machine(axes, number, several, multipliers.get(name), across)
            for number, (name, several) in enumerate(points.items())
        ]
        axes.set_xlim(*across)
        works = {point["work"] for several in points.values() for point in several}
        work = {"multiply": "Multiplies", "useful multiply": "Multiplies"}
        named = {work.get(name, "Operations") for name in works}
        operations = named.pop() if len(named) == 1 else "Operations"
        axes.set_xlabel(f"{operations} per byte of traffic", fontsize=TEXT)
        axes.set_ylabel(f"{operations} per cycle", fontsize=TEXT)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
        axes.grid(visible=True, linewidth=0.3, color="#BBBBBB")
        trim_axes(axes)
        lines = add_legend(figure, list(points), handles) + add_note(figure, note)
        figure.set_figheight(round(HEIGHT + 1.35 * lines * TEXT / points_of(1), 2))
    return figure


def _draw_machine(
    axes: Axes,
    number: int,
    points: Sequence[Mapping[str, Any]],
    multipliers: float | None,
    across: tuple[float, float],
) -> Any:  # noqa: ANN401  (a line of matplotlib)
    """Draw the runs and the roofs of a machine, and return its entry for the legend."""
    from matplotlib.lines import Line2D  # noqa: PLC0415  (heavy, and an extra)
    from matplotlib.patheffects import Normal, Stroke  # noqa: PLC0415

    pattern, dashes = pattern_of(number), DASHES[number % len(DASHES)]
    bandwidth = max((point["bandwidth"] for point in points if point["bandwidth"]), default=None)
    peak = multipliers or max((point["peak"] for point in points if point["peak"]), default=None)
    look: Any = {"color": pattern.colour, "linestyle": dashes, "linewidth": 1.2}
    edge = [Stroke(linewidth=2.0, foreground=INK), Normal()]  # yellow and grey are pale on white
    if bandwidth is not None or peak is not None:
        ridge = peak / bandwidth if bandwidth and peak else None
        corners = sorted({*across, *([ridge] if ridge and across[0] < ridge < across[1] else [])})
        roofs = [
            min(*([bandwidth * corner] if bandwidth else []), *([peak] if peak else []), float("inf"))
            for corner in corners
        ]
        axes.plot(corners, roofs, zorder=2, path_effects=edge, **look)
    dots: Any = {"marker": pattern.marker, "markersize": 4.5, "markeredgecolor": INK, "markeredgewidth": 0.4}
    axes.plot(
        [point["intensity"] for point in points],
        [point["rate"] for point in points],
        zorder=3,
        **{**look, "linestyle": "none"},
        **dots,
    )
    return Line2D([], [], path_effects=edge, **look, **dots)
