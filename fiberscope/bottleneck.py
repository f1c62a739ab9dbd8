"""What held the machine back, said in one sentence and derived from how busy its parts were.

A part used more than ``SATURATED`` of its peak is taken as the limit: the memory first, then the workers,
then any single component. Where no part is, the workers' largest loss is named instead: the machine waits for
latency or for work, not for a part that is too slow.
"""

from __future__ import annotations

from fiberscope.families import Family, families, family_name
from fiberscope.report import Report

__all__ = ["SATURATED", "bottleneck"]

SATURATED = 0.8


def bottleneck(report: Report) -> str:
    """One sentence on what limited this run, with the numbers it rests on."""
    if report.cycles == 0:
        return "There was nothing to do."
    kinds = families(report)
    workers = next(kind for kind in kinds if _is_workers(kind, report))
    used = report.memory.utilization
    if used >= SATURATED:
        return f"Memory bandwidth is the limit: {used:.0%} of the peak is used."
    if workers.share(workers.busy) >= SATURATED:
        busy = _percent(workers, workers.busy)
        return f"Computation is the limit: {_subject(workers)} busy {busy} of the time."
    hottest = max(kinds, key=lambda kind: kind.most_busy)
    if hottest.most_busy >= SATURATED and hottest is not workers:
        return f"{hottest.busiest} is the limit: it is busy {hottest.most_busy:.0%} of the time."
    return _largest_loss(workers, report)


def _is_workers(kind: Family, report: Report) -> bool:
    return family_name(kind.busiest, report.accelerator) == report.workers


def _largest_loss(workers: Family, report: Report) -> str:
    losses = {
        workers.input_stall: f"waiting for input {_percent(workers, workers.input_stall)}",
        workers.output_stall: f"waiting for output {_percent(workers, workers.output_stall)}",
        workers.idle: f"without work {_percent(workers, workers.idle)}",
    }
    loss = losses[max(losses)]
    even = ""
    if max(losses) == workers.idle and workers.count > 1:
        even = f" (the busiest, {workers.busiest}, is busy {workers.most_busy:.0%})"
    return (
        f"No part is near its peak (memory {report.memory.utilization:.0%}): "
        f"{_subject(workers)} {loss} of the time{even}."
    )


def _subject(workers: Family) -> str:
    return f"the {workers.count} {workers.name} are" if workers.count > 1 else f"{workers.name} is"


def _percent(family: Family, cycles: int) -> str:
    return f"{family.share(cycles):.0%}"
