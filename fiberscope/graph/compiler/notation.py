"""Concrete index notation: an assignment with its loops in order, its sums written and its tensors stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fiberscope.graph.compiler.sums import variables_of
from fiberscope.graph.expression import Access, Assignment, Expression, Operation, Sum
from fiberscope.graph.netlist import Format

__all__ = ["Notation", "TensorPath", "paths_of"]


@dataclass(frozen=True)
class TensorPath:
    """An access and how the loops go through its tensor; a tensor that is read twice has two.

    Args:
        access: of the tensor, by dimension.
        format: how it is stored.
        scope: the loops that its values take part in, outermost first: those of its variables are scanned,
            for each of the others its references are repeated.
    """

    access: Access
    format: Format
    scope: tuple[str, ...] = ()

    @property
    def tensor(self) -> str:
        """Its name."""
        return self.access.tensor

    @property
    def variables(self) -> tuple[str, ...]:
        """Its variables as they are stored, outermost level first."""
        return tuple(self.access.variables[dimension] for dimension in self.format.order)

    @property
    def broadcast(self) -> tuple[str, ...]:
        """The loops in which it stays what it is."""
        return tuple(variable for variable in self.scope if variable not in self.access.variables)

    def letter(self, variable: str) -> str:
        """How the level of a variable is stored."""
        return self.format.letters[self.variables.index(variable)]


@dataclass(frozen=True)
class Notation:
    """A loop nest.

    Args:
        order: the loops, outermost first.
        result: what is written; its scope are its own variables.
        expression: what it is, each sum in its place.
        operands: the paths of the expression's accesses, from left to right.
        located: of operands, by number, the variables whose level is not scanned but looked up.
    """

    order: tuple[str, ...]
    result: TensorPath
    expression: Expression
    operands: tuple[TensorPath, ...]
    located: frozenset[tuple[int, str]] = frozenset()

    @property
    def assignment(self) -> Assignment:
        """What the loops compute."""
        return Assignment(self.result.access, self.expression)

    @property
    def formats(self) -> dict[str, Format]:
        """By tensor, the result first."""
        return {path.tensor: path.format for path in (self.result, *self.operands)}

    def carriers(self, variable: str) -> list[TensorPath]:
        """The operands that have a variable."""
        return [path for path in self.operands if variable in path.access.variables]


def paths_of(
    expression: Expression, order: Iterable[str], formats: Mapping[str, Format]
) -> tuple[TensorPath, ...]:
    """The paths of an expression's accesses, from left to right."""
    loops = tuple(order)
    return tuple(
        TensorPath(access, formats[access.tensor], tuple(v for v in loops if v in scope))
        for access, scope in _scoped(expression, variables_of(expression))
    )


def _scoped(expression: Expression, scope: list[str]) -> Iterator[tuple[Access, list[str]]]:
    """Each access with the variables of the bodies of the sums around it."""
    if isinstance(expression, Access):
        yield expression, scope
    elif isinstance(expression, Sum):
        yield from _scoped(expression.operand, [*scope, *variables_of(expression.operand)])
    elif isinstance(expression, Operation):
        for operand in expression.operands:
            yield from _scoped(operand, scope)
