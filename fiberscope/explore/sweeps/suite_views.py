"""A suite as a table, as lines about what failed, and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiberscope.explore.sweeps.suite import Suite
from fiberscope.results.report.estimates import format_half_width
from fiberscope.results.report.pictures import blank
from fiberscope.results.report.surrogates import footnote
from fiberscope.results.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_suite", "failure_lines", "suite_table"]

WIDTH = 0.8  # of the bars of one workload, of the place between two
LEGEND: Any = {"loc": "upper left", "bbox_to_anchor": (1, 1), "fontsize": "small", "frameon": False}


def suite_table(suite: Suite) -> Table:
    """A row a workload: cycles of each machine, and how much faster it is; the means in the last."""
    columns = [cell for machine in suite.machines for cell in (f"{machine}, cycles", "speed-up")]
    speedup_table = Table(
        f"Speed-up over {suite.against}, by simulated time", ["workload", *columns], together=2
    )
    for workload, label in suite.labels.items():
        cells = [cell for machine in suite.machines for cell in _cells(suite, workload, machine)]
        speedup_table.add(label, *cells)
    means = [
        cell
        for machine in suite.machines
        for cell in ("", _times(suite.mean(machine), suite.mean_spread(machine)))
    ]
    speedup_table.add(f"geometric mean of {len(suite.compared)}", *means)
    return speedup_table


def _cells(suite: Suite, workload: str, machine: str) -> tuple[str, str]:
    ran = suite.runs[workload, machine]
    cycles = f"{ran.cycles:,}{format_half_width(ran.spread) if ran.interval else ''}"
    speedup = _times(suite.speedup(workload, machine), suite.spread(workload, machine))
    return (cycles if ran.done else ran.status), speedup


def _times(factor: float | None, spread: float) -> str:
    return "" if factor is None else f"{factor:.3g}{format_half_width(spread) if spread else ''}"


def failure_lines(suite: Suite) -> list[str]:
    """A line for each run that was not done."""
    return [
        f"{machine} on {workload}: {ran.status}: {ran.reason}"
        for (workload, machine), ran in suite.runs.items()
        if not ran.done
    ]


def draw_suite(suite: Suite) -> Figure:
    """Bars of speed-ups by workload, and of their means, on a logarithmic scale.

    Raises:
        InputError: matplotlib is missing.
    """
    title = filter(None, [f"Speed-up over {suite.against}", footnote(suite.surrogates)])
    figure = blank("\n".join(title), 4.0)
    axes = figure.subplots()
    width, groups = WIDTH / len(suite.machines), [*suite.labels.values(), "geometric mean"]
    for place, machine in enumerate(suite.machines):
        heights = [suite.speedup(workload, machine) for workload in suite.workloads] + [suite.mean(machine)]
        spreads = [suite.spread(workload, machine) for workload in suite.workloads]
        bars = [
            (number + place * width, height, spread * height)
            for number, (height, spread) in enumerate(
                zip(heights, [*spreads, suite.mean_spread(machine)], strict=True)
            )
            if height is not None
        ]
        at, tall, errors = zip(*bars, strict=True) if bars else ((), (), ())
        axes.bar(at, tall, width, label=machine, yerr=errors if any(errors) else None, capsize=3)
    axes.axhline(1.0, color="#555555", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xticks(
        [number + (WIDTH - width) / 2 for number in range(len(groups))], groups, rotation=30, ha="right"
    )
    axes.legend(**LEGEND)
    return figure
