# cython: infer_types=True
"""Innermost body of a loop nest: the operations of an expression on the values of its tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fiberscope.models.trace.codes import (
    ABS,
    ADD,
    ALL,
    AND,
    DIFFERS,
    DIV,
    FIRST,
    LESS,
    MAX,
    MIN,
    MUL,
    NEG,
    OR,
    SECOND,
    SUB,
    UNCOUNTED,
)
from fiberscope.models.trace.cursor import Cursor
from fiberscope.models.trace.output import OutputRank


def apply(operation: int, left: float, right: float) -> float:  # C: cpdef, noexcept
    """Return the result of an operation; ``MIN`` and ``MAX`` of NaN and another value are NaN.

    Args:
        operation: an opcode of ``codes``.
        left, right: the operands; an operation of one value ignores ``right``.
    """
    if operation == MUL:
        return left * right
    if operation == ADD:
        return left + right
    if operation == SUB:
        return left - right
    if operation == MIN:
        return left if left <= right else right if right < left else left + right  # NaN, from either
    if operation == MAX:
        return left if left >= right else right if right > left else left + right
    if operation == FIRST:
        return left
    if operation == SECOND:
        return right
    return apply_seldom(operation, left, right)


def apply_seldom(operation: int, left: float, right: float) -> float:  # C: cpdef, noexcept
    """Return the result of an operation that ``apply`` leaves out, for speed.

    The square root stands last, without a test of the opcode; of a negative number it is NaN.
    """
    if operation == DIV:
        return divide(left, right)
    if operation == OR:
        return 1.0 if left != 0 or right != 0 else 0.0
    if operation == AND:
        return 1.0 if left != 0 and right != 0 else 0.0
    if operation == DIFFERS:
        return 1.0 if left != right else 0.0
    if operation == LESS:
        return 1.0 if left < right else 0.0
    if operation == ABS:
        return -left if left < 0 else left
    if operation == NEG:
        return -left
    return math.sqrt(left) if left >= 0 else math.nan


def divide(dividend: float, divisor: float) -> float:  # C: cpdef, noexcept
    """Return a quotient; a division by zero gives an infinity with the dividend's sign, or NaN.

    The sign of a negative zero as divisor is ignored, unlike in IEEE 754.
    """
    if divisor != 0:
        return dividend / divisor
    if dividend > 0:
        return math.inf
    return -math.inf if dividend < 0 else math.nan


class Body:  # C: final
    """The program of an expression: operations on registers, and an update of the output.

    Registers hold the values of the inputs, then constants, then the result of each operation. A result is
    absent where the operation is not computed; its value is then the empty value of the output. An operation
    counts where its result is present and a counted operation, or the output, needs the result. The sum in
    ``(a + b) * c`` does not count where ``c`` has no element.

    Attributes: ``counts`` of operations by counter; ``adds``: updates that accumulated; ``zero_sums``:
    updates that left an element empty. The next update of that element stores its value without an addition.

    Args:
        inputs: the last ranks of the tensors.
        constants: numbers of the expression.
        operations: opcodes, in the order of execution.
        lefts, rights: registers of the operands of each operation.
        modes: for each operation ``ALL`` or ``ANY``.
        counters: for each operation the index of its counter, or ``UNCOUNTED``.
        counter_count: number of counters.
        target: the output's last rank.
        reduction: the opcode that accumulates; -1: a result replaces the value of the element.
    """

    def __init__(
        self,
        inputs: Sequence[Cursor],
        constants: Sequence[float],
        operations: Sequence[int],
        lefts: Sequence[int],
        rights: Sequence[int],
        modes: Sequence[int],
        counters: Sequence[int],
        counter_count: int,
        target: OutputRank,
        reduction: int,
    ) -> None:
        self.inputs = list(inputs)
        self.operations = np.array(operations, np.int64)
        self.lefts, self.rights = np.array(lefts, np.int64), np.array(rights, np.int64)
        self.modes, self.counters = np.array(modes, np.int64), np.array(counters, np.int64)
        self.operands = len(inputs) + len(constants)
        self.values = np.array([0.0] * len(inputs) + [*constants] + [0.0] * len(operations), np.float64)
        self.present = np.ones(len(self.values), np.uint8)  # constants remain present
        self.is_needed = np.zeros(len(self.values), np.uint8)
        self.counts = np.zeros(counter_count, np.int64)
        self.target = target
        self.reduction = reduction
        self.adds = self.zero_sums = 0

    def run(self) -> int:
        """Compute the expression at the current point of the nest, and update the output.

        The loops have entered or marked absent the inputs, and opened the element of the output. Where the
        result is absent, the output keeps its value, and nothing counts.
        """
        for number in range(len(self.inputs)):
            cursor: Cursor = self.inputs[number]
            self.values[number] = cursor.value
            self.present[number] = cursor.present
        for step in range(len(self.operations)):
            self._compute(step)
        # the last register: the result of the last operation, or without operations the only input
        result = len(self.values) - 1
        if self.present[result]:
            self._count()
            self._update(self.values[result])
        return 0

    def _count(self) -> int:
        """Count the operations that the result needs, from the last to the first."""
        self.is_needed[:] = 0
        self.is_needed[len(self.is_needed) - 1] = 1
        # an operation comes after its operands, so backwards every need is known before its operation
        for step in range(len(self.operations) - 1, -1, -1):
            register = self.operands + step
            if self.is_needed[register] and self.present[register]:
                self.is_needed[self.lefts[step]] = self.is_needed[self.rights[step]] = 1
                if self.counters[step] != UNCOUNTED:
                    self.counts[self.counters[step]] += 1
        return 0

    def _compute(self, step: int) -> int:
        """Compute one operation, or set its register to absent, with the empty value of the output."""
        left, right = self.lefts[step], self.rights[step]
        if self.modes[step] == ALL:
            is_computed = self.present[left] and self.present[right]  # C: bint
        else:
            is_computed = self.present[left] or self.present[right]
        register = self.operands + step
        self.present[register] = is_computed
        self.values[register] = self.target.empty
        if is_computed:
            self.values[register] = apply(self.operations[step], self.values[left], self.values[right])
        return 0

    def _update(self, value: float) -> None:  # C: noexcept
        """Store the first value of an element, or accumulate a later value."""
        target = self.target
        # a new element has the empty value; an earlier sum that became empty is no element either
        if self.reduction < 0 or target.value == target.empty:
            target.value = value
        else:
            target.value = apply(self.reduction, target.value, value)
            self.adds += 1
        self.zero_sums += self.reduction >= 0 and target.value == target.empty
