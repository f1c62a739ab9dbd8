"""Plot of a search: its designs by two measures, with the Pareto front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiberscope.results.figures.front import pareto_front
from fiberscope.results.report.pictures import blank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fiberscope.explore.sweeps.search import Search

ESTIMATED = ("cycles", "seconds")  # measures with the error of a sampled run
TIME_AND_AREA = ("seconds", "area_um2")


def draw_designs(search: Search) -> Figure:
    """Draw all evaluated designs on logarithmic axes, by the two goals of the search, else by time and area.

    Raises:
        InputError: matplotlib is missing, or a measure is null for a machine.
    """
    measures = [goal.measure for goal in search.goals]
    is_maximised = [goal.is_maximised for goal in search.goals]
    if len(measures) != len(TIME_AND_AREA):  # only two goals have a plane
        measures, is_maximised = [*TIME_AND_AREA], [False, False]
    designs = search.designs(*measures)
    allowed = [values for values, meets_limits in designs if meets_limits]
    spreads = search.list_spreads()
    figure = blank(f"{search.points[0].machine}: {len(designs):,} designs", 5.0)
    axes = figure.subplots()
    others = [values for values, meets_limits in designs if not meets_limits]
    for label, values, face in (("over a limit", others, "none"), ("designs", allowed, "#4477aa")):
        if values:
            x_values, y_values = zip(*values, strict=True)
            axes.scatter(x_values, y_values, s=18, facecolors=face, edgecolors="#4477aa", label=label)
    for axis, measure in enumerate(measures):
        if measure in ESTIMATED and any(spreads):
            errors = [
                spread * values[axis] for spread, (values, _allowed) in zip(spreads, designs, strict=True)
            ]
            x_values, y_values = zip(*(values for values, _allowed in designs), strict=True)
            xerr, yerr = (errors, None) if axis == 0 else (None, errors)
            style: Any = {"fmt": "none", "ecolor": "#4477aa", "elinewidth": 0.8, "capsize": 2}
            axes.errorbar(x_values, y_values, yerr, xerr, **style)
    if best := pareto_front(allowed, is_maximised):
        axes.plot(*zip(*best, strict=True), color="#cc3311", linewidth=1.2, marker=".", label="front")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(measures[0])
    axes.set_ylabel(measures[1])
    if designs:
        axes.legend(frameon=False, fontsize="small")
    return figure
