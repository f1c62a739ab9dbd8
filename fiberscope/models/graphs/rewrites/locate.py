"""Locate: replace the scanner of a dense level by a locator, which computes positions of coordinates."""

from __future__ import annotations

from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.rewrites.surgery import (
    Output,
    Way,
    copy_of,
    fed_by,
    feed,
    fresh,
    joiners_of,
    phase_of,
    redirect,
    referred_by,
    ways_of,
    with_ways,
)

__all__ = ["locate"]


def locate(graph: Graph) -> Graph:
    """Return a graph in which intersections with a dense level use locators.

    A dense level has every coordinate, so the other operands determine the intersection. A locator computes
    the
    reference into the dense level: fiber times size plus coordinate. A level below a unioner, whose fiber may
    be
    missing, keeps its scanner. If all operands are dense, one operand keeps its scanner.

    Source: SAM (ASPLOS 2023), Section 4.2 (iterate-locate) and Definition 4.1.
    """
    graph = copy_of(graph)
    for joiner in joiners_of(graph):
        while joiner.name in graph.nodes and (dense_way := _dense_way(graph, joiner)) is not None:
            _locate(graph, joiner, dense_way)
    return graph


def _dense_way(graph: Graph, joiner: Node) -> int | None:
    """Return the last operand that is a dense level without missing fibers; None if it is the only one."""
    if not joiner.primitive.intersects:
        return None
    ways = ways_of(graph, joiner)
    dense = [number for number, way in enumerate(ways) if _is_dense(graph, way)]
    several = len({way.crd for way in ways}) > 1
    return dense[-1] if dense and several else None


def _is_dense(graph: Graph, way: Way) -> bool:
    node = graph.nodes[way.crd[0]]
    dense = node.primitive.scans and node.level.full and way.ref == (node.name, "ref")
    return (
        dense and node["tensor"] in graph.formats and not _may_be_missing(graph, fed_by(graph, node, "ref"))
    )


def _may_be_missing(graph: Graph, output: Output | None) -> bool:
    """Return whether a reference stream may contain N, as after a unioner."""
    while output is not None:
        if graph.nodes[output[0]].primitive.unites:
            return True
        output = referred_by(graph, output)
    return False


def _locate(graph: Graph, joiner: Node, number: int) -> None:
    """Remove an operand from a joiner, and locate its references from the joined coordinates.

    The locator receives the coordinates also as references, since the reference of another operand may be N.
    """
    ways = ways_of(graph, joiner)
    scanner = graph.nodes[ways[number].crd[0]]
    own = {name: scanner[name] for name in ("index", "tensor", "mode")} | phase_of(scanner)
    left = [way for way in ways if way != ways[number]]
    locator = graph.add("locate", fresh(graph), **own)
    outputs = {"crd": "crd", f"ref[{number}]": "located"}
    redirect(graph, {(joiner.name, old): (locator.name, new) for old, new in outputs.items()})
    crd = left[0].crd if len(left) == 1 else (joiner.name, "crd")
    for port in ("crd", "ref"):
        feed(graph, crd, locator, port)
    _feed_base(graph, scanner, locator, crd)
    with_ways(graph, joiner, left, {ways.index(way): new for new, way in enumerate(left)})


def _feed_base(graph: Graph, scanner: Node, locator: Node, crd: Output) -> None:
    """Feed the fiber of each coordinate to the locator; the outermost level has a single fiber."""
    stored = graph.formats[scanner["tensor"]]
    if stored.level_of(int(scanner["mode"])) == 0:
        return
    fibers = fed_by(graph, scanner, "ref")
    assert fibers is not None
    attributes = {"index": scanner["index"], **phase_of(scanner)}
    generator = graph.add("repsiggen", fresh(graph), **attributes)
    repeat = graph.add("repeat", fresh(graph), tensor=scanner["tensor"], **attributes)
    feed(graph, crd, generator, "crd")
    feed(graph, fibers, repeat, "ref")
    feed(graph, (generator.name, "repsig"), repeat, "repsig")
    feed(graph, (repeat.name, "ref"), locator, "base")
