"""Choose an order of loops: compile and estimate each legal order, without a run.

The estimates use statistics of the tensors (``fiberscope.models.graphs.cost``), so the choice may be wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.compiler.front_end import NOT_SPLIT, build_notation
from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.compiler.lower import lower
from fiberscope.models.graphs.compiler.notation import Notation
from fiberscope.models.graphs.compiler.orders import Orders
from fiberscope.models.graphs.cost import (
    Estimate,
    InestimableError,
    TensorStatistics,
    estimate,
    statistics_of,
)
from fiberscope.models.graphs.cut_tensors import split_tensor
from fiberscope.models.graphs.execution import prepare
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format, parse_formats
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.splits import Splits, split_variables
from fiberscope.models.graphs.storage import store
from fiberscope.results.report.table import Table
from fiberscope.workloads.expressions.expression import Access, accesses
from fiberscope.workloads.tensor import SparseTensor


@dataclass(frozen=True)
class Candidate:
    """A legal order of loops.

    Args:
        order: the loops, outermost first.
        formats: formats of the tensors for this order.
        graph: graph of this order.
        expected: estimate of the graph.
    """

    order: tuple[str, ...]
    formats: Mapping[str, Format]
    graph: Graph
    expected: Estimate

    @property
    def format_texts(self) -> list[str]:
        """Return the formats as ``compile_expression`` takes them."""
        return [f"{name}:{tensor_format.text}" for name, tensor_format in self.formats.items()]


def candidates(
    assignment: Assignment,
    formats: Mapping[str, Format],
    tensors: Mapping[str, SparseTensor],
    reordered: Collection[str] = (),
    splits: Splits = NOT_SPLIT,
) -> list[Candidate]:
    """Return the legal orders that have an estimate, sorted by expected cycles.

    Each order is compiled and estimated. The number of orders can grow as the factorial of that of loops.

    Args:
        assignment: an assignment with implicit or explicit sums.
        formats: formats of its tensors.
        tensors: the operands, by name.
        reordered: operands whose levels may be stored in the order of the loops.
        splits: coordinates of a chunk, by index variable; split tensors are stored in the order of the loops.

    Raises:
        InputError: the given formats allow no order of loops, or no order has an estimate. The message has
            the reason of the last order.
    """
    # many orders share the format of a tensor, and its statistics depend on nothing else
    cache: dict[tuple[str, Format], TensorStatistics] = {}
    ordered, reason = [], "it has no loops"
    # any access of a tensor will do: ``build_notation`` refuses accesses that split a dimension differently
    variables = {access.tensor: access.variables for access in accesses(assignment.expression)}
    split_operands = {
        name: split_tensor(operand, variables[name], splits) for name, operand in tensors.items()
    }
    for order, tensor_format in _iterate_orders(assignment, formats, reordered, splits):
        try:
            notation = build_notation(assignment, tensor_format, order, splits=splits)
            graph = lower([notation.assignment], notation.formats, order)
            graph.splits = dict(splits)
            statistics = {
                name: _compute_statistics(name, notation.formats[name], split_operands, cache)
                for name in split_operands
            }
            ordered.append(Candidate(order, tensor_format, graph, estimate(graph, statistics)))
        except (InputError, InestimableError) as error:
            # an illegal order, or an order with a block that has no estimate, is no candidate
            reason = str(error)
    if not ordered:
        raise InputError(f"{assignment}: no order of its loops can be estimated: {reason}")
    return sorted(ordered, key=lambda candidate: candidate.expected.cycles)


def list_text_candidates(
    text: str,
    formats: Iterable[str],
    operands: Mapping[str, object],
    splits: Splits = NOT_SPLIT,
    *,
    exact: bool = False,
) -> list[Candidate]:
    """Return the legal orders of an expression that have an estimate, see ``candidates``.

    An operand whose format has no order of levels (``C:ss``) is stored in the order of the loops.

    Args:
        text: an assignment in index notation.
        formats: formats as of ``compile_expression``.
        operands: operands as of ``fiberscope.models.graphs.run``.
        splits: coordinates of a chunk, by index variable.
        exact: refuse a surrogate of a matrix that cannot be downloaded.

    Raises:
        InputError, WorkloadError: no order has an estimate, or an operand cannot be loaded.
    """
    texts = list(formats)
    entries = (entry for part in texts for entry in part.split(","))
    # ``C:ss`` has one colon, ``C:ss:10`` two; the rest of ``C:ss:1,0`` after the comma has none
    unordered = {entry.partition(":")[0].strip() for entry in entries if entry.count(":") == 1}
    notation = _build_first_notation(parse(text), parse_formats(texts), unordered & operands.keys())
    # this graph, of the default order, is never run: it only determines how the operands are loaded
    prepared = prepare(lower([notation.assignment], notation.formats, notation.order), operands, exact=exact)
    tensors = {name: operand.entries() for name, operand in prepared.operands.items()}
    return candidates(notation.assignment, notation.formats, tensors, unordered & tensors.keys(), splits)


def build_candidates_table(ordered: Sequence[Candidate]) -> Table:
    """Return a table of the expected cost of each order."""
    table = Table("Orders", ("order", "formats", "tokens", "cycles"))
    for candidate in ordered:
        formats = ",".join(f"{name}={tensor_format}" for name, tensor_format in candidate.formats.items())
        costs = (candidate.expected.tokens, candidate.expected.cycles)
        table.add(",".join(candidate.order), formats, *(f"{cost:,.0f}" for cost in costs))
    return table


def _iterate_orders(
    assignment: Assignment, formats: Mapping[str, Format], reordered: Collection[str], splits: Splits
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Format]]]:
    """Yield orders of the loops with their formats; with reordered or split tensors, some may be illegal.

    Raises:
        InputError: the given formats allow no order, or a split is invalid.
    """
    notation = _build_first_notation(assignment, formats, reordered)
    if not reordered and not splits:
        orders = Orders(notation.result, notation.operands, notation.expression)
        yield from ((order, notation.formats) for order in orders.iterate_legal())
        return
    operands = accesses(assignment.expression)
    # ``build_notation`` itself stores the levels of split tensors in the order of the loops
    movable = [
        operand
        for operand in operands
        if operand.tensor in reordered and not splits.keys() & set(operand.variables)
    ]
    # the levels follow the loops here, so legality depends on the order: the caller tries each one
    for order in permutations(split_variables(notation.order, splits)):
        new_formats = {
            operand.tensor: _reorder_format(operand, notation.formats[operand.tensor], order)
            for operand in movable
        }
        yield order, {**notation.formats, **new_formats}


def _build_first_notation(
    assignment: Assignment, formats: Mapping[str, Format], reordered: Collection[str]
) -> Notation:
    """Return the loop nest of the default order, or of a legal order with reordered tensors.

    Raises:
        InputError: no order is legal, reordered tensors included.
    """
    try:
        return build_notation(assignment, formats)
    except InputError:
        all_accesses = [assignment.result, *accesses(assignment.expression)]
        movable = [
            (access, formats[access.tensor])
            for access in all_accesses[1:]
            # an order of another number of dimensions is the fault itself
            if access.tensor in reordered and len(formats[access.tensor].order) == len(access.variables)
        ]
        variables = dict.fromkeys(variable for access in all_accesses for variable in access.variables)
        for order in permutations(variables) if movable else ():
            moved = {access.tensor: _reorder_format(access, stored, order) for access, stored in movable}
            with suppress(InputError):
                return build_notation(assignment, {**formats, **moved}, order)
        raise


def _reorder_format(access: Access, tensor_format: Format, order: Sequence[str]) -> Format:
    """Return a format with the levels in the order of loops; each dimension keeps its letter."""
    letters = dict(zip(tensor_format.order, tensor_format.letters, strict=True))
    levels = sorted(tensor_format.order, key=lambda dimension: order.index(access.variables[dimension]))
    return Format("".join(letters[dimension] for dimension in levels), tuple(levels))


def _compute_statistics(
    name: str,
    tensor_format: Format,
    tensors: Mapping[str, SparseTensor],
    cache: dict[tuple[str, Format], TensorStatistics],
) -> TensorStatistics:
    if (name, tensor_format) not in cache:
        cache[name, tensor_format] = statistics_of(store(tensors[name], tensor_format))
    return cache[name, tensor_format]
