"""N-ary joiners: merge trees of equal joiners, and split unioners of many operands into chains."""

from __future__ import annotations

from collections.abc import Iterator

from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.rewrites.edits import (
    JoinerOperand,
    connect_output,
    copy_graph,
    iterate_rewritable_joiners,
    list_joiner_operands,
    new_name,
    phase_attribute,
    redirect,
    remove_block,
    replace_operands,
)


def merge_joiners(graph: Graph) -> Graph:
    """Return a graph without a joiner that feeds an equal joiner, and without joiners of equal operands.

    A unioner of unions, or an intersecter of intersections, passes the same coordinates and references if all
    operands are compared at once. Joiners that differ only in the references they pass are merged. The tokens
    after the joiners do not change. Joiners with skip streams remain as they are.
    """
    graph = copy_graph(graph)
    # each change starts the search again, as it may make further joiners equal
    while _merge_any(graph) or _flatten_any(graph):
        pass
    return graph


def _merge_any(graph: Graph) -> bool:
    """Merge two joiners of the same coordinates; return whether there were two."""
    joiners: dict[tuple[object, ...], Node] = {}
    for node in iterate_rewritable_joiners(graph):
        # the order of the operands and their references do not matter to the joined coordinates
        crds = frozenset(operand.crd for operand in list_joiner_operands(graph, node))
        twin = joiners.setdefault((node.type, node.phase, node["index"], crds), node)
        if twin is not node:
            _merge(graph, node, twin)
            return True
    return False


def _merge(graph: Graph, node: Node, twin: Node) -> None:
    """Give a joiner the operands of an equal joiner too, and remove the other one; ``twin`` remains."""
    twin_operands, node_operands = list_joiner_operands(graph, twin), list_joiner_operands(graph, node)
    union = list(dict.fromkeys([*twin_operands, *node_operands]))
    renumbering = {old: union.index(operand) for old, operand in enumerate(twin_operands)}
    replace_operands(graph, twin, union, renumbering)
    refs = {
        (node.name, f"ref[{old}]"): (twin.name, f"ref[{union.index(operand)}]")
        for old, operand in enumerate(node_operands)
    }
    redirect(graph, {(node.name, "crd"): (twin.name, "crd"), **refs})
    remove_block(graph, node.name)


def _flatten_any(graph: Graph) -> bool:
    """Merge a joiner into the joiner that it feeds; return whether there was such a pair."""
    for outer in iterate_rewritable_joiners(graph):
        for inner in iterate_rewritable_joiners(graph):
            if inner.type == outer.type and _feeds_with_own_references(
                inner, list_joiner_operands(graph, outer)
            ):
                _flatten(graph, outer, inner)
                return True
    return False


def _feeds_with_own_references(inner: Node, operands: list[JoinerOperand]) -> bool:
    """Return whether a joiner's coordinates enter another joiner, always with its own references."""
    refs = [operand.ref[0] for operand in operands if operand.crd == (inner.name, "crd")]
    return bool(refs) and set(refs) == {inner.name}


def _flatten(graph: Graph, outer: Node, inner: Node) -> None:
    """Replace the output of the inner joiner by its operands."""
    inner_operands = list_joiner_operands(graph, inner)
    moves = list(_iterate_moves(list_joiner_operands(graph, outer), inner, inner_operands))
    # an operand of ``inner`` whose references nobody takes still determines the coordinates
    union = list(dict.fromkeys([*(operand for operand, _old in moves), *inner_operands]))
    renumbering = {old: union.index(operand) for operand, old in moves}
    replace_operands(graph, outer, union, renumbering)


def _iterate_moves(
    operands: list[JoinerOperand], inner: Node, inner_operands: list[JoinerOperand]
) -> Iterator[tuple[JoinerOperand, int]]:
    """Yield each operand of the outer joiner after the merge, and its number before."""
    for number, operand in enumerate(operands):
        is_inner = operand.crd == (inner.name, "crd")
        # the slice takes the number i from ``ref[i]``
        yield (inner_operands[int(operand.ref[1][4:-1])] if is_inner else operand), number


def chain_unions(graph: Graph) -> Graph:
    """Return a graph whose unioners have two operands each, as in the public simulator.

    Its hand-written sum of three tensors unites the first two, and then the third with their union, once for
    each reference (weiya711/sam, ``test_mat_elemadd3.py``).
    """
    graph = copy_graph(graph)
    for node in list(iterate_rewritable_joiners(graph)):
        if node.primitive.unites and graph.arity(node) > 2:
            _chain(graph, node, list_joiner_operands(graph, node))
    return graph


def _chain(graph: Graph, node: Node, operands: list[JoinerOperand]) -> None:
    """Replace a unioner of many operands by a chain of unioners of two.

    For each further operand there is a unioner for each operand so far, which passes its references on.
    """
    crd, refs = operands[0].crd, [operands[0].ref]
    for operand in operands[1:]:
        # in each union, ``ref[0]`` is the reference of the new operand, ``ref[1]`` the one passed on
        unions = [_add_binary_union(graph, node, operand, JoinerOperand(crd, ref)) for ref in refs]
        # all of these unions have the same coordinates
        crd = unions[0], "crd"
        refs = [*((union, "ref[1]") for union in unions), (unions[-1], "ref[0]")]
    moves = {(node.name, f"ref[{number}]"): ref for number, ref in enumerate(refs)}
    redirect(graph, {(node.name, "crd"): crd, **moves})
    remove_block(graph, node.name)


def _add_binary_union(graph: Graph, node: Node, *operands: JoinerOperand) -> str:
    """Add a unioner of two operands, and return its name."""
    union = graph.add(node.type, new_name(graph), index=node["index"], **phase_attribute(node))
    for number, operand in enumerate(operands):
        connect_output(graph, operand.crd, union, f"crd[{number}]")
        connect_output(graph, operand.ref, union, f"ref[{number}]")
    return union.name
