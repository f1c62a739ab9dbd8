"""RTL of a tree of mergers: parallel mergers, the leaves, and a root that merges their outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from fiberscope.hw.fibers import merge_rtl
from fiberscope.hw.fibers.merge import COORDINATE_BITS, MERGE_TASK
from fiberscope.hw.fibers.merge_rtl import MergerParameters
from fiberscope.hw.rtl.kit.channel import CAPACITY, LATENCY, PendingAdapter
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of
from fiberscope.hw.rtl.kit.wrapper import Composition, Link, Part, composed
from fiberscope.hw.stream import STREAM
from fiberscope.sim import Input, Output
from fiberscope.sim.names import numbered

TREE_WAYS = (2, 16)  # range of the number of ways of each merger


@dataclass(frozen=True)
class MergeTreeParameters(Parameters):
    """Parameters of a merge tree; widths in bits.

    Args:
        radix: number of ways of each leaf, 2 to 16.
        leaves: number of leaves, which is also the number of ways of the root, 2 to 16.
        capacity: capacity in tokens of the channel from each leaf to the root, 1 to 1,024.
        latency: latency of this channel in cycles, 1 to 64.
        coordinate_bits: width of a coordinate, 1 to 55.
        reference_bits: width of a reference, 1 to 64.
        value_bits: width of a value, 32 or 64.
    """

    radix: int = number(4, *TREE_WAYS)
    leaves: int = number(2, *TREE_WAYS)
    capacity: int = number(2, *CAPACITY)
    latency: int = number(1, *LATENCY)
    coordinate_bits: int = number(32, 1, COORDINATE_BITS)
    reference_bits: int = number(64, 1, 64)
    value_bits: int = one_of(64, 32, 64)

    def merger_parameters(self, radix: int) -> MergerParameters:
        """Return the parameters of a merger of the tree with this radix.

        Each merger has one stage: the channels between the mergers are the registers of the tree.
        """
        return MergerParameters(radix, self.coordinate_bits, self.reference_bits, self.value_bits, stages=1)


def compose(parameters: MergeTreeParameters) -> Composition:
    """Return the composition of mergers and channels.

    Each merger has a stream of tasks of its own: ``leaf_tasks[i]`` of leaf i, and ``tasks`` of the root.
    ``ways[i]`` is way i mod ``radix`` of leaf i // ``radix``. A task of the root that has n ways merges a
    fiber of each of the leaves 0 to n - 1. The sender must give each of these leaves a task of its own.
    """
    leaf = Part(merge_rtl.BLOCK, parameters.merger_parameters(parameters.radix))
    root = Part(merge_rtl.BLOCK, parameters.merger_parameters(parameters.leaves))
    leaves = numbered("leaf_", parameters.leaves)
    exports = {"tasks": "root.tasks"}
    exports |= {f"leaf_tasks[{i}]": f"{name}.tasks" for i, name in enumerate(leaves)}
    leaf_ways = [f"{name}.ways[{way}]" for name in leaves for way in range(parameters.radix)]
    exports |= {f"ways[{i}]": port for i, port in enumerate(leaf_ways)}
    return Composition(
        "merge_tree",
        dict.fromkeys(leaves, leaf) | {"root": root},
        tuple(
            Link(f"{name}.merged", f"root.ways[{i}]", parameters.capacity, parameters.latency)
            for i, name in enumerate(leaves)
        ),
        exports | {"merged": "root.merged"},
    )


class MergeTreeAdapter(PendingAdapter):
    """Adapter of a merge tree, which runs in place of all its mergers and channels."""

    PORTS = (
        Input("tasks", MERGE_TASK),
        Input("leaf_tasks", MERGE_TASK, array=True),
        Input("ways", STREAM, array=True),
        Output("merged", STREAM),
    )
    FIBERS_OF: ClassVar[Mapping[str, str]] = {"merged": "tasks"}  # each task gives one fiber


BLOCK = composed(
    "merge_tree",
    "merges fibers in two levels: leaves of radix ways each, and one merger behind channels",
    MergeTreeParameters,
    compose,
    MergeTreeAdapter,
)
