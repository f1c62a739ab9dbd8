"""The cluster counter as RTL: the twin of ``hw.cluster_counter.ClusterCounter``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyrtl

from hw.cluster_counter import ClusterCounter
from hw.rtl.items import ItemParameters
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.backend import Backend
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import Bundle, Interface, tokens_of
from hw.rtl.kit.parameters import number
from hw.rtl.kit.rows import LANES, Row, Rows
from hw.rtl.kit.twin import Signal, Streams, index_bits, named
from hw.stream import DATA


@dataclass(frozen=True)
class ClusterCounterParameters(ItemParameters):
    """What a cluster counter is made for: an item, whose reference is not looked at, and ``lanes``."""

    lanes: int = number(16, *LANES)

    @property
    def rank_bits(self) -> int:
        """Bits of a rank, in two's complement."""
        return index_bits(self.lanes) + 1


def interface(parameters: ClusterCounterParameters) -> Interface:
    """Ports: ``sorted`` and ``clusters``, rows."""
    ranked = parameters.item(reference=parameters.rank_bits)
    return Interface(
        "cluster_counter",
        (
            Bundle("sorted", "sorted", "input", parameters.item(), parameters.lanes),
            Bundle("clusters", "clusters", "output", ranked, parameters.lanes),
        ),
    )


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
    return [pyrtl.Const(0, 1), *(named(f"equal_{lane:02}", flag) for lane, flag in enumerate(equal, 1))]


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


class ClusterCounterStandIn(Adapter):
    """Stands in for a ``ClusterCounter``; the module's ports are those of ``hw.rtl.cluster_counter``."""

    PORTS = ClusterCounter.PORTS
    EVENTS = ("numbers",)
    FIBERS = True
    OBSERVED = ("clusters",)

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._clusters = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count the first of each cluster."""
        row = tokens_of(moved["clusters"])
        self._clusters += sum(token.control == DATA and token.reference == 0 for token in row)

    def counters(self) -> dict[str, int]:
        """Keys, and clusters of them."""
        return {"numbers": self.end("sorted").elements, "clusters": self._clusters}


def _matching(lanes: int, width: int = 32) -> ClusterCounterParameters:
    return ClusterCounterParameters(width, reference_bits=64, word_bits=53, lanes=lanes)


BLOCK = RtlBlock(
    "cluster_counter",
    "ranks the equal keys that stand side by side in a row, a row a cycle",
    ClusterCounterParameters,
    _matching,
    interface,
    design,
    ClusterCounterStandIn,
    lambda name, parameters: ClusterCounter(name, parameters.lanes, parameters.width),
)
