"""Scalar broadcast: hold a scalar in a register of its ALU instead of a repeated stream."""

from __future__ import annotations

from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.rewrites.edits import copy_graph, remove_block, source_of


def fold_scalar_broadcasts(graph: Graph) -> Graph:
    """Return a graph in which a repeated scalar becomes a constant of its ALU.

    The repeaters of the scalar, their signals and its array are removed. A scalar on the left of a difference
    or a quotient remains a stream, since the constant of an ALU is its right operand.
    """
    graph = copy_graph(graph)
    for node in list(graph.nodes.values()):
        if not node.is_unary:
            _hold_scalar(graph, node)
    return graph


def _hold_scalar(graph: Graph, alu: Node) -> None:
    """Move a scalar operand of an ALU into the ALU's register, if there is one."""
    for number in alu.primitive.register_operands(alu):
        array = _find_scalar(graph, alu, number)
        if array is not None:
            alu.attributes["scalar"] = array["tensor"]
            graph.streams = [
                s for s in graph.streams if not (s.target == alu.name and s.input == f"val[{number}]")
            ]
            for stream in graph.list_streams_into(alu):
                stream.input = "val[0]"
            if not any(graph.list_streams_from(array)):
                remove_block(graph, array.name)
            return


def _find_scalar(graph: Graph, alu: Node, number: int) -> Node | None:
    """Return the array of a scalar operand that only repeaters precede; else None."""
    output = source_of(graph, alu, f"val[{number}]")
    array = graph.nodes[output[0]] if output else None
    if array is None or not array.primitive.loads:
        return None
    output = source_of(graph, array, "ref")
    while output is not None:
        node = graph.nodes[output[0]]
        if not node.primitive.repeats:
            return None
        output = source_of(graph, node, "ref")
    return array
