"""A machine drawn from its own composition: components alike as one box, channels as arrows."""

from fiberscope.results.drawing.graph import Graph, graph_of
from fiberscope.results.drawing.layout import Layout, arranged
from fiberscope.results.drawing.svg import svg

__all__ = ["Graph", "Layout", "arranged", "graph_of", "svg"]
