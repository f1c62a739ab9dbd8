"""Front end of the compiler, from a text to concrete index notation: parser, checks, sums, order of loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from fiberscope.models.graphs.compiler.checks import check_assignment, complete_formats
from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.compiler.notation import Notation, TensorPath, list_paths
from fiberscope.models.graphs.compiler.orders import Orders
from fiberscope.models.graphs.compiler.schedule import (
    check_splits,
    reorder_loops,
    split_assignment,
    split_formats,
)
from fiberscope.models.graphs.compiler.sums import factor_sums, insert_sums
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format, parse_formats
from fiberscope.models.graphs.splits import Splits, join_variables, split_variables
from fiberscope.workloads.expressions.expression import accesses

Formats = Mapping[str, Format]
NOT_SPLIT: Splits = MappingProxyType({})


def build_text_notation(text: str, formats: Iterable[str] = (), order: Sequence[str] = ()) -> Notation:
    """Return the loop nest of a text.

    Args:
        text: an assignment, as in ``X(i,j) = B(i,k) * C(k,j)``.
        formats: formats as in ``B:ss,C:ss:10``; a tensor without a format is dense.
        order: the loops, outermost first; by default the order of the formats.

    Raises:
        InputError: an argument is invalid.
    """
    return build_notation(parse(text), parse_formats(formats), order)


def build_notation(
    assignment: Assignment,
    formats: Formats | None = None,
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
            variable are neighbours. The levels of split tensors follow the loops.

    Raises:
        InputError: an argument is invalid.
    """
    explicit, all_formats = _insert_sums(assignment, formats)
    loops = _choose_loops(explicit, all_formats, order, reorder, splits, factor=False)
    return _build_statement_notation(explicit, all_formats, splits, loops)


def build_cascade(
    assignment: Assignment,
    formats: Formats | None = None,
    order: Sequence[str] = (),
    reorder: Sequence[str] = (),
    splits: Splits = NOT_SPLIT,
) -> tuple[tuple[str, ...], list[Notation]]:
    """Return all loops, and the loop nests of the statements of a factored assignment, in order.

    A sum becomes a statement of its own if it is one of several terms, or if its product has factors with
    other variables only. The loop of such a sum may enclose the loops of the other terms.

    Args:
        assignment, formats, order, reorder, splits: the arguments of ``build_notation``.

    Raises:
        InputError: an argument is invalid.
    """
    explicit, all_formats = _insert_sums(assignment, formats)
    loops = _choose_loops(explicit, all_formats, order, reorder, splits, factor=True)
    statements, cascade_formats = factor_sums(explicit, all_formats, join_variables(loops, splits))
    return loops, [
        _build_statement_notation(statement, cascade_formats, splits, loops) for statement in statements
    ]


def _insert_sums(assignment: Assignment, formats: Formats | None) -> tuple[Assignment, Formats]:
    """Return an assignment with explicit sums, and the formats of all its tensors."""
    check_assignment(assignment)
    all_formats = complete_formats(assignment, formats or {})
    return Assignment(assignment.result, insert_sums(assignment)), all_formats


def _choose_loops(
    explicit: Assignment,
    all_formats: Formats,
    order: Sequence[str],
    reorder: Sequence[str],
    splits: Splits,
    *,
    factor: bool,
) -> tuple[str, ...]:
    """Return the loops of an assignment; by default the two loops of a split variable are neighbours."""
    check_splits(explicit, splits)
    assignment = split_assignment(explicit, splits)
    # the default order is that of the undivided variables; the parts of a variable take its position
    if not order:
        order = split_variables(_choose_orders(explicit, all_formats, factor=factor).default(), splits)
    loops = reorder_loops(order, reorder)
    # the parts are loops of their own, and the levels of split tensors follow the loops
    _choose_orders(assignment, split_formats(explicit, all_formats, splits, loops), factor=factor).check(
        loops
    )
    return loops


def _choose_orders(explicit: Assignment, all_formats: Formats, *, factor: bool) -> Orders:
    """Return the legal orders; unless factored, the loops of a sum among terms lie inside the others."""
    result = TensorPath(explicit.result, all_formats[explicit.result.tensor])
    operands = [TensorPath(access, all_formats[access.tensor]) for access in accesses(explicit.expression)]
    # factored sums are statements of their own: an access in place of the expression imposes no order
    return Orders(result, operands, explicit.result if factor else explicit.expression)


def _build_statement_notation(
    undivided: Assignment, formats: Formats, splits: Splits, loops: Sequence[str]
) -> Notation:
    """Return the loop nest of a statement, with the loops of its own variables."""
    statement = split_assignment(undivided, splits)
    own_formats = split_formats(undivided, formats, splits, loops)
    access = statement.result
    variables = {v for part in (access, *accesses(statement.expression)) for v in part.variables}
    own_loops = tuple(variable for variable in loops if variable in variables)
    scope = tuple(variable for variable in own_loops if variable in access.variables)
    result = TensorPath(access, own_formats[access.tensor], scope)
    operands = list_paths(statement.expression, own_loops, own_formats)
    return Notation(own_loops, result, statement.expression, operands)
