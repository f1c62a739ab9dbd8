"""Concrete index notation: an assignment with ordered loops, explicit sums and formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from fiberscope.models.graphs.compiler.sums import list_free_variables
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format
from fiberscope.workloads.expressions.expression import Access, Call, Expression, Sum

INDENT = "  "


@dataclass(frozen=True)
class TensorPath:
    """An access, and the order in which the loops traverse its tensor.

    Args:
        access: the access of the tensor, by dimension.
        format: format of the tensor.
        scope: loops around its values, outermost first. A loop of an access variable scans a level; any other
            loop repeats the references.
    """

    access: Access
    format: Format
    scope: tuple[str, ...] = ()

    @property
    def tensor(self) -> str:
        """Return the name of the tensor."""
        return self.access.tensor

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the index variables in storage order, outermost level first."""
        return tuple(self.access.variables[dimension] for dimension in self.format.order)

    @property
    def broadcast(self) -> tuple[str, ...]:
        """Return the loops that repeat the references."""
        return tuple(variable for variable in self.scope if variable not in self.access.variables)

    def find_level_letter(self, variable: str) -> str:
        """Return the format of a variable's level."""
        return self.format.letters[self.variables.index(variable)]


@dataclass(frozen=True)
class Notation:
    """A loop nest.

    Args:
        order: the loops, outermost first.
        result: path of the result; its scope are its own variables.
        expression: the right side, with explicit sums.
        operands: paths of the accesses in the expression, from left to right.
    """

    order: tuple[str, ...]
    result: TensorPath
    expression: Expression
    operands: tuple[TensorPath, ...]

    @property
    def assignment(self) -> Assignment:
        """Return the assignment that the loops compute."""
        return Assignment(self.result.access, self.expression)

    @property
    def formats(self) -> dict[str, Format]:
        """Return the formats by tensor, the result first."""
        return {path.tensor: path.format for path in (self.result, *self.operands)}

    def __str__(self) -> str:
        """Return the nest of loops as text; a sum among other terms becomes a temporary."""
        used = {path.tensor for path in (self.result, *self.operands)} | set(self.order)
        names = (name for number in count(1) if (name := f"t{number}") not in used)
        formats = ", ".join(f"{name}={tensor_format}" for name, tensor_format in self.formats.items())
        return "\n".join(
            [*_nest(str(self.result.access), self.expression, self.order, names), f"with {formats}"]
        )


def _nest(target: str, expression: Expression, loops: tuple[str, ...], names: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a statement and of the loops around it."""
    body = expression.operand if isinstance(expression, Sum) else expression
    sums: dict[str, Sum] = {}
    body_text = _replace_sums(body, sums, names)
    # a variable of a sum inside the body is bound there, so its loop is none of these
    body_loops = [variable for variable in loops if variable in list_free_variables(body)]
    for depth, variable in enumerate(body_loops):
        yield f"{INDENT * depth}forall {variable}"
    indent = INDENT * len(body_loops)
    yield f"{indent}{target} {'+=' if isinstance(expression, Sum) else '='} {body_text}"
    # the loops of the body also enclose its temporaries, so only the other loops remain for them
    inner_loops = tuple(variable for variable in loops if variable not in body_loops)
    for name, term in sums.items():
        yield f"{indent}where"
        yield from (f"{indent}{INDENT}{line}" for line in _nest(name, term, inner_loops, names))


def _replace_sums(expression: Expression, sums: dict[str, Sum], names: Iterator[str]) -> Expression:
    """Replace the sums of an expression by temporaries, and add the sums to ``sums`` by name."""
    if isinstance(expression, Sum):
        name = next(names)
        sums[name] = expression
        return Access.plain(name, ())
    if isinstance(expression, Call):
        return expression.map_operands(lambda term: _replace_sums(term, sums, names))
    return expression


def list_paths(
    expression: Expression, order: Iterable[str], formats: Mapping[str, Format]
) -> tuple[TensorPath, ...]:
    """Return the paths of the accesses in an expression, from left to right.

    Args:
        expression: the right side, with explicit sums.
        order: all loops, outermost first. A path has the loops around its access.
        formats: formats of the tensors, by name.
    """
    loops = tuple(order)
    return tuple(
        # the free variables of the right side are loops around every access
        TensorPath(access, formats[access.tensor], tuple(v for v in loops if v in scope))
        for access, scope in _iterate_scoped_accesses(expression, list_free_variables(expression))
    )


def _iterate_scoped_accesses(expression: Expression, scope: list[str]) -> Iterator[tuple[Access, list[str]]]:
    """Yield each access with ``scope`` and the free variables of the operand of each sum around it."""
    if isinstance(expression, Access):
        yield expression, scope
    elif isinstance(expression, Sum):
        yield from _iterate_scoped_accesses(
            expression.operand, [*scope, *list_free_variables(expression.operand)]
        )
    elif isinstance(expression, Call):
        for operand in expression.operands:
            yield from _iterate_scoped_accesses(operand, scope)
