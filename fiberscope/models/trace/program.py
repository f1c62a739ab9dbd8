"""Compilation of an Einsum's right-hand side to a list of operations and to a presence condition."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from fiberscope.models.trace.codes import ALL, ANY, BOTH, EITHER, FIRST, NEG, OPCODES, SECOND, UNCOUNTED
from fiberscope.models.trace.specification import OPERATORS, Function
from fiberscope.workloads.expressions.expression import (
    Access,
    Call,
    Expression,
    Number,
    Operation,
    Scalar,
    Take,
    accesses,
)

# Register numbers during compilation: constants are -1, -2, ..., results RESULTS, RESULTS + 1, ...
RESULTS = 1 << 30
Presence: TypeAlias = "Callable[[Access], int | None]"


@dataclass(frozen=True)
class BuiltIn:
    """A built-in function of numbers.

    Args:
        arguments: number of arguments.
        neutral: neutral value of a reduction by this function: the value that the output does not store.
            None: there is no neutral value, and the output does not store 0.
        meaning: description in a few words.
    """

    arguments: int
    neutral: float | None
    meaning: str


BUILT_IN: Mapping[str, BuiltIn] = {
    "mul": BuiltIn(2, 1.0, "x * y"),
    "add": BuiltIn(2, 0.0, "x + y"),
    "sub": BuiltIn(2, None, "x - y"),
    "div": BuiltIn(2, None, "x / y"),
    "min": BuiltIn(2, math.inf, "the smaller; NaN if either is NaN"),
    "max": BuiltIn(2, -math.inf, "the larger; NaN if either is NaN"),
    "or": BuiltIn(2, 0.0, "1 where either is not 0, else 0"),
    "and": BuiltIn(2, 1.0, "1 where both are not 0, else 0"),
    "first": BuiltIn(2, None, "x"),
    "second": BuiltIn(2, None, "y"),
    "differs": BuiltIn(2, None, "1 where x and y differ, else 0"),
    "less": BuiltIn(2, None, "1 where x < y, else 0"),
    "abs": BuiltIn(1, None, "x without its sign"),
    "neg": BuiltIn(1, None, "-x"),
    "sqrt": BuiltIn(1, None, "the square root of x"),
}

# Functions that reduce in any order: ``first`` and ``second`` give any of the values, ``or`` and ``and`` are
# right in whether they are 0, as a single value stays as it is.
REDUCTIONS = ("add", "mul", "min", "max", "or", "and", "first", "second")
CHOICES = ("first", "second")
TRUTHS = ("or", "and")


@dataclass
class Program:
    """Operations on registers, in the order of execution.

    Registers are numbered: the tensors in the order of the equation, the constants, then the results. The
    lists from ``operations`` to ``counts`` have one entry for each operation.

    Args:
        tensors: number of tensors in the equation.
        constants: the numbers of the equation.
        operations: opcodes.
        lefts, rights: registers of the operands.
        modes: ``ALL`` if the operation needs both operands, ``ANY`` if one is enough.
        counts: index of the operation's counter in ``counters``, or ``UNCOUNTED``.
        counters: names of the counters.
    """

    tensors: int
    constants: list[float] = field(default_factory=list)
    operations: list[int] = field(default_factory=list)
    lefts: list[int] = field(default_factory=list)
    rights: list[int] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)


class _Compiler:
    def __init__(
        self,
        program: Program,
        operators: Mapping[str, str],
        functions: Mapping[str, Function],
        symbols: Mapping[str, float],
    ) -> None:
        self.program = program
        self.operators, self.functions, self.symbols = operators, functions, symbols
        self.tensors = 0

    def register(self, expression: Expression, arguments: Mapping[str, int] | None) -> int:
        """Return the register of an expression's value.

        Args:
            expression: the expression, or a part of it.
            arguments: registers of the arguments, in the body of a function; else None.
        """
        if isinstance(expression, Access):  # visited in the order of ``accesses``, which numbers the tensors
            self.tensors += 1
            return self.tensors - 1
        if isinstance(expression, Number):
            return self._compile_constant(float(expression.value))
        if isinstance(expression, Scalar):
            if arguments is not None and expression.name in arguments:
                return arguments[expression.name]
            return self._compile_constant(self.symbols[expression.name])
        assert isinstance(expression, Operation | Take | Call)
        registers = [self.register(operand, arguments) for operand in expression.operands]
        if isinstance(expression, Take):
            return self._take(registers, expression.selected)
        if isinstance(expression, Call):
            counter = self._compile_counter(expression.function) if arguments is None else UNCOUNTED
            return self._compile_function(expression.function, registers, ANY, counter)
        return self._operate(expression.operator, registers, is_counted=arguments is None)

    def _compile_constant(self, value: float) -> int:
        self.program.constants.append(value)
        return -len(self.program.constants)

    def _add(self, operation: int, left: int, right: int, mode: int, counter: int = UNCOUNTED) -> int:
        program = self.program
        program.operations.append(operation)
        program.lefts.append(left)
        program.rights.append(right)
        program.modes.append(mode)
        program.counts.append(counter)
        return RESULTS + len(program.operations) - 1

    def _compile_counter(self, name: str) -> int:
        if name not in self.program.counters:
            self.program.counters.append(name)
        return self.program.counters.index(name)

    def _take(self, registers: Sequence[int], selected: int) -> int:
        """Return the register of the selected operand, present only where all operands are."""
        result = registers[selected]
        for index, register in enumerate(registers):
            if index != selected:
                result = self._add(FIRST, result, register, ALL)
        return result

    def _operate(self, operator: str, registers: Sequence[int], *, is_counted: bool) -> int:
        # in the body of a function, operators keep their default meaning and do not count
        name = self.operators[operator] if is_counted else OPERATORS[operator]
        counter = self._compile_counter(OPERATORS[operator]) if is_counted else UNCOUNTED
        if len(registers) == 1:
            return self._add(NEG, registers[0], registers[0], ALL, counter)
        mode = ALL if operator == "*" and is_counted else ANY
        result = registers[0]
        for register in registers[1:]:
            result = self._compile_function(name, [result, register], mode, counter)
        return result

    def _compile_function(self, name: str, registers: Sequence[int], mode: int, counter: int) -> int:
        """Return the register of a function's result: present where its arguments are, and counted once."""
        if name in OPCODES:
            return self._add(OPCODES[name], registers[0], registers[-1], mode, counter)
        function = self.functions[name]
        result = self.register(function.body, dict(zip(function.arguments, registers, strict=True)))
        # a body need not use all arguments: this chain collects the presence of the arguments by ``mode``
        presence = registers[0]
        for register in registers[1:]:
            presence = self._add(SECOND, register, presence, mode)
        return self._add(FIRST, result, presence, ALL, counter)


def compile_expression(
    expression: Expression,
    operators: Mapping[str, str],
    functions: Mapping[str, Function],
    symbols: Mapping[str, float],
) -> Program:
    """Return the operations of an expression.

    The last register has the result: that of the last operation, or of the only tensor or constant.

    Args:
        expression: the right-hand side of an Einsum.
        operators: names of the functions for ``*``, ``+`` and ``-``.
        functions: the functions of the specification, by name.
        symbols: values of symbols, by name.
    """
    program = Program(tensors=sum(1 for _ in accesses(expression)))
    _Compiler(program, operators, functions, symbols).register(expression, None)
    program.lefts = [_resolve_register(register, program) for register in program.lefts]
    program.rights = [_resolve_register(register, program) for register in program.rights]
    return program


def _resolve_register(register: int, program: Program) -> int:
    if register >= RESULTS:
        return register - RESULTS + program.tensors + len(program.constants)
    return register if register >= 0 else program.tensors - 1 - register


def compile_condition(
    expression: Expression, cursor: Presence, everywhere: Callable[[], int]
) -> list[int] | None:
    """Return the presence condition of a loop, as for ``Coiteration``; None: at every coordinate.

    Args:
        expression: the expression of the Einsum.
        cursor: returns the number of a tensor's cursor; None if the tensor lacks the loop's rank, and so sets
            no condition.
        everywhere: creates a cursor that is present at every coordinate, and returns its number.
    """
    if isinstance(expression, Access):
        number = cursor(expression)
        return None if number is None else [number]
    if isinstance(expression, Number | Scalar):
        return None
    assert isinstance(expression, Operation | Take | Call)
    terms = [compile_condition(operand, cursor, everywhere) for operand in expression.operands]
    if isinstance(expression, Take) or (isinstance(expression, Operation) and expression.operator == "*"):
        return _join_terms([term for term in terms if term is not None], BOTH)
    if all(term is None for term in terms):
        return None
    # a summand without a condition is present at every coordinate, and so is the sum
    return _join_terms([[everywhere()] if term is None else term for term in terms], EITHER)


def _join_terms(parts: Sequence[list[int]], code: int) -> list[int] | None:
    """Return the conditions joined by an operator, in postfix order; None without conditions."""
    if not parts:
        return None
    terms = list(parts[0])
    for part in parts[1:]:
        terms += [*part, code]
    return terms
