"""The cluster counter as RTL: the twin of ``fiberscope.hw.lanes.cluster_counter.ClusterCounter``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pyrtl

from fiberscope.hw.lanes.cluster_counter import ClusterCounter
from fiberscope.hw.lanes.items_rtl import PAYLOAD_AS_MADE, ItemParameters
from fiberscope.hw.rtl.kit.interface import Token
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.rows import LANES, Row, Rows
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, index_bits
from fiberscope.hw.rtl.kit.unit import Lanes, PortContents, Summed, elements, unit
from fiberscope.hw.stream import DATA


@dataclass(frozen=True)
class ClusterCounterParameters(ItemParameters):
    """Parameters of a cluster counter: an item, whose reference is not looked at, and ``lanes``."""

    lanes: int = number(16, *LANES)

    @property
    def rank_bits(self) -> int:
        """Bits of a rank, in two's complement."""
        return index_bits(self.lanes) + 1


def port_contents(parameters: ClusterCounterParameters) -> PortContents:
    """Rows; an item that leaves has its rank as reference."""
    ranked = parameters.item(reference=parameters.rank_bits)
    return {"sorted": Lanes(parameters.item(), parameters.lanes), "clusters": Lanes(ranked, parameters.lanes)}


def design(parameters: ClusterCounterParameters, between: Streams) -> None:
    """A comparator between neighbours, and the equal ones before each lane, counted at doubling distances."""
    rows = Rows(between, "sorted", "clusters", 0)
    ranks = _trailing_ones(_equal_to_the_one_before(rows.entering), index_bits(parameters.lanes))
    rows.pass_out(
        [
            {**lane, "reference": pyrtl.concat(pyrtl.Const(0, 1), rank)}
            for lane, rank in zip(rows.entering, ranks, strict=True)
        ]
    )


def _equal_to_the_one_before(row: Row) -> list[Signal]:
    equal = [a["coordinate"] == b["coordinate"] for a, b in pairwise(row)]
    return [pyrtl.Const(0, 1), *(alias(f"equal_{lane:02}", flag) for lane, flag in enumerate(equal, 1))]


def _trailing_ones(flags: list[Signal], bits: int) -> list[Signal]:
    """For each flag how many up to it are set without a gap: fewer than the distance, or those before too."""
    counts = [flag.zero_extended(bits) for flag in flags]
    every, distance = flags, 1
    while distance < len(flags):
        pairs = list(zip(counts[distance:], counts, every[distance:], strict=False))
        added = [pyrtl.select(all_set, (more + less)[:bits], more) for more, less, all_set in pairs]
        every = every[:distance] + [a & b for a, b in zip(every[distance:], every, strict=False)]
        counts = counts[:distance] + added
        distance *= 2
    return counts


def _is_first(token: Token) -> bool:
    """Return whether a key is the first of its cluster."""
    return token.control == DATA and token.reference == 0


BLOCK = unit(
    "cluster_counter",
    ClusterCounter,
    ClusterCounterParameters,
    port_contents,
    design,
    arguments=("lanes", "width"),
    as_made=PAYLOAD_AS_MADE,
    counters={"numbers": elements("sorted"), "clusters": Summed("clusters", _is_first)},
    events=("numbers",),
    fibers=True,
)
