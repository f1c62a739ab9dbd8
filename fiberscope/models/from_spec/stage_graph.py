"""The stream graph of a stage: its blocks, its cut, and the streams that cross the cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fiberscope.models.from_spec.arithmetic import StageArithmetic
from fiberscope.models.from_spec.stages import find_stage_name
from fiberscope.models.graphs.machine import block_names
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.models.trace.plan import LoopPlan
from fiberscope.models.trace.specification import Einsum
from fiberscope.workloads.canonical import Integers


@dataclass(frozen=True)
class Crossing:
    """A stream that crosses the cut.

    Args:
        kind: ``crd`` for coordinates or ``ref`` for references.
        loop: loop of the coordinates; empty for references.
        is_output: whether the coordinates are coordinates of the output.
        groups: whether the coordinates divide the output into groups whose elements are read back together.
        segments: for references to fibers, where each fiber begins, if a task with an empty fiber has no
            work; else None.
    """

    kind: str
    loop: str = ""
    is_output: bool = False
    groups: bool = False
    segments: Integers | None = None


@dataclass(frozen=True)
class StageGraph:
    """The stream graph of a stage.

    Args:
        einsum: the Einsum whose output the stage writes.
        graph: all blocks of the stage, with the blocks of one instance.
        cut: the node that dispatches tasks.
        crossings: the streams that cross the cut, in the order of its ports.
        leaf: names of the nodes after the cut, of which each instance has a copy; ``sums`` is not one.
        sums: the node that adds results of tasks at the same points; None if tasks write different points.
        loops: loops of the output that each instance writes, in the order of its levels.
        plan: plan of the loops of ``einsum``.
        tensors: the stored tensors that the graph reads, by name.
        orders: for each of these tensors and the output, the ranks of its fibertree from the root.
        formatted: the same orders as in the storage formats. They contain the pieces of a rank also if the
            fibertree leaves the rank unpartitioned.
        arithmetic: functions of the operators, and empty values.
        sources: for each tensor, the name of the Einsum that wrote the version that is read; empty for an
            input.
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

    def piece(self, tensor: str, level: int) -> int:
        """Return the coordinates per fiber of a level whose fibers are pieces of a fixed size; else 0.

        Pieces by occupancy have no fixed size. The last piece of a rank may have fewer coordinates.

        Args:
            tensor: name of the tensor in the graph.
            level: number of the level, from 0 at the root.
        """
        ranks = self.orders[tensor]
        for split in self.plan.splits.values():
            # not strict: a split has one name more than sizes, as its last name is of single coordinates
            pairs = zip(split.names, split.names[1:], self.plan.list_piece_sizes(split), strict=False)
            for upper, lower, size in pairs:
                # without the upper rank, the fibertree leaves the rank unpartitioned: its fibers are whole
                if lower == ranks[level] and upper in ranks:
                    return size
        return 0

    @property
    def name(self) -> str:
        """Return the name of the stage, for a machine with several stages."""
        return find_stage_name(self.einsum.name)

    @cached_property
    def names(self) -> dict[str, str]:
        """Return the name of each node's block."""
        return block_names(self.graph.nodes.values())


def strip_primes(tensor: str) -> str:
    """Return the specification's name of a tensor; in a graph, the second access of ``A`` is named ``A'``."""
    return tensor.partition("'")[0]
