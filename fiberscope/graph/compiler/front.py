"""From a text to concrete index notation: reads, checks, places the sums and orders the loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fiberscope.graph.compiler.checks import check_assignment, complete_formats
from fiberscope.graph.compiler.formats import parse_formats
from fiberscope.graph.compiler.language import parse
from fiberscope.graph.compiler.notation import Notation, TensorPath, paths_of
from fiberscope.graph.compiler.orders import Orders
from fiberscope.graph.compiler.schedule import reordered
from fiberscope.graph.compiler.sums import accesses, with_sums
from fiberscope.graph.expression import Assignment
from fiberscope.graph.netlist import Format

__all__ = ["notation_of", "notation_of_text"]

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
    return _notation(placed, stored, _loops(placed, stored, order, reorder))


def _loops(
    assignment: Assignment, stored: Stored, order: Sequence[str], reorder: Sequence[str]
) -> tuple[str, ...]:
    expression = assignment.expression
    result = TensorPath(assignment.result, stored[assignment.result.tensor])
    operands = [TensorPath(access, stored[access.tensor]) for access in accesses(expression)]
    orders = Orders(result, operands, expression)
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
