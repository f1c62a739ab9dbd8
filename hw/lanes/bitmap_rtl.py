"""SIGMA's filter on bitmaps as RTL: the twins of ``Regor`` and ``PrefixPopcount``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

import pyrtl

from fiberscope.hw.lanes.bitmap import Regor
from fiberscope.hw.lanes.prefix_sum import FORMS, PARALLEL, PrefixPopcount, depth, network
from fiberscope.hw.lanes.prefix_sum_rtl import added, with_offset
from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.backend import Backend
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Field, Interface, tokens_of
from fiberscope.hw.rtl.kit.parameters import Parameters, choice, number, one_of, payload_widths
from fiberscope.hw.rtl.kit.rows import LANES, Row, Rows
from fiberscope.hw.rtl.kit.trees import ones_of
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    InputStream,
    Signal,
    Streams,
    blank_if_stop,
    named,
    unless,
)
from fiberscope.hw.rtl.kit.unit import Carried, Fields, Lanes, elements, rows, unit
from fiberscope.hw.stream import DATA
from fiberscope.sim.channel import Channel


@dataclass(frozen=True)
class RegorParameters(Parameters):
    """What a filter is made for; widths in bits.

    Args:
        lanes: words a cycle, 1 to 64.
        width: of a word, 1 to 62.
        reference_bits: 0 to 64; 0 leaves references out, where all are 0.
        value_bits: 0, 32 or 64; 0 leaves values out.

    Raises:
        ValueError: for a number out of its range.
    """

    lanes: int = number(4, *LANES)
    width: int = number(32, 1, MAXIMUM_WIDTH)
    reference_bits: int = number(0, 0, 64)
    value_bits: int = one_of(0, 0, 32, 64)


def regor_carried(parameters: RegorParameters) -> Carried:
    """Rows of words."""
    word = {"control": 1, "coordinate": parameters.width}
    whole = word | payload_widths(parameters.reference_bits, parameters.value_bits)
    ports = {"streaming": word, "stationary": whole, "kept": whole}
    return {port: Lanes(content, parameters.lanes) for port, content in ports.items()}


def regor(parameters: RegorParameters, between: Streams) -> None:
    """A register a lane, an OR before and an AND behind it; a bit says whether it holds anything yet."""
    streaming, stationary = between.inputs["streaming"], between.inputs["stationary"]
    kept = between.outputs["kept"]
    filters: Signal = pyrtl.Register(1, "filters")  # high while the rows of the stationary bitmap come
    holds: Signal = pyrtl.Register(1, "holds")
    gathered = named("gathered", streaming.valid & ~filters)
    passed = named("passed", stationary.valid & filters & kept.ready)
    column_ends = named("columns_end", gathered & _is_stops(streaming))
    row_ends = named("rows_end", passed & _is_stops(stationary))
    filters.next <<= (filters | column_ends) & ~row_ends
    holds.next <<= (holds | (gathered & ~column_ends)) & ~row_ends
    words = []
    for i, (column, row) in enumerate(zip(streaming.lanes, stationary.lanes, strict=True)):
        seen: Signal = DataRegister(parameters.width, f"seen_{i:02}")
        known = named(f"known_{i:02}", unless(~holds, seen))
        seen.next <<= pyrtl.select(gathered, known | column["coordinate"], seen)
        words.append(blank_if_stop({**row, "coordinate": row["coordinate"] & known}))
    streaming.accept(~filters)
    stationary.accept(filters & kept.ready)
    kept.send_lanes(stationary.valid & filters, words)


def _is_stops(rows: InputStream) -> Signal:
    """Whether a row of stops shows."""
    return reduce(and_, [lane["control"] for lane in rows.lanes])


class RegorStandIn(Adapter):
    """Counts rows, and what is kept of them."""

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._bits = self._dropped = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count the ones of a row and those that are kept of it."""
        if "kept" in moved:
            kept, all_ones = (
                sum(token.coordinate.bit_count() for token in tokens_of(moved[port]) if token.control == DATA)
                for port in ("kept", "stationary")
            )
            self._bits += kept
            self._dropped += all_ones - kept

    def awaited(self) -> Channel | None:
        """The first lane without a token of the bitmap that is on, in the midst of a slice or a row."""
        streaming, stationary = self.end("streaming"), self.end("stationary")
        if streaming.stops > stationary.stops:
            return stationary.waits_at()
        return streaming.waits_at() if streaming.within or streaming.is_begun() else None

    def counters(self) -> dict[str, int]:
        """Slices, columns and rows; ones kept and dropped."""
        streaming, stationary = self.end("streaming"), self.end("stationary")
        lanes = len(streaming.lanes)
        return {
            "slices": stationary.stops // lanes,
            "columns": streaming.elements // lanes,
            "rows": stationary.elements // lanes,
            "bits": self._bits,
            "dropped": self._dropped,
        }


@dataclass(frozen=True)
class PrefixPopcountParameters(Parameters):
    """What a running count of ones is made for; widths in bits.

    Args:
        form: ``"serial"``, ``"work-efficient"`` or ``"parallel"``.
        lanes: words a cycle, 1 to 64.
        width: of a word, 1 to 62.
        sum_width: of a count, 1 to 62.
        value_bits: 0, 32 or 64; 0 leaves values out, where all are 0.

    Raises:
        ValueError: for what cannot be built.
    """

    form: str = choice(PARALLEL, FORMS)
    lanes: int = number(4, *LANES)
    width: int = number(32, 1, MAXIMUM_WIDTH)
    sum_width: int = number(32, 1, MAXIMUM_WIDTH)
    value_bits: int = one_of(0, 0, 32, 64)


def popcount_carried(parameters: PrefixPopcountParameters) -> Carried:
    """Rows of words; with a count, as reference, its word."""
    value = payload_widths(0, parameters.value_bits)
    word = {"control": 1, "coordinate": parameters.width} | value
    count: Fields = {
        "control": 1,
        "coordinate": parameters.sum_width,
        "reference": Field("reference", parameters.width, "unsigned"),
        **value,
    }
    return {"words": Lanes(word, parameters.lanes), "counts": Lanes(count, parameters.lanes)}


def prefix_popcount(parameters: PrefixPopcountParameters, between: Streams) -> None:
    """The stages of a prefix sum behind one in which the ones of each word are counted."""
    form, lanes = parameters.form, parameters.lanes
    rows = Rows(between, "words", "counts", 1 + depth(form, lanes))
    row: Row = [
        {
            **lane,
            "coordinate": _as_wide(ones_of(lane["coordinate"]), parameters.sum_width),
            "reference": lane["coordinate"],
        }
        for lane in rows.entering
    ]
    row = rows.stage(0, row)
    for stage, level in enumerate(network(form, lanes), 1):
        row = rows.stage(stage, added(row, level))
    rows.leave(with_offset(rows, row))


def _as_wide(wire: Signal, width: int) -> Signal:
    """The wire in so many bits, those above cut off or 0."""
    return wire[:width] if len(wire) >= width else wire.zero_extended(width)


REGOR = unit(
    "regor",
    Regor,
    RegorParameters,
    regor_carried,
    regor,
    arguments=("lanes", "width"),
    as_made={"reference_bits": 64, "value_bits": 64},
    base=RegorStandIn,
)


PREFIX_POPCOUNT = unit(
    "prefix_popcount",
    PrefixPopcount,
    PrefixPopcountParameters,
    popcount_carried,
    prefix_popcount,
    arguments=("form", "lanes", "width", "sum_width"),
    as_made={"value_bits": 64},
    status=(PENDING,),
    counters={"rows": rows("words"), "words": elements("words")},
    fibers=True,
    through=("words", "counts"),
)
