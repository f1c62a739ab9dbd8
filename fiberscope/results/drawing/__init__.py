"""Drawings of machines: a box for each family of components, arrows for channels."""

from fiberscope.results.drawing.graph import Graph, build_graph
from fiberscope.results.drawing.layout import Layout, arrange
from fiberscope.results.drawing.svg import svg

__all__ = ["Graph", "Layout", "arrange", "build_graph", "svg"]
