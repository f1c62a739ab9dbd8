"""From a text to concrete index notation: reads, checks, places the sums and orders the loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fiberscope.graph.compiler.checks import check_assignment, complete_formats
from fiberscope.graph.compiler.factor import factored
from fiberscope.graph.compiler.formats import parse_formats
from fiberscope.graph.compiler.language import parse
from fiberscope.graph.compiler.notation import Notation, TensorPath, paths_of
from fiberscope.graph.compiler.orders import Orders
from fiberscope.graph.compiler.schedule import reordered
from fiberscope.graph.compiler.sums import accesses, with_sums
from fiberscope.graph.expression import Assignment, Expression
from fiberscope.graph.netlist import Format

__all__ = ["cascade_of", "notation_of", "notation_of_text"]

Stored = Mapping[str, Format]


def notation_of_text(text: str, formats: Iterable[str] = (), order: Sequence[str] = ()) -> Notation:
    """The loop nest of a text.

    Args:
        text: ``X(i,j) = B(i,k) * C(k,j)``.
        formats: ``B:ss,C:ss:10``; a tensor without one is dense.
        order: the loops, outermost first; that of the formats if there is none.

    Raises:
        InputError: something is wrong with one of them.
    """
    return notation_of(parse(text), parse_formats(formats), order)


def notation_of(
    assignment: Assignment,
    formats: Stored | None = None,
    order: Sequence[str] = (),
    reorder: Sequence[str] = (),
) -> Notation:
    """The loop nest of an assignment.

    Args:
        assignment: with or without its sums.
        formats: by tensor; one that is not there is dense.
        order: as of ``notation_of_text``.
        reorder: loops that take each other's places in the order, to follow one another as they do here.

    Raises:
        InputError: as of ``notation_of_text``.
    """
    check_assignment(assignment)
    stored = complete_formats(assignment, formats or {})
    placed = Assignment(assignment.result, with_sums(assignment))
    return _notation(placed, stored, _loops(placed, placed.expression, stored, order, reorder))


def cascade_of(
    assignment: Assignment,
    formats: Stored | None = None,
    order: Sequence[str] = (),
    reorder: Sequence[str] = (),
) -> tuple[tuple[str, ...], list[Notation]]:
    """All loops, and the loop nests of the statements that an assignment is factored into, in their order.

    The arguments are those of ``notation_of``; a sum may lie around what it is a term beside.

    Raises:
        InputError: as of ``notation_of_text``.
    """
    check_assignment(assignment)
    stored = complete_formats(assignment, formats or {})
    placed = Assignment(assignment.result, with_sums(assignment))
    loops = _loops(placed, placed.result, stored, order, reorder)
    statements, every = factored(placed, stored, loops)
    return loops, [_notation(one, every, _own(one, loops)) for one in statements]


def _loops(
    assignment: Assignment,
    beside: Expression,
    stored: Stored,
    order: Sequence[str],
    reorder: Sequence[str],
) -> tuple[str, ...]:
    """The loops of an assignment; sums of ``beside`` that are terms of it lie inside those around them."""
    result = TensorPath(assignment.result, stored[assignment.result.tensor])
    operands = [TensorPath(access, stored[access.tensor]) for access in accesses(assignment.expression)]
    orders = Orders(result, operands, beside)
    loops = reordered(tuple(order) or orders.default(), reorder)
    orders.check(loops)
    return loops


def _own(statement: Assignment, loops: Sequence[str]) -> tuple[str, ...]:
    every = {v for one in (statement.result, *accesses(statement.expression)) for v in one.variables}
    return tuple(variable for variable in loops if variable in every)


def _notation(placed: Assignment, stored: Stored, loops: tuple[str, ...]) -> Notation:
    access = placed.result
    scope = tuple(variable for variable in loops if variable in access.variables)
    result = TensorPath(access, stored[access.tensor], scope)
    return Notation(loops, result, placed.expression, paths_of(placed.expression, loops, stored))
