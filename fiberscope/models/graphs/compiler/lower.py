"""Lower index notation to a stream graph.

1.  A statement becomes a phase of the graph, or two phases if it has a dense result and an accumulator
    (``_split_dense_result``). Phases run one after another; later phases read what earlier phases wrote.
2.  The loops of a statement are the variables of its result and of a sum around the whole right side, in the
    given order. The loops of any other sum are nested inside these loops.
3.  A loop iterates over its iteration expression (``terms.py``): a product intersects coordinates, and an
    addition unites them. A summand without the variable has every coordinate. Each operand with the variable
    gets a scanner, and each intersection or union a joiner, through which all references pass. Where a union
    lacks an operand, the operand's reference is the empty token N, which an array loads as the value 0.
4.  A dense level of the result needs all coordinates: its loop is united with all coordinates.
5.  An operand without the variable is repeated for each coordinate.
6.  An array for each operand and an ALU for each operator follow the last loop.
7.  A sum within an expression becomes a reducer for each variable. The reducer keeps the 0 of an empty fiber,
    because the values of other operands have an element at the same point.
8.  Droppers, reducers, holds, an accumulator and writers then write the result (``results.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.compiler.blocks import Blocks
from fiberscope.models.graphs.compiler.results import LoweredLoop, Result
from fiberscope.models.graphs.compiler.sums import new_name
from fiberscope.models.graphs.compiler.terms import (
    FullRange,
    Function,
    Iteration,
    Join,
    Operand,
    Term,
    TermSum,
    Wire,
    build_term,
    derive_iteration,
    is_full,
    iterate_maybe_absent_operands,
    iterate_operands,
    list_variables,
    make_union,
)
from fiberscope.models.graphs.expression import Assignment, list_accesses
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.netlist import Graph
from fiberscope.workloads.expressions.expression import Access


def lower(statements: Sequence[Assignment], formats: Mapping[str, Format], order: Sequence[str]) -> Graph:
    """Return the graph of statements that run one after another.

    Args:
        statements: statements with explicit sums; a statement may read the results of earlier statements.
        formats: formats of all tensors, by name.
        order: all index variables, in the order of the loops, outermost first.

    Raises:
        InputError: a statement has no graph with this order of loops, or none at all: a function without a
            block, or an index variable whose size no operand gives.
    """
    # A copy, to which ``_split_dense_result`` adds the formats of temporary tensors. The graph needs them.
    formats = dict(formats)
    phases = [phase for statement in statements for phase in _split_dense_result(statement, formats, order)]
    graph = Graph(_collect_statement_formats([statement for statement, _order in phases], formats))
    for phase, (statement, loops) in enumerate(phases, start=1):
        _PhaseLowering(graph, phase, statement, formats, loops).lower()
    return graph


def _collect_statement_formats(
    statements: Sequence[Assignment], formats: Mapping[str, Format]
) -> dict[str, Format]:
    """Return the formats of all results and operands, the last result first.

    The operands follow from left to right. A graph file lists formats in this order. Its reader sorts the
    operands of a difference by this list if the edges name no ports.
    """
    results = [statement.result for statement in reversed(statements)]
    # ``list_accesses`` returns the last access first
    operands = [access for statement in statements for access in reversed(list_accesses([statement]))]
    return {access.tensor: formats[access.tensor] for access in (*results, *operands)}


def _split_dense_result(
    statement: Assignment, formats: dict[str, Format], order: Sequence[str]
) -> list[tuple[Assignment, Sequence[str]]]:
    """Return a statement as phases: an accumulator before a dense result gets a phase that copies.

    An accumulator outputs only the coordinates that it received, so the copy adds all others. The temporary
    tensor between the phases is added to ``formats``.
    """
    term = build_term(statement.expression, formats)
    result, format = statement.result, formats[statement.result.tensor]
    has_dense_level = any(level.has_all_coordinates for level in format.levels)
    if not has_dense_level or not Result(result, format, _list_loops(term, result, order)).accumulates:
        return [(statement, order)]
    name = new_name(formats)
    # compressed in each level, as the accumulator writes only the points that it received
    formats[name] = Format("s" * len(format.order), format.order)
    copy = Access.plain(name, result.variables)
    # the loops of the copy follow the levels of the result, so that the copy needs no accumulator
    levels = [result.variables[dimension] for dimension in format.order]
    return [(Assignment(copy, statement.expression), order), (Assignment(result, copy), levels)]


def _list_loops(term: Term, result: Access, order: Sequence[str]) -> tuple[str, ...]:
    """Return the loops of a statement, outermost first."""
    summed = term.variables if isinstance(term, TermSum) else ()
    return tuple(variable for variable in order if variable in (*result.variables, *summed))


class _PhaseLowering:
    """Lowers one statement, as ``_split_dense_result`` returns them, into one phase of a graph."""

    def __init__(
        self,
        graph: Graph,
        phase: int,
        statement: Assignment,
        formats: Mapping[str, Format],
        order: Sequence[str],
    ) -> None:
        self._statement, self._order = statement, order
        self._term = build_term(statement.expression, formats)
        self._loop_order = _list_loops(self._term, statement.result, order)
        self._result = Result(statement.result, formats[statement.result.tensor], self._loop_order)
        self._blocks = Blocks(graph, phase, find_size_sources(self._term))

    def lower(self) -> None:
        """Add the blocks of the statement to the graph.

        Raises:
            InputError: see the function ``lower``.
        """
        self._check_paths()
        body = self._term.term if isinstance(self._term, TermSum) else self._term
        loops: list[LoweredLoop] = []
        for variable in self._loop_order:
            outer = loops[-1].coordinates if loops else None
            loops.append(self._add_loop(body, variable, outer, dense=self._result.is_dense(variable)))
        self._result.write(self._blocks, loops, self._add_value(body, loops))

    def _check_paths(self) -> None:
        """Raise ``InputError`` for an operand whose levels are stored in another order than the loops."""
        for operand in iterate_operands(self._term):
            path = [operand.access.variables[dimension] for dimension in operand.format.order]
            # a scanner needs the reference of the level above, so an outer level needs an outer loop
            if path != sorted(path, key=self._order.index):
                stored = f"{operand.access} is stored as {operand.format}, its levels {','.join(path)}"
                raise InputError(f"order {','.join(self._order)}: {stored}, which the loops must follow")

    def _add_loop(self, term: Term, variable: str, outer: Wire | None, *, dense: bool = False) -> LoweredLoop:
        """Add the blocks of a loop; see ``lower_loop``.

        The loop has all coordinates if ``dense``, or if no operand of the term has the variable.
        """
        iteration = derive_iteration(term, variable)
        needs_all = dense and iteration is not None and not is_full(iteration, variable)
        if iteration is None or needs_all:
            self._check_size(variable)
            # in a union, None stands for all coordinates
            iteration = make_union([iteration, None]) if iteration else FullRange()
        assert iteration is not None
        return lower_loop(self._blocks, term, iteration, variable, outer)

    def _check_size(self, variable: str) -> None:
        """Raise ``InputError`` if no operand of the statement has the variable, and so gives its size."""
        if not any(operand.has_level(variable) for operand in iterate_operands(self._term)):
            raise InputError(
                f"{self._statement.result}: no tensor on the right has {variable}, so nothing says how many "
                f"coordinates it has; multiply by one that has, as in B({variable})"
            )

    def _add_value(self, term: Term, loops: Sequence[LoweredLoop]) -> Wire:
        """Return the values of a term inside these loops."""

        def add_if_sum(operand: Operand | TermSum) -> Wire | None:
            return self._add_sum(operand, loops) if isinstance(operand, TermSum) else None

        return add_value(self._blocks, term, add_if_sum)

    def _add_sum(self, term: TermSum, loops: Sequence[LoweredLoop]) -> Wire:
        """Add the loops and reducers of a sum within the expression, and return its values."""
        variables = [variable for variable in self._order if variable in term.variables]
        inner = list(loops)
        for variable in variables:
            self._check_loop_order(variable, loops)
            inner.append(self._add_loop(term.term, variable, inner[-1].coordinates if inner else None))
        value = self._add_value(term.term, inner)
        for _variable in variables:
            inner.pop()
            value = self._blocks.add_reducer(value, inner[-1].coordinates if inner else None)
        return value

    def _check_loop_order(self, variable: str, loops: Sequence[LoweredLoop]) -> None:
        """Raise ``InputError`` for a sum whose loop would have to enclose loops of the statement."""
        enclosed = [
            loop.variable for loop in loops if self._order.index(loop.variable) > self._order.index(variable)
        ]
        if enclosed:
            raise InputError(
                f"order {','.join(self._order)}: the sum over {variable} is one of several terms, so "
                f"{variable} must come after {','.join(enclosed)}; or make it a statement of its own (factor)"
            )


def lower_loop(
    blocks: Blocks, term: Term, iteration: Iteration, variable: str, outer_coordinates: Wire | None
) -> LoweredLoop:
    """Add the blocks of a loop, and advance the references of the operands to its coordinates.

    The function changes ``references`` and ``is_certain`` of the operands. The result describes the loop for
    the blocks that write (``results.py``).

    Args:
        blocks: builder of the graph's blocks.
        term: the term that the loop computes.
        iteration: the coordinates over which the loop iterates.
        variable: index variable of the loop.
        outer_coordinates: coordinates of the enclosing loop; None for the outermost loop.
    """
    coordinates, references = blocks.add_iteration(iteration, variable, outer_coordinates)
    # ``optional`` and ``is_complete`` depend on ``is_certain`` of the operands, which changes below
    maybe_absent = list(iterate_maybe_absent_operands(iteration, variable))
    is_complete = is_full(iteration, variable)
    broadcast = [operand for operand in iterate_operands(term) if not operand.has_level(variable)]
    # ``coordinates`` are joined already: an operand without the variable is repeated only where they remain
    blocks.repeat(broadcast, variable, coordinates)
    for operand, wire in references.items():
        if operand is not None:
            operand.references = wire
    for operand in maybe_absent:
        operand.is_certain = False
    operands_with_level = [operand for operand in references if operand is not None]
    # ``filled`` is about storage: ``Result`` adds further droppers for loops whose stored fibers can be empty
    has_no_empty_fiber = is_complete or all(
        operand.has_no_empty_fiber(variable) for operand in operands_with_level
    )
    intersects = isinstance(iteration, Join) and iteration.kind == "intersect"
    return LoweredLoop(variable, coordinates, intersects, has_no_empty_fiber)


def add_value(
    blocks: Blocks, term: Term, existing_values: Callable[[Operand | TermSum], Wire | None]
) -> Wire:
    """Add the blocks that compute a term, and return its values.

    Args:
        blocks: builder of the graph's blocks.
        existing_values: returns the values of a sum, or of an operand that needs no array; it may add
            blocks. It returns None for an operand to load from its array.
    """
    if not isinstance(term, Function):
        wire = existing_values(term)
        if wire is None:
            assert isinstance(term, Operand)  # wire_of returns the values of sums
            node = blocks.add("arrayvals", {"ref": term.references}, tensor=term.access.tensor)
            wire = Wire(node, "val")
        return wire
    operands = [add_value(blocks, operand, existing_values) for operand in term.terms]
    # graph files have no subtractor: an adder with the attribute ``sub`` subtracts
    return blocks.value("add" if term.name == "sub" else term.name, *operands, **_derive_alu_attributes(term))


def _derive_alu_attributes(term: Function) -> dict[str, object]:
    """Return the attributes of an operator's ALU."""
    attributes: dict[str, object] = {"sub": 1} if term.name == "sub" else {}
    if term.constant is not None:
        # in graph files, ``const0`` is the first operand of the ALU, and ``in2`` the second
        attributes["const0" if term.is_constant_first else "in2"] = repr(term.constant)
    # with one operand, "where any" and "where all" operands have a point mean the same, so nothing is written
    if term.where and (len(term.terms) > 1 or term.constant is not None):
        attributes |= {"where": term.where, "counted": term.counted}
    return attributes


def find_size_sources(term: Term) -> dict[str, tuple[str, int]]:
    """Return for each index variable the tensor of the first operand that has it, and its dimension there."""
    return {
        variable: next(
            (operand.access.tensor, operand.dimension(variable))
            for operand in iterate_operands(term)
            if operand.has_level(variable)
        )
        for variable in list_variables(term)
    }
