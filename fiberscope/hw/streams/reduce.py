# cython: infer_types=True
"""Scalar reducers: blocks that reduce the values of each innermost fiber to one value."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.hw.streams.alu import operate
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.kept import NO_STOP
from fiberscope.hw.streams.operations import ADD, BINARY, operation_code
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q13, Q14, Q15
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, INTEGER, STOP, VAL, format_token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError

OPERATIONS = {"sum": ADD, **BINARY}


class ScalarReduce(StreamBlock):
    """Reduces the values of each innermost fiber to one.

    Interface: ``in_val`` carries values of depth d, ``out_val`` the results, of depth d - 1. An N token
    counts as the value 0. An empty fiber gives the result 0. If empty fibers are dropped, it gives no
    result; with ``marks``, it gives an N token. With ``fills``, an N token is skipped, and a fiber without
    values gives ``empty``, unless it is dropped or ``marks`` is set. The attributes ``marks``, ``fills`` and
    ``empty`` are off or 0 at first, and are set before the run.

    Timing: a value takes a cycle. In the cycle in which the stop of a fiber is popped, the result is pushed.
    If the level of that stop is above 0, the stop of level - 1 is pushed in the next cycle, in which no token
    is popped. For a dropped empty fiber, that stop is pushed at once. Done takes a cycle.

    Quirks: Q14, the block is inactive in the cycle after done, and then starts again. Q15, empty fibers are
    never dropped. Q13, a result is marked ``INTEGER`` if the public simulator holds it as an integer.

    Counts: ``reductions``, the number of values and N tokens taken; ``zeros`` and ``nonzeros`` among the
    results that are values.

    Source: SAM (ASPLOS 2023), Definition 3.7.

    Args:
        operation: ``"sum"``, or the name of an operation of ``Alu``.
        drop_empty: whether an empty fiber gives no result.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if ``operation`` is unknown.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (Input("in_val", VAL), output_stream("out_val", VAL))
    COUNTERS = ("reductions", "zeros", "nonzeros")

    in_val: Channel
    out_val: OutputStream

    def __init__(
        self, name: str, operation: str = "sum", drop_empty: bool = False, quirks: int = NO_QUIRKS
    ) -> None:
        super().__init__(name, quirks)
        self.code = operation_code(name, operation, OPERATIONS)  # C: public long
        self.drops = drop_empty and not quirks & Q15
        self.result = 0.0
        self.count = 0  # values of the current fiber that the result combines
        self.integers = True  # whether all values of the current fiber so far are integers
        self.owed = NO_STOP  # level of the stop to push in the next cycle
        self.inactive_cycle = -1  # with Q14, the inactive cycle after done
        self.reductions = 0
        self.zeros = 0
        self.nonzeros = 0
        self.missing = 0  # N tokens taken
        self.value_tokens = 0  # DATA tokens of the current fiber, N tokens not included
        self.nonempty_fibers = 0  # fibers with at least one DATA token
        self.marks = False  # C: public; whether an empty fiber gives N
        # Whether N is skipped, so that a fiber without values gives ``empty``; and that value.
        self.fills = False  # C: public
        self.empty = 0.0  # C: public

    def update(self, now: int) -> int:
        """Send a pending stop, or take a token."""
        source = self.in_val
        if now == self.inactive_cycle:
            return self.busy(now + 1)
        if self.owed != NO_STOP:
            return self._send_stop(self.owed, now)
        if not source.can_pop():
            return self.wait_input(source) if self.done_cycle < 0 else self.idle()
        kind, level = source.control(), source.coordinate()
        if kind in (DATA, EMPTY):
            self._take_value(kind, level)
        source.pop()
        if kind == STOP:
            return self._end_fiber(level, now)
        return self._send_done(now) if kind == DONE else self.busy(now + 1)

    def _take_value(self, kind: int, mark: int) -> None:
        """Combine the head of ``in_val``, a value or an N token, with the result."""
        if kind == DATA:
            self.value_tokens += 1
            self._combine(self.in_val.value(), mark == INTEGER)
        else:
            self.missing += 1
            if self.fills:
                self.reductions += 1
            else:
                self._combine(0.0, integer=False)

    def _combine(self, value: float, integer: bool) -> None:
        """Combine a value with the result; the first value of a fiber is the result."""
        self.result = value if self.count == 0 else operate(self.code, self.result, value, self.value_type)
        self.count += 1
        self.integers = self.integers and integer
        self.reductions += 1

    def _end_fiber(self, level: int, now: int) -> int:
        """Push the result of a fiber that ended with a stop of this level."""
        self.nonempty_fibers += self.value_tokens > 0
        self.value_tokens = 0
        if self.count == 0 and self.drops:
            return self._send_stop(level - 1, now) if level else self.busy(now + 1)
        if self.count == 0 and self.marks:
            self.out_val.push(EMPTY)
            self.owed = level - 1
            return self.busy(now + 1)
        result = self.empty if self.count == 0 and self.fills else self.result
        self.out_val.push(DATA, INTEGER if self.integers and self.quirks & Q13 else 0, result)
        self.count_result(result)
        self.owed = level - 1  # ``NO_STOP`` for level 0: the stop ends only the fiber
        return self.busy(now + 1)

    def count_result(self, result: float) -> None:  # C: cdef
        """Count the result of a fiber, and start the next fiber."""
        if result == 0.0:
            self.zeros += 1
        else:
            self.nonzeros += 1
        self.result, self.count, self.integers = 0.0, 0, True

    def _send_stop(self, level: int, now: int) -> int:
        """Send the stop of a list; no other stop is owed then."""
        self.out_val.push(STOP, level)
        self.owed = NO_STOP
        return self.busy(now + 1)

    def _send_done(self, now: int) -> int:
        """Send done; with Q14, start again after an inactive cycle, and keep the cycle of the first done."""
        self.out_val.push(DONE)
        if not self.quirks & Q14:
            return self.finish(now)
        if self.done_cycle < 0:
            self.done_cycle = now
        self.inactive_cycle = now + 1
        self.result, self.count, self.integers = 0.0, 0, True
        return self.busy(now + 1)


class FiberReduce(ScalarReduce):
    """A scalar reducer that distinguishes empty fibers from empty lists by the coordinates of the fibers.

    In a stream of values, a stop right after another stop can end an empty fiber, or a list without fibers.
    The coordinates decide: a fiber has a coordinate, and gives a result even if it is empty. An empty list
    gives no result.

    Interface: that of ``ScalarReduce``. In addition, ``in_crd`` carries coordinates of depth d - 1, one for
    each fiber, without N.

    Timing: that of ``ScalarReduce``. A coordinate is popped with the first value of its fiber, if that value
    is visible. A stop of ``in_crd`` is popped with the stop of ``in_val`` that ends the same list. If that
    list ends with an empty fiber, the coordinate of the fiber is popped one cycle before the two stops.

    Source: a choice of this model. Droppers and ``CoordinateHold`` read the outer stream in the same way.

    Args:
        quirks: see ``StreamBlock``; only Q13 has an effect.

    Raises:
        SimulationError: during the run, if the streams do not match; the message has the cycle and both
            tokens.
    """

    PORTS = (Input("in_crd", CRD), Input("in_val", VAL), output_stream("out_val", VAL))

    in_crd: Channel

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks=quirks)
        self.in_fiber = False  # whether the coordinate of a fiber that has not ended was popped

    def update(self, now: int) -> int:
        """Send a pending stop, or take a token."""
        if self.owed != NO_STOP:
            return self._send_stop(self.owed, now)
        if self.in_fiber:
            return self._take_token(now) if self.in_val.can_pop() else self.wait_input(self.in_val)
        if not self.in_crd.can_pop():
            return self.wait_input(self.in_crd)
        if self.in_crd.control() != DATA:
            return self._end_list(now)
        self.in_crd.pop()
        self.in_fiber = True
        if not self.in_val.can_pop() or self._ends_list():
            return self.busy(now + 1)
        return self._take_token(now)

    def _ends_list(self) -> bool:
        """Return whether the head of ``in_val`` is a stop that also ends the list around the fiber."""
        return self.in_val.control() == STOP and self.in_val.coordinate() > 0

    def _end_list(self, now: int) -> int:
        """Pass on the stop of an empty list, or done."""
        if not self.in_val.can_pop():
            return self.wait_input(self.in_val)
        kind, level = self.in_crd.control(), self.in_crd.coordinate()
        if kind == EMPTY:
            self._refuse(now)
        self._check(kind, level + 1 if kind == STOP else self.in_val.coordinate(), now)
        self.in_crd.pop()
        self.in_val.pop()
        if kind == STOP:
            return self._send_stop(level, now)
        self.out_val.push(DONE)
        return self.finish(now)

    def _take_token(self, now: int) -> int:
        """Take a value of the fiber, or its stop; pop a stop of ``in_crd`` if a list ends, too."""
        kind, level = self.in_val.control(), self.in_val.coordinate()
        if self._ends_list():
            if not self.in_crd.can_pop():
                return self.wait_input(self.in_crd)
            self._check(self.in_crd.control(), self.in_crd.coordinate() + 1, now)
            self.in_crd.pop()
        if kind == DONE:
            raise SimulationError(f"cycle {now}, {self.name}: D on in_val within a fiber of in_crd")
        if kind != STOP:
            self._take_value(kind, level)
        self.in_val.pop()
        if kind != STOP:
            return self.busy(now + 1)
        self.in_fiber = False
        return self._end_fiber(level, now)

    def _check(self, kind: int, level: int, now: int) -> None:
        """Raise ``SimulationError`` unless the head of ``in_val`` is a token of this kind and level."""
        if kind != self.in_val.control() or level != self.in_val.coordinate():
            self._refuse(now)

    def _refuse(self, now: int) -> None:
        """Raise ``SimulationError``: the heads of both inputs do not belong together."""
        crd = format_token(self.in_crd.control(), self.in_crd.coordinate(), 0.0, CRD)
        val = format_token(self.in_val.control(), self.in_val.coordinate(), self.in_val.value(), VAL)
        raise SimulationError(f"cycle {now}, {self.name}: {val} on in_val does not fit {crd} on in_crd")
