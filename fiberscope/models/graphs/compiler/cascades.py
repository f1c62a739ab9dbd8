"""Compile a cascade of Einsums to a stream graph, with a phase for each Einsum.

The graph follows the Einsums, loop orders and uncompressed ranks of a specification
(``fiberscope.models.trace``). It does not represent partitions, parallel loops, buffers and bit widths.
``CascadeGraph.left_out`` names the partitions and the parallel loops of a specification.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.compiler.language import OPERATORS, translate_expression
from fiberscope.models.graphs.compiler.lower import lower
from fiberscope.models.graphs.compiler.sums import insert_sums
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.netlist import Graph, Stream
from fiberscope.models.trace.specification import Einsum, Specification, Split
from fiberscope.results.report.document import Report
from fiberscope.workloads.expressions import expression as einsums
from fiberscope.workloads.expressions.expression import Access


@dataclass(frozen=True)
class CascadeGraph:
    """The stream graph of a cascade.

    Args:
        graph: a phase for each Einsum, and a further phase to sort a dense result.
        orders: loop order of each Einsum, by its name.
        left_out: a sentence for the partitions, and one for the parallel loops, of each Einsum with any.
    """

    graph: Graph
    orders: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]


def build_cascade_graph(specification: Specification) -> CascadeGraph:
    """Return the stream graph of a specification's Einsums.

    The levels of a tensor follow the order of the loops that read it. A level is dense if the specification
    lists its rank as uncompressed. An input matrix is a left factor if only its second declared rank is the
    first rank of the last result, as in A[K, M] for Z[M, N]. A left factor is transposed, so that its rows
    are rows of the result.

    Raises:
        InputError: the cascade repeats, or an Einsum has no graph.
    """
    converter = _EinsumConverter(specification)
    orders = {einsum.name: converter.loop_order(einsum) for einsum in specification.einsums}
    formats = {name: converter.find_tensor_format(name, orders) for name in specification.tensors}
    phases = []
    for einsum in specification.einsums:
        assignment = converter.to_assignment(einsum)
        explicit = Assignment(assignment.result, insert_sums(assignment))
        phases.append(lower([explicit], formats, orders[einsum.name]))
    return CascadeGraph(_join_phases(phases), orders, tuple(_describe_omissions(specification)))


class _EinsumConverter:
    """Converter of Einsums to assignments; the index variables are the rank names in lower case."""

    def __init__(self, specification: Specification) -> None:
        self._specification = specification
        if specification.iteration is not None:
            raise InputError("the cascade repeats, and a graph runs a cascade once")

    def loop_order(self, einsum: Einsum) -> tuple[str, ...]:
        """Return the loop order of an Einsum without partitions, in lower case.

        A partitioned rank has one loop, at the position of its innermost part.

        Raises:
            InputError: the Einsum has flattened ranks.
        """
        rank_of_loop: dict[str, str] = {}
        for step in einsum.partitioning:
            if not isinstance(step, Split):
                raise InputError(f"{einsum.name} has flattened ranks, which no graph has")
            # the graph has the rank undivided: its innermost part becomes the loop, its other parts disappear
            rank_of_loop |= dict.fromkeys(step.names[:-1], "") | {step.names[-1]: step.rank}
        loops = (rank_of_loop.get(rank, rank) for rank in einsum.loop_order)
        return tuple(rank.lower() for rank in loops if rank)

    def find_tensor_format(self, name: str, orders: Mapping[str, tuple[str, ...]]) -> Format:
        """Return the format of a tensor: its levels in the order of the loops that read it.

        A tensor that no Einsum reads has the declared order.

        Args:
            name: name of the tensor.
            orders: loop order of each Einsum, by its name.

        Raises:
            InputError: two Einsums read the tensor in different orders.
        """
        tensor, ranks = self._specification.tensors[name], self._find_dimensions(name)
        readers = [einsum for einsum in self._specification.einsums if name in einsum.inputs]
        read_orders = {
            einsum.name: tuple(rank for rank in orders[einsum.name] if rank in ranks) for einsum in readers
        }
        # the first reader decides; a graph has one copy of the tensor, so all others must agree
        levels = next(iter(read_orders.values()), tuple(rank.lower() for rank in tensor.rank_order))
        for reader, loop_order in read_orders.items():
            if loop_order != levels:
                orders_text = f"{','.join(levels)} and by {reader} in {','.join(loop_order)}"
                raise InputError(f"{name} is read in the order {orders_text}; a graph stores it once")
        uncompressed = {rank.lower() for rank in tensor.uncompressed}
        letters = "".join("d" if level in uncompressed else "s" for level in levels)
        return Format(letters, tuple(ranks.index(level) for level in levels))

    def to_assignment(self, einsum: Einsum) -> Assignment:
        """Return an Einsum as an assignment.

        Raises:
            InputError: the Einsum has no graph.
        """
        if isinstance(einsum.equation, einsums.Alias):
            raise InputError(f"{einsum.equation.text}: another name for a tensor has no graph")
        for operator, meaning in einsum.operators.items():
            if OPERATORS[operator] != meaning:
                raise InputError(
                    f"{einsum.name}: {operator} means {meaning}, which no block of a graph computes"
                )
        equation = einsum.equation
        return Assignment(
            self._access(equation.output), translate_expression(equation.expression, self._access)
        )

    def _access(self, access: Access) -> Access:
        """Return an access with the tensor's dimensions in the order of ``_dimensions``, in lower case."""
        ranks = [index.rank for index in access.indices]
        if None in ranks:
            raise InputError(f"{access.tensor} has computed indices, which no scanner has")
        declared = self._specification.tensors[access.tensor].ranks
        by_rank = {rank.lower(): str(index).lower() for rank, index in zip(declared, ranks, strict=True)}
        return Access.plain(
            access.tensor, tuple(by_rank[rank] for rank in self._find_dimensions(access.tensor))
        )

    def _find_dimensions(self, name: str) -> list[str]:
        """Return a tensor's ranks in lower case, as declared; those of a left factor are exchanged."""
        tensor, output = self._specification.tensors[name], self._specification.einsums[-1].output
        result_ranks = self._specification.tensors[output].ranks
        ranks = [rank.lower() for rank in tensor.ranks]
        # a matrix of which only the second rank is the first rank of the result
        is_left_factor = [rank in result_ranks[:1] for rank in tensor.ranks] == [False, True]
        return ranks[::-1] if is_left_factor and name in self._specification.inputs else ranks


def _join_phases(graphs: list[Graph]) -> Graph:
    """Return one graph with the phases of all graphs, in order; its formats begin with the last graph's."""
    combined = Graph(
        {name: tensor_format for graph in reversed(graphs) for name, tensor_format in graph.formats.items()}
    )
    last_phase = 0
    for graph in graphs:
        # each graph numbers its nodes and phases from the start, so both are shifted
        first_number, phase_offset = len(combined.nodes), last_phase
        names = {name: str(first_number + number) for number, name in enumerate(graph.nodes)}
        for name, node in graph.nodes.items():
            last_phase = max(last_phase, phase_offset + node.phase)
            attributes = {**node.attributes, "phase": str(phase_offset + node.phase)}
            combined.nodes[names[name]] = replace(node, name=names[name], attributes=attributes)
        combined.streams += [_rename_ends(stream, names) for stream in graph.streams]
    return combined


def _rename_ends(stream: Stream, names: Mapping[str, str]) -> Stream:
    """Return a stream between the renamed nodes."""
    return replace(stream, source=names[stream.source], target=names[stream.target])


def _describe_omissions(specification: Specification) -> Iterator[str]:
    """Yield sentences for the partitioned ranks and for the parallel ranks of each Einsum."""
    for einsum in specification.einsums:
        split_ranks = [step.rank for step in einsum.partitioning if isinstance(step, Split)]
        if split_ranks:
            yield f"{einsum.name}: {', '.join(split_ranks)} are cut into pieces, and the graph has one level"
        if einsum.spacetime is not None and einsum.spacetime.space:
            parallel = ", ".join(rank.rank for rank in einsum.spacetime.space)
            yield f"{einsum.name}: {parallel} runs in parallel, and the graph has each block once"


def count_additions(report: Report) -> int:
    """Return the number of additions of reducers, accumulators and adders in a run.

    A sum of n values takes n - 1 additions, so that a reducer or accumulator makes as many additions as it
    takes values, minus its sums.
    """
    counters = [component.counters for component in report.components.values()]
    reducer_additions = sum(  # values minus sums, zero or not
        counter["reductions"] - counter["zeros"] - counter["nonzeros"]
        for counter in counters
        if "reductions" in counter
    )
    # points minus sums
    accumulator_additions = sum(
        counter["points"] - counter["elements"] for counter in counters if "points" in counter
    )
    return reducer_additions + accumulator_additions + report.operations.get("add", 0)
