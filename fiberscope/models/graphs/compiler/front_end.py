"""Front end of the compiler, from a text to concrete index notation: parser, checks, sums, order of loops."""

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
    """Return the loop nest of a text.

    Args:
        text: an assignment, as in ``X(i,j) = B(i,k) * C(k,j)``.
        formats: formats as in ``B:ss,C:ss:10``; a tensor without a format is dense.
        order: the loops, outermost first; by default the order of the formats.

    Raises:
        InputError: an argument is invalid.
    """
    return notation_of(parse(text), parse_formats(formats), order)


def notation_of(
    assignment: Assignment,
    formats: Stored | None = None,
    order: Sequence[str] = (),
    reorder: Sequence[str] = (),
    splits: Splits = NOT_SPLIT,
) -> Notation:
    """Return the loop nest of an assignment.

    Args:
        assignment: an assignment with implicit or explicit sums.
        formats: formats by tensor; a tensor without a format is dense.
        order: the loops, outermost first; by default the order of the formats.
        reorder: loops that exchange their positions in the order, to follow one another as in this list.
        splits: coordinates of a chunk, by index variable. Without ``order``, the two loops of a split
            variable are
            neighbours. The levels of split tensors follow the loops.

    Raises:
        InputError: an argument is invalid.
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

    The arguments are those of ``notation_of``. A sum that is one of several terms may enclose their loops.

    Raises:
        InputError: an argument is invalid.
    """
    placed, stored = _placed(assignment, formats)
    loops = _loops(placed, stored, order, reorder, splits, factor=True)
    statements, every = factor_sums(placed, stored, joined_variables(loops, splits))
    return loops, [_notation(statement, every, splits, loops) for statement in statements]


def _placed(assignment: Assignment, formats: Stored | None) -> tuple[Assignment, Stored]:
    """Return an assignment with explicit sums, and the formats of all its tensors."""
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
    """Return the loops of an assignment; by default the two loops of a split variable are neighbours."""
    check_splits(placed, splits)
    assignment = cut_assignment(placed, splits)
    if not order:
        order = cut_variables(_orders(placed, stored, factor=factor).default(), splits)
    loops = reorder_loops(order, reorder)
    _orders(assignment, cut_formats(placed, stored, splits, loops), factor=factor).check(loops)
    return loops


def _orders(placed: Assignment, stored: Stored, *, factor: bool) -> Orders:
    """Return the legal orders; unless factored, the loops of a sum among terms lie inside the others."""
    result = TensorPath(placed.result, stored[placed.result.tensor])
    operands = [TensorPath(access, stored[access.tensor]) for access in accesses(placed.expression)]
    return Orders(result, operands, placed.result if factor else placed.expression)


def _notation(whole: Assignment, formats: Stored, splits: Splits, loops: Sequence[str]) -> Notation:
    """Return the loop nest of a statement, with the loops of its own variables."""
    placed, stored = cut_assignment(whole, splits), cut_formats(whole, formats, splits, loops)
    access = placed.result
    every = {v for part in (access, *accesses(placed.expression)) for v in part.variables}
    own = tuple(variable for variable in loops if variable in every)
    scope = tuple(variable for variable in own if variable in access.variables)
    result = TensorPath(access, stored[access.tensor], scope)
    return Notation(own, result, placed.expression, paths_of(placed.expression, own, stored))
