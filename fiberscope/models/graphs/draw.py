"""Drawing of a graph: a box for each block, and a line for the streams between two blocks."""

from __future__ import annotations

from fiberscope.models.graphs.expression import expressions_of
from fiberscope.models.graphs.faults import Unreadable
from fiberscope.models.graphs.netlist import Graph
from fiberscope.results.drawing.graph import Box, Bundle
from fiberscope.results.drawing.graph import Graph as Drawing
from fiberscope.results.drawing.layout import arrange
from fiberscope.results.drawing.svg import svg


def svg_text(graph: Graph, name: str) -> str:
    """Return the text of an SVG file; a tooltip at each line lists its streams.

    Args:
        graph: the graph.
        name: first part of the title; the expressions of the graph follow.
    """
    drawing = drawing_of(graph)
    return svg(drawing, arrange(drawing), f"{name}: {_meaning(graph)}")


def drawing_of(graph: Graph) -> Drawing:
    """Return a drawing with a box for each block and a bundle for the streams between two blocks."""
    names = {node.name: f"{node.label} #{node.name}" for node in graph.nodes.values()}
    boxes = {names[node.name]: Box(names[node.name], 1, node.primitive.box) for node in graph.nodes.values()}
    bundles: dict[tuple[str, str], Bundle] = {}
    for stream in graph.streams:
        ends = names[stream.source], names[stream.target]
        reverse = bundles.get((ends[1], ends[0]))
        description = f"{stream.kind}: {ends[0]} {stream.output} to {ends[1]} {stream.input}"
        if reverse is not None:
            reverse.up.append(description)
        else:
            bundles.setdefault(ends, Bundle(*ends)).down.append(description)
    return Drawing(boxes, tuple(bundles.values()))


def _meaning(graph: Graph) -> str:
    try:
        return "; ".join(map(str, expressions_of(graph)))
    except Unreadable:
        return "a graph of stream blocks"
