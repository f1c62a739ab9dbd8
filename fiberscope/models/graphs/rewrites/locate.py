"""Locate: replace the scanner of a dense level by a locator, which computes positions of coordinates."""

from __future__ import annotations

from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.rewrites.edits import (
    JoinerOperand,
    Output,
    connect_output,
    copy_graph,
    iterate_rewritable_joiners,
    list_joiner_operands,
    new_name,
    phase_attribute,
    redirect,
    reference_source,
    replace_operands,
    source_of,
)


def locate(graph: Graph) -> Graph:
    """Return a copy of a graph in which intersections with a dense level use locators.

    A dense level has every coordinate, so the other operands determine the intersection. A locator computes
    the reference into the dense level: fiber times size plus coordinate. A level below a unioner, whose fiber
    may be missing, keeps its scanner. If all operands are dense, one operand keeps its scanner.

    Source: SAM (ASPLOS 2023), Section 4.2 (iterate-locate) and Definition 4.1.
    """
    graph = copy_graph(graph)
    for joiner in iterate_rewritable_joiners(graph):
        # each step removes an operand; the joiner itself disappears when a single operand is left
        while (
            joiner.name in graph.nodes and (dense_operand := _find_dense_operand(graph, joiner)) is not None
        ):
            _locate(graph, joiner, dense_operand)
    return graph


def _find_dense_operand(graph: Graph, joiner: Node) -> int | None:
    """Return the number of the last operand that is a dense level without missing fibers.

    None without such an operand, or if all operands have the same coordinates.
    """
    if not joiner.primitive.intersects:
        return None
    operands = list_joiner_operands(graph, joiner)
    dense = [number for number, operand in enumerate(operands) if _is_dense(graph, operand)]
    has_several = len({operand.crd for operand in operands}) > 1
    return dense[-1] if dense and has_several else None


def _is_dense(graph: Graph, operand: JoinerOperand) -> bool:
    node = graph.nodes[operand.crd[0]]
    # coordinates and references of one scanner: a reference that comes from elsewhere is no position here
    dense = node.primitive.scans and node.level.has_all_coordinates and operand.ref == (node.name, "ref")
    return (
        dense
        and node["tensor"] in graph.formats  # ``_feed_base`` needs the number of the level
        and not _may_be_missing(graph, source_of(graph, node, "ref"))
    )


def _may_be_missing(graph: Graph, output: Output | None) -> bool:
    """Return whether a reference stream may contain N, as after a unioner."""
    while output is not None:
        if graph.nodes[output[0]].primitive.unites:
            return True
        output = reference_source(graph, output)
    return False


def _locate(graph: Graph, joiner: Node, number: int) -> None:
    """Remove an operand from a joiner, and locate its references from the joined coordinates.

    The locator receives the coordinates also as references, since the reference of another operand may be N.
    """
    operands = list_joiner_operands(graph, joiner)
    scanner = graph.nodes[operands[number].crd[0]]
    attributes = {name: scanner[name] for name in ("index", "tensor", "mode")} | phase_attribute(scanner)
    other_operands = [operand for operand in operands if operand != operands[number]]
    locator = graph.add("locate", new_name(graph), **attributes)
    # the consumers move before the locator gets its own inputs, which must stay at the joiner
    outputs = {"crd": "crd", f"ref[{number}]": "located"}
    redirect(graph, {(joiner.name, old): (locator.name, new) for old, new in outputs.items()})
    # ``replace_operands`` removes a joiner with one operand; the locator then reads the operand's coordinates
    crd = other_operands[0].crd if len(other_operands) == 1 else (joiner.name, "crd")
    for port in ("crd", "ref"):
        connect_output(graph, crd, locator, port)
    _feed_base(graph, scanner, locator, crd)
    renumbering = {operands.index(operand): new for new, operand in enumerate(other_operands)}
    replace_operands(graph, joiner, other_operands, renumbering)


def _feed_base(graph: Graph, scanner: Node, locator: Node, crd: Output) -> None:
    """Repeat the reference to the fiber for each coordinate, and feed it to the locator as its base.

    The outermost level has a single fiber, number 0, and needs no base.
    """
    format = graph.formats[scanner["tensor"]]
    if format.level_of(int(scanner["mode"])) == 0:
        return
    fibers = source_of(graph, scanner, "ref")
    assert fibers is not None
    attributes = {"index": scanner["index"], **phase_attribute(scanner)}
    generator = graph.add("repsiggen", new_name(graph), **attributes)
    repeat = graph.add("repeat", new_name(graph), tensor=scanner["tensor"], **attributes)
    connect_output(graph, crd, generator, "crd")
    connect_output(graph, fibers, repeat, "ref")
    connect_output(graph, (generator.name, "repsig"), repeat, "repsig")
    connect_output(graph, (repeat.name, "ref"), locator, "base")
