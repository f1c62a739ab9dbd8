"""Position of a run under the roofline of its machine, in operations per cycle and per byte."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from fiberscope.results.report.document import Report
from fiberscope.results.report.families import Family, group_families, list_members
from fiberscope.results.report.parts import Component


def roofline(report: Report) -> dict[str, Any] | None:
    """Return a run's point and its two roofs; a roof is None if the report lacks its inputs.

    The operation is the multiplication, or the most frequent operation of a run without multiplications. The
    point counts useful operations only: a multiplication by zero is not useful. ``bandwidth`` is the memory's
    peak in bytes per cycle. ``peak`` is the rate of the components that count the operation, scaled to a busy
    share of 1; ``workers`` is their family.

    Returns:
        None for a run without traffic or operations.
    """
    moved = sum(traffic.moved_bytes for traffic in report.traffic.values())
    work = _work(report.operations)
    useful = choose_useful_name(work, report.operations)
    executed, count = (report.operations.get(name, 0) for name in (work, useful))
    if not (moved and count and report.cycles):
        return None
    workers = _find_workers(work, executed, report.components)
    busy = workers.share(workers.busy) if workers else 0.0
    memory = report.memory
    return {
        "work": useful.replace("_", " "),
        "intensity": count / moved,
        "rate": count / report.cycles,
        "bandwidth": memory.peak_bytes_per_second * report.seconds / report.cycles if memory else None,
        "peak": executed / report.cycles / busy if busy else None,
        "workers": workers.label if workers else "",
    }


def _work(operations: Mapping[str, int]) -> str:
    return "multiply" if "multiply" in operations else max(operations, key=operations.__getitem__, default="")


def choose_useful_name(work: str, names: Container[str]) -> str:
    """Return the counter of the useful operations of a kind; the kind itself if all operations are useful.

    Args:
        work: the kind of operation, such as ``multiply``.
        names: the names of all counters of the run.
    """
    return f"useful_{work}" if f"useful_{work}" in names else work


def _find_workers(work: str, count: int, components: Mapping[str, Component]) -> Family | None:
    """Return the family whose counters cover all operations."""
    for name, family in group_families(components).items():
        if sum(component.counters.get(work, 0) for component in list_members(name, components)) == count:
            return family
    return None
