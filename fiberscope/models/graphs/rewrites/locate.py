"""Locate: where a level is dense it is asked for a coordinate's position instead of being walked along."""

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
    """A graph in which intersections with a dense level locate in it.

    A dense level has every coordinate: what the other operands have is what goes on. So the dense one is not
    scanned; a locator works out its reference, the fiber times the size plus the coordinate. Levels whose
    fiber may be missing, below a union, stay as they are, as does one operand of those that are all dense.

    Source: SAM (ASPLOS 2023), Section 4.2 (iterate-locate) and Definition 4.1.
    """
    graph = copy_of(graph)
    for joiner in joiners_of(graph):
        while joiner.name in graph.nodes and (dense_way := _dense_way(graph, joiner)) is not None:
            _locate(graph, joiner, dense_way)
    return graph


def _dense_way(graph: Graph, joiner: Node) -> int | None:
    """The last operand that is a dense level of a fiber that is there, unless it is the only one."""
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
    """Return whether a stream of references may have an N: if a union is where they come from."""
    while output is not None:
        if graph.nodes[output[0]].primitive.unites:
            return True
        output = referred_by(graph, output)
    return False


def _locate(graph: Graph, joiner: Node, number: int) -> None:
    """Take one operand out of a joiner, and have its references located from what the others have.

    The locator asks for every coordinate: what goes along with these in the place of a reference are the
    coordinates themselves, since an operand's reference may be N.
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
    """Tell the locator the fiber of each coordinate; the outermost level of a tensor has but one."""
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
