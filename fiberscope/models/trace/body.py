# cython: infer_types=True
"""Innermost body of a loop nest: a few operations on the values of its tensors."""

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
    """The result of an operation; the smaller or the larger of NaN and another value is NaN."""
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
    """The result of one of the others."""
    if operation == DIV:
        return divided(left, right)
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


def divided(dividend: float, divisor: float) -> float:  # C: cpdef, noexcept
    """A quotient; of a division by zero infinity, or no number."""
    if divisor != 0:
        return dividend / divisor
    if dividend > 0:
        return math.inf
    return -math.inf if dividend < 0 else math.nan


class Body:  # C: final
    """Operations one after the other, each on the results of earlier ones, and what is done with the last.

    Registers hold the operands first: the inputs' values, then constants; each operation adds one. An
    operation that is not computed has the value that is not stored, and is absent. An operation counts where
    it is computed and its result is an operand of another that counts, or the result of the expression: of
    ``(a + b) * c`` the sum does not count where ``c`` has no element.

    Attributes: ``counts`` of operations by counter; ``adds`` of those that accumulated; ``zero_sums`` of
    updates that left an element empty, which the next update of the element then does not add to.

    Args:
        inputs: the last ranks of the tensors.
        constants: numbers of the expression.
        operations, ones, others: opcodes, and the registers of their operands.
        modes: for each operation ``ALL`` or ``ANY``.
        counters: for each which count it adds to, or ``UNCOUNTED``.
        names: how many counts there are.
        target: the output's last rank.
        reduction: the opcode that accumulates; -1: the result replaces what was there.
    """

    def __init__(
        self,
        inputs: Sequence[Cursor],
        constants: Sequence[float],
        operations: Sequence[int],
        ones: Sequence[int],
        others: Sequence[int],
        modes: Sequence[int],
        counters: Sequence[int],
        names: int,
        target: OutputRank,
        reduction: int,
    ) -> None:
        self.inputs = list(inputs)
        self.operations = np.array(operations, np.int64)
        self.ones, self.others = np.array(ones, np.int64), np.array(others, np.int64)
        self.modes, self.counters = np.array(modes, np.int64), np.array(counters, np.int64)
        self.operands = len(inputs) + len(constants)
        self.values = np.array([0.0] * len(inputs) + [*constants] + [0.0] * len(operations), np.float64)
        self.present = np.ones(len(self.values), np.uint8)
        self.used = np.zeros(len(self.values), np.uint8)
        self.counts = np.zeros(names, np.int64)
        self.target = target
        self.reduction = reduction
        self.adds = self.zero_sums = 0

    def run(self) -> int:
        """Compute the expression where the nest is, and update the output."""
        for place in range(len(self.inputs)):
            leaf: Cursor = self.inputs[place]
            self.values[place] = leaf.value
            self.present[place] = leaf.present
        for step in range(len(self.operations)):
            self._compute(step)
        last = len(self.values) - 1
        if self.present[last]:
            self._count()
            self._update(self.values[last])
        return 0

    def _count(self) -> int:
        """Count the operations that the result needs, from the last to the first."""
        self.used[:] = 0
        self.used[len(self.used) - 1] = 1
        for step in range(len(self.operations) - 1, -1, -1):
            register = self.operands + step
            if self.used[register] and self.present[register]:
                self.used[self.ones[step]] = self.used[self.others[step]] = 1
                if self.counters[step] != UNCOUNTED:
                    self.counts[self.counters[step]] += 1
        return 0

    def _compute(self, step: int) -> int:
        left, right = self.ones[step], self.others[step]
        if self.modes[step] == ALL:
            computed = self.present[left] and self.present[right]  # C: bint
        else:
            computed = self.present[left] or self.present[right]
        register = self.operands + step
        self.present[register] = computed
        self.values[register] = self.target.empty
        if computed:
            self.values[register] = apply(self.operations[step], self.values[left], self.values[right])
        return 0

    def _update(self, value: float) -> None:  # C: noexcept
        """The first value of an element is stored, and a later one accumulated."""
        target = self.target
        if self.reduction < 0 or target.value == target.empty:
            target.value = value
        else:
            target.value = apply(self.reduction, target.value, value)
            self.adds += 1
        self.zero_sums += self.reduction >= 0 and target.value == target.empty
