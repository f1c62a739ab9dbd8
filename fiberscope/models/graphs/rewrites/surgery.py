"""Primitive changes of a graph: redirect streams, replace operands, and remove blocks without consumers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fiberscope.models.graphs.netlist import Graph, Node

Output: TypeAlias = tuple[str, str]  # a node's name and its output


@dataclass(frozen=True)
class Way:
    """Operand of a joiner.

    Args:
        crd, ref: outputs with its coordinates and its references.
    """

    crd: Output
    ref: Output


def copy_graph(graph: Graph) -> Graph:
    """Return a copy of a graph, which a rewrite may change."""
    return copy.deepcopy(graph)


def source_of(graph: Graph, node: Node, input: str) -> Output | None:
    """Return the output that feeds an input; None for an open input or a root."""
    stream = graph.stream_into(node, input)
    return None if stream is None else (stream.source, stream.output)


def reference_source(graph: Graph, output: Output) -> Output | None:
    """Return the source of a block's reference output.

    A joiner forwards ``ref[i]`` from its input ``ref[i]``; other blocks forward their only input ``ref``.
    """
    node = graph.nodes[output[0]]
    return source_of(graph, node, output[1] if node.primitive.intersects else "ref")


def has_consumer(graph: Graph, output: Output) -> bool:
    """Return whether an output has a consumer."""
    return any((stream.source, stream.output) == output for stream in graph.streams)


def connect_output(graph: Graph, output: Output, target: Node, input: str) -> None:
    """Connect an output to an input."""
    graph.connect(graph.nodes[output[0]], output[1], target, input)


def new_name(graph: Graph) -> str:
    """Return an unused block name, a number."""
    numbers = [int(name) for name in graph.nodes if name.isdecimal()]
    return str(1 + max(numbers, default=-1))


def phase_attribute(node: Node) -> dict[str, str]:
    """Return the attribute that puts a new block into the phase of a block."""
    return {"phase": node["phase"]} if "phase" in node.attributes else {}


def redirect(graph: Graph, moves: Mapping[Output, Output]) -> None:
    """Move the consumers of outputs to other outputs, all at once."""
    for stream in graph.streams:
        output = stream.source, stream.output
        stream.source, stream.output = moves.get(output, output)


def remove(graph: Graph, name: str) -> None:
    """Remove a block without consumers, and all blocks that only fed it."""
    producers = {stream.source for stream in graph.streams_into(graph.nodes[name])}
    graph.streams = [stream for stream in graph.streams if stream.target != name]
    del graph.nodes[name]
    for producer in sorted(producers & set(graph.nodes)):
        if not any(graph.streams_from(graph.nodes[producer])):
            remove(graph, producer)


def joiners_of(graph: Graph) -> Iterator[Node]:
    """Yield the joiners whose operands may change: all except those with skip streams."""
    for node in list(graph.nodes.values()):
        skips = any(stream.output.startswith("skip") for stream in graph.streams_from(node))
        if node.primitive.has_operand_pairs and node.name in graph.nodes and not skips:
            yield node


def ways_of(graph: Graph, joiner: Node) -> list[Way]:
    """Return the operands of a joiner, in order."""
    sources = {stream.input: (stream.source, stream.output) for stream in graph.streams_into(joiner)}
    return [Way(sources[f"crd[{way}]"], sources[f"ref[{way}]"]) for way in range(graph.arity(joiner))]


def replace_ways(graph: Graph, joiner: Node, ways: list[Way], numbers: Mapping[int, int]) -> None:
    """Replace the operands of a joiner; a joiner with a single operand is removed.

    Args:
        graph: the graph to change.
        joiner: a joiner of the graph.
        ways: the new operands, without duplicates.
        numbers: new number by old number, for each operand whose references have a consumer.
    """
    if len(ways) == 1:
        refs = {(joiner.name, f"ref[{way}]"): ways[0].ref for way in numbers}
        redirect(graph, {(joiner.name, "crd"): ways[0].crd, **refs})
        remove(graph, joiner.name)
        return
    producers = {stream.source for stream in graph.streams_into(joiner)}
    graph.streams = [stream for stream in graph.streams if stream.target != joiner.name]
    for number, way in enumerate(ways):
        connect_output(graph, way.crd, joiner, f"crd[{number}]")
        connect_output(graph, way.ref, joiner, f"ref[{number}]")
    redirect(
        graph, {(joiner.name, f"ref[{old}]"): (joiner.name, f"ref[{new}]") for old, new in numbers.items()}
    )
    for name in sorted(producers & set(graph.nodes)):
        if not any(graph.streams_from(graph.nodes[name])):
            remove(graph, name)
