"""Counters in banks as RTL: the twin of ``fiberscope.hw.lanes.counter_banks.CounterBanks``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import pyrtl

from fiberscope.hw.lanes.counter_banks import CounterBanks
from fiberscope.hw.lanes.counter_memory_rtl import CounterMemory, Shape
from fiberscope.hw.lanes.counter_rows_rtl import RowMux, UpdateRows
from fiberscope.hw.lanes.items_rtl import WORD_BITS
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Field, tokens_of
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    InputStream,
    Signal,
    Streams,
    alias,
    blank_if_stop,
    index_bits,
    resized,
    unless,
)
from fiberscope.hw.rtl.kit.unit import Fields, Lanes, PortContents, unit
from fiberscope.hw.stream import DATA
from fiberscope.sim.channel import Channel

# Sizes for which the module is tested.
LANES = (1, 2, 4, 8, 16, 32)
SWEEP_LANES = (1, 2, 4, 8, 16, 32, 64)
COUNTERS = (1, 2048)
AWAITS = "awaits"  # status output: the command takes rows of updates (bit 0), fetches (1), or starts (2)
CONFLICT = "conflict"  # status output: a row waits for one of its banks


@dataclass(frozen=True)
class CounterBanksParameters(Parameters):
    """Parameters of counters in banks.

    Args:
        counters: number of counters, 1 to 2,048.
        lanes: items of a row, a power of two to 32.
        sweep_lanes: counters of a row of a sweep (``SCAN`` or ``READ``), a power of two to 64, at least as
            many as banks.
        fetch_lanes: items of a row of ``fetches``, to 32; 0 if ``FETCH`` takes its rows from ``updates``.
        banks: number of banks, a power of two to 32; 0 for as many as lanes.
        counter_bits: bits of a counter, 16 to 62.
        word_bits: bits of a value, a whole number in two's complement, 0 to 53; 0 omits values.

    Raises:
        ValueError: a number is out of its range, or ``sweep_lanes`` is below the number of banks.
    """

    counters: int = number(256, *COUNTERS)
    lanes: int = one_of(16, *LANES)
    sweep_lanes: int = one_of(32, *SWEEP_LANES)
    fetch_lanes: int = number(0, 0, 32)
    banks: int = one_of(0, 0, *LANES)
    counter_bits: int = number(32, 16, 62)
    word_bits: int = number(33, *WORD_BITS)

    def __post_init__(self) -> None:
        """Check the parameters, and that a sweep takes a counter of every bank."""
        super().__post_init__()
        banks = self.shape.banks
        if self.sweep_lanes < banks:
            raise ValueError(
                f"counter_banks: sweep_lanes must be at least banks, {banks}, not {self.sweep_lanes}"
            )

    @property
    def shape(self) -> Shape:
        """Return the shape of the memory of counters."""
        return Shape(self.counters, self.banks or self.lanes, self.sweep_lanes, self.counter_bits)


def port_contents(parameters: CounterBanksParameters) -> PortContents:
    """Return the ports: rows with a mask on ``updates``, ``fetches`` and ``slots``, without on the others."""
    lanes, sweep_lanes, fetch_lanes = parameters.lanes, parameters.sweep_lanes, parameters.fetch_lanes
    index = index_bits(parameters.counters)
    value: Fields = {"value": Field("value", parameters.word_bits, "whole")} if parameters.word_bits else {}
    rank = index_bits(max(lanes, fetch_lanes)) + 1
    update: Fields = {"control": 1, "coordinate": index, "reference": rank, **value}
    count: Fields = {"control": 1, "coordinate": parameters.counter_bits, "reference": index + 1}
    return {
        "commands": {"control": 2, "coordinate": index_bits(parameters.counters + 1)},
        "updates": Lanes(update, lanes, mask=True),
        **({"fetches": Lanes(update, fetch_lanes, mask=True)} if fetch_lanes else {}),
        "slots": Lanes({**count, **value}, fetch_lanes or lanes, mask=True),
        "counts": Lanes(count, sweep_lanes),
        "starts": Lanes({"control": 1, "coordinate": parameters.counter_bits}, sweep_lanes),
        "stored": Lanes(count, sweep_lanes),
    }


@dataclass(frozen=True)
class _Command:
    """The active command.

    Args:
        runs: whether a command is active in this cycle and nothing stalls it.
        begins: whether this is its first cycle.
        updates: ``runs``, for ``COUNT`` and ``FETCH``.
        fetches, scans, reads: ``runs``, for ``FETCH``, ``SCAN`` and ``READ``.
        length: number of counters of a sweep.
    """

    runs: Signal
    begins: Signal
    updates: Signal
    fetches: Signal
    scans: Signal
    reads: Signal
    length: Signal

    def fresh(self, register: Signal) -> Signal:
        """Return the value of a register in this command: 0 in its first cycle, then the register."""
        return unless(self.begins, register)


def design(parameters: CounterBanksParameters, streams: Streams) -> None:
    """Create the control of commands, the pipeline of updates, the sweeps, and the memory that they share."""
    active: Signal = pyrtl.Register(1, "active")
    # The cycle in which the last row of an array is written. A command in this cycle could read old counters.
    drains: Signal = pyrtl.Register(1, "drains")
    slots = streams.outputs["slots"]
    slots_full: Signal = pyrtl.Register(1, "slots_full")
    stall = alias("stall", slots_full & ~slots.ready)
    command = _command(streams, active, ~drains & ~stall)
    memory = CounterMemory(parameters.shape)
    rows = UpdateRows(parameters.shape, _rows(streams, command), command.updates, ~stall)
    swept = _sweep(parameters, streams, command, memory, rows)
    rows.connect(memory)
    ended = alias("ended", rows.ends | swept)
    active.next <<= (active | command.begins) & ~ended
    drains.next <<= rows.ends
    slots_full.next <<= stall | (rows.completes & command.fetches)
    slots.send_lanes(slots_full, rows.slots(parameters.fetch_lanes or parameters.lanes))
    conflict = alias("waits_for_bank", rows.shows & ~rows.completes)
    streams.show(CONFLICT, conflict)
    streams.show(PENDING, drains | conflict)
    own = command.fetches if parameters.fetch_lanes else pyrtl.Const(0, 1)
    awaits = command.scans, command.updates & own, command.updates & ~own
    streams.show(AWAITS, pyrtl.concat(*(active & kind for kind in awaits)))


def _rows(streams: Streams, command: _Command) -> InputStream | RowMux:
    """Return the rows that the command takes: for ``FETCH`` those of ``fetches``, if there is such a port."""
    updates = streams.inputs["updates"]
    if "fetches" not in streams.inputs:
        return updates
    return RowMux((updates, streams.inputs["fetches"]), command.fetches)


def _command(streams: Streams, active: Signal, free: Signal) -> _Command:
    """Take a command if none is active and ``free`` is high; return the active command."""
    source = streams.inputs["commands"]
    takes = ~active & free
    source.accept(takes)
    begins = alias("begins", takes & source.valid)
    kind: Signal = DataRegister(2, "kind")
    length: Signal = DataRegister(len(source.fields["coordinate"]), "length")
    now = pyrtl.select(begins, source.fields["control"], kind)
    length_now = pyrtl.select(begins, source.fields["coordinate"], length)
    kind.next <<= now
    length.next <<= length_now
    runs = alias("runs", begins | (active & free))
    sweeps = now[1]  # bit 1: SCAN or READ; bit 0 tells FETCH from COUNT, and READ from SCAN
    return _Command(
        runs,
        begins,
        alias("updating", runs & ~sweeps),
        alias("fetching", runs & ~sweeps & now[0]),
        alias("scanning", runs & sweeps & ~now[0]),
        alias("reading", runs & sweeps & now[0]),
        length_now,
    )


def _sweep(
    parameters: CounterBanksParameters,
    streams: Streams,
    command: _Command,
    memory: CounterMemory,
    rows: UpdateRows,
) -> Signal:
    """Create the sweeps: send counters, and store sums. Return whether a sweep ends in this cycle.

    ``SCAN`` sends counters on ``counts`` and stores the rows of ``starts``, and ends with the stop of
    ``starts``. ``READ`` sends counters on ``stored`` and clears them, and ends with its last row.
    """
    shape = parameters.shape
    counts, stored, starts = streams.outputs["counts"], streams.outputs["stored"], streams.inputs["starts"]
    sent: Signal = pyrtl.Register(1, "sent")
    row: Signal = DataRegister(index_bits(shape.entries + 1), "sweep_row")  # one more row, of stops
    row_now = command.fresh(row)
    entry_now = row_now[: shape.entry_bits]
    sends = alias("sends", (command.scans | command.reads) & ~command.fresh(sent))
    fires = alias("fires", sends & pyrtl.select(command.scans, counts.ready, stored.ready))
    here = [command.length > shape.number(row_now, lane) for lane in range(shape.sweep_lanes)]
    # An array ends with a stop in its last lane. If ``length`` fills its rows, a row of stops alone follows.
    last = ~here[-1]
    # A sweep may have sent all its rows and still wait for ``starts``: ``sent`` then blocks further rows.
    sent.next <<= (command.fresh(sent) & command.runs) | (sent & ~command.runs) | (fires & last)
    row.next <<= pyrtl.select(fires, (row_now + 1)[: len(row)], row_now)
    memory.look_at([pyrtl.select(command.updates, asked, entry_now) for asked in rows.entries()])
    index = index_bits(parameters.counters) + 1
    counters = [
        blank_if_stop(
            {
                "control": ~flag,
                "coordinate": memory.shown(lane),
                "reference": resized(shape.number(row_now, lane), index),
            }
        )
        for lane, flag in enumerate(here)
    ]
    counts.send_lanes(sends & command.scans, counters)
    stored.send_lanes(sends & command.reads, counters)
    takes = alias("takes", command.scans & starts.valid)
    starts.accept(command.scans)
    _store(shape, command, memory, starts.lanes, takes)
    memory.clear(entry_now, [fires & command.reads & flag for flag in here])
    return (takes & reduce(or_, [lane["control"] for lane in starts.lanes])) | (fires & last & command.reads)


def _store(
    shape: Shape, command: _Command, memory: CounterMemory, row: list[dict[str, Signal]], takes: Signal
) -> None:
    """Write each sum to the counter after its own, and 0 to the first counter.

    Inclusive sums thereby become exclusive sums. The last sum of a row goes to the next row, in ``total``;
    the last sum of the array has no counter and is dropped.
    """
    total: Signal = DataRegister(shape.bits, "sum")
    entry: Signal = DataRegister(shape.entry_bits, "store_entry")
    entry_now = command.fresh(entry)
    sums = [command.fresh(total), *(lane["coordinate"] for lane in row)]
    memory.store(entry_now, [takes & ~lane["control"] for lane in row], sums[:-1])
    total.next <<= pyrtl.select(takes, sums[-1], command.fresh(total))
    entry.next <<= pyrtl.select(takes, (entry_now + 1)[: len(entry)], entry_now)


class CounterBanksAdapter(Adapter):
    """The adapter for ``CounterBanks``: it counts accesses by transfers, and conflicts by a status output."""

    RETRACTS = ("counts",)
    OBSERVED = ("updates", "fetches")

    _clusters = _conflicts = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count the clusters of rows, each of which reads and writes a counter; see ``Adapter``."""
        tokens = (token for row in moved.values() for token in tokens_of(row))
        self._clusters += sum(token.control == DATA and token.reference == 0 for token in tokens)

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Classify this cycle, see ``Adapter``; count the cycles in which a row waits for a bank."""
        self._conflicts += self.status[CONFLICT]
        return super().account(now, moved, blocked)

    def awaited(self) -> Channel | None:
        """Return the first lane without a token of the row that the command takes; None without a command."""
        awaits = self.status[AWAITS]  # at most one bit is set
        ports = {1: "updates", 2: "fetches", 4: "starts"}
        return self.end(ports[awaits]).waits_at() if awaits else None

    def counters(self) -> dict[str, int]:
        """Return the counters read and written, and the cycles in which a row waited for a bank."""
        swept = self.end("stored").elements
        return {
            "reads": self._clusters + self.end("counts").elements + swept,
            "writes": self._clusters + self.end("starts").elements + swept,
            "conflicts": self._conflicts,
        }


BLOCK = unit(
    "counter_banks",
    CounterBanks,
    CounterBanksParameters,
    port_contents,
    design,
    arguments=("counters", "lanes", "sweep_lanes", "fetch_lanes", "banks"),
    as_made={"counter_bits": 62, "word_bits": WORD_BITS[1]},
    status={AWAITS: 3, CONFLICT: 1, PENDING: 1},
    base=CounterBanksAdapter,
)
