"""The sorting network as RTL: the twin of ``hw.sorting_network.SortingNetwork``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyrtl

from hw.rtl.channel import PENDING
from hw.rtl.items import ItemParameters
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.backend import Backend
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import Bundle, Interface, tokens_of
from hw.rtl.kit.parameters import one_of
from hw.rtl.kit.rows import Lane, Row, Rows
from hw.rtl.kit.twin import Signal, Streams, index_bits, named
from hw.sorting_network import SortingNetwork, depth, network
from hw.stream import DATA

LANES = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class SortingNetworkParameters(ItemParameters):
    """What a sorting network is made for: an item, and ``lanes``, 2, 4, 8, 16, 32 or 64."""

    lanes: int = one_of(16, *LANES)


def interface(parameters: SortingNetworkParameters) -> Interface:
    """Ports: ``lanes`` and ``sorted``, rows; ``pending`` while a row is inside or enters."""
    lanes = Bundle("lanes", "lanes", "input", parameters.item(), parameters.lanes)
    ordered = replace(lanes, label="sorted", prefix="sorted", direction="output")
    return Interface("sorting_network", (lanes, ordered), (PENDING,) if parameters.lanes > LANES[0] else ())


def design(parameters: SortingNetworkParameters, between: Streams) -> None:
    """A stage for each column of compare-exchanges, the last without registers.

    What is compared is whether it is a stop, then the coordinate, then the lane that it came in on.
    """
    rows = Rows(between, "lanes", "sorted", depth(parameters.lanes) - 1)
    bits = index_bits(parameters.lanes)
    row: Row = [{**lane, "order": pyrtl.Const(i, bits)} for i, lane in enumerate(rows.entering)]
    *first, last = network(parameters.lanes)
    for stage, column in enumerate(first):
        row = rows.stage(stage, _exchanged(row, column, f"column{stage:02}"))
    rows.pass_out([_without_order(lane) for lane in _exchanged(row, last, "last")])


def _exchanged(row: Row, column: tuple[tuple[int, int], ...], name: str) -> Row:
    """The row behind a column of compare-exchanges."""
    behind = list(row)
    for low, high in column:
        swaps = named(f"{name}_swap_{low:02}_{high:02}", _key(row[high]) < _key(row[low]))
        behind[low] = _chosen(swaps, row[high], row[low])
        behind[high] = _chosen(swaps, row[low], row[high])
    return behind


def _key(lane: Lane) -> Signal:
    return pyrtl.concat(lane["control"], lane["coordinate"], lane["order"])


def _chosen(first: Signal, lane: Lane, other: Lane) -> Lane:
    return {field: pyrtl.select(first, wire, other[field]) for field, wire in lane.items()}


def _without_order(lane: Lane) -> Lane:
    return {field: wire for field, wire in lane.items() if field != "order"}


class SortingNetworkStandIn(Adapter):
    """Stands in for a ``SortingNetwork``; the module's ports are those of ``hw.rtl.sorting_network``."""

    PORTS = SortingNetwork.PORTS
    EVENTS = ("numbers",)
    FIBERS = True
    THROUGH = ("lanes", "sorted")
    OBSERVED = ("lanes",)

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._chunks = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count rows with numbers."""
        self._chunks += any(token.control == DATA for token in tokens_of(moved["lanes"]))

    def counters(self) -> dict[str, int]:
        """Rows with numbers, numbers, and compare-exchanges."""
        lanes = self.end("lanes")
        comparators = sum(map(len, network(len(lanes.lanes))))
        return {
            "chunks": self._chunks,
            "numbers": lanes.elements,
            "compare_exchanges": self._chunks * comparators,
        }


def _matching(lanes: int, width: int = 32) -> SortingNetworkParameters:
    return SortingNetworkParameters(width, reference_bits=64, word_bits=53, lanes=lanes)


BLOCK = RtlBlock(
    "sorting_network",
    "sorts each row of an array by its coordinates, a row a cycle, by a bitonic network",
    SortingNetworkParameters,
    _matching,
    interface,
    design,
    SortingNetworkStandIn,
    lambda name, parameters: SortingNetwork(name, parameters.lanes, parameters.width),
)
