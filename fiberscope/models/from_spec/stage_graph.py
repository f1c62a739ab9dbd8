"""The stream graph of a stage: its blocks, where its loops are cut, and what the cut passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fiberscope.models.from_spec.arithmetic import StageArithmetic
from fiberscope.models.graphs.machine import block_names
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.models.trace.plan import LoopPlan
from fiberscope.models.trace.specification import Einsum
from fiberscope.workloads.canonical import Integers

__all__ = ["Crossing", "StageGraph", "base_name"]


@dataclass(frozen=True)
class Crossing:
    """A stream that goes through the cut.

    Args:
        kind: ``crd`` or ``ref``.
        loop: the loop of coordinates; empty for other streams.
        kept: whether the output has these coordinates.
        groups: whether these, of a piece of one of its ranks, tell which of its elements come together.
        segments: of references where the fibers that they name begin, if an empty one leaves nothing to do.
    """

    kind: str
    loop: str = ""
    kept: bool = False
    groups: bool = False
    segments: Integers | None = None


@dataclass(frozen=True)
class StageGraph:
    """A stage as a graph.

    Args:
        einsum: whose output is written.
        graph: of all its blocks.
        cut: the node that deals tasks.
        crossings: what goes through it, in order.
        leaf: names of the nodes behind it.
        sums: the node that adds up what tasks give to the same points, if they do.
        loops: the loops of the output, that each instance writes, in the order of its levels.
        plan: the loops of the Einsum that writes.
        tensors: what the graph reads, by name.
        orders: of each of these, and of the output, the ranks as its tree has them.
        formatted: these orders with the pieces of ranks that stay whole, as formats have them.
        arithmetic: what operators mean.
        sources: of each tensor the Einsum that has written what is read of it, by name; empty of an input.
    """

    einsum: Einsum
    graph: Graph
    cut: Node
    crossings: tuple[Crossing, ...]
    leaf: frozenset[str]
    sums: Node | None
    loops: tuple[str, ...]
    plan: LoopPlan
    tensors: Mapping[str, StoredTensor]
    orders: Mapping[str, tuple[str, ...]]
    formatted: Mapping[str, tuple[str, ...]]
    arithmetic: StageArithmetic
    sources: Mapping[str, str] = field(default_factory=dict)

    def piece(self, tensor: str, place: int) -> int:
        """Return how many coordinates a fiber of a level has room for, if it is a piece by shape; else 0."""
        ranks = self.orders[tensor]
        for split in self.plan.splits.values():
            pairs = zip(split.names, split.names[1:], self.plan.piece_sizes(split), strict=False)
            for upper, lower, size in pairs:
                if lower == ranks[place] and upper in ranks:
                    return size
        return 0

    @property
    def name(self) -> str:
        """Return the name of the stage, if there are several."""
        return self.einsum.name.lower().replace("@", "_")

    @cached_property
    def names(self) -> dict[str, str]:
        """Return the name of each node's block."""
        return block_names(self.graph.nodes.values())


def base_name(tensor: str) -> str:
    """The name that a specification has for a tensor of a graph, which may be read twice."""
    return tensor.partition("'")[0]
