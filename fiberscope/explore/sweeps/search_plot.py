"""A search as a picture: its designs by two measures, and the front of those that no other one beats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiberscope.results.figures.front import pareto_front
from fiberscope.results.report.pictures import blank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fiberscope.explore.sweeps.search import Search

__all__ = ["draw_designs"]

ESTIMATED = ("cycles", "seconds")  # that have the error of a sampled run
TIME_AND_AREA = ("seconds", "area_um2")


def draw_designs(search: Search) -> Figure:
    """Draw all evaluated designs, by the two goals of the search, or else by time and area; logarithmic.

    Raises:
        InputError: matplotlib is missing, or a machine has no such number.
    """
    measures = [goal.measure for goal in search.goals]
    largest = [goal.largest for goal in search.goals]
    if len(measures) != len(TIME_AND_AREA):
        measures, largest = [*TIME_AND_AREA], [False, False]
    designs = search.designs(*measures)
    kept = [values for values, keeps in designs if keeps]
    spreads = search.spreads()
    figure = blank(f"{search.points[0].machine}: {len(designs):,} designs", 5.0)
    axes = figure.subplots()
    others = [values for values, keeps in designs if not keeps]
    for label, values, face in (("over a limit", others, "none"), ("designs", kept, "#4477aa")):
        if values:
            across, up = zip(*values, strict=True)
            axes.scatter(across, up, s=18, facecolors=face, edgecolors="#4477aa", label=label)
    for place, measure in enumerate(measures):
        if measure in ESTIMATED and any(spreads):
            errors = [
                spread * values[place] for spread, (values, _keeps) in zip(spreads, designs, strict=True)
            ]
            across, up = zip(*(values for values, _keeps in designs), strict=True)
            xerr, yerr = (errors, None) if place == 0 else (None, errors)
            look: Any = {"fmt": "none", "ecolor": "#4477aa", "elinewidth": 0.8, "capsize": 2}
            axes.errorbar(across, up, yerr, xerr, **look)
    if best := pareto_front(kept, largest):
        axes.plot(*zip(*best, strict=True), color="#cc3311", linewidth=1.2, marker=".", label="front")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(measures[0])
    axes.set_ylabel(measures[1])
    if designs:
        axes.legend(frameon=False, fontsize="small")
    return figure
