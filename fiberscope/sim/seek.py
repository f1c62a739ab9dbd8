# cython: infer_types=True
"""Run a machine to the first cycle in which a condition holds."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.sim.condition import Disjunction, Predicate
from fiberscope.sim.constants import LIMIT, MAX_TIME, SLICE_END
from fiberscope.sim.interrupt import give_way, on_interrupt
from fiberscope.sim.kernel import Kernel


def seek(kernel: Kernel, start: int, end: int, conditions: Sequence[Predicate]) -> int:
    """Run from one cycle of the first clock to another, or to the first between them in which one holds.

    Args:
        kernel: built; everything before ``start`` has ticked, and nothing at it.
        start, end: cycles of the first clock.
        conditions: at least one; each is asked for its pause at ``start``, and later as its pauses say.

    Returns:
        The cycle that the machine has come to. It may come to no end: where the run is done, stands still or
        is interrupted, ``kernel.run`` says so when it is called next.
    """
    with on_interrupt(kernel.interrupt):
        return _seek(kernel, start, end, Disjunction(conditions))


def _seek(kernel: Kernel, cycle: int, end: int, condition: Disjunction) -> int:  # C: cdef
    period: int = kernel.clocks[0].period
    while cycle < end:
        quiet = kernel._next_time() // period + 1 - cycle
        pause = condition.pause(cycle * period, max(1, quiet))
        if pause == 0:
            return cycle
        upto = min(cycle + pause, end)
        noticed = (upto - condition.momentary) * period
        reason = kernel._advance(noticed, MAX_TIME) if noticed > cycle * period else LIMIT
        if condition.momentary and reason == LIMIT:
            reason = _run_cycle(kernel, upto * period, condition)
        give_way()
        if reason != LIMIT:
            return cycle
        cycle = upto
    return cycle


def _run_cycle(kernel: Kernel, until: int, condition: Disjunction) -> int:  # C: cdef
    """Run the cycle before a base tick, and have a condition notice each time step; return why it ended."""
    reason = SLICE_END
    condition.begin()
    while reason == SLICE_END:
        reason = kernel._advance(until, 1)
        condition.notice()
    return reason
