"""Run a machine to the first cycle in which a condition holds."""

from __future__ import annotations

from collections.abc import Callable

from fiberscope.sim.constants import LIMIT, MAX_TIME
from fiberscope.sim.interrupt import give_way, on_interrupt
from fiberscope.sim.kernel import Kernel

__all__ = ["seek"]


def seek(kernel: Kernel, start: int, end: int, pause: Callable[[int], int]) -> int:
    """Run from one cycle of the first clock to another, or to the first between them at which to stop.

    Args:
        kernel: built; everything before ``start`` has ticked, and nothing at it.
        start, end: cycles of the first clock.
        pause: of a base tick, the cycles after which to ask again; 0 to stop.

    Returns:
        The cycle that the machine has come to. It may come to no end: where the run is done, stands still or
        is interrupted, ``kernel.run`` says so when it is called next.
    """
    period, cycle = kernel.clocks[0].period, start
    with on_interrupt(kernel.interrupt):
        while cycle < end:
            cycles = pause(cycle * period)
            if cycles == 0:
                return cycle
            upto = min(cycle + cycles, end)
            reason = kernel._advance(upto * period, MAX_TIME)
            give_way()
            if reason != LIMIT:
                return cycle
            cycle = upto
    return cycle
