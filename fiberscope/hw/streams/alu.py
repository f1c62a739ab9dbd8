# cython: infer_types=True
"""ALUs: arithmetic on one or two streams of values, one result per cycle."""

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
    operation_code,
)
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q13
from fiberscope.hw.streams.tokens import ABSENT, DATA, DONE, EMPTY, INTEGER, STOP, VAL, format_token
from fiberscope.hw.value_type import ValueType
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError

LARGEST_EXPONENT = 709.782712893384  # logarithm of the largest double; ``math.exp`` of more raises an error
NEITHER = -1  # value of ``kept_operand``: no operand's stop is kept


class Arithmetic(StreamBlock):
    """Base of the ALUs. A real operation without a real result gives an infinity or NaN, as in IEEE 754.

    Exceptions: the sign of a zero divisor is ignored, and without ``fills`` a quotient by 0 is 0.

    An operand is *present* if its token is a value that is not marked ``ABSENT``. The result of an operation
    is present if its operands suffice: all of them with ``needs_all`` (a product or a take), else any of
    them. A result that is not present is sent all the same, but marked ``ABSENT``; ``absent`` counts these
    results. With ``fills``, and of a take, the value of such a result is ``empty``. An N token counts as
    ``empty``, which is 0 unless it is set. The attributes ``fills``, ``empty`` and ``needs_all`` are set
    before the run.

    Args:
        operation: name of the operation, a key of ``operations``.
        operations: codes of the supported operations, by name.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if ``operations`` has no such operation.
    """

    COUNTERS = ("operations",)

    out_val: OutputStream

    def __init__(
        self, name: str, operation: str, operations: dict[str, int], quirks: int = NO_QUIRKS
    ) -> None:
        super().__init__(name, quirks)
        self.operation = operation  # C: str
        self.code = operation_code(name, operation, operations)  # C: long
        self.is_take = operation == "take"
        self.needs_all = self.is_take or self.code == MULTIPLY  # C: public
        self.fills = False  # C: public
        self.empty = 0.0  # C: public
        self.operations = 0
        self.absent = 0  # C: public

    def send(self, payload: int, result: float, is_present: bool, other_is_present: bool) -> None:
        """Send a result; mark it as absent, and count it, if the operands that are present do not suffice.

        Args:
            payload: coordinate word of the token, which marks integers (Q13).
            result: the value.
            is_present: whether the first operand is present.
            other_is_present: whether the second operand is present.
        """
        if (is_present and other_is_present) if self.needs_all else (is_present or other_is_present):
            self.out_val.push(DATA, payload, result)
        else:
            self.absent += 1
            self.out_val.push_absent(payload, self.empty if self.fills or self.is_take else result)

    def compute(self, value: float, operand: float) -> float:  # C: cdef
        """Count the operation, and return its result; without ``fills``, a quotient by 0 is 0.

        Args:
            value: first operand.
            operand: second operand; 0 for ``relu``, which is a maximum; ignored by other operations of one.
        """
        self.operations += 1
        if self.code == DIVIDE and not self.fills and self.value_type.flush_subnormal(operand) == 0.0:
            return 0.0
        return operate(self.code, value, operand, self.value_type)


def operate(code: int, value: float, operand: float, value_type: ValueType) -> float:  # C: cpdef
    """Return the result of an operation.

    A minimum or maximum with NaN is NaN. A quotient by 0 is that of IEEE 754 for a divisor +0. Comparisons,
    logical operations and functions take a subnormal operand for a zero, as sums and products do.

    Args:
        code: number of the operation (``fiberscope.hw.streams.operations``).
        value: first operand.
        operand: second operand; ignored by an operation of one operand.
        value_type: type of the result.
    """
    if code == MULTIPLY:
        return value_type.multiply(value, operand)
    if code == ADD:
        return value_type.add(value, operand)
    if code == SUBTRACT:
        return value_type.add(value, -operand)
    if code in (FIRST, TAKE):
        return value if code == FIRST else operand
    left, right = value_type.flush_subnormal(value), value_type.flush_subnormal(operand)
    if code == MINIMUM:
        # Both comparisons are false only if an operand is NaN.
        return value if left <= right else operand if right < left else _nan_operand(value, operand)
    if code == MAXIMUM:
        return value if left >= right else operand if right > left else _nan_operand(value, operand)
    if code in (OR, AND, DIFFERS, LESS):
        return 1.0 if _is_true(code, left, right) else 0.0
    # The results above need no rounding: sums and products are rounded, others are operands, 0 or 1.
    return value_type.round_value(_quotient(left, right) if code == DIVIDE else _function(code, left))


def _nan_operand(value: float, operand: float) -> float:  # C: cdef
    """Return the operand that is NaN; if both are NaN, the second."""
    return operand if math.isnan(operand) else value


def _is_true(code: int, value: float, operand: float) -> bool:  # C: cdef
    """Return the truth value of a comparison or logical operation; a number other than 0 is true."""
    if code == DIFFERS:
        return value != operand
    if code == LESS:
        return value < operand
    return (value != 0.0 and operand != 0.0) if code == AND else (value != 0.0 or operand != 0.0)


def _quotient(dividend: float, divisor: float) -> float:  # C: cdef
    """Return a quotient; by 0 it is an infinity, or NaN if the dividend is 0 or NaN."""
    # Python raises an error for a quotient by 0 only; a quotient that is too large is an infinity.
    if divisor != 0.0:
        return dividend / divisor
    return math.copysign(math.inf, dividend) if abs(dividend) > 0.0 else math.nan


def _function(code: int, operand: float) -> float:  # C: cdef
    """Return the result of an operation of one operand: an infinity or NaN where Python raises an error."""
    if code == ABSOLUTE:
        return abs(operand)
    if code == NEGATE:
        return -operand
    if code == SQUARE:
        return operand * operand
    if code == EXP:
        # A NaN is not above the limit, and ``math.exp`` returns it.
        return math.inf if operand > LARGEST_EXPONENT else math.exp(operand)
    if code == SQRT:
        return math.sqrt(operand) if operand >= 0.0 else math.nan
    # ``math.sin`` and ``math.cos`` raise an error for an infinity.
    if not math.isfinite(operand):
        return math.nan
    return math.sin(operand) if code == SIN else math.cos(operand)


class Alu(Arithmetic):
    """Computes with the values of two streams of the same shape.

    Interface: operands arrive on ``in_val[0]`` and ``in_val[1]``. Results leave on ``out_val``, with the
    stops and the done that both operands have. An N counts as ``empty``. Without ``fills``, a quotient by 0
    is 0, so that the result does not depend on whether the 0 is stored. See ``Arithmetic`` for ``fills`` and
    ``empty``.

    Timing: when the heads of both operands are visible, both are popped, and the result leaves in the same
    cycle.

    Quirks: Q13: if an integer meets a stop, the integer leaves alone (for a multiplication, 0 leaves), and
    the stop is kept for the next token of the other operand. A float that meets a stop is an error.

    Counts: ``operations`` done.

    Source: SAM (ASPLOS 2023), Definition 3.6.

    Args:
        operation: a key of ``BINARY``, such as ``"mul"``; ``"take"`` gives the second operand where both
            are present.
        negate: whether to negate the values of the first and of the second operand before the operation.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if there is no such operation.
        SimulationError: during the run, if the streams differ in shape; the message names the cycle and
            both tokens.
    """

    PORTS = (Input("in_val", VAL, array=True), output_stream("out_val", VAL))

    in_val: list[Channel]
    out_val: OutputStream

    def __init__(
        self,
        name: str,
        operation: str = "mul",
        negate: tuple[bool, bool] = (False, False),
        quirks: int = NO_QUIRKS,
    ) -> None:
        super().__init__(name, operation, BINARY, quirks)
        self.sign_a = -1.0 if negate[0] else 1.0
        self.sign_b = -1.0 if negate[1] else 1.0
        # A quotient is a float in the public simulator, even if both operands are integers.
        self.knows_integers = bool(quirks & Q13) and self.code != DIVIDE
        self.kept_operand = NEITHER  # operand whose stop met an integer and was kept (Q13), or ``NEITHER``
        self.kept_level = 0

    def elaborate(self) -> None:
        """Look up the streams of the ports.

        Raises:
            SimulationError: if ``in_val`` does not have exactly two channels.
        """
        super().elaborate()
        if len(self.in_val) != 2:
            raise SimulationError(f"{self.name} has 2 operands, but {len(self.in_val)} in_val")
        self.a, self.b = self.in_val

    def update(self, now: int) -> int:
        """Combine the heads of both operands, if both are visible."""
        a, b = self.a, self.b
        if not a.can_pop():
            return self.wait_input(a)
        if not b.can_pop():
            return self.wait_input(b)
        kind_a = STOP if self.kept_operand == 0 else a.control()
        kind_b = STOP if self.kept_operand == 1 else b.control()
        if kind_a in (DATA, EMPTY) and kind_b in (DATA, EMPTY):
            self._operate(kind_a, kind_b)
        elif kind_a != kind_b:
            return self._meet_stop(kind_a, kind_b, now)
        elif kind_a == DONE:
            self.out_val.push(DONE)
            self._pop_heads()
            return self.finish(now)
        else:
            self._pass_stop(now)
        self._pop_heads()
        return self.busy(now + 1)

    def _operate(self, kind_a: int, kind_b: int) -> None:
        """Send the result of the heads, which are values or N; their signs are applied first."""
        a = self.a.value() * self.sign_a if kind_a == DATA else self.empty
        b = self.b.value() * self.sign_b if kind_b == DATA else self.empty
        # The coordinate words are marks: a result is an integer if both operands are. An N has the mark 0.
        integers = self.a.coordinate() & self.b.coordinate() if self.knows_integers else 0
        is_present = kind_a == DATA and self.a.reference() != ABSENT
        other_is_present = kind_b == DATA and self.b.reference() != ABSENT
        self.send(integers, self.compute(a, b), is_present, other_is_present)

    def _pass_stop(self, now: int) -> None:
        """Send the stop of both operands, whose levels must be equal."""
        level_a = self.kept_level if self.kept_operand == 0 else self.a.coordinate()
        level_b = self.kept_level if self.kept_operand == 1 else self.b.coordinate()
        if level_a != level_b:
            self._refuse(f"S{level_a}", f"S{level_b}", now)
        self.out_val.push(STOP, level_a)

    def _pop_heads(self) -> None:
        """Pop both heads, except the head of the operand whose stop is kept."""
        if self.kept_operand != 0:
            self.a.pop()
        if self.kept_operand != 1:
            self.b.pop()
        self.kept_operand = NEITHER

    def _meet_stop(self, kind_a: int, kind_b: int, now: int) -> int:
        """Send an integer that meets a stop, and keep the stop; without Q13 this is an error."""
        # If neither token is a stop, the operands do not fit each other, and the test below refuses them.
        stopped = 0 if kind_a == STOP else 1
        number: Channel = self.b if stopped == 0 else self.a
        integer = number.control() == DATA and number.coordinate() == INTEGER
        if STOP not in (kind_a, kind_b) or not integer or not self.quirks & Q13:
            self._refuse(
                self._token_text(self.a, self.kept_operand == 0),
                self._token_text(self.b, self.kept_operand == 1),
                now,
            )
        # ``_pop_heads`` pops the stop, or forgets the kept stop, so that the level is read before.
        level = self.kept_level if self.kept_operand == stopped else self._stop_level(stopped)
        self.out_val.push(DATA, INTEGER, 0.0 if self.code == MULTIPLY else number.value())
        self._pop_heads()
        self.kept_operand, self.kept_level = stopped, level
        return self.busy(now + 1)

    def _stop_level(self, operand: int) -> int:
        return inline.channel(self.in_val[operand]).coordinate()

    def _token_text(self, channel: Channel, is_kept: bool) -> str:  # C: return=str
        """Return the token of an operand as text: its kept stop, or else its head."""
        if is_kept:
            return f"S{self.kept_level}"
        return str(format_token(channel.control(), channel.coordinate(), channel.value(), VAL))

    def _refuse(self, text_a: str, text_b: str, now: int) -> None:  # C: text_a=str, text_b=str
        raise SimulationError(
            f"cycle {now}, {self.name}: the operands must have the same shape, but {text_a} on in_val[0] "
            f"meets {text_b} on in_val[1]"
        )


class UnaryAlu(Arithmetic):
    """Computes with each value of a stream.

    Interface: values arrive on ``in_val``. Results leave on ``out_val``; stops and done pass unchanged. An
    N counts as ``empty``, see ``Arithmetic``.

    Timing: one token per cycle; its result leaves in the cycle in which the token is popped.

    Counts: ``operations`` done.

    Source: the unary ALUs of branches of the public simulator (weiya711/sam); the constant of a ``mul``
    node.

    Args:
        operation: ``"relu"``, ``"exp"``, ``"sin"``, ``"cos"``, ``"sqrt"``, ``"abs"``, ``"neg"`` or
            ``"square"``; with a constant, any operation of ``Alu``.
        constant: the other operand, or None for an operation of one operand.
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
        quirks: int = NO_QUIRKS,
        *,
        constant_first: bool = False,
    ) -> None:
        super().__init__(name, operation, UNARY if constant is None else BINARY, quirks)
        self.constant_first = constant_first
        self.without_constant = constant is None
        self.constant = 0.0 if constant is None else constant  # C: double

    def update(self, now: int) -> int:
        """Compute with the head of the input, or pass a stop or done."""
        source = self.in_val
        if not source.can_pop():
            return self.wait_input(source)
        kind = source.control()
        if kind in (DATA, EMPTY):
            value = source.value() if kind == DATA else self.empty
            # The constant is always present. Without a constant, the presence of the value decides alone.
            is_present = kind == DATA and source.reference() != ABSENT
            self.send(0, self._computed(value), is_present, is_present if self.without_constant else True)
        else:
            self.out_val.push(kind, source.coordinate())
        source.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _computed(self, value: float) -> float:
        """Return the result for a value.

        Without a constant, the second operand is 0. Only ``relu`` uses it, as the maximum of a value and 0.
        """
        # The machine sets ``value_type`` after the constructor, so that the constant is rounded only here.
        constant = self.value_type.round_value(self.constant)
        return self.compute(constant, value) if self.constant_first else self.compute(value, constant)
