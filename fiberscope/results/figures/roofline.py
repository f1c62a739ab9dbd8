"""Rooflines of machines: operations per cycle against operations per byte, a point for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fiberscope.base.errors import InputError
from fiberscope.results.figures.style import (
    INK,
    TEXT,
    add_legend,
    add_note,
    choose_pattern,
    convert_to_points,
    open_paper_figure,
    trim_axes,
)
from fiberscope.results.report.document import Report
from fiberscope.results.report.roofline import roofline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 2.1  # inches, height of the axes with their labels
MAX_RIDGE_RATIO = 30.0  # factor between the ridge and the runs above which the ridge is not shown
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
    """Draw the runs of machines under the roof of each machine, on logarithmic scales.

    The slope is the peak bandwidth of the memory. The flat part is the number of multipliers of the machine.
    If that number is unknown, the flat part is the rate of a run divided by the utilization of its workers,
    the largest of all runs. A machine without a run that has operations and traffic is left out.

    Args:
        reports: the reports of the runs by machine.
        multipliers: multiplications per cycle at most, by machine; None or missing if unknown.
        width: the width of the figure, in inches.
        note: a line below the figure.

    Raises:
        InputError: matplotlib is missing, or no run has operations and traffic.
    """
    machines = [
        _Machine(name, points, multipliers.get(name))
        for name, runs in reports.items()
        if (points := [point for report in runs if (point := roofline(report))])
    ]
    if not machines:
        raise InputError("no run has both operations and traffic; nothing to draw")
    points = [point for machine in machines for point in machine.points]
    x_range = _find_extent([point["intensity"] for point in points], [machine.ridge for machine in machines])
    with open_paper_figure(width, HEIGHT) as figure:
        axes = figure.subplots()
        axes.set_xscale("log")
        axes.set_yscale("log")
        handles = [_draw_machine(axes, number, report, x_range) for number, report in enumerate(machines)]
        axes.set_xlim(*x_range)
        kinds = {point["work"] for point in points}
        names = {"multiply": "Multiplies", "useful multiply": "Multiplies"}
        labels = {names.get(name, "Operations") for name in kinds}
        operations = labels.pop() if len(labels) == 1 else "Operations"
        axes.set_xlabel(f"{operations} per byte of traffic", fontsize=TEXT)
        axes.set_ylabel(f"{operations} per cycle", fontsize=TEXT)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
        axes.grid(visible=True, linewidth=0.3, color="#BBBBBB")
        trim_axes(axes)
        lines = add_legend(figure, [machine.name for machine in machines], handles) + add_note(figure, note)
        figure.set_figheight(round(HEIGHT + 1.35 * lines * TEXT / convert_to_points(1), 2))
    return figure


@dataclass(frozen=True)
class _Machine:
    """A machine with the points of its runs, in the format of ``roofline``, and its number of multipliers."""

    name: str
    points: Sequence[dict[str, Any]]
    multipliers: float | None

    @property
    def bandwidth(self) -> float | None:
        """Return the largest peak bandwidth of the runs' memories, in bytes per cycle; None if unknown."""
        return max((point["bandwidth"] for point in self.points if point["bandwidth"]), default=None)

    @property
    def peak(self) -> float | None:
        """Return the peak of operations per cycle; None if unknown."""
        peaks = (point["peak"] for point in self.points if point["peak"])
        return self.multipliers or max(peaks, default=None)

    @property
    def ridge(self) -> float | None:
        """Return the operations per byte at the intersection of both roofs; None if a roof is unknown."""
        return self.peak / self.bandwidth if self.bandwidth and self.peak else None

    def compute_roof(self, intensity: float) -> float:
        """Return the lower of both roofs in operations per cycle, at least one of which must be known."""
        limits = [self.bandwidth and self.bandwidth * intensity, self.peak]
        return min(limit for limit in limits if limit)


def _find_extent(intensities: Sequence[float], ridges: Sequence[float | None]) -> tuple[float, float]:
    """Return the range of the scale: all runs, and the ridges up to ``MAX_RIDGE_RATIO`` from the runs."""
    low, high = min(intensities), max(intensities)
    near = [ridge for ridge in ridges if ridge and low / MAX_RIDGE_RATIO < ridge < high * MAX_RIDGE_RATIO]
    # a margin of a factor of 2, as the scale is logarithmic
    return min(low, *near, high) / 2, max(high, *near, low) * 2


def _draw_machine(axes: Axes, number: int, machine: _Machine, x_range: tuple[float, float]) -> Any:  # noqa: ANN401
    """Draw the runs and the roofs of a machine, and return its legend entry."""
    from matplotlib.lines import Line2D  # noqa: PLC0415  (heavy, and an extra)
    from matplotlib.patheffects import Normal, Stroke  # noqa: PLC0415

    pattern, dashes = choose_pattern(number), DASHES[number % len(DASHES)]
    style: Any = {"color": pattern.colour, "linestyle": dashes, "linewidth": 1.2}
    edge = [Stroke(linewidth=2.0, foreground=INK), Normal()]  # makes pale colours visible on white
    if machine.bandwidth or machine.peak:
        ridge = machine.ridge
        # on logarithmic scales both parts of a roof are straight, so its corners are enough
        corners = sorted({*x_range, *([ridge] if ridge and x_range[0] < ridge < x_range[1] else [])})
        axes.plot(corners, list(map(machine.compute_roof, corners)), zorder=2, path_effects=edge, **style)
    dots: Any = {"marker": pattern.marker, "markersize": 4.5, "markeredgecolor": INK, "markeredgewidth": 0.4}
    axes.plot(
        [point["intensity"] for point in machine.points],
        [point["rate"] for point in machine.points],
        zorder=3,
        **{**style, "linestyle": "none"},
        **dots,
    )
    return Line2D([], [], path_effects=edge, **style, **dots)
