"""Expression of a graph over index variables, derived from the blocks, not from the streams of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fiberscope.models.graphs.faults import Unreadable
from fiberscope.models.graphs.loops import Nest, Nests
from fiberscope.models.graphs.nests import derive_nests
from fiberscope.models.graphs.splits import Splits, join_variables, split_variables
from fiberscope.workloads.expressions.expression import Access, Call, Expression, Split, Sum, accesses

if TYPE_CHECKING:
    from fiberscope.models.graphs.netlist import Graph, Node, Stream


@dataclass(frozen=True)
class Assignment:
    """An assignment of an expression to a result.

    Args:
        result: the left side.
        expression: the right side, with implicit or explicit sums.
    """

    result: Access
    expression: Expression

    def __str__(self) -> str:
        """Return the assignment in index notation."""
        return f"{self.result} = {self.expression}"


def list_expressions(graph: Graph) -> list[Assignment]:
    """Return the assignment of each tensor that the graph writes, in the order of phases.

    Split index variables appear undivided.

    Raises:
        Unreadable: a block or connection has no expression.
    """
    nests = derive_nests(graph)
    assignments = []
    for phase in graph.phases:
        writers = [node for node in graph.writers if node.phase == phase]
        for tensor in dict.fromkeys(node["tensor"] for node in writers):
            assignments.append(
                _derive_assignment(graph, nests, [node for node in writers if node["tensor"] == tensor])
            )
    return (
        [_join_assignment_parts(assignment, graph.splits) for assignment in assignments]
        if graph.splits
        else assignments
    )


def list_accesses(assignments: Iterable[Assignment]) -> list[Access]:
    """Return the distinct accesses on the right sides of assignments, the last first."""
    all_accesses = [access for assignment in assignments for access in accesses(assignment.expression)]
    return list(dict.fromkeys(reversed(all_accesses)))


def _derive_assignment(graph: Graph, nests: Nests, writers: list[Node]) -> Assignment:
    """Return the assignment of a tensor from its writers, all of one phase; a split if none writes values."""
    values = [node for node in writers if node.writes_values]
    if not values:
        return _split_of_tensor(graph, writers)
    tree = Tree(graph, nests)
    stream = tree.stream_into(values[0], "val")
    expression, nest = tree.value(stream), nests[stream.source, stream.output]
    tensor = values[0]["tensor"]
    return Assignment(Access.plain(tensor, _find_result_variables(graph, writers, nest)), expression)


def _find_result_variables(graph: Graph, writers: list[Node], nest: tuple[str, ...]) -> tuple[str, ...]:
    """Return the index variable of each dimension of the result, from its writers or from the nest."""
    writer_variables = {
        int(node["mode"]): node["index"] for node in writers if not node.writes_values and node["index"]
    }
    tensor_format = graph.formats.get(writers[0]["tensor"])
    # a variable that a writer names takes precedence over the loop of its level
    if tensor_format is not None and len(tensor_format.order) == len(nest):
        by_level = {dimension: nest[level] for level, dimension in enumerate(tensor_format.order)}
        return tuple({**by_level, **writer_variables}[dimension] for dimension in range(len(nest)))
    if sorted(writer_variables) == list(range(len(nest))):
        return tuple(writer_variables[dimension] for dimension in range(len(nest)))
    return nest


def _split_of_tensor(graph: Graph, writers: list[Node]) -> Assignment:
    """Return the assignment of a result without values: the coordinates of another tensor in chunks."""
    ordered = sorted(writers, key=lambda node: int(node["mode"]))
    access: Access | None = None
    factor = 0
    for node in ordered:
        stream = _stream_into(graph, node, "bv" if node.level.is_bit_vector else "crd")
        source = graph.nodes[stream.source]
        # back through packers, droppers and splitters to the scanner
        while input := source.primitive.forwarded_input or source.primitive.split_input:
            factor = int(source["factor"] or factor)
            stream = _stream_into(graph, source, input)
            source = graph.nodes[stream.source]
        if not source.primitive.scans or not factor:
            raise Unreadable(f"{node} writes coordinates that are no tensor's")
        access = Access.plain(source["tensor"], (source["index"],))
    assert access is not None
    variable = access.variables[0]
    # chunk and offset, with the names that ``algebra.evaluate`` gives to the parts
    result = Access.plain(ordered[0]["tensor"], (f"{variable}1", f"{variable}0"))
    return Assignment(result, Split(access, factor))


def _join_assignment_parts(assignment: Assignment, splits: Splits) -> Assignment:
    try:
        result = _join_parts(assignment.result, splits)
        assert isinstance(result, Access)
        return Assignment(result, _join_parts(assignment.expression, splits))
    except ValueError as error:
        raise Unreadable(f"{assignment}: {error}") from None


def _join_parts(expression: Expression, splits: Splits) -> Expression:
    """Return an expression in undivided index variables; nested sums over parts become one sum.

    Raises:
        ValueError: an access or a sum has a part of a split variable without the other part, or out of order.
    """
    if isinstance(expression, Access):
        variables = join_variables(expression.variables, splits)
        if split_variables(variables, splits) != expression.variables:
            raise ValueError(f"{expression} is not {expression.tensor}({','.join(variables)}) in chunks")
        return Access.plain(expression.tensor, variables)
    if isinstance(expression, Call):
        return expression.map_operands(lambda term: _join_parts(term, splits))
    if isinstance(expression, Sum):
        summed: tuple[str, ...] = ()
        body: Expression = expression
        while isinstance(body, Sum):
            summed, body = (*summed, *body.variables), body.operand
        return Sum(join_variables(summed, splits), _join_parts(body, splits))
    return expression


class Tree:
    """Reader of the expressions of value streams.

    Args:
        graph: a checked graph.
        nests: loop nests of its streams, from ``derive_nests``.
    """

    def __init__(self, graph: Graph, nests: Nests) -> None:
        self._graph, self._nests = graph, nests

    def value(self, stream: Stream) -> Expression:
        """Return the expression of a value stream.

        Raises:
            Unreadable: the expression cannot be determined.
        """
        source = self._graph.nodes[stream.source]
        return source.primitive.value(self, source)

    def derive_values_into(self, node: Node) -> list[Expression]:
        """Return the expressions of the value streams into a block, in the order of ports."""
        streams = (stream for stream in self._graph.list_streams_into(node) if stream.kind == "val")
        # a block has at most two inputs of values, so the order of the names is that of the numbers
        return [self.value(stream) for stream in sorted(streams, key=lambda stream: stream.input)]

    def nest_into(self, node: Node, input: str) -> Nest:
        """Return the loop nest of the stream into a block."""
        stream = self.stream_into(node, input)
        return self._nests[stream.source, stream.output]

    def stream_into(self, node: Node, input: str) -> Stream:
        """Return the stream into a block.

        Raises:
            Unreadable: no stream enters the input.
        """
        return _stream_into(self._graph, node, input)

    def access(self, node: Node) -> Access:
        """Return the tensor access of an array, at the index variables of the level scanners before it.

        Raises:
            Unreadable: the number of scanners differs from the number of dimensions.
        """
        path = self._list_path(node)
        tensor_format = self._graph.formats.get(node["tensor"])
        order = tensor_format.order if tensor_format is not None else tuple(range(len(path)))
        if len(path) != len(order):
            raise Unreadable(f"{node}: {len(path)} scanners lead to a tensor of {len(order)} dimensions")
        variables = {dimension: path[level] for level, dimension in enumerate(order)}
        return Access.plain(node["tensor"], tuple(variables[dimension] for dimension in range(len(path))))

    def _list_path(self, node: Node) -> list[str]:
        """Return the index variables of the scanners between a root and an array, outermost first."""
        variables: list[str] = []
        stream = self._graph.stream_into(node, "ref")
        while stream is not None:
            source = self._graph.nodes[stream.source]
            if source.primitive.scans:
                variables.insert(0, source["index"])
                if stream.output == "crd" and not stream.input.startswith(("crd", "bv")):
                    return variables  # in a dense level the coordinate is the position
            # a lookup leads to positions of a level, as a scanner does
            if stream.output == "located":
                variables.insert(0, source["index"])
            stream = self._graph.stream_into(source, source.primitive.reference_input(source, stream.output))
        return variables


def _stream_into(graph: Graph, node: Node, input: str) -> Stream:
    stream = graph.stream_into(node, input)
    if stream is None:
        raise Unreadable(f"nothing is connected to {input} of {node}")
    return stream
