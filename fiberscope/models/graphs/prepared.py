"""A graph that is ready to run: checked, with its operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.operands import Operand
from fiberscope.models.graphs.rewrites.joiners import chained_unions

__all__ = ["PreparedGraph"]


@dataclass(frozen=True)
class PreparedGraph:
    """A checked graph with its operands.

    Args:
        name: the name of the graph.
        graph: checked.
        operands: the operands by name.
        sizes: the sizes of the index variables.
        meant: what the graph computes; nothing where that cannot be told, for the reason in ``unread``.
    """

    name: str
    graph: Graph
    operands: Mapping[str, Operand]
    sizes: Mapping[str, int]
    meant: tuple[Assignment, ...]
    unread: str = ""

    @property
    def formats(self) -> dict[str, Format]:
        """Return the formats of the tensors that the graph writes and reads, without scalars."""
        writers: dict[str, list[Node]] = {}
        for node in self.graph.nodes.values():
            if node.primitive.writes and not node.writes_values:
                writers.setdefault(node["tensor"], []).append(node)
        written = {name: self.graph.format_of(name, levels) for name, levels in writers.items()}
        read = {name: operand.stored.format for name, operand in self.operands.items()}
        return {name: stored for name, stored in (written | read).items() if stored.letters}

    @property
    def title(self) -> str:
        """Return what the graph computes."""
        return "; ".join(map(str, self.meant)) or "a graph of which no expression can be read"

    def timed(self, timing: str) -> PreparedGraph:
        """Return the graph with the blocks of this timing."""
        return replace(self, graph=chained_unions(self.graph)) if timing == "sam" else self
