"""Drawing of a graph: a box for each block, and a line for the streams between two blocks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from fiberscope.models.graphs.expression import list_expressions
from fiberscope.models.graphs.faults import Unreadable
from fiberscope.models.graphs.netlist import Graph, Stream
from fiberscope.results.drawing.graph import Box, Bundle
from fiberscope.results.drawing.graph import Graph as Drawing
from fiberscope.results.drawing.layout import arrange
from fiberscope.results.drawing.svg import svg

LEGEND = {
    "own": "computes values",
    "block": "routes coordinates and references",
    "memory": "reads or writes a tensor",
}


def format_svg(
    graph: Graph, name: str, memory_of: Callable[[Stream], str | None] = lambda stream: None
) -> str:
    """Return the text of an SVG file; a tooltip at each line lists its streams.

    Args:
        name: first part of the title; the expressions of the graph follow.
        memory_of: the argument of ``build_drawing``.
    """
    drawing = build_drawing(graph, memory_of)
    return svg(drawing, arrange(drawing), f"{name}: {_describe_colours(graph)}")


def build_drawing(graph: Graph, memory_of: Callable[[Stream], str | None] = lambda stream: None) -> Drawing:
    """Return a drawing with a box for each block and a bundle for the streams between two blocks.

    Args:
        memory_of: name of the memory that holds back the tokens of a stream; it is a box in the stream.
    """
    names = {node.name: f"{node.label} #{node.name}" for node in graph.nodes.values()}
    boxes = {names[node.name]: Box(names[node.name], 1, node.primitive.box) for node in graph.nodes.values()}
    bundles: dict[tuple[str, str], Bundle] = {}
    for stream in graph.streams:
        memory = memory_of(stream)
        places = names[stream.source], *([memory] if memory else []), names[stream.target]
        description = f"{stream.kind}: {places[0]} {stream.output} to {places[-1]} {stream.input}"
        if memory:
            boxes[memory] = Box(memory, 1, "memory")
        for ends in pairwise(places):
            reverse = bundles.get((ends[1], ends[0]))
            if reverse is not None:
                reverse.up.append(description)
            else:
                bundles.setdefault(ends, Bundle(*ends)).down.append(description)
    return Drawing(boxes, tuple(bundles.values()), LEGEND)


def _describe_colours(graph: Graph) -> str:
    try:
        return "; ".join(map(str, list_expressions(graph)))
    except Unreadable:
        return "a graph of stream blocks"
