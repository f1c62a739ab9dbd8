"""A machine drawn from its own composition: components alike as one box, channels as arrows."""

from fiberscope.results.drawing.graph import Graph, build_graph
from fiberscope.results.drawing.layout import Layout, arrange
from fiberscope.results.drawing.svg import svg

__all__ = ["Graph", "Layout", "arrange", "build_graph", "svg"]
