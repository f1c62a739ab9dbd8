"""A checked graph with its operands, ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.operands import Operand
from fiberscope.models.graphs.rewrites.joiners import chain_unions


@dataclass(frozen=True)
class PreparedGraph:
    """A checked graph with its operands.

    Args:
        name: name of the graph.
        operands: operands by name.
        sizes: sizes of the index variables.
        assignments: assignments that the graph computes; empty if they cannot be derived.
        unreadable_reason: reason for missing assignments.
    """

    name: str
    graph: Graph
    operands: Mapping[str, Operand]
    sizes: Mapping[str, int]
    assignments: tuple[Assignment, ...]
    unreadable_reason: str = ""

    @property
    def formats(self) -> dict[str, Format]:
        """Return the formats of the tensors that the graph writes and reads, without scalars."""
        writers: dict[str, list[Node]] = {}
        for node in self.graph.nodes.values():
            if node.primitive.writes and not node.writes_values:
                writers.setdefault(node["tensor"], []).append(node)
        result_formats = {name: self.graph.format_of(name, levels) for name, levels in writers.items()}
        operand_formats = {name: operand.stored.format for name, operand in self.operands.items()}
        return {
            name: tensor_format
            for name, tensor_format in (result_formats | operand_formats).items()
            if tensor_format.letters
        }

    @property
    def title(self) -> str:
        """Return the assignments as text, or a note that no expression can be read."""
        return "; ".join(map(str, self.assignments)) or "a graph of which no expression can be read"

    def with_timing(self, timing: str) -> PreparedGraph:
        """Return the graph with the blocks of a timing (``machine`` or ``sam``).

        With ``sam``, unioners of more than two operands become chains of unioners of two.
        """
        return replace(self, graph=chain_unions(self.graph)) if timing == "sam" else self
