"""The right side of an assignment as lowering goes through it: its operands, and how far they have got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.levels.level import LevelFormat
from fiberscope.models.graphs.netlist import Node
from fiberscope.workloads.expressions.expression import Access, Call, Expression, Number, Split, Sum
from fiberscope.workloads.expressions.functions import FUNCTIONS

__all__ = [
    "Every",
    "Function",
    "Iteration",
    "Join",
    "Operand",
    "Scan",
    "Summed",
    "Term",
    "Wire",
    "is_full",
    "iteration_of",
    "operands_in",
    "term_of",
    "united",
    "variables_in",
    "with_missing",
]


@dataclass(frozen=True)
class Wire:
    """An output of a block."""

    node: Node
    output: str


@dataclass(eq=False)
class Operand:
    """A tensor at one place of the expression.

    Args:
        access: the access of the tensor.
        format: how it is stored.
        references: to where the loops have got to in it; None at its root.
        certain: whether these are never N.
    """

    access: Access
    format: Format
    references: Wire | None = None
    certain: bool = True

    def has(self, variable: str) -> bool:
        """Return whether it has a level of this variable."""
        return variable in self.access.variables

    def dimension(self, variable: str) -> int:
        """Return the dimension of a variable."""
        return self.access.variables.index(variable)

    def is_dense(self, variable: str) -> bool:
        """Return whether its level of a variable has all coordinates."""
        return self.level(variable).full

    def has_no_empty_fiber(self, variable: str) -> bool:
        """Return whether all its fibers of a variable have an element, as those below a compressed level."""
        level = self.format.level_of(self.dimension(variable))
        return level > 0 and not any(
            stored_level.full for stored_level in self.format.levels[level - 1 : level + 1]
        )

    def level(self, variable: str) -> LevelFormat:
        """The format of its level of a variable."""
        return self.format.levels[self.format.level_of(self.dimension(variable))]


@dataclass(eq=False)
class Function:
    """A function of terms, and perhaps of a number.

    Args:
        name: as expressions have it.
        terms: one or two.
        constant: the other operand of one term; None if there is none.
        constant_first: whether it is the first.
        where, counted: as of ``Call``.
    """

    name: str
    terms: tuple[Term, ...]
    constant: float | None = None
    constant_first: bool = False
    where: str = ""
    counted: str = ""

    @property
    def adds(self) -> bool:
        """Return whether it is other than 0 where any of its operands is."""
        return self.where == "any" if self.where else FUNCTIONS[self.name].adds


@dataclass(eq=False)
class Summed:
    """A term summed over variables."""

    variables: tuple[str, ...]
    term: Term


Term: TypeAlias = Operand | Function | Summed


def operands_in(term: Term) -> Iterator[Operand]:
    """Yield all operands from left to right."""
    if isinstance(term, Operand):
        yield term
    else:
        for inner in (term.term,) if isinstance(term, Summed) else term.terms:
            yield from operands_in(inner)


def variables_in(term: Term) -> set[str]:
    """The variables of all its operands."""
    return {variable for operand in operands_in(term) for variable in operand.access.variables}


def term_of(expression: Expression, formats: Mapping[str, Format]) -> Term:
    """An expression as a term, its numbers brought together.

    Raises:
        InputError: nothing of it is a tensor, or it is no function that is lowered.
    """
    term = _term(expression, formats)
    if isinstance(term, float):
        raise InputError(
            f"{expression:} has no tensor; a graph computes with tensors: make it one, as in a * B(i)"
        )
    return term


def _term(expression: Expression, formats: Mapping[str, Format]) -> Term | float:
    if isinstance(expression, Number):
        return float(expression.value)
    if isinstance(expression, Access):
        return Operand(expression, formats[expression.tensor])
    if isinstance(expression, Split):
        raise InputError(f"{expression} is not lowered: a split is a phase of its own")
    if isinstance(expression, Sum):
        return _summed(expression.variables, term_of(expression.operand, formats))
    assert isinstance(expression, Call)  # a graph has nothing else
    if not expression.meaning.lowered and not expression.where:
        names = ", ".join(name for name, function in FUNCTIONS.items() if function.lowered)
        raise InputError(f"there is no function {expression.function}; it is one of {names}")
    return _function(expression, [_term(operand, formats) for operand in expression.operands])


def _summed(variables: tuple[str, ...], term: Term) -> Summed:
    """Sums right within one another are one."""
    if isinstance(term, Summed):
        return Summed((*variables, *term.variables), term.term)
    return Summed(variables, term)


def _function(call: Call, operands: list[Term | float]) -> Term | float:
    terms = [operand for operand in operands if not isinstance(operand, float)]
    numbers = [operand for operand in operands if isinstance(operand, float)]
    if not terms:
        return _folded(call.function, numbers)
    constant = numbers[0] if numbers else None
    first = isinstance(operands[0], float)
    return Function(call.function, tuple(terms), constant, first, call.where, call.counted)


def _folded(name: str, numbers: list[float]) -> float:
    function = FUNCTIONS[name]
    if function.divides and numbers[1] == 0:
        raise InputError(f"{numbers[0]:g} / 0 is no number")
    return float(function.apply(*numbers))


@dataclass(frozen=True)
class Scan:
    """The coordinates of an operand."""

    operand: Operand


@dataclass(frozen=True)
class Every:
    """All coordinates."""


@dataclass(frozen=True)
class Join:
    """The coordinates that all parts have, or any."""

    kind: Literal["intersect", "union"]
    parts: tuple[Iteration, ...]


Iteration: TypeAlias = Scan | Every | Join


def iteration_of(term: Term, variable: str) -> Iteration | None:
    """Return where a term can be other than 0 along a variable; None if it lacks it."""
    if isinstance(term, Operand):
        return Scan(term) if term.has(variable) else None
    if isinstance(term, Summed):
        return iteration_of(term.term, variable)
    parts = [iteration_of(operand, variable) for operand in term.terms]
    if not term.adds:
        present = [part for part in parts if part is not None]
        return _joined("intersect", present) if present else None
    return united([*parts, None] if term.constant is not None else parts)


def united(parts: Sequence[Iteration | None]) -> Iteration | None:
    """The union of parts, of which one that lacks the variable is everywhere; None if all lack it."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    return _joined("union", present if len(present) == len(parts) else [*present, Every()])


def _joined(kind: Literal["intersect", "union"], parts: Sequence[Iteration]) -> Iteration:
    """One joiner for all parts that are joined alike."""
    flat: list[Iteration] = []
    for part in parts:
        flat += part.parts if isinstance(part, Join) and part.kind == kind else [part]
    once = [
        part for place, part in enumerate(flat) if not isinstance(part, Every) or part not in flat[:place]
    ]
    return once[0] if len(once) == 1 else Join(kind, tuple(once))


def is_full(iteration: Iteration, variable: str) -> bool:
    """Return whether it is sure to have all coordinates."""
    if isinstance(iteration, Scan):
        return iteration.operand.certain and iteration.operand.is_dense(variable)
    if isinstance(iteration, Every):
        return True
    return (any if iteration.kind == "union" else all)(is_full(part, variable) for part in iteration.parts)


def with_missing(iteration: Iteration, variable: str) -> Iterator[Operand]:
    """The operands that a union may lack: they get N as a reference."""
    if not isinstance(iteration, Join):
        return
    for part in iteration.parts:
        if iteration.kind == "union" and not is_full(part, variable):
            yield from _operands(part)
        else:
            yield from with_missing(part, variable)


def _operands(iteration: Iteration) -> Iterator[Operand]:
    if isinstance(iteration, Scan):
        yield iteration.operand
    elif isinstance(iteration, Join):
        for part in iteration.parts:
            yield from _operands(part)
