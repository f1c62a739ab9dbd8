"""From a text to concrete index notation: reads, checks, places the sums and orders the loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fiberscope.graph.compiler.checks import check_assignment, complete_formats
from fiberscope.graph.compiler.formats import parse_formats
from fiberscope.graph.compiler.language import parse
from fiberscope.graph.compiler.notation import Notation, TensorPath, paths_of
from fiberscope.graph.compiler.orders import Orders
from fiberscope.graph.compiler.sums import accesses, with_sums
from fiberscope.graph.expression import Assignment
from fiberscope.graph.netlist import Format

__all__ = ["notation_of", "notation_of_text"]


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
    assignment: Assignment, formats: Mapping[str, Format] | None = None, order: Sequence[str] = ()
) -> Notation:
    """The loop nest of an assignment; the arguments are those of ``notation_of_text``.

    Raises:
        InputError: as there.
    """
    check_assignment(assignment)
    stored = complete_formats(assignment, formats or {})
    expression = with_sums(assignment)
    result = TensorPath(assignment.result, stored[assignment.result.tensor], ())
    operands = [TensorPath(access, stored[access.tensor]) for access in accesses(expression)]
    orders = Orders(result, operands, expression)
    loops = tuple(order) or orders.default()
    orders.check(loops)
    scope = tuple(variable for variable in loops if variable in result.access.variables)
    return Notation(
        loops,
        TensorPath(result.access, result.format, scope),
        expression,
        paths_of(expression, loops, stored),
    )
