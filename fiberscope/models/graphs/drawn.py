"""Tensors for a graph that nobody gave any: small, of whole numbers, the same every time."""

from __future__ import annotations

from fiberscope.models.graphs.check import operands_of
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.operands import formats_given

__all__ = ["drawn"]

SCALAR = "3"


def drawn(graph: Graph, size: int = 8) -> dict[str, str]:
    """For each operand a tensor of this size in each dimension, half of it zeros, as commands name it."""
    given = {}
    for seed, (name, format) in enumerate(formats_given(graph, operands_of(graph)).items()):
        shape = "x".join([str(size)] * len(format.order))
        given[name] = f"sam-random:shape={shape},sparsity=0.5,seed={seed}" if shape else SCALAR
    return given
