"""Common scanners: merge blocks with equal functions and equal inputs."""

from __future__ import annotations

from typing import TypeAlias

from fiberscope.models.graphs.nests import topological_order
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.rewrites.edits import (
    copy_graph,
    iterate_rewritable_joiners,
    list_joiner_operands,
    redirect,
    remove_block,
    replace_operands,
)

_Key: TypeAlias = tuple[object, ...]


def merge_common_scanners(graph: Graph) -> Graph:
    """Return a graph without duplicate scanners, repeaters, signal generators, joiners or arrays.

    A joiner with an operand twice keeps the operand once; a joiner with a single operand is removed. The
    tokens of all other streams do not change. A merged block waits for the slower of its consumers, so two
    paths of very different length may need deeper channels.
    """
    graph = copy_graph(graph)
    blocks: dict[_Key, Node] = {}
    for node in topological_order(graph):
        if node in iterate_rewritable_joiners(graph):
            _remove_duplicates(graph, node)
        if node.name in graph.nodes and (node.primitive.belongs_to_loop or node.primitive.loads):
            twin = blocks.setdefault(_compute_key(graph, node), node)
            if twin is not node:
                _merge(graph, node, twin)
    return graph


def _compute_key(graph: Graph, node: Node) -> _Key:
    """Return the key of a block: its function and its inputs."""
    inputs = sorted((stream.input, stream.source, stream.output) for stream in graph.list_streams_into(node))
    attributes = tuple(node[name] for name in sorted(node.primitive.attributes))
    return node.type, node.phase, attributes, tuple(inputs)


def _merge(graph: Graph, node: Node, twin: Node) -> None:
    outputs = {(stream.source, stream.output) for stream in graph.list_streams_from(node)}
    redirect(graph, {output: (twin.name, output[1]) for output in outputs})
    remove_block(graph, node.name)


def _remove_duplicates(graph: Graph, joiner: Node) -> None:
    """Remove duplicate operands of a joiner."""
    operands = list_joiner_operands(graph, joiner)
    distinct = list(dict.fromkeys(operands))
    if len(distinct) < len(operands):
        replace_operands(
            graph, joiner, distinct, {old: distinct.index(operand) for old, operand in enumerate(operands)}
        )
