"""The sorting network as RTL: the twin of ``fiberscope.hw.lanes.sorting_network.SortingNetwork``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.lanes.items_rtl import PAYLOAD_AS_MADE, ItemParameters
from fiberscope.hw.lanes.sorting_network import SortingNetwork, depth, network
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import tokens_of
from fiberscope.hw.rtl.kit.parameters import one_of
from fiberscope.hw.rtl.kit.rows import Lane, Row, Rows
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, index_bits
from fiberscope.hw.rtl.kit.unit import Lanes, PortContents, elements, unit
from fiberscope.hw.stream import DATA

LANES = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class SortingNetworkParameters(ItemParameters):
    """Parameters of a sorting network.

    Args:
        width, reference_bits, word_bits: see ``ItemParameters``.
        lanes: items of a row: 2, 4, 8, 16, 32 or 64.
    """

    lanes: int = one_of(16, *LANES)


def port_contents(parameters: SortingNetworkParameters) -> PortContents:
    """Return the ports: rows of items, and the sorted rows with the same fields."""
    return dict.fromkeys(("lanes", "sorted"), Lanes(parameters.item(), parameters.lanes))


def status(parameters: SortingNetworkParameters) -> tuple[str, ...]:
    """Return the status outputs: ``pending``, if there are stages, while a row is inside or enters."""
    return (PENDING,) if parameters.lanes > LANES[0] else ()


def design(parameters: SortingNetworkParameters, streams: Streams) -> None:
    """Create a stage for each column of compare-exchanges; the last column has no registers.

    Items are compared by control first, so that stops come last, then by coordinate, then by the lane at the
    input, so that the sort is stable.
    """
    rows = Rows(streams, "lanes", "sorted", depth(parameters.lanes) - 1)
    bits = index_bits(parameters.lanes)
    # The lane at the input makes all keys different. It moves with its item, and is removed at the end.
    row: Row = [{**lane, "order": pyrtl.Const(i, bits)} for i, lane in enumerate(rows.entering)]
    *first, last = network(parameters.lanes)
    for stage, column in enumerate(first):
        row = rows.stage(stage, _exchanged(row, column, f"column{stage:02}"))
    # The channel after the block is the register of the last column.
    rows.pass_out([_without_order(lane) for lane in _exchanged(row, last, "last")])


def _exchanged(row: Row, column: tuple[tuple[int, int], ...], name: str) -> Row:
    """Return the row after a column of compare-exchanges, each between a low and a high lane."""
    behind = list(row)
    # ``low`` names the lane for the smaller key. In descending runs its number is the higher one.
    for low, high in column:
        swaps = alias(f"{name}_swap_{low:02}_{high:02}", _key(row[high]) < _key(row[low]))
        behind[low] = _chosen(swaps, row[high], row[low])
        behind[high] = _chosen(swaps, row[low], row[high])
    return behind


def _key(lane: Lane) -> Signal:
    return pyrtl.concat(lane["control"], lane["coordinate"], lane["order"])


def _chosen(first: Signal, lane: Lane, other: Lane) -> Lane:
    return {field: pyrtl.select(first, wire, other[field]) for field, wire in lane.items()}


def _without_order(lane: Lane) -> Lane:
    return {field: wire for field, wire in lane.items() if field != "order"}


class SortingNetworkAdapter(Adapter):
    """The adapter for a ``SortingNetwork``, which counts the rows that have a number."""

    OBSERVED = ("lanes",)

    _chunks = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count a row if it has a number; see ``Adapter``."""
        self._chunks += any(token.control == DATA for token in tokens_of(moved["lanes"]))

    def counters(self) -> dict[str, int]:
        """Return the number of rows with a number (``chunks``), and of compare-exchanges in these rows."""
        comparators = sum(map(len, network(len(self.end("lanes").lanes))))
        return {"chunks": self._chunks, "compare_exchanges": self._chunks * comparators}


BLOCK = unit(
    "sorting_network",
    SortingNetwork,
    SortingNetworkParameters,
    port_contents,
    design,
    arguments=("lanes", "width"),
    as_made=PAYLOAD_AS_MADE,
    status=status,
    base=SortingNetworkAdapter,
    counters={"numbers": elements("lanes")},
    events=("numbers",),
    fibers=True,
    through=("lanes", "sorted"),
)
