"""A suite as a table, and as lines about what failed."""

from __future__ import annotations

from fiberscope.explore.sweeps.suite import Suite
from fiberscope.results.report.estimates import format_half_width
from fiberscope.results.report.table import Table

__all__ = ["failure_lines", "suite_table"]


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
