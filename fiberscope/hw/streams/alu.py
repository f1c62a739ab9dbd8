# cython: infer_types=True
"""ALUs: arithmetic on one or two streams of values, one result a cycle."""

from __future__ import annotations

import math

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.operations import (
    ABSOLUTE,
    ADD,
    AND,
    BINARY,
    DIFFERS,
    DIVIDE,
    EXP,
    FIRST,
    LESS,
    MAXIMUM,
    MINIMUM,
    MULTIPLY,
    NEGATE,
    OR,
    SIN,
    SQRT,
    SQUARE,
    SUBTRACT,
    TAKE,
    UNARY,
)
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN, Q13
from fiberscope.hw.streams.tokens import ABSENT, DATA, DONE, EMPTY, INTEGER, STOP, VAL, text
from fiberscope.hw.value_type import ValueType
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.names import nearest

NEITHER = -1  # of the operands


class Arithmetic(StreamBlock):
    """Operations of ALUs. A real number without a result is infinite or not a number, as in IEEE 754.

    ``absent`` counts those of the ``operations`` that have no result in the algebra: where an operand is
    absent if ``needs_all``, as of a product or a take, else where all are. With ``fills``, such a result is
    ``empty``, and so is an N.

    Args:
        name: instance name.
        operation: name of the operation.
        operations: codes of the supported operations, by name.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if there is no such operation.
    """

    COUNTERS = ("operations",)

    out_val: OutputStream

    def __init__(self, name: str, operation: str, operations: dict[str, int], quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        if operation not in operations:
            raise ValueError(f"{name} has no operation {operation}; {nearest(operation, operations)}")
        self.operation = operation  # C: str
        self.code = operations[operation]  # C: long
        self.needs_all = self.code in (MULTIPLY, TAKE)  # C: public
        self.fills = False  # C: public
        self.empty = 0.0  # C: public
        self.operations = 0
        self.absent = 0  # C: public

    def send(self, payload: int, result: float, there: bool, other_there: bool) -> None:
        """Send a result, of operands that are there or not."""
        if (there and other_there) if self.needs_all else (there or other_there):
            self.out_val.push(DATA, payload, result)
        else:
            self.absent += 1
            self.out_val.push_absent(payload, self.empty if self.fills else result)

    def compute(self, value: float, other: float) -> float:  # C: cdef
        """The result of two operands, or of the first."""
        self.operations += 1
        code = self.code  # C: long
        if code == DIVIDE:
            return self._quotient(value, other)
        return operate(code, value, other, self.value_type)

    def _quotient(self, dividend: float, divisor: float) -> float:
        if divisor != 0.0:
            return self.value_type.rounded(dividend / divisor)
        if not self.fills:
            return 0.0
        return math.copysign(math.inf, dividend) if abs(dividend) > 0.0 else math.nan


def operate(code: int, value: float, other: float, value_type: ValueType) -> float:  # C: cpdef
    """The result of two operands, or of the first; NaN is the smaller and the larger of it and any other."""
    if code == MULTIPLY:
        return value_type.multiply(value, other)
    if code == ADD:
        return value_type.add(value, other)
    if code == SUBTRACT:
        return value_type.add(value, -other)
    if code == MINIMUM:
        return value if value <= other else other if other < value else _no_number(value, other)
    if code == MAXIMUM:
        return value if value >= other else other if other > value else _no_number(value, other)
    if code in (FIRST, TAKE):
        return value if code == FIRST else other
    if code in (OR, AND, DIFFERS, LESS):
        return 1.0 if _holds(code, value, other) else 0.0
    return value_type.rounded(_function(code, value))


def _no_number(value: float, other: float) -> float:  # C: cdef
    """Return the one of two that is NaN, the second of both."""
    return other if math.isnan(other) else value


def _holds(code: int, value: float, other: float) -> bool:  # C: cdef
    if code == DIFFERS:
        return value != other
    if code == LESS:
        return value < other
    return (value != 0.0 and other != 0.0) if code == AND else (value != 0.0 or other != 0.0)


def _function(code: int, operand: float) -> float:  # C: cdef
    if code == ABSOLUTE:
        return abs(operand)
    if code == NEGATE:
        return -operand
    if code == SQUARE:
        return operand * operand
    if code == EXP:
        return math.exp(operand) if operand < math.log(1.7e308) else math.inf
    if code == SQRT:
        return math.sqrt(operand) if operand >= 0.0 else math.nan
    if not math.isfinite(operand):
        return math.nan
    return math.sin(operand) if code == SIN else math.cos(operand)


class Alu(Arithmetic):
    """Computes with the values of two streams of the same shape.

    Interface: ``in_val[0]`` and ``in_val[1]``; results leave on ``out_val``, stops and done as both have
    them. An N counts as 0. A quotient by 0 is 0, so that it is the same whether the 0 is stored or not.

    Timing: a token of each is taken when both are seen, and the result leaves in that cycle.

    Quirks: Q13, an integer that meets a stop leaves alone (where numbers are multiplied a 0), and the stop
    stays for the next one; a float is refused.

    Counts: ``operations`` done.

    Source: SAM (ASPLOS 2023), Definition 3.6.

    Args:
        name: instance name.
        operation: a key of ``BINARY``, as ``"mul"``; ``"take"`` is the second, where both are.
        negate: whether the first and the second operand change their sign before.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if there is no such operation.
        SimulationError: in the run, if the streams have not the same shape, naming the cycle and both tokens.
    """

    PORTS = (Input("in_val", VAL, array=True), output_stream("out_val", VAL))

    in_val: list[Channel]
    out_val: OutputStream

    def __init__(
        self,
        name: str,
        operation: str = "mul",
        negate: tuple[bool, bool] = (False, False),
        quirks: int = CLEAN,
    ) -> None:
        super().__init__(name, operation, BINARY, quirks)
        self.sign_a = -1.0 if negate[0] else 1.0
        self.sign_b = -1.0 if negate[1] else 1.0
        self.knows_integers = bool(quirks & Q13) and self.code != DIVIDE
        self.kept = NEITHER  # whose stop has met an integer
        self.kept_level = 0

    def elaborate(self) -> None:
        """Fetch the streams.

        Raises:
            SimulationError: if there are not two operands.
        """
        super().elaborate()
        if len(self.in_val) != 2:
            raise SimulationError(f"{self.name} has 2 operands, but {len(self.in_val)} in_val")
        self.a, self.b = self.in_val

    def update(self, now: int) -> int:
        """Combine the heads, if both are seen."""
        a, b = self.a, self.b
        if not a.can_pop():
            return self.wait_input(a)
        if not b.can_pop():
            return self.wait_input(b)
        kind_a = STOP if self.kept == 0 else a.control()
        kind_b = STOP if self.kept == 1 else b.control()
        if kind_a in (DATA, EMPTY) and kind_b in (DATA, EMPTY):
            self._operate(kind_a, kind_b)
        elif kind_a != kind_b:
            return self._meet_stop(kind_a, kind_b, now)
        elif kind_a == DONE:
            self.out_val.push(DONE)
            self._take()
            return self.finish(now)
        else:
            self._pass_stop(now)
        self._take()
        return self.busy(now + 1)

    def _operate(self, kind_a: int, kind_b: int) -> None:
        a = self.a.value() * self.sign_a if kind_a == DATA else self.empty
        b = self.b.value() * self.sign_b if kind_b == DATA else self.empty
        integers = self.a.coordinate() & self.b.coordinate() if self.knows_integers else 0
        there = kind_a == DATA and self.a.reference() != ABSENT
        other_there = kind_b == DATA and self.b.reference() != ABSENT
        self.send(integers, self.compute(a, b), there, other_there)

    def _pass_stop(self, now: int) -> None:
        level_a = self.kept_level if self.kept == 0 else self.a.coordinate()
        level_b = self.kept_level if self.kept == 1 else self.b.coordinate()
        if level_a != level_b:
            self._refuse(f"S{level_a}", f"S{level_b}", now)
        self.out_val.push(STOP, level_a)

    def _take(self) -> None:
        """Take both heads, without that of which the stop was kept."""
        if self.kept != 0:
            self.a.pop()
        if self.kept != 1:
            self.b.pop()
        self.kept = NEITHER

    def _meet_stop(self, kind_a: int, kind_b: int, now: int) -> int:
        """With the quirk, an integer leaves and the stop stays."""
        stopped = 0 if kind_a == STOP else 1
        number: Channel = self.b if stopped == 0 else self.a
        integer = number.control() == DATA and number.coordinate() == INTEGER
        if STOP not in (kind_a, kind_b) or not integer or not self.quirks & Q13:
            self._refuse(self._written(self.a, self.kept == 0), self._written(self.b, self.kept == 1), now)
        level = self.kept_level if self.kept == stopped else self._stop_level(stopped)
        self.out_val.push(DATA, INTEGER, 0.0 if self.code == MULTIPLY else number.value())
        self._take()
        self.kept, self.kept_level = stopped, level
        return self.busy(now + 1)

    def _stop_level(self, operand: int) -> int:
        return inline.channel(self.in_val[operand]).coordinate()

    def _written(self, channel: Channel, kept: bool) -> str:  # C: return=str
        if kept:
            return f"S{self.kept_level}"
        return str(text(channel.control(), channel.coordinate(), channel.value(), VAL))

    def _refuse(self, first: str, other: str, now: int) -> None:  # C: first=str, other=str
        raise SimulationError(
            f"cycle {now}, {self.name}: the operands must have the same shape, but {first} on in_val[0] "
            f"meets {other} on in_val[1]"
        )


class UnaryAlu(Arithmetic):
    """Computes with each value of a stream.

    Interface: ``in_val``; results leave on ``out_val``, stops and done as they come. An N counts as 0.

    Timing: one token a cycle, in the cycle in which it is seen.

    Counts: ``operations`` done.

    Source: the unary ALUs of branches of the public simulator (weiya711/sam); the constant of a ``mul`` node.

    Args:
        name: instance name.
        operation: ``"relu"``, ``"exp"``, ``"sin"``, ``"cos"``, ``"sqrt"``, ``"abs"``, ``"neg"`` or
            ``"square"``; with a constant any operation of ``Alu``.
        constant: the other operand; None: there is none.
        quirks: see ``StreamBlock``.
        constant_first: whether the constant is the first of the two operands, not the second.

    Raises:
        ValueError: if there is no such operation.
    """

    PORTS = (Input("in_val", VAL), output_stream("out_val", VAL))

    in_val: Channel
    out_val: OutputStream

    def __init__(
        self,
        name: str,
        operation: str = "relu",
        constant: float | None = None,
        quirks: int = CLEAN,
        *,
        constant_first: bool = False,
    ) -> None:
        super().__init__(name, operation, UNARY if constant is None else BINARY, quirks)
        self.constant_first = constant_first
        self.without_constant = constant is None
        self.constant = 0.0 if constant is None else constant  # C: double

    def update(self, now: int) -> int:
        """Compute with the head."""
        source = self.in_val
        if not source.can_pop():
            return self.wait_input(source)
        kind = source.control()
        if kind in (DATA, EMPTY):
            value = source.value() if kind == DATA else self.empty
            there = kind == DATA and source.reference() != ABSENT
            self.send(0, self._computed(value), there, there if self.without_constant else True)
        else:
            self.out_val.push(kind, source.coordinate())
        source.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _computed(self, value: float) -> float:
        constant = self.value_type.rounded(self.constant)
        return self.compute(constant, value) if self.constant_first else self.compute(value, constant)
