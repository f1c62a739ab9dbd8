"""Position of a run under the roofline of its machine, in operations a cycle and a byte of traffic."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from fiberscope.results.report.document import Report
from fiberscope.results.report.families import Family, families, members
from fiberscope.results.report.parts import Component

__all__ = ["roofline", "useful_name"]


def roofline(report: Report) -> dict[str, Any] | None:
    """Return a run's point and its two roofs, each None where the report does not have it.

    The operation is the multiplication; of a run that has none, the most frequent operation. The point counts
    useful operations only: a multiplication with a zero is not useful. ``bandwidth`` is the memory's peak in
    bytes a cycle. ``peak`` is what the components that count the operation would do a cycle, useful or not,
    at the rate of this run if they were never without work; ``workers`` are they.

    Returns:
        None of a run that moved nothing or did nothing.
    """
    moved = sum(traffic.moved_bytes for traffic in report.traffic.values())
    work = _work(report.operations)
    useful = useful_name(work, report.operations)
    done, count = (report.operations.get(name, 0) for name in (work, useful))
    if not (moved and count and report.cycles):
        return None
    workers = _workers(work, done, report.components)
    busy = workers.share(workers.busy) if workers else 0.0
    memory = report.memory
    return {
        "work": useful.replace("_", " "),
        "intensity": count / moved,
        "rate": count / report.cycles,
        "bandwidth": memory.peak_bytes_per_second * report.seconds / report.cycles if memory else None,
        "peak": done / report.cycles / busy if busy else None,
        "workers": workers.label if workers else "",
    }


def _work(operations: Mapping[str, int]) -> str:
    return "multiply" if "multiply" in operations else max(operations, key=operations.__getitem__, default="")


def useful_name(work: str, names: Container[str]) -> str:
    """Return the name under which useful operations of a kind are counted: its own if all are useful."""
    return f"useful_{work}" if f"useful_{work}" in names else work


def _workers(work: str, count: int, components: Mapping[str, Component]) -> Family | None:
    """The family whose components did all of the work, by their counters."""
    for name, family in families(components).items():
        if sum(component.counters.get(work, 0) for component in members(name, components)) == count:
            return family
    return None
