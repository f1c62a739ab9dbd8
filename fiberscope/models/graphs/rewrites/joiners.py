"""N-ary joiners: a tree of joiners of one kind is one joiner, and unions of many are chains of two."""

from __future__ import annotations

from collections.abc import Iterator

from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.rewrites.surgery import (
    Way,
    copy_of,
    feed,
    fresh,
    joiners_of,
    phase_of,
    redirect,
    remove,
    ways_of,
    with_ways,
)

__all__ = ["chained_unions", "nary_joiners"]


def nary_joiners(graph: Graph) -> Graph:
    """A graph in which no joiner is an operand of another one of its kind, nor two compare the same streams.

    Unions of unions and intersections of intersections let the same coordinates through, with the same
    references, when all operands are compared at once; so do joiners that exist only because each takes two
    references along. Tokens behind them are as before.
    """
    graph = copy_of(graph)
    while _merge_any(graph) or _flatten_any(graph):
        pass
    return graph


def _merge_any(graph: Graph) -> bool:
    """Make one joiner of two that compare the same coordinates, if there are such."""
    seen: dict[tuple[object, ...], Node] = {}
    for node in joiners_of(graph):
        crds = frozenset(way.crd for way in ways_of(graph, node))
        twin = seen.setdefault((node.type, node.phase, node["index"], crds), node)
        if twin is not node:
            _merge(graph, node, twin)
            return True
    return False


def _merge(graph: Graph, node: Node, twin: Node) -> None:
    ways, more = ways_of(graph, twin), ways_of(graph, node)
    together = list(dict.fromkeys([*ways, *more]))
    with_ways(graph, twin, together, {old: together.index(way) for old, way in enumerate(ways)})
    refs = {
        (node.name, f"ref[{old}]"): (twin.name, f"ref[{together.index(way)}]") for old, way in enumerate(more)
    }
    redirect(graph, {(node.name, "crd"): (twin.name, "crd"), **refs})
    remove(graph, node.name)


def _flatten_any(graph: Graph) -> bool:
    """Give one joiner the operands of one that feeds it, if there is such."""
    for outer in joiners_of(graph):
        for inner in joiners_of(graph):
            if inner.type == outer.type and _feeds(inner, ways_of(graph, outer)):
                _flatten(graph, outer, inner)
                return True
    return False


def _feeds(inner: Node, ways: list[Way]) -> bool:
    """Return whether one joiner's coordinates go into another, each time with references of its own."""
    refs = [way.ref[0] for way in ways if way.crd == (inner.name, "crd")]
    return bool(refs) and set(refs) == {inner.name}


def _flatten(graph: Graph, outer: Node, inner: Node) -> None:
    """Put an inner joiner's operands in the place of its coordinates."""
    below = ways_of(graph, inner)
    moves = list(_moves(ways_of(graph, outer), inner, below))
    together = list(dict.fromkeys([*(way for way, _old in moves), *below]))
    moved = {old: together.index(way) for way, old in moves}
    with_ways(graph, outer, together, moved)


def _moves(ways: list[Way], inner: Node, below: list[Way]) -> Iterator[tuple[Way, int]]:
    """For each operand of the outer joiner what it is in the flat one."""
    for number, way in enumerate(ways):
        inside = way.crd == (inner.name, "crd")
        yield (below[int(way.ref[1][4:-1])] if inside else way), number


def chained_unions(graph: Graph) -> Graph:
    """A graph whose unions have two operands each: the public simulator has no others.

    Its hand-written sum of three unites the first two, and the third with what comes of them, once for each
    reference that goes along (weiya711/sam, ``test_mat_elemadd3.py``).
    """
    graph = copy_of(graph)
    for node in list(joiners_of(graph)):
        if node.primitive.unites and graph.arity(node) > 2:
            _chain(graph, node, ways_of(graph, node))
    return graph


def _chain(graph: Graph, node: Node, ways: list[Way]) -> None:
    """Put a chain of unions of two in the place of one of many."""
    crd, refs = ways[0].crd, [ways[0].ref]
    for way in ways[1:]:
        unions = [_of_two(graph, node, way, Way(crd, ref)) for ref in refs]
        crd = unions[0], "crd"
        refs = [*((union, "ref[1]") for union in unions), (unions[-1], "ref[0]")]
    moved = {(node.name, f"ref[{number}]"): ref for number, ref in enumerate(refs)}
    redirect(graph, {(node.name, "crd"): crd, **moved})
    remove(graph, node.name)


def _of_two(graph: Graph, node: Node, *ways: Way) -> str:
    """The name of a new union like another one, of two operands."""
    union = graph.add(node.type, fresh(graph), index=node["index"], **phase_of(node))
    for number, way in enumerate(ways):
        feed(graph, way.crd, union, f"crd[{number}]")
        feed(graph, way.ref, union, f"ref[{number}]")
    return union.name
