# cython: infer_types=True
"""Run a machine to the first cycle in which a condition holds."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.sim.condition import Disjunction, Predicate
from fiberscope.sim.constants import LIMIT, MAX_TIME, SLICE_END
from fiberscope.sim.interrupt import give_way, on_interrupt
from fiberscope.sim.kernel import Kernel


def seek(kernel: Kernel, start: int, end: int, conditions: Sequence[Predicate]) -> int:
    """Run from one cycle of the first clock to another, or to the first cycle in which a condition holds.

    Args:
        kernel: a built machine that has simulated everything before cycle ``start``.
        start, end: cycles of the first clock.
        conditions: at least one. The machine is checked at ``start``, then after the shortest pause that a
            condition returns, and not at ``end``.

    Returns:
        The cycle in which a condition holds, or ``end``. If the run ends, deadlocks or is interrupted, the
            result is the cycle of the last check, before ``end``, although the machine may have run further.
            The next ``kernel.run`` reports the reason.
    """
    with on_interrupt(kernel.interrupt):
        return _seek(kernel, start, end, Disjunction(conditions))


def _seek(kernel: Kernel, cycle: int, end: int, condition: Disjunction) -> int:  # C: cdef
    """Run as ``seek`` does, with the conditions combined into one."""
    period: int = kernel.clocks[0].period
    while cycle < end:
        # Cycles to the end of the next cycle in which a component ticks
        quiet = kernel._next_time() // period + 1 - cycle
        pause = condition.pause(cycle * period, max(1, quiet))
        if pause == 0:
            return cycle
        next_cycle = min(cycle + pause, end)
        # A momentary condition observes each time step of the last cycle before the next check
        unobserved_end = (next_cycle - condition.momentary) * period
        reason = kernel._advance(unobserved_end, MAX_TIME) if unobserved_end > cycle * period else LIMIT
        if condition.momentary and reason == LIMIT:
            reason = _run_cycle(kernel, next_cycle * period, condition)
        give_way()
        if reason != LIMIT:
            return cycle
        cycle = next_cycle
    return cycle


def _run_cycle(kernel: Kernel, until: int, condition: Disjunction) -> int:  # C: cdef
    """Run the cycle before a base tick, with a notification of each time step; return why it ended."""
    reason = SLICE_END
    condition.begin()
    while reason == SLICE_END:
        reason = kernel._advance(until, 1)
        condition.notice()
    return reason
