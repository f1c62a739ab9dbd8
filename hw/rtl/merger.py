"""The high-radix merger as RTL: the twin of ``hw.merge.HighRadixMerger``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyrtl

from hw.merge import COORDINATE_BITS, RADIX, HighRadixMerger
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.backend import Backend
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import Interface, Stream, Token, streams
from hw.rtl.kit.parameters import Parameters, check_range, check_value_bits
from hw.rtl.kit.smallest import Candidate, smallest
from hw.rtl.kit.trees import all_up_to
from hw.rtl.kit.twin import InputStream, Signal, Streams, index_bits, named
from hw.stream import DATA, STOP
from sim.channel import Channel

WAYS = (RADIX[0], 64)  # of the component's, those up to which a module is tried


@dataclass(frozen=True)
class MergerParameters(Parameters):
    """What a merger is made for; widths in bits.

    Args:
        radix: number of ways, as ``WAYS`` says: 2 to 64.
        coordinate_bits: 1 to 55, as in the component (``COORDINATE_BITS``).
        reference_bits: 1 to 64.
        value_bits: 32 or 64.

    Raises:
        ValueError: for a number out of its range.
    """

    radix: int = 64
    coordinate_bits: int = 32
    reference_bits: int = 64
    value_bits: int = 64

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check_range("merger", "radix", self.radix, *WAYS)
        check_range("merger", "coordinate_bits", self.coordinate_bits, 1, COORDINATE_BITS)
        check_range("merger", "reference_bits", self.reference_bits, 1, 64)
        check_value_bits("merger", self.value_bits)


def interface(parameters: MergerParameters) -> Interface:
    """Ports: ``tasks``, whose coordinate is the number of ways, the ``ways``, and ``merged``."""
    element = {
        "control": 1,
        "coordinate": parameters.coordinate_bits,
        "reference": parameters.reference_bits,
        "value": parameters.value_bits,
    }
    return Interface(
        "merger",
        (
            Stream("tasks", "tasks", "input", {"coordinate": parameters.radix.bit_length()}),
            *streams("ways", "input", element, parameters.radix),
            Stream("merged", "merged", "output", element),
        ),
    )


def design(parameters: MergerParameters, between: Streams) -> None:
    """One element a cycle, by a balanced tree of comparators over the heads of the ways.

    Two registers say that a merge is under way and of how many ways; one bit a way says that the way's stop
    has been taken. The tree is combinational: the first task, its heads and the smallest of them pass in one
    cycle. A task of more ways than there are is for the sender to avoid.
    """
    tasks, merged = between.inputs["tasks"], between.outputs["merged"]
    ways = [between.inputs[f"ways[{i}]"] for i in range(parameters.radix)]
    merging: Signal = pyrtl.Register(1, "merging")
    fan_in_held: Signal = pyrtl.Register(len(tasks.fields["coordinate"]), "fan_in_held")
    stopped: Signal = pyrtl.Register(parameters.radix, "stopped")

    active = named("active", merging | tasks.valid)
    fan_in = named("fan_in", pyrtl.select(merging, fan_in_held, tasks.fields["coordinate"]))
    awaited = [named(f"awaited_{i:02}", active & (fan_in > i) & ~stopped[i]) for i in range(parameters.radix)]
    shown = all_up_to([way.valid | ~awaited[i] for i, way in enumerate(ways)])
    stops = [
        awaited[i] & shown[i] & way.valid & way.fields["control"]  # a stop waits for the heads before it
        for i, way in enumerate(ways)
    ]
    leaves = [
        Candidate(
            awaited[i] & way.valid & ~way.fields["control"],
            _payload(way),
            pyrtl.Const(i, index_bits(len(ways))),
        )
        for i, way in enumerate(ways)
    ]
    root = smallest(leaves)

    valid = named("all_heads_shown", active & shown[-1])
    sent = named("sent", valid & merged.ready)
    finished = named("finished", sent & ~root.present)
    for i, way in enumerate(ways):
        way.accept(stops[i] | (sent & root.present & (root.way == i)))
    tasks.accept(~merging)
    merged.send(valid, {"control": ~root.present} | _blank_unless(root))

    merging.next <<= active & ~finished
    fan_in_held.next <<= fan_in
    stopped.next <<= pyrtl.select(finished, pyrtl.Const(0, len(stopped)), stopped | pyrtl.concat_list(stops))


def _payload(way: InputStream) -> dict[str, Signal]:
    return {field: wire for field, wire in way.fields.items() if field != "control"}


def _blank_unless(node: Candidate) -> dict[str, Signal]:
    """The node's element; zeros where it has none, for a stop carries nothing."""
    return {
        field: pyrtl.select(node.present, wire, pyrtl.Const(0, len(wire)))
        for field, wire in node.fields.items()
    }


class MergerStandIn(Adapter):
    """Stands in for a ``HighRadixMerger``; the module's ports are those of ``hw.rtl.merger``."""

    PORTS = HighRadixMerger.PORTS

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._way = {stream.label: stream.port[1] for stream in interface.streams if stream.port[0] == "ways"}
        self._merging = False
        self._stopped: set[int] = set()  # ways whose stop has been taken
        self._fan_in = 0
        self._merges = self._merged_elements = 0

    def observe(self, moved: Mapping[str, Token]) -> None:
        """Follow the merge that is under way."""
        if "tasks" in moved:
            self._merging = True
            self._fan_in = moved["tasks"].coordinate
            self._merges += 1
        for label, token in moved.items():
            if label in self._way and token.control == STOP:
                self._stopped.add(self._way[label])
        merged = moved.get("merged")
        if merged is not None and merged.control == DATA:
            self._merged_elements += 1
        elif merged is not None:
            self._merging = False
            self._stopped.clear()

    def account(self, now: int, moved: Mapping[str, Token], blocked: Channel | None) -> int:
        """Busy when a token leaves; else waiting for the first way that shows none, or for space."""
        if "merged" in moved:
            return self.busy(now + 1)
        if not self._merging:
            return self.idle()
        for way, channel in enumerate(self.channels("ways")[: self._fan_in]):
            if way not in self._stopped and not channel.can_pop():
                return self.wait_input(channel)
        return self.wait_output(self.channel("merged"))

    def counters(self) -> dict[str, int]:
        """Merges begun and elements merged."""
        return {"merges": self._merges, "merged_elements": self._merged_elements}


BLOCK = RtlBlock(
    "merger",
    "merges up to radix fibers into one, ordered by coordinate, one element a cycle",
    MergerParameters,
    lambda radix: MergerParameters(radix=radix),
    interface,
    design,
    MergerStandIn,
    lambda name, parameters: HighRadixMerger(name, parameters.radix),
)
