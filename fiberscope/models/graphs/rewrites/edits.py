"""Primitive changes of a graph: redirect streams, replace operands, and remove blocks without consumers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.models.graphs.netlist import Graph, Node

Output: TypeAlias = tuple[str, str]  # a node's name and its output


@dataclass(frozen=True)
class JoinerOperand:
    """An operand of a joiner, given by the outputs that produce its streams.

    Args:
        crd: output with the operand's coordinates.
        ref: output with the operand's references.
    """

    crd: Output
    ref: Output


def copy_graph(graph: Graph) -> Graph:
    """Return a copy of a graph, which a rewrite may change."""
    return copy.deepcopy(graph)


def source_of(graph: Graph, node: Node, port: str) -> Output | None:
    """Return the output that feeds an input; None for an open input or a root."""
    stream = graph.stream_into(node, port)
    return None if stream is None else (stream.source, stream.output)


def reference_source(graph: Graph, output: Output) -> Output | None:
    """Return the source of a block's reference output; None if a root feeds the block, or for a unioner.

    An intersecter forwards ``ref[i]`` from its input ``ref[i]``; other blocks forward their input ``ref``.
    """
    node = graph.nodes[output[0]]
    return source_of(graph, node, output[1] if node.primitive.intersects else "ref")


def has_consumer(graph: Graph, output: Output) -> bool:
    """Return whether an output has a consumer."""
    return any((stream.source, stream.output) == output for stream in graph.streams)


def connect_output(graph: Graph, output: Output, target: Node, port: str) -> None:
    """Connect an output to an input of a block.

    Args:
        graph: the graph to change.
        output: the output, of a node of the graph.
        target: node of the block.
        port: name of its input.
    """
    graph.connect(graph.nodes[output[0]], output[1], target, port)


def new_name(graph: Graph) -> str:
    """Return an unused block name, a number."""
    numbers = [number for name in graph.nodes if (number := read_whole_number(name)) is not None]
    return str(1 + max(numbers, default=-1))


def phase_attribute(node: Node) -> dict[str, str]:
    """Return the attribute ``phase`` of a block, if any, for a new block of the same phase."""
    return {"phase": node["phase"]} if "phase" in node.attributes else {}


def redirect(graph: Graph, moves: Mapping[Output, Output]) -> None:
    """Move the consumers of outputs to other outputs, all at once, and change the graph in place.

    Args:
        graph: the graph to change.
        moves: new output by old output; other outputs keep their consumers.
    """
    for stream in graph.streams:
        output = stream.source, stream.output
        # each stream moves once, so that two outputs can exchange their consumers
        stream.source, stream.output = moves.get(output, output)


def remove_block(graph: Graph, name: str) -> None:
    """Remove a block without consumers, and recursively each producer that is left without a consumer.

    Args:
        graph: the graph to change.
        name: name of the block; no stream may begin at it.
    """
    producers = _disconnect_inputs(graph, graph.nodes[name])
    del graph.nodes[name]
    _remove_unused(graph, producers)


def _disconnect_inputs(graph: Graph, node: Node) -> set[str]:
    """Remove the streams into a block, and return the names of their producers."""
    producers = {stream.source for stream in graph.list_streams_into(node)}
    graph.streams = [stream for stream in graph.streams if stream.target != node.name]
    return producers


def _remove_unused(graph: Graph, names: set[str]) -> None:
    """Remove the blocks of these names that exist and have no consumer."""
    # sorted, so that the result does not depend on the order of a set
    for name in sorted(names):
        # the removal of an earlier block may have removed this one, too
        if name in graph.nodes and not any(graph.list_streams_from(graph.nodes[name])):
            remove_block(graph, name)


def iterate_rewritable_joiners(graph: Graph) -> Iterator[Node]:
    """Yield the joiners whose operands may change: all except those with skip streams."""
    for node in list(graph.nodes.values()):
        skips = any(stream.output.startswith("skip") for stream in graph.list_streams_from(node))
        # the caller may remove blocks between two joiners
        if node.primitive.has_operand_pairs and node.name in graph.nodes and not skips:
            yield node


def list_joiner_operands(graph: Graph, joiner: Node) -> list[JoinerOperand]:
    """Return the operands of a joiner, in order; all of its inputs must be connected."""
    sources = {stream.input: (stream.source, stream.output) for stream in graph.list_streams_into(joiner)}
    numbers = range(graph.arity(joiner))
    return [JoinerOperand(sources[f"crd[{number}]"], sources[f"ref[{number}]"]) for number in numbers]


def replace_operands(
    graph: Graph, joiner: Node, operands: list[JoinerOperand], renumbering: Mapping[int, int]
) -> None:
    """Replace the operands of a joiner; a joiner with a single operand is removed.

    Args:
        graph: the graph to change.
        joiner: a joiner of the graph.
        operands: the new operands, without duplicates.
        renumbering: new number by old number, for each operand whose references have a consumer. If only one
            operand remains, only the old numbers matter.
    """
    if len(operands) == 1:
        refs = {(joiner.name, f"ref[{old}]"): operands[0].ref for old in renumbering}
        redirect(graph, {(joiner.name, "crd"): operands[0].crd, **refs})
        remove_block(graph, joiner.name)
        return
    # the old producers may also feed the new operands, so they are removed only at the end
    producers = _disconnect_inputs(graph, joiner)
    for number, operand in enumerate(operands):
        connect_output(graph, operand.crd, joiner, f"crd[{number}]")
        connect_output(graph, operand.ref, joiner, f"ref[{number}]")
    ports = {f"ref[{old}]": f"ref[{new}]" for old, new in renumbering.items()}
    redirect(graph, {(joiner.name, old): (joiner.name, new) for old, new in ports.items()})
    _remove_unused(graph, producers)
