"""Reproducible random operands for a graph."""

from __future__ import annotations

from fiberscope.models.graphs.check import list_operands
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.operands import formats_of_operands

SCALAR = "3"


def generate_operands(graph: Graph, size: int = 8, *, integers: bool = True) -> dict[str, str]:
    """Return the text of a random tensor generator for each operand; about half of the values are zero.

    An operand without dimensions is the number ``SCALAR``. The seed of an operand is its position.

    Args:
        graph: the graph that reads the operands.
        size: size of each dimension.
        integers: whether the values of tensors are integers; otherwise they are real.
    """
    operands = {}
    for seed, (name, format) in enumerate(formats_of_operands(graph, list_operands(graph)).items()):
        shape, nonzeros = "x".join([str(size)] * len(format.order)), size ** len(format.order) // 2
        real = f"tensor:shape={shape},nonzeros={nonzeros}"
        kind = f"sam-random:shape={shape},sparsity=0.5" if integers else real
        operands[name] = f"{kind},seed={seed}" if shape else SCALAR
    return operands
