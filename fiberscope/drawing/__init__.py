"""A machine drawn from its own composition: components alike as one box, channels as arrows."""

from fiberscope.drawing.graph import Graph, graph_of
from fiberscope.drawing.layout import Layout, arranged
from fiberscope.drawing.svg import svg

__all__ = ["Graph", "Layout", "arranged", "graph_of", "svg"]
