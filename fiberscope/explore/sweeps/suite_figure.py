"""Figure of the speed-ups of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiberscope.explore.sweeps.suite import Suite
from fiberscope.results.figures.grouped_bars import GroupedBars, draw_grouped_bars
from fiberscope.results.figures.study_runs import shorten_workloads
from fiberscope.results.figures.style import SURROGATE_NOTE, WIDTHS
from fiberscope.results.report.short_names import shorten_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEAN = "geomean"


def draw_suite(suite: Suite, width: float = WIDTHS["page"]) -> Figure:
    """Draw speed-ups as bars, a group for each workload, and their geometric means.

    The baseline has no bars, unless it is the only machine.

    Args:
        suite: the machines, the workloads and the runs.
        width: the width of the figure, in inches.

    Raises:
        InputError: matplotlib is missing.
    """
    others = [machine for machine in suite.machines if machine != suite.against] or [suite.against]
    heights = [
        [*(suite.speedup(workload, machine) for workload in suite.workloads), suite.mean(machine)]
        for machine in others
    ]
    spreads = [
        [
            *(suite.spread(workload, machine) for workload in suite.workloads),
            suite.compute_mean_spread(machine),
        ]
        for machine in others
    ]
    errors = [  # spreads are fractions, error bars are lengths
        [spread * (height or 0.0) for spread, height in zip(*pair, strict=True)]
        for pair in zip(spreads, heights, strict=True)
    ]
    names = dict(zip(suite.machines, shorten_names(suite.machines), strict=True))
    groups = [*shorten_workloads(list(suite.labels.values())), MEAN]
    bars = GroupedBars(
        groups,
        [names[machine] for machine in others],
        heights,
        errors,
        f"Speedup over {names[suite.against]}",
        SURROGATE_NOTE if suite.surrogates else "",
    )
    return draw_grouped_bars(bars, width)
