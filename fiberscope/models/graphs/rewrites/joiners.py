"""N-ary joiners: merge trees of equal joiners, and split unioners of many operands into chains."""

from __future__ import annotations

from collections.abc import Iterator

from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.rewrites.surgery import (
    Way,
    connect_output,
    copy_graph,
    joiners_of,
    new_name,
    phase_attribute,
    redirect,
    remove,
    replace_ways,
    ways_of,
)


def nary_joiners(graph: Graph) -> Graph:
    """Return a graph without a joiner that feeds an equal joiner, and without joiners of equal operands.

    A unioner of unions, or an intersecter of intersections, passes the same coordinates and references if all
    operands are compared at once. Joiners that differ only in the references they pass are merged. The tokens
    after the joiners do not change.
    """
    graph = copy_graph(graph)
    while _merge_any(graph) or _flatten_any(graph):
        pass
    return graph


def _merge_any(graph: Graph) -> bool:
    """Merge two joiners of the same coordinates; return whether there were two."""
    joiners: dict[tuple[object, ...], Node] = {}
    for node in joiners_of(graph):
        crds = frozenset(way.crd for way in ways_of(graph, node))
        twin = joiners.setdefault((node.type, node.phase, node["index"], crds), node)
        if twin is not node:
            _merge(graph, node, twin)
            return True
    return False


def _merge(graph: Graph, node: Node, twin: Node) -> None:
    ways, node_ways = ways_of(graph, twin), ways_of(graph, node)
    ways_union = list(dict.fromkeys([*ways, *node_ways]))
    replace_ways(graph, twin, ways_union, {old: ways_union.index(way) for old, way in enumerate(ways)})
    refs = {
        (node.name, f"ref[{old}]"): (twin.name, f"ref[{ways_union.index(way)}]")
        for old, way in enumerate(node_ways)
    }
    redirect(graph, {(node.name, "crd"): (twin.name, "crd"), **refs})
    remove(graph, node.name)


def _flatten_any(graph: Graph) -> bool:
    """Merge a joiner into the joiner that it feeds; return whether there was such a pair."""
    for outer in joiners_of(graph):
        for inner in joiners_of(graph):
            if inner.type == outer.type and _feeds(inner, ways_of(graph, outer)):
                _flatten(graph, outer, inner)
                return True
    return False


def _feeds(inner: Node, ways: list[Way]) -> bool:
    """Return whether a joiner's coordinates enter another joiner, always with its own references."""
    refs = [way.ref[0] for way in ways if way.crd == (inner.name, "crd")]
    return bool(refs) and set(refs) == {inner.name}


def _flatten(graph: Graph, outer: Node, inner: Node) -> None:
    """Replace the output of the inner joiner by its operands."""
    inner_ways = ways_of(graph, inner)
    moves = list(_moves(ways_of(graph, outer), inner, inner_ways))
    ways_union = list(dict.fromkeys([*(way for way, _old in moves), *inner_ways]))
    numbers = {old: ways_union.index(way) for way, old in moves}
    replace_ways(graph, outer, ways_union, numbers)


def _moves(ways: list[Way], inner: Node, inner_ways: list[Way]) -> Iterator[tuple[Way, int]]:
    """Yield each operand of the outer joiner after the merge, and its number before."""
    for number, way in enumerate(ways):
        is_inner = way.crd == (inner.name, "crd")
        yield (inner_ways[int(way.ref[1][4:-1])] if is_inner else way), number


def chain_unions(graph: Graph) -> Graph:
    """Return a graph whose unioners have two operands each, as in the public simulator.

    Its hand-written sum of three tensors unites the first two, and then the third with their union, once for
    each reference (weiya711/sam, ``test_mat_elemadd3.py``).
    """
    graph = copy_graph(graph)
    for node in list(joiners_of(graph)):
        if node.primitive.unites and graph.arity(node) > 2:
            _chain(graph, node, ways_of(graph, node))
    return graph


def _chain(graph: Graph, node: Node, ways: list[Way]) -> None:
    """Replace a unioner of many operands by a chain of unioners of two."""
    crd, refs = ways[0].crd, [ways[0].ref]
    for way in ways[1:]:
        unions = [_add_binary_union(graph, node, way, Way(crd, ref)) for ref in refs]
        crd = unions[0], "crd"
        refs = [*((union, "ref[1]") for union in unions), (unions[-1], "ref[0]")]
    moves = {(node.name, f"ref[{number}]"): ref for number, ref in enumerate(refs)}
    redirect(graph, {(node.name, "crd"): crd, **moves})
    remove(graph, node.name)


def _add_binary_union(graph: Graph, node: Node, *ways: Way) -> str:
    """Add a unioner of two operands, and return its name."""
    union = graph.add(node.type, new_name(graph), index=node["index"], **phase_attribute(node))
    for number, way in enumerate(ways):
        connect_output(graph, way.crd, union, f"crd[{number}]")
        connect_output(graph, way.ref, union, f"ref[{number}]")
    return union.name
