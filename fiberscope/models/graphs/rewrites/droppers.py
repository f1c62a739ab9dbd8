"""Dead droppers: remove droppers that never drop, or whose outer coordinates have no consumer."""

from __future__ import annotations

from fiberscope.models.graphs.nests import drops_empty, nests_of
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.rewrites.surgery import (
    Output,
    copy_of,
    fed_by,
    read_by,
    redirect,
    referred_by,
    remove,
    ways_of,
)

__all__ = ["dead_droppers"]


def dead_droppers(graph: Graph) -> Graph:
    """Return a graph without the coordinate droppers that drop nothing.

    A fiber below an existing coordinate is not empty: compressed levels and bit vectors store no empty fiber
    below
    a coordinate (``fiberscope.models.graphs.storage.store``), nor do dense levels. The output of an
    intersecter
    may have empty fibers. Reducers still drop or keep the sums of empty fibers as before.
    """
    if not any(_is_dead(graph, node) for node in graph.nodes.values()):
        return graph
    graph = copy_of(graph)
    _settle_reducers(graph)
    while dead := [node for node in graph.nodes.values() if _is_dead(graph, node)]:
        for node in dead:
            _bypass(graph, node)
    return graph


def _settle_reducers(graph: Graph) -> None:
    """Record at each reducer whether it drops empty sums, before the droppers disappear."""
    nests = nests_of(graph)
    for node in graph.nodes.values():
        if node.primitive.reduces and drops_empty(graph, nests, node):
            node.attributes["empty"] = "drop"


def _is_dead(graph: Graph, node: Node) -> bool:
    if not node.primitive.drops or node.primitive.makes("inner", node.attributes) == "val":
        return False
    inner = fed_by(graph, node, "inner")
    assert inner is not None
    return not read_by(graph, (node.name, "outer")) or _is_full(graph, inner)


def _bypass(graph: Graph, node: Node) -> None:
    ports = {port: fed_by(graph, node, port) for port in ("outer", "inner")}
    redirect(graph, {(node.name, port): source for port, source in ports.items() if source is not None})
    remove(graph, node.name)


def _is_full(graph: Graph, output: Output) -> bool:
    """Return whether no fiber of a coordinate stream is empty."""
    node = _scanning(graph, output)
    if node.primitive.scans:
        return _scans_full_fibers(graph, node)
    if node.primitive.unites:
        return any(_is_full(graph, way.crd) for way in ways_of(graph, node)) or _unites_all(graph, node)
    through = node.primitive.through.get(output[1])
    source = fed_by(graph, node, through) if through else None
    return source is not None and _is_full(graph, source)


def _scanning(graph: Graph, output: Output) -> Node:
    """Return the block of an output; for a bit-vector expander, the scanner before the expander."""
    node = graph.nodes[output[0]]
    words = fed_by(graph, node, "ref") if node.primitive.expands else None
    return node if words is None else graph.nodes[words[0]]


def _scans_full_fibers(graph: Graph, scanner: Node) -> bool:
    """Return whether no fiber that a scanner receives is empty or missing."""
    origin = _origin(graph, scanner)
    return origin is not None and not graph.nodes[origin[0]].primitive.unites


def _origin(graph: Graph, scanner: Node) -> Output | None:
    """Return the source of the references of a scanner's fibers: a scanner, or a unioner of scanners.

    None if a fiber may be empty: in a written tensor, in the outermost level (of a tensor without entries),
    or in
    a level below a dense level.
    """
    if scanner["tensor"] in {writer["tensor"] for writer in graph.writers}:
        return None
    output = fed_by(graph, scanner, "ref")
    while output is not None and _passes_on(graph.nodes[output[0]]):
        output = referred_by(graph, output)
    if output is None:
        return None
    above = _scanner_of(graph, output)
    stored = above is not None and above["tensor"] == scanner["tensor"]
    full = above is not None and (not above.level.full or scanner.level.full)
    return output if stored and full else None


def _passes_on(node: Node) -> bool:
    """Return whether a block passes references on unchanged."""
    return node.primitive.repeats or node.primitive.intersects


def _scanner_of(graph: Graph, output: Output) -> Node | None:
    """Return the scanner or locator that produced these references."""
    while (node := _scanning(graph, output)).primitive.unites:
        source = fed_by(graph, node, output[1])
        if source is None:
            return None
        output = source
    return node if node.primitive.positions == output[1] else None


def _unites_all(graph: Graph, union: Node) -> bool:
    """Return whether a unioner joins the fibers of all operands of the unioner above; one is present."""
    origins = set()
    for way in ways_of(graph, union):
        scanner = _scanning(graph, way.crd)
        origins.add(_origin(graph, scanner) if scanner.primitive.scans else None)
    names = {origin[0] for origin in origins if origin is not None}
    if None in origins or len(names) != 1:
        return False
    above = graph.nodes[names.pop()]
    every = {(above.name, f"ref[{way}]") for way in range(graph.arity(above))}
    return above.primitive.unites and origins == every
