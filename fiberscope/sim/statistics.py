"""Statistics of a run: how it ended, the cycles of every component, and what it waits for now."""

from __future__ import annotations

from dataclasses import dataclass, field

from fiberscope.sim.component import Component
from fiberscope.sim.constants import BUSY, FIRST_STALL, IDLE
from fiberscope.sim.wiring import Wiring


@dataclass(frozen=True)
class Run:
    """End of a run, and its statistics.

    ``reason`` is ``"done"``, ``"cycle limit"``, ``"interrupted"``; ``cycles`` its length in cycles of
    the first clock, ``time`` in base ticks, ``seconds`` in simulated time.
    """

    complete: bool
    reason: str
    cycles: int
    time: int
    seconds: float


@dataclass(frozen=True)
class ComponentStatistics:
    """The cycles of one component, each counted once, and its event counters.

    ``busy + idle + sum(input_stall) + sum(output_stall) == cycles``, the run's length in the component's own
    clock. The stalls are by port; an array's ports are told apart as ``name[i]``, ``name`` is any of them.
    """

    cycles: int
    busy: int
    idle: int
    input_stall: dict[str, int] = field(default_factory=dict)
    output_stall: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)


def statistics_of(component: Component, wiring: Wiring, length: int) -> ComponentStatistics:
    """The statistics of one component after so many cycles of its clock."""
    cycles = list(component.cycles)
    cycles[component.state] += length - component.since
    stalls: dict[str, dict[str, int]] = {"input": {}, "output": {}}
    for stall, count in zip(wiring.stalls(component), cycles[FIRST_STALL:], strict=True):
        if count:
            stalls[stall.direction][stall.label] = count
    return ComponentStatistics(
        length, cycles[BUSY], cycles[IDLE], stalls["input"], stalls["output"], component.counters()
    )
