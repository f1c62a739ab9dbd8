# cython: infer_types=True
"""The scalar reducer: the values of each fiber into one."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.hw.streams.alu import operate
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.operations import ADD, BINARY
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN, Q13, Q14, Q15
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, INTEGER, STOP, VAL, text
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.names import nearest

OPERATIONS = {"sum": ADD, **BINARY}

NO_STOP = -1


class ScalarReduce(StreamBlock):
    """Reduces the values of each innermost fiber to one.

    Interface: values of depth d on ``in_val``, of depth d - 1 on ``out_val``. An empty fiber gives an
    explicit 0, nothing if empty fibers are dropped, or N if they are marked. An N counts as 0. With
    ``fills``, an N is none of the values, and an empty fiber gives ``empty``.

    Timing: a value takes a cycle. The stop of a fiber sends its result; if it ends lists above as well, a
    further cycle, in which nothing is taken, sends their stop, one level lower. Of an empty fiber that is
    dropped, that stop leaves at once. Done takes a cycle.

    Quirks: Q14, after done the block stands still for a cycle and begins anew; Q15, empty fibers are never
    dropped. With Q13, what the public simulator has as an integer is marked so.

    Counts: ``reductions``, values taken; ``zeros`` and ``nonzeros`` among the results.

    Source: SAM (ASPLOS 2023), Definition 3.7.

    Args:
        name: instance name.
        operation: ``"sum"``, or an operation of ``Alu``.
        drop_empty: whether an empty fiber gives nothing.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if there is no such operation.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (Input("in_val", VAL), output_stream("out_val", VAL))
    COUNTERS = ("reductions", "zeros", "nonzeros")

    in_val: Channel
    out_val: OutputStream

    def __init__(
        self, name: str, operation: str = "sum", drop_empty: bool = False, quirks: int = CLEAN
    ) -> None:
        super().__init__(name, quirks)
        if operation not in OPERATIONS:
            raise ValueError(f"{name} has no operation {operation}; {nearest(operation, OPERATIONS)}")
        self.code = OPERATIONS[operation]  # C: public long
        self.drops = drop_empty and not quirks & Q15
        self.result = 0.0
        self.count = 0  # values of the fiber so far
        self.integers = True  # all of them
        self.owed = NO_STOP  # level of the stop to send next
        self.rests_in = -1  # the cycle in which the block stands still
        self.reductions = 0
        self.zeros = 0
        self.nonzeros = 0
        self.missing = 0  # values N among those taken
        self.real = 0  # values of the fiber so far that are none
        self.filled = 0  # fibers that had such a value
        self.marks = False  # C: public; whether an empty fiber gives N
        self.fills = False  # C: public
        self.empty = 0.0  # C: public

    def update(self, now: int) -> int:
        """Send an owed stop, or take a token."""
        source = self.in_val
        if now == self.rests_in:
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
            return self._close(level, now)
        return self._end(now) if kind == DONE else self.busy(now + 1)

    def _take_value(self, kind: int, mark: int) -> None:
        """Take the head, a value or N."""
        if kind == DATA:
            self.real += 1
            self._combine(self.in_val.value(), mark == INTEGER)
        else:
            self.missing += 1
            if self.fills:
                self.reductions += 1
            else:
                self._combine(0.0, integer=False)

    def _combine(self, value: float, integer: bool) -> None:
        self.result = value if self.count == 0 else operate(self.code, self.result, value, self.value_type)
        self.count += 1
        self.integers = self.integers and integer
        self.reductions += 1

    def _close(self, level: int, now: int) -> int:
        """The fiber has ended, and as many lists above it."""
        self.filled += self.real > 0
        self.real = 0
        if self.count == 0 and self.drops:
            return self._send_stop(level - 1, now) if level else self.busy(now + 1)
        if self.count == 0 and self.marks:
            self.out_val.push(EMPTY)
            self.owed = level - 1
            return self.busy(now + 1)
        result = self.empty if self.count == 0 and self.fills else self.result
        self.out_val.push(DATA, INTEGER if self.integers and self.quirks & Q13 else 0, result)
        if result == 0.0:
            self.zeros += 1
        else:
            self.nonzeros += 1
        self.owed = level - 1  # no stop if no list above ends
        self.result, self.count, self.integers = 0.0, 0, True
        return self.busy(now + 1)

    def _send_stop(self, level: int, now: int) -> int:
        self.out_val.push(STOP, level)
        self.owed = NO_STOP
        return self.busy(now + 1)

    def _end(self, now: int) -> int:
        self.out_val.push(DONE)
        if not self.quirks & Q14:
            return self.finish(now)
        if self.done_cycle < 0:
            self.done_cycle = now
        self.rests_in = now + 1
        self.result, self.count, self.integers = 0.0, 0, True
        return self.busy(now + 1)


class FiberReduce(ScalarReduce):
    """Reduces the values of each innermost fiber to one, and sees whose fiber it is.

    A bare stop may end an empty fiber, or a list without any: the stream of values cannot tell. With the
    coordinates around the fibers each of these gets its value, an empty list none.

    Interface: that of ``ScalarReduce``, and on ``in_crd`` coordinates of depth d - 1, one for each fiber.

    Timing: that of ``ScalarReduce``; a coordinate is taken with the first value of its fiber, a stop with the
    one that ends the list there. Where that one is an empty fiber's, the stop behind its coordinate is not in
    sight before the next cycle.

    Source: a choice of this model; droppers and holds see the stream around theirs as well.

    Args:
        name: instance name.
        quirks: see ``StreamBlock``; of those only Q13.

    Raises:
        SimulationError: in the run, if the streams do not fit each other, naming the cycle and both tokens.
    """

    PORTS = (Input("in_crd", CRD), Input("in_val", VAL), output_stream("out_val", VAL))

    in_crd: Channel

    def __init__(self, name: str, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks=quirks)
        self.open = False  # a coordinate has been taken whose fiber has not ended

    def update(self, now: int) -> int:
        """Send an owed stop, or take a token."""
        if self.owed != NO_STOP:
            return self._send_stop(self.owed, now)
        if self.open:
            return self._take(now) if self.in_val.can_pop() else self.wait_input(self.in_val)
        if not self.in_crd.can_pop():
            return self.wait_input(self.in_crd)
        if self.in_crd.control() != DATA:
            return self._pass(now)
        self.in_crd.pop()
        self.open = True
        if not self.in_val.can_pop() or self._ends_list():
            return self.busy(now + 1)
        return self._take(now)

    def _ends_list(self) -> bool:
        """Return whether a value's stop shows that ends the list around its fiber as well."""
        return self.in_val.control() == STOP and self.in_val.coordinate() > 0

    def _pass(self, now: int) -> int:
        """The end of an empty list, or of all."""
        if not self.in_val.can_pop():
            return self.wait_input(self.in_val)
        kind, level = self.in_crd.control(), self.in_crd.coordinate()
        self._check(kind, level + 1 if kind == STOP else self.in_val.coordinate(), now)
        self.in_crd.pop()
        self.in_val.pop()
        if kind == STOP:
            return self._send_stop(level, now)
        self.out_val.push(DONE)
        return self.finish(now)

    def _take(self, now: int) -> int:
        """Take a value of the fiber, or its stop and that of the list that ends with it."""
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
        self.open = False
        return self._close(level, now)

    def _check(self, kind: int, level: int, now: int) -> None:
        """The values must have this token, or end with the coordinates."""
        if kind != self.in_val.control() or level != self.in_val.coordinate():
            crd = text(self.in_crd.control(), self.in_crd.coordinate(), 0.0, CRD)
            val = text(self.in_val.control(), self.in_val.coordinate(), self.in_val.value(), VAL)
            raise SimulationError(f"cycle {now}, {self.name}: {val} on in_val does not fit {crd} on in_crd")
