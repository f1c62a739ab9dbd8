"""Find the ports of the edges of a graph file.

The comment of an edge in a public file names an index variable or a tensor in various spellings (``in-B``,
``outer_i``, ``innner-val``). The last word of the comment and the blocks at both ends determine the ports. An
ambiguous edge has the attributes ``from`` and ``to``, which public files lack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.models.graphs.edges import Edge
from fiberscope.models.graphs.netlist import Graph, Node


@dataclass
class _Operand:
    """Streams of an operand at a joiner."""

    tensor: str
    source: str
    number: int | None = None  # of the ports; None if no edge has named one so far
    edges: dict[str, Edge] = field(default_factory=dict)  # by kind
    consumers: list[str] = field(default_factory=list)  # consumers of its joined references


class PortFinder:
    """Finder of the ports of a graph's edges.

    Args:
        graph: a graph with all nodes.
        edges: all edges in the order of the file, which numbers operands.
    """

    def __init__(self, graph: Graph, edges: Sequence[Edge]) -> None:
        self._graph, self._edges = graph, edges
        self._operands: dict[str, list[_Operand]] = {}
        self._alu_inputs: dict[str, list[Edge]] = {}
        self._named_ports = {(edge.target, edge.attributes.get("to", "")) for edge in edges}
        self.reordered: list[Node] = []  # ALUs whose operands are not in the order of the file
        for edge in edges:
            target = graph.nodes[edge.target]
            if _find_array(target, edge):
                self._register_operand(target, edge)
        for joined in self._operands.values():
            _number_operands(joined)
        for name, operands in self._alu_inputs.items():
            if graph.nodes[name]["sub"] == "1":
                self._order_difference(graph.nodes[name], operands)

    def _order_difference(self, node: Node, operands: list[Edge]) -> None:
        """Sort the operands of a difference in the order of the expression, which the file's comment has.

        Public files do not number the operands, and list edges in the order of blocks.
        """
        file_order = list(operands)
        operands.sort(key=self._find_first_tensor)
        if operands != file_order:
            self.reordered.append(node)

    def _find_first_tensor(self, edge: Edge) -> int:
        """Return the position in the comment of the first tensor whose values reach an edge."""
        names = list(self._graph.formats)
        sources = [edge.source]
        # the list grows in the loop: it follows value streams back to the arrays
        for name in sources:
            producers = (
                other.source for other in self._edges if other.target == name and other.kind == "val"
            )
            sources += [source for source in producers if source not in sources]
        tensors = [self._graph.nodes[name]["tensor"] for name in sources]
        return min((names.index(tensor) for tensor in tensors if tensor in names), default=len(names))

    def _register_operand(self, target: Node, edge: Edge) -> None:
        """Add an edge to the operands of its target."""
        if target.primitive.has_operand_pairs:
            self._find_operand(edge).edges[edge.kind] = edge
        elif not edge.attributes.get("to"):
            edges = self._alu_inputs.setdefault(edge.target, [])
            if edge not in edges:
                edges.append(edge)

    def _find_operand(self, edge: Edge) -> _Operand:
        """Return the operand with the other stream of an edge, or a new operand."""
        operands = self._operands.setdefault(edge.target, [])
        tensor, number = edge.target_label, _parse_port_number(edge)
        # numbers decide if both are known, else tensors, else the block from which both streams come
        for operand in operands:
            if number is not None and operand.number is not None:
                same_operand = number == operand.number
            else:
                same_operand = (
                    tensor == operand.tensor if tensor and operand.tensor else edge.source == operand.source
                )
            if same_operand and edge.kind not in operand.edges:
                operand.tensor = operand.tensor or tensor
                operand.number = number if operand.number is None else operand.number
                return operand
        operands.append(_Operand(tensor, edge.source, number))
        return operands[-1]

    def ports(self, edge: Edge) -> tuple[str, str] | None:
        """Return the output and the input port of an edge; None for an edge without meaning for its target.

        Call the method once for each edge, in the order of the file: the output of a joiner depends on the
        calls before, see ``find_operand_of_edge``.

        Raises:
            ValueError: the ports are ambiguous, or a block has no such port.
        """
        source, target = self._graph.nodes[edge.source], self._graph.nodes[edge.target]
        array = _find_array(target, edge)
        input_port = edge.attributes.get("to") or (
            self._find_operand_port(target, edge, array)
            if array
            else target.primitive.input_of_edge(self, target, edge)
        )
        if not input_port:
            return None
        output_port = edge.attributes.get("from") or source.primitive.output_of_edge(self, source, edge)
        if source.output(output_port) is None:
            raise ValueError(f"{source} has no output {output_port}")
        if target.input(input_port) is None:
            raise ValueError(f"{target} has no input {input_port}")
        return output_port, input_port

    def _find_operand_port(self, target: Node, edge: Edge, array: str) -> str:
        """Return the port of an array, with its number, for an edge that names no port."""
        if target.primitive.has_operand_pairs:
            operands = self._operands[target.name]
            return next(
                f"{edge.kind}[{operand.number}]"
                for operand in operands
                if operand.edges.get(edge.kind) is edge
            )
        # an edge without a port name takes the next port that no other edge of the file names
        ports = (f"{array}[{number}]" for number in count())
        free = (port for port in ports if (target.name, port) not in self._named_ports)
        return next(islice(free, self._alu_inputs[target.name].index(edge), None))

    def find_target_node(self, edge: Edge) -> Node:
        """Return the target node of an edge."""
        return self._graph.nodes[edge.target]

    def find_operand_of_edge(self, joiner: Node, edge: Edge) -> int:
        """Return the number of the operand whose references an edge carries out of a joiner.

        Each call registers the edge's target as a consumer of the operand. If several operands have the same
        tensor, the next edge to another target gets the next operand.

        Raises:
            ValueError: no operand has these references.
        """
        tensor = edge.source_label or self._graph.nodes[edge.target]["tensor"]
        operands = self._operands.get(joiner.name, [])
        candidates = [operand for operand in operands if self._find_tensor(operand) == tensor]
        if not candidates:
            names = ", ".join(self._find_tensor(operand) for operand in operands) or "none"
            raise ValueError(
                f"{joiner} does not join {tensor or 'tensor that is not named'}; it joins {names}"
            )
        unused = [
            operand for operand in candidates if not operand.consumers or edge.target in operand.consumers
        ]
        operand = (unused or candidates)[0]
        operand.consumers.append(edge.target)
        assert operand.number is not None
        return operand.number

    def _find_tensor(self, operand: _Operand) -> str:
        return operand.tensor or self._graph.nodes[operand.source]["tensor"]

    def find_single_port(
        self, node: Node, names: Sequence[str], kind: str, direction: str, alternative: str = ""
    ) -> str:
        """Return the port that fits a kind.

        Args:
            node: the node, for the message.
            names: names of the ports.
            kind: kind of the stream; a port of this name fits best.
            direction: ``input`` or ``output``, for the message.
            alternative: name of the port that fits next. Without both, the only port fits.

        Raises:
            ValueError: none of several ports has one of these names.
        """
        for name in filter(None, (kind, alternative)):
            if name in names:
                return name
        if len(names) == 1:
            return names[0]
        raise ValueError(
            f"{node} has no {direction} of type {kind}; say which by from= or to=: {', '.join(names)}"
        )


def _find_array(target: Node, edge: Edge) -> str:
    """Return the array of ports that an edge enters: that of its kind, or the only array; else empty."""
    inputs = [port.name for port in target.primitive.inputs]
    if f"{edge.kind}[]" in inputs:
        return edge.kind
    # [:-2] removes the brackets
    return inputs[0][:-2] if len(inputs) == 1 and inputs[0].endswith("[]") else ""


def _number_operands(operands: Sequence[_Operand]) -> None:
    """Give the operands without a number the numbers that are free, in the order of the file."""
    numbers = {operand.number for operand in operands}
    free = (number for number in count() if number not in numbers)
    for operand in operands:
        operand.number = next(free) if operand.number is None else operand.number


def _parse_port_number(edge: Edge) -> int | None:
    """Return the number of the input port that an edge names; None if the edge names none with a number."""
    number = edge.attributes.get("to", "").partition("[")[2].rstrip("]")
    return read_whole_number(number)
