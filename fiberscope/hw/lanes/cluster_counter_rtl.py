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
    """Parameters of a cluster counter.

    Args:
        width, reference_bits, word_bits: see ``ItemParameters``; received references are dropped.
        lanes: keys a cycle, 1 to 64.
    """

    lanes: int = number(16, *LANES)

    @property
    def rank_bits(self) -> int:
        """Return the bits of a rank, including the sign bit of a reference, which is 0."""
        return index_bits(self.lanes) + 1


def port_contents(parameters: ClusterCounterParameters) -> PortContents:
    """Return the ports: rows of items; a sent item has its rank as reference."""
    ranked = parameters.item(reference=parameters.rank_bits)
    return {"sorted": Lanes(parameters.item(), parameters.lanes), "clusters": Lanes(ranked, parameters.lanes)}


def design(parameters: ClusterCounterParameters, streams: Streams) -> None:
    """Create a comparator between neighbouring lanes, and the logic of the ranks.

    The rank of a lane is the number of equal keys directly before it.
    """
    rows = Rows(streams, "sorted", "clusters", 0)
    ranks = _trailing_ones(_equal_to_the_one_before(rows.entering), index_bits(parameters.lanes))
    # ``pass_out`` replaces the fields of stops by zeros, including the meaningless ranks of stops.
    rows.pass_out(
        [
            {**lane, "reference": pyrtl.concat(pyrtl.Const(0, 1), rank)}
            for lane, rank in zip(rows.entering, ranks, strict=True)
        ]
    )


def _equal_to_the_one_before(row: Row) -> list[Signal]:
    """Return, for each lane, whether its key equals that of the lane before; false for lane 0.

    A cluster ends with its row, so lane 0 always has rank 0. Stops are compared like keys: no key follows a
    stop in its row, and the ranks of stops are not sent.
    """
    equal = [a["coordinate"] == b["coordinate"] for a, b in pairwise(row)]
    return [pyrtl.Const(0, 1), *(alias(f"equal_{lane:02}", flag) for lane, flag in enumerate(equal, 1))]


def _trailing_ones(flags: list[Signal], bits: int) -> list[Signal]:
    """Return, for each flag, the length of the run of set flags that ends with it.

    Distances double (as in a Kogge-Stone prefix network): after each step, a count is right for runs shorter
    than twice the distance. If all flags within the distance are set, the count of the flag before them is
    added.
    """
    counts = [flag.zero_extended(bits) for flag in flags]
    every, distance = flags, 1
    while distance < len(flags):
        pairs = list(zip(counts[distance:], counts, every[distance:], strict=False))
        added = [pyrtl.select(all_set, (more + less)[:bits], more) for more, less, all_set in pairs]
        # every[i] is the AND of the 2 * distance flags up to flag i, or of all flags up to flag i.
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
