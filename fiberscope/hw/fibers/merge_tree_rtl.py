"""A tree of mergers as RTL: mergers side by side, and one that merges what they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from fiberscope.hw.fibers import merge_rtl as merger
from fiberscope.hw.fibers.merge import COORDINATE_BITS, MERGE_TASK
from fiberscope.hw.fibers.merge_rtl import MergerParameters
from fiberscope.hw.rtl.kit.channel import CAPACITY, LATENCY, PendingAdapter
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of
from fiberscope.hw.rtl.kit.wrapper import Composition, Link, Part, composed
from fiberscope.hw.stream import STREAM
from fiberscope.sim import Input, Output
from fiberscope.sim.names import numbered

TREE_WAYS = (2, 16)  # of each of its mergers


@dataclass(frozen=True)
class MergeTreeParameters(Parameters):
    """Parameters of a merge tree; widths in bits.

    Args:
        radix: number of ways of each leaf, 2 to 16.
        leaves: mergers side by side, the radix of the one behind them, 2 to 16.
        capacity: tokens in the channel behind each leaf, as of ``ChannelParameters``.
        latency: cycles of that channel, as there.
        coordinate_bits: 1 to 55.
        reference_bits: 1 to 64.
        value_bits: 32 or 64.
    """

    radix: int = number(4, *TREE_WAYS)
    leaves: int = number(2, *TREE_WAYS)
    capacity: int = number(2, *CAPACITY)
    latency: int = number(1, *LATENCY)
    coordinate_bits: int = number(32, 1, COORDINATE_BITS)
    reference_bits: int = number(64, 1, 64)
    value_bits: int = one_of(64, 32, 64)

    def merger(self, radix: int) -> MergerParameters:
        """The parameters of a merger of this radix in it."""
        return MergerParameters(radix, self.coordinate_bits, self.reference_bits, self.value_bits, stages=1)


def compose(parameters: MergeTreeParameters) -> Composition:
    """Every merger has tasks of its own: ``leaf_tasks`` and, for that behind them, ``tasks``."""
    leaf = Part(merger.BLOCK, parameters.merger(parameters.radix))
    root = Part(merger.BLOCK, parameters.merger(parameters.leaves))
    leaves = numbered("leaf_", parameters.leaves)
    exports = {"tasks": "root.tasks"}
    exports |= {f"leaf_tasks[{i}]": f"{name}.tasks" for i, name in enumerate(leaves)}
    ends = [f"{name}.ways[{way}]" for name in leaves for way in range(parameters.radix)]
    exports |= {f"ways[{i}]": end for i, end in enumerate(ends)}
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
    """A merge tree as one component."""

    PORTS = (
        Input("tasks", MERGE_TASK),
        Input("leaf_tasks", MERGE_TASK, array=True),
        Input("ways", STREAM, array=True),
        Output("merged", STREAM),
    )
    FIBERS_OF: ClassVar[Mapping[str, str]] = {"merged": "tasks"}


BLOCK = composed(
    "merge_tree",
    "merges fibers in two levels: leaves of radix ways each, and one merger behind channels",
    MergeTreeParameters,
    compose,
    MergeTreeAdapter,
)
