"""From a text to concrete index notation: reads, checks, places the sums and orders the loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from fiberscope.models.graphs.compiler.checks import check_assignment, complete_formats
from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.compiler.notation import Notation, TensorPath, paths_of
from fiberscope.models.graphs.compiler.orders import Orders
from fiberscope.models.graphs.compiler.schedule import (
    check_splits,
    cut_assignment,
    cut_formats,
    reorder_loops,
)
from fiberscope.models.graphs.compiler.sums import factor_sums, with_sums
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format, parse_formats
from fiberscope.models.graphs.splits import Splits, cut_variables, joined_variables
from fiberscope.workloads.expressions.expression import accesses

__all__ = ["NOT_SPLIT", "cascade_of", "notation_of", "notation_of_text"]

Stored = Mapping[str, Format]
NOT_SPLIT: Splits = MappingProxyType({})


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
    splits: Splits = NOT_SPLIT,
) -> Notation:
    """The loop nest of an assignment.

    Args:
        assignment: with or without its sums.
        formats: the formats by tensor; one that is not there is dense.
        order: as of ``notation_of_text``.
        reorder: loops that take each other's places in the order, to follow one another as they do here.
        splits: of a variable that becomes two the coordinates of a chunk; without an order these two loops
            follow one another, and levels of tensors in chunks follow the loops.

    Raises:
        InputError: as of ``notation_of_text``.
    """
    placed, stored = _placed(assignment, formats)
    loops = _loops(placed, stored, order, reorder, splits, factor=False)
    return _notation(placed, stored, splits, loops)


def cascade_of(
    assignment: Assignment,
    formats: Stored | None = None,
    order: Sequence[str] = (),
    reorder: Sequence[str] = (),
    splits: Splits = NOT_SPLIT,
) -> tuple[tuple[str, ...], list[Notation]]:
    """Return all loops, and the loop nests of the statements of a factored assignment, in order.

    The arguments are those of ``notation_of``; a sum may lie around what it is a term beside.

    Raises:
        InputError: as of ``notation_of_text``.
    """
    placed, stored = _placed(assignment, formats)
    loops = _loops(placed, stored, order, reorder, splits, factor=True)
    statements, every = factor_sums(placed, stored, joined_variables(loops, splits))
    return loops, [_notation(statement, every, splits, loops) for statement in statements]


def _placed(assignment: Assignment, formats: Stored | None) -> tuple[Assignment, Stored]:
    """An assignment with its sums in place, and all of its formats."""
    check_assignment(assignment)
    stored = complete_formats(assignment, formats or {})
    return Assignment(assignment.result, with_sums(assignment)), stored


def _loops(
    placed: Assignment,
    stored: Stored,
    order: Sequence[str],
    reorder: Sequence[str],
    splits: Splits,
    *,
    factor: bool,
) -> tuple[str, ...]:
    """The loops of an assignment; without an order those of a chunk and of the place in it are neighbours."""
    check_splits(placed, splits)
    assignment = cut_assignment(placed, splits)
    if not order:
        order = cut_variables(_orders(placed, stored, factor=factor).default(), splits)
    loops = reorder_loops(order, reorder)
    _orders(assignment, cut_formats(placed, stored, splits, loops), factor=factor).check(loops)
    return loops


def _orders(placed: Assignment, stored: Stored, *, factor: bool) -> Orders:
    """Return the legal orders; sums that are terms lie inside the sums around them, unless factored."""
    result = TensorPath(placed.result, stored[placed.result.tensor])
    operands = [TensorPath(access, stored[access.tensor]) for access in accesses(placed.expression)]
    return Orders(result, operands, placed.result if factor else placed.expression)


def _notation(whole: Assignment, formats: Stored, splits: Splits, loops: Sequence[str]) -> Notation:
    """The nest of a statement, with those of the loops that are its own."""
    placed, stored = cut_assignment(whole, splits), cut_formats(whole, formats, splits, loops)
    access = placed.result
    every = {v for part in (access, *accesses(placed.expression)) for v in part.variables}
    own = tuple(variable for variable in loops if variable in every)
    scope = tuple(variable for variable in own if variable in access.variables)
    result = TensorPath(access, stored[access.tensor], scope)
    return Notation(own, result, placed.expression, paths_of(placed.expression, own, stored))
