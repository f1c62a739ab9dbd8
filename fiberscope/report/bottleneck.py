"""What held the machine back, said in a sentence or two and derived from how busy its parts were.

A part used more than ``SATURATED`` of its peak is taken as the limit: the memory first, then the workers,
then a single component of the families that the accelerator names, then memory channels that are never
without a request, as rows that conflict and turnarounds can keep them far below the peak. Where none is, the
workers' largest loss is named instead: the machine waits for latency or for work, not for a part that is too
slow. The accelerator's own explanation of its losses follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fiberscope.accelerators.machine import Accelerator
from fiberscope.report.families import Family, families
from fiberscope.report.parts import Component

__all__ = ["SATURATED", "bottleneck"]

SATURATED = 0.8
NEVER_WITHOUT_REQUEST = 0.95
MOSTLY_MOVING = 0.5  # below, a channel that always holds a request may hold but one, and wait for its latency


def bottleneck(
    accelerator: Accelerator[Any],
    components: Mapping[str, Component],
    memory_used: float | None,
    explanation: str = "",
) -> str:
    """What limited a run, with the numbers it rests on; empty where there are no components.

    Args:
        accelerator: whose run it is.
        components: of the run, by name.
        memory_used: the part of the peak bandwidth that was used, None where that is not known.
        explanation: the accelerator's own sentence on its losses.
    """
    if not components:
        return ""
    kinds, memory_utilization = families(components), memory_used or 0.0
    workers = kinds[accelerator.workers]
    if workers.cycles == 0:
        return "There was nothing to do."
    if memory_utilization >= SATURATED:
        return f"Memory bandwidth is the limit: {memory_utilization:.0%} of the peak is used."
    if workers.share(workers.busy) >= SATURATED:
        busy = _percent(workers, workers.busy)
        return f"Computation is the limit: {_subject(workers)} busy {busy} of the time."
    for kind in (kinds[name] for name in accelerator.limits):
        if kind.most_busy >= SATURATED:
            return f"{kind.busiest} is the limit: it is busy {kind.most_busy:.0%} of the time."
    channels = kinds.get(accelerator.channels)
    if channels and memory_utilization >= MOSTLY_MOVING:
        held = channels.share(channels.busy)
        if held >= NEVER_WITHOUT_REQUEST:
            return (
                f"Memory is probably the limit: its channels hold requests {held:.0%} of the time and reach "
                f"{memory_utilization:.0%} of the peak bandwidth."
            )
    return f"{_largest_loss(workers, memory_used)} {explanation}".rstrip()


def _largest_loss(workers: Family, memory_used: float | None) -> str:
    losses = {
        "waiting for input": workers.input_stall,
        "waiting for output": workers.output_stall,
        "without work": workers.idle,
    }
    name = max(losses, key=losses.__getitem__)
    memory = "" if memory_used is None else f" (memory {memory_used:.0%})"
    even = ""
    if name == "without work" and workers.count > 1:
        even = f" (the busiest, {workers.busiest}, is busy {workers.most_busy:.0%})"
    return (
        f"No part is near its peak{memory}: "
        f"{_subject(workers)} {name} {_percent(workers, losses[name])} of the time{even}."
    )


def _subject(workers: Family) -> str:
    return f"the {workers.count} {workers.name} are" if workers.count > 1 else f"{workers.name} is"


def _percent(family: Family, cycles: int) -> str:
    return f"{family.share(cycles):.0%}"
