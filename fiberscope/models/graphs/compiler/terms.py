"""The right side of an assignment during lowering: terms, operands with their current references, loops."""

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


@dataclass(frozen=True)
class Wire:
    """An output of a block.

    Args:
        node: the block.
        output: name of the output.
    """

    node: Node
    output: str


@dataclass(eq=False)
class Operand:
    """An operand: an access of a tensor in the expression.

    Args:
        access: the access; two accesses of a tensor are two operands.
        format: format of the tensor.
        references: stream of references to the positions that the loops have reached; None at the root.
        is_certain: whether the references are never N.
    """

    access: Access
    format: Format
    references: Wire | None = None
    is_certain: bool = True

    def has_level(self, variable: str) -> bool:
        """Return whether the operand has a level of this variable."""
        return variable in self.access.variables

    def dimension(self, variable: str) -> int:
        """Return the dimension of a variable."""
        return self.access.variables.index(variable)

    def is_dense(self, variable: str) -> bool:
        """Return whether the level of a variable has all coordinates."""
        return self.level(variable).has_all_coordinates

    def has_no_empty_fiber(self, variable: str) -> bool:
        """Return whether the level of a variable and the level above it are both not dense.

        No fiber of the level is empty then: the level above has a position only where an entry lies below.
        The outermost level can be empty, if the tensor has no entries.
        """
        level = self.format.level_of(self.dimension(variable))
        return level > 0 and not any(
            neighbour.has_all_coordinates for neighbour in self.format.levels[level - 1 : level + 1]
        )

    def level(self, variable: str) -> LevelFormat:
        """Return the format of the level of a variable."""
        return self.format.levels[self.format.level_of(self.dimension(variable))]


@dataclass(eq=False)
class Function:
    """A function of one or two terms, or of a term and a number.

    Args:
        name: name of the function in expressions.
        constant: the number that is the other operand; None if there is none.
        is_constant_first: whether the number is the first operand.
        where, counted: fields of the ``Call`` from which the function was made.
    """

    name: str
    terms: tuple[Term, ...]
    constant: float | None = None
    is_constant_first: bool = False
    where: str = ""
    counted: str = ""

    @property
    def adds(self) -> bool:
        """Return whether the result may be nonzero where only one operand is nonzero."""
        return self.where == "any" if self.where else FUNCTIONS[self.name].adds


@dataclass(eq=False)
class TermSum:
    """A sum of a term.

    Args:
        variables: index variables over which the term is summed.
    """

    variables: tuple[str, ...]
    term: Term


Term: TypeAlias = Operand | Function | TermSum


def iterate_operands(term: Term) -> Iterator[Operand]:
    """Yield all operands from left to right."""
    if isinstance(term, Operand):
        yield term
    else:
        for inner in (term.term,) if isinstance(term, TermSum) else term.terms:
            yield from iterate_operands(inner)


def list_variables(term: Term) -> set[str]:
    """Return the index variables of all operands."""
    return {variable for operand in iterate_operands(term) for variable in operand.access.variables}


def build_term(expression: Expression, formats: Mapping[str, Format]) -> Term:
    """Return an expression as a term, with functions of numbers evaluated.

    Args:
        formats: formats of the tensors, by name.

    Raises:
        InputError: the expression has no tensor, a split, a function that cannot be lowered, or a division
            of numbers by 0.
    """
    term = _convert(expression, formats)
    if isinstance(term, float):
        raise InputError(
            f"{expression:} has no tensor; a graph computes with tensors: make it one, as in a * B(i)"
        )
    return term


def _convert(expression: Expression, formats: Mapping[str, Format]) -> Term | float:
    if isinstance(expression, Number):
        return float(expression.value)
    if isinstance(expression, Access):
        return Operand(expression, formats[expression.tensor])
    if isinstance(expression, Split):
        raise InputError(f"{expression} is not lowered: a split is a phase of its own")
    if isinstance(expression, Sum):
        return _flatten_sum(expression.variables, build_term(expression.operand, formats))
    assert isinstance(expression, Call)
    if not expression.meaning.lowered and not expression.where:
        names = ", ".join(name for name, function in FUNCTIONS.items() if function.lowered)
        raise InputError(f"there is no function {expression.function}; it is one of {names}")
    return _convert_call(expression, [_convert(operand, formats) for operand in expression.operands])


def _flatten_sum(variables: tuple[str, ...], term: Term) -> TermSum:
    """Return a sum; a sum that directly contains another sum is merged with it."""
    if isinstance(term, TermSum):
        return TermSum((*variables, *term.variables), term.term)
    return TermSum(variables, term)


def _convert_call(call: Call, operands: list[Term | float]) -> Term | float:
    """Return a call as a term, or as a number if all of its operands are numbers."""
    terms = [operand for operand in operands if not isinstance(operand, float)]
    numbers = [operand for operand in operands if isinstance(operand, float)]
    if not terms:
        return _evaluate_numbers(call.function, numbers)
    constant = numbers[0] if numbers else None
    is_constant_first = isinstance(operands[0], float)
    return Function(call.function, tuple(terms), constant, is_constant_first, call.where, call.counted)


def _evaluate_numbers(name: str, numbers: list[float]) -> float:
    function = FUNCTIONS[name]
    if function.divides and numbers[1] == 0:
        raise InputError(f"{numbers[0]:g} / 0 is no number")
    return float(function.apply(*numbers))


@dataclass(frozen=True)
class Scan:
    """An iteration over the coordinates of an operand."""

    operand: Operand


@dataclass(frozen=True)
class FullRange:
    """An iteration over all coordinates."""


@dataclass(frozen=True)
class Join:
    """An iteration over the intersection or the union of the coordinates of its parts.

    Args:
        kind: type of the joiner.
        inputs: the parts, at least two; none is a join of the same kind.
    """

    kind: Literal["intersect", "union"]
    inputs: tuple[Iteration, ...]


Iteration: TypeAlias = Scan | FullRange | Join


def derive_iteration(term: Term, variable: str) -> Iteration | None:
    """Return the coordinates of a variable at which a term may be nonzero; None if it lacks the variable."""
    if isinstance(term, Operand):
        return Scan(term) if term.has_level(variable) else None
    if isinstance(term, TermSum):
        return derive_iteration(term.term, variable)
    iterations = [derive_iteration(operand, variable) for operand in term.terms]
    # without addition, the result is 0 where an operand is 0; an operand without the variable is no limit
    if not term.adds:
        present = [iteration for iteration in iterations if iteration is not None]
        return _flatten_join("intersect", present) if present else None
    # a constant counts as a part without the variable: it may be nonzero at every coordinate
    return make_union([*iterations, None] if term.constant is not None else iterations)


def make_union(iterations: Sequence[Iteration | None]) -> Iteration | None:
    """Return the union of parts; a part that is None lacks the variable and stands for all coordinates.

    The result is None if all parts are.
    """
    present = [iteration for iteration in iterations if iteration is not None]
    if not present:
        return None
    return _flatten_join("union", present if len(present) == len(iterations) else [*present, FullRange()])


def _flatten_join(kind: Literal["intersect", "union"], iterations: Sequence[Iteration]) -> Iteration:
    """Return a join, with nested joins of the same kind merged."""
    flat: list[Iteration] = []
    for iteration in iterations:
        flat += iteration.inputs if isinstance(iteration, Join) and iteration.kind == kind else [iteration]
    # all coordinates are needed once; scans never repeat, as each is of another operand
    distinct = [
        iteration
        for index, iteration in enumerate(flat)
        if not isinstance(iteration, FullRange) or iteration not in flat[:index]
    ]
    return distinct[0] if len(distinct) == 1 else Join(kind, tuple(distinct))


def is_full(iteration: Iteration, variable: str) -> bool:
    """Return whether an iteration always has all coordinates; False if a dense operand may be missing.

    Args:
        variable: index variable of the loop.
    """
    if isinstance(iteration, Scan):
        return iteration.operand.is_certain and iteration.operand.is_dense(variable)
    if isinstance(iteration, FullRange):
        return True
    return (any if iteration.kind == "union" else all)(
        is_full(input_, variable) for input_ in iteration.inputs
    )


def iterate_maybe_absent_operands(iteration: Iteration, variable: str) -> Iterator[Operand]:
    """Yield the operands that a union may lack at a coordinate, where their reference is N.

    Args:
        iteration: the iteration, before ``is_certain`` of its operands changes.
        variable: index variable of the loop.
    """
    if not isinstance(iteration, Join):
        return
    for input_ in iteration.inputs:
        # a full part is present at every coordinate, but a union within it may still lack operands
        if iteration.kind == "union" and not is_full(input_, variable):
            yield from _list_operands(input_)
        else:
            yield from iterate_maybe_absent_operands(input_, variable)


def _list_operands(iteration: Iteration) -> Iterator[Operand]:
    if isinstance(iteration, Scan):
        yield iteration.operand
    elif isinstance(iteration, Join):
        for input_ in iteration.inputs:
            yield from _list_operands(input_)
