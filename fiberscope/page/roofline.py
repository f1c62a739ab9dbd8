"""Where a run stands under the roofline of its machine, in operations a cycle and a byte of traffic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fiberscope.results.report.document import Report
from fiberscope.results.report.families import Family, families, members
from fiberscope.results.report.parts import Component

__all__ = ["roofline"]


def roofline(report: Report) -> dict[str, Any] | None:
    """The run's point and its two roofs, each None where the report does not tell it.

    The operation is the multiplication; of a run that has none, the one that it did most often. ``bandwidth``
    is the memory's peak in bytes a cycle. ``peak`` is what the components that count the operation would do a
    cycle at the rate of this run if they were never without work; ``workers`` are they.

    Returns:
        None of a run that moved nothing or did nothing.
    """
    moved = sum(traffic.moved_bytes for traffic in report.traffic.values())
    work = _work(report.operations)
    count = report.operations.get(work, 0)
    if not (moved and count and report.cycles):
        return None
    workers = _workers(work, count, report.components)
    busy = workers.share(workers.busy) if workers else 0.0
    rate = count / report.cycles
    memory = report.memory
    return {
        "work": work,
        "intensity": count / moved,
        "rate": rate,
        "bandwidth": memory.peak_bytes_per_second * report.seconds / report.cycles if memory else None,
        "peak": rate / busy if busy else None,
        "workers": workers.label if workers else "",
    }


def _work(operations: Mapping[str, int]) -> str:
    return "multiply" if "multiply" in operations else max(operations, key=operations.__getitem__, default="")


def _workers(work: str, count: int, components: Mapping[str, Component]) -> Family | None:
    """The family whose components did all of the work, by their counters."""
    for name, family in families(components).items():
        if sum(component.counters.get(work, 0) for component in members(name, components)) == count:
            return family
    return None
