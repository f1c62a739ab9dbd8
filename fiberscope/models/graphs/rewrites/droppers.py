"""Dead droppers: remove droppers that never drop, or whose outer coordinates have no consumer."""

from __future__ import annotations

from fiberscope.models.graphs.nests import derive_nests, drops_empty_fibers
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.rewrites.edits import (
    Output,
    copy_graph,
    has_consumer,
    list_joiner_operands,
    redirect,
    reference_source,
    remove_block,
    source_of,
)


def remove_dead_droppers(graph: Graph) -> Graph:
    """Return a graph without coordinate droppers that drop nothing, or whose output ``outer`` is not read.

    A graph without such droppers is returned itself, not as a copy.

    A fiber below an existing coordinate is not empty: compressed levels and bit vectors store no empty fiber
    below a coordinate (``fiberscope.models.graphs.storage.store``), nor do dense levels. A fiber below a
    coordinate of a dense level may be empty, and so may a fiber of the output of an intersecter. Reducers
    still drop or keep the sums of empty fibers as before.
    """
    if not any(_is_dead(graph, node) for node in graph.nodes.values()):
        return graph
    graph = copy_graph(graph)
    # without ``empty``, a reducer follows the droppers of the graph, which the loop below removes
    _record_dropped_sums(graph)
    # a removed dropper can leave another dropper without a consumer of ``outer``, so repeat
    while dead := [node for node in graph.nodes.values() if _is_dead(graph, node)]:
        for node in dead:
            _bypass(graph, node)
    return graph


def _record_dropped_sums(graph: Graph) -> None:
    """Record at each reducer whether it drops empty sums, before the droppers disappear."""
    nests = derive_nests(graph)
    for node in graph.nodes.values():
        if node.primitive.reduces and drops_empty_fibers(graph, nests, node):
            node.attributes["empty"] = "drop"


def _is_dead(graph: Graph, node: Node) -> bool:
    # a dropper of values drops zeros, which any stream of values may have
    if not node.primitive.drops or node.primitive.output_kind("inner", node.attributes) == "val":
        return False
    inner = source_of(graph, node, "inner")
    assert inner is not None
    return not has_consumer(graph, (node.name, "outer")) or _is_full(graph, inner)


def _bypass(graph: Graph, node: Node) -> None:
    """Connect the consumers of a dropper to the sources of its inputs, and remove the dropper."""
    ports = {port: source_of(graph, node, port) for port in ("outer", "inner")}
    redirect(graph, {(node.name, port): source for port, source in ports.items() if source is not None})
    remove_block(graph, node.name)


def _is_full(graph: Graph, output: Output) -> bool:
    """Return whether no fiber of a coordinate stream is empty."""
    node = _find_scanning_block(graph, output)
    if node.primitive.scans:
        return _scans_full_fibers(graph, node)
    if node.primitive.unites:
        # a fiber of a union is empty only if the fibers of all operands are
        return any(
            _is_full(graph, operand.crd) for operand in list_joiner_operands(graph, node)
        ) or _unites_all_operands(graph, node)
    inner_port = node.primitive.full_fiber_inputs.get(output[1])
    source = source_of(graph, node, inner_port) if inner_port else None
    return source is not None and _is_full(graph, source)


def _find_scanning_block(graph: Graph, output: Output) -> Node:
    """Return the block of an output; for a bit-vector expander, the scanner before the expander."""
    node = graph.nodes[output[0]]
    word_source = source_of(graph, node, "ref") if node.primitive.expands else None
    return node if word_source is None else graph.nodes[word_source[0]]


def _scans_full_fibers(graph: Graph, scanner: Node) -> bool:
    """Return whether no fiber that a scanner receives is empty or missing."""
    origin = _find_origin(graph, scanner)
    return origin is not None and not graph.nodes[origin[0]].primitive.unites


def _find_origin(graph: Graph, scanner: Node) -> Output | None:
    """Return the source of the references of a scanner's fibers: a scanner, or a unioner of scanners.

    None if a fiber may be empty: in a written tensor, in the outermost level (of a tensor without entries),
    or in a level below a dense level.
    """
    if scanner["tensor"] in {writer["tensor"] for writer in graph.writers}:
        return None
    output = source_of(graph, scanner, "ref")
    while output is not None and _passes_references(graph.nodes[output[0]]):
        output = reference_source(graph, output)
    if output is None:
        return None
    # references of another tensor say nothing about the fibers of this tensor
    parent = _find_scanner(graph, output)
    if parent is None or parent["tensor"] != scanner["tensor"]:
        return None
    # a locator computes positions in a dense level, and has no format
    is_dense = not parent.primitive.scans or parent.level.has_all_coordinates
    return None if is_dense and not scanner.level.has_all_coordinates else output


def _passes_references(node: Node) -> bool:
    """Return whether a block passes references on unchanged."""
    return node.primitive.repeats or node.primitive.intersects


def _find_scanner(graph: Graph, output: Output) -> Node | None:
    """Return the scanner or locator that produced these references."""
    while (node := _find_scanning_block(graph, output)).primitive.unites:
        source = source_of(graph, node, output[1])
        if source is None:
            return None
        output = source
    return node if node.primitive.position_output == output[1] else None


def _unites_all_operands(graph: Graph, union: Node) -> bool:
    """Return whether a unioner joins the fibers of all operands of the unioner above.

    Each coordinate of the unioner above exists in at least one operand, whose fiber is not empty.
    """
    origins = set()
    for operand in list_joiner_operands(graph, union):
        scanner = _find_scanning_block(graph, operand.crd)
        origins.add(_find_origin(graph, scanner) if scanner.primitive.scans else None)
    names = {origin[0] for origin in origins if origin is not None}
    if None in origins or len(names) != 1:
        return False
    outer_union = graph.nodes[names.pop()]
    expected = {(outer_union.name, f"ref[{operand}]") for operand in range(graph.arity(outer_union))}
    return outer_union.primitive.unites and origins == expected
