"""Statistics of a run: its end, and the cycles and counters of every component."""

from __future__ import annotations

from dataclasses import dataclass, field

from fiberscope.sim.component import Component
from fiberscope.sim.constants import BUSY, FIRST_STALL, IDLE
from fiberscope.sim.wiring import Wiring


@dataclass(frozen=True)
class Run:
    """End of a run.

    ``reason`` is ``"done"``, ``"cycle limit"`` or ``"interrupted"``, or ``"deadlock"`` in the record of a run
    that raised ``DeadlockError``. A run is done if no work is left, or after ``Kernel.stop``; ``complete`` is
    true only for such a run. ``cycles`` is the length of the run in cycles of the first clock, rounded up,
    ``time`` in ticks of the kernel's time base (``Kernel.base_hertz``), ``seconds`` in simulated time. All
    three count from the first cycle of the machine, also if the machine has run before.
    """

    complete: bool
    reason: str
    cycles: int
    time: int
    seconds: float


@dataclass(frozen=True)
class ComponentStatistics:
    """The cycle accounting and the event counters of one component.

    ``busy + idle + sum(input_stall) + sum(output_stall) == cycles``: the length of the run in cycles of the
    component's own clock. Stalls are by port: ``name[i]`` for a port of an array. The entry ``name`` of an
    array has the cycles in which the component waited for any of its ports; the entries ``name[i]`` do not
    include these cycles. Ports without stalls have no entry.
    """

    cycles: int
    busy: int
    idle: int
    input_stall: dict[str, int] = field(default_factory=dict)
    output_stall: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)


def collect_statistics(component: Component, wiring: Wiring, run_cycles: int) -> ComponentStatistics:
    """Return the statistics of one component, which stays unchanged.

    Args:
        component: the component.
        wiring: the channels of its machine.
        run_cycles: length of the run in cycles of the component's clock.
    """
    cycles = list(component.cycles)
    # The cycles since the last change of the state are not booked yet, as a component may sleep in its state
    cycles[component.state] += run_cycles - component.since
    stalls: dict[str, dict[str, int]] = {"input": {}, "output": {}}
    # ``wiring.stalls`` has the order of the accounting states
    for stall, count in zip(wiring.stalls(component), cycles[FIRST_STALL:], strict=True):
        if count:
            stalls[stall.direction][stall.label] = count
    return ComponentStatistics(
        run_cycles, cycles[BUSY], cycles[IDLE], stalls["input"], stalls["output"], component.counters()
    )
