"""RTL of the intersector of all pairs of two lists of fibers, ``fiberscope.hw.streams.fiber_pairs``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.rtl.kit.interface import Content, Field, Token
from fiberscope.hw.rtl.kit.parameters import Parameters, check_range, number
from fiberscope.hw.rtl.kit.twin import DataRegister, InputStream, Signal, Streams, alias, index_bits, resized
from fiberscope.hw.rtl.kit.unit import PortContents, StatusCounter, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.dense_rtl import times
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.hw.streams.memory_rtl import LOAD, Memory
from fiberscope.hw.streams.scanner_rtl import following
from fiberscope.hw.streams.stream_adapter_rtl import LOAD_PORT, StreamAdapter
from fiberscope.hw.streams.tokens import DATA
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.sim.channel import Channel

ENTRIES = 1 << 14  # largest number of words of a memory
FIBERS = 1 << 9  # largest number of fibers of an operand, and of lists of fibers
SIDES = ("rows", "columns")
MEMORIES = 5  # memories of a side: list segments, coordinates, segments, elements, successors
WORKS, STEPS = "works", "steps_made"  # status outputs: a step that sends nothing, and any step


@dataclass(frozen=True)
class FiberPairsParameters(Parameters):
    """Parameters of an intersector of pairs of fibers, which has the fibers in memories.

    Args:
        lists: number of lists of each operand, 1 to 512.
        rows, columns: number of fibers of each operand, 1 to 512; times ``size``, at most 16384.
        elements: number of elements of all fibers of an operand, 1 to 16384; each fiber has at least one.
        size: number of possible coordinates of an element, 1 to 16384.
        coordinate_bits: width of a coordinate, 4 to 55.
        reference_bits: width of a reference; the position of an element and the number of a list must fit.
    """

    lists: int = number(4, 1, FIBERS)
    rows: int = number(16, 1, FIBERS)
    columns: int = number(16, 1, FIBERS)
    elements: int = number(64, 1, ENTRIES, lambda own: (max(own.rows, own.columns), ENTRIES))
    size: int = number(16, 1, ENTRIES)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    reference_bits: int = number(
        32, tokens.LEVEL_BITS, 62, lambda own: (index_bits(max(own.lists, own.elements)), 62)
    )

    def __post_init__(self) -> None:
        """Raise an error if a memory is too large."""
        super().__post_init__()
        for name in SIDES:
            check_range("fiber_pairs", f"{name} times size", getattr(self, name) * self.size, 1, ENTRIES)

    @property
    def position_bits(self) -> int:
        """Bits of the position of an element, or of the one after the last."""
        return self.elements.bit_length()


def port_contents(parameters: FiberPairsParameters) -> PortContents:
    """Return the contents of the streams; ``load`` writes a word of one of the memories."""
    references = tokens.numbers(parameters.reference_bits)
    coordinates = tokens.numbers(parameters.coordinate_bits)
    fibers = max(parameters.rows, parameters.columns)
    address = index_bits(max(fibers * parameters.size, fibers + 1, parameters.lists + 1, parameters.elements))
    coordinate = max(index_bits(parameters.size), parameters.coordinate_bits)
    word = max(parameters.position_bits, fibers.bit_length(), coordinate)
    words: Content = {
        "control": index_bits(MEMORIES * len(SIDES)),
        "address": Field("coordinate", address, "unsigned"),
        "word": Field("reference", word, "unsigned"),
    }
    return {
        "in_ref0": references,
        "in_ref1": references,
        LOAD: words,
        "out_outer": coordinates,
        "out_inner": coordinates,
        "out_ref0": references,
        "out_ref1": references,
    }


class _Side:
    """The memories of an operand, its current list and fiber, and the head of the fiber.

    The registers ``fiber``, ``first``, ``last``, ``head`` and ``end`` hold the number of the current fiber,
    of the first of its list and of the one after the last, and the position of its head and of its end. The
    attributes of these names are the values in a cycle, which are new ones if a pair of lists ``starts``.
    """

    def __init__(
        self,
        name: str,
        parameters: FiberPairsParameters,
        load: InputStream,
        reference: Signal,
        starts: Signal,
    ) -> None:
        fibers, size, bits = getattr(parameters, name), parameters.size, parameters.position_bits
        # The order gives each memory its number on ``load``, see ``_memories``. Segments are read in four
        # places: begin and end of the first fiber of a list, and of the next fiber.
        memories = [
            Memory(f"{name}_lists", parameters.lists + 1, fibers.bit_length()),
            Memory(f"{name}_coordinates", fibers, parameters.coordinate_bits),
            Memory(f"{name}_segments", fibers + 1, bits, reads=4),
            Memory(f"{name}_elements", parameters.elements, index_bits(size)),
            Memory(f"{name}_successors", fibers * size, bits),
        ]
        for place, memory in enumerate(memories, start=SIDES.index(name) * MEMORIES):
            chosen = load.valid & (load.fields["control"] == place)
            memory.write(
                resized(load.fields["address"], index_bits(memory.entries)), load.fields["word"], chosen
            )
        lists, self._coordinates, self._segments, self._elements, self._successors = memories
        self._size, self._bits = size, index_bits(fibers * size)
        address = resized(reference, index_bits(parameters.lists + 1))
        self._registers = {
            field: DataRegister(width, f"{name}_{field}")
            for fields, width in ((("fiber", "first", "last"), fibers.bit_length()), (("head", "end"), bits))
            for field in fields
        }
        begin, last = lists[address], lists[following(address)]
        self.fiber = self._now(starts, "fiber", begin)
        self.first, self.last = self._now(starts, "first", begin), self._now(starts, "last", last)
        self.head = self._now(starts, "head", self._segments[begin])
        self.end = self._now(starts, "end", self._segments[following(begin)])
        self.has_fibers = begin != last
        self.element = self._elements[self.head]

    def _now(self, starts: Signal, field: str, new: Signal) -> Signal:
        return alias(f"{self._registers[field].name}_now", pyrtl.select(starts, new, self._registers[field]))

    @property
    def coordinate(self) -> Signal:
        """Return the coordinate of the current fiber in its list."""
        return self._coordinates[self.fiber]

    def successor(self, coordinate: Signal) -> Signal:
        """Return the position of the fiber's first element that is not below a coordinate, or its end."""
        address = times(resized(self.fiber, self._bits), self._size) + resized(coordinate, self._bits)
        return self._successors[address[: self._bits]]

    def moved(self, skips: Signal, coordinate: Signal, passes: Signal) -> Signal:
        """Return the next head: it ``skips`` to a coordinate, ``passes`` its element, or stays."""
        stays = pyrtl.select(passes, following(self.head), self.head)
        return pyrtl.select(skips, self.successor(coordinate), stays)

    def hold(self, head: Signal, turns: Signal, fiber: Signal) -> None:
        """Keep the current fiber with this head; if the pair ``turns``, go on at the begin of ``fiber``."""
        values = {
            "fiber": pyrtl.select(turns, fiber, self.fiber),
            "first": self.first,
            "last": self.last,
            "head": pyrtl.select(turns, self._segments[fiber], head),
            "end": pyrtl.select(turns, self._segments[following(fiber)], self.end),
        }
        for field, value in values.items():
            self._registers[field].next <<= value


def design(parameters: FiberPairsParameters, streams: Streams) -> None:
    """Build the intersector: it makes a step a cycle, and turns to the next pair in the last step of one."""
    first, second = (Head.from_stream(streams.inputs[f"in_ref{way}"]) for way in (0, 1))
    load = streams.inputs[LOAD]
    load.accept(pyrtl.Const(1, 1))
    room, shown = tokens.room_in(streams), alias("both_shown", first.shown & second.shown)
    walks, ended, new, owes = (
        pyrtl.Register(1, name) for name in ("walks", "ended", "new_pair", "owes_stop")
    )
    # ``walks``: the lists have steps left. ``ended``: they have none, but their stop has not left.
    # ``new_pair``: the pair has no match yet. ``owes_stop``: the last match has no stop behind it yet.
    takes = alias("takes", room & shown & ~walks & ~ended)
    starts = alias("starts", takes & (first.is_data | first.is_empty))
    row, column = (
        _Side(name, parameters, load, head.payload, starts)
        for name, head in zip(SIDES, (first, second), strict=True)
    )
    present = alias("present", first.is_data & second.is_data & row.has_fibers & column.has_fibers)
    steps = alias("steps", pyrtl.select(starts, present, walks & room))
    equal = alias("equal", row.element == column.element)
    opens = alias("opens", starts | new)
    # The stop between two pairs takes the cycle of a match; the match is found again in the next cycle
    closes = alias("closes", steps & equal & room & new & owes & ~starts)
    sends = alias("sends", steps & equal & room & ~closes)
    skips, lower = alias("skips", steps & ~equal), alias("lower", row.element < column.element)
    heads = [
        side.moved(skips & skipped, other.element, sends)
        for side, other, skipped in ((row, column, lower), (column, row, ~lower))
    ]
    over = alias("over", (skips | sends) & ((heads[0] == row.end) | (heads[1] == column.end)))
    wraps = alias("wraps", following(column.fiber) == column.last)
    last = alias("last_pair", wraps & (following(row.fiber) == row.last))
    turns, ends = alias("turns", over & ~last), alias("ends", over & last)
    row.hold(heads[0], turns, pyrtl.select(wraps, following(row.fiber), row.fiber))
    column.hold(heads[1], turns, pyrtl.select(wraps, column.first, following(column.fiber)))
    # After a match, the outputs are taken: the stop of the lists leaves a cycle later
    finishes = alias("finishes", (ended | (ends & skips & ~starts)) & room & shown)
    ended.next <<= (starts & ~present) | ((ends | ended) & ~finishes)
    walks.next <<= pyrtl.select(starts, present, walks) & ~ends
    new.next <<= turns | (opens & ~sends)
    owes.next <<= sends | (owes & ~closes & ~starts)
    # A stop directly behind the references ends the lists too, and raises the level of their stop
    for stream in (streams.inputs["in_ref0"], streams.inputs["in_ref1"]):
        stream.accept(takes | (finishes & first.is_stop))
    passes = alias("passes", takes & first.is_control)
    streams.show(WORKS, skips & ~ends)
    streams.show(STEPS, skips | sends)
    _send(parameters, streams, (row, column), first, (sends, opens, closes, finishes, passes))


def _send(
    parameters: FiberPairsParameters,
    streams: Streams,
    sides: Sequence[_Side],
    first: Head,
    events: Sequence[Signal],
) -> None:
    """Build the logic of the outputs.

    Args:
        sides: both operands.
        first: the head of ``in_ref0``.
        events: whether a match leaves, whether it is the first of its pair, whether an earlier pair's stop
            leaves, whether the lists end, and whether the heads of the inputs are passed on.
    """
    sends, opens, closes, finishes, passes = events
    level = pyrtl.select(finishes & ~first.is_stop, pyrtl.Const(0, tokens.LEVEL_BITS), first.raised)
    stops = alias("stops", finishes | (passes & first.is_stop))
    kind = tokens.kind_of(sends, stops, passes & first.is_done)
    for port, side in zip(("out_outer[0]", "out_inner[0]"), sides, strict=True):
        valid = (sends & opens) | passes | finishes
        tokens.send(streams.outputs[port], valid, kind, level, side.coordinate)
    kind = tokens.kind_of(sends, stops | closes, passes & first.is_done)
    # The stop of an earlier pair has level 0. All other stops end the list of pairs too: one level higher.
    level = pyrtl.select(closes, pyrtl.Const(0, tokens.LEVEL_BITS), (level + 1)[: tokens.LEVEL_BITS])
    for port, side in zip(("out_ref0[0]", "out_ref1[0]"), sides, strict=True):
        position = resized(side.head, parameters.reference_bits)
        tokens.send(streams.outputs[port], sends | closes | passes | finishes, kind, level, position)


class FiberPairsAdapter(StreamAdapter):
    """Component that replaces a ``FiberPairs`` by its RTL in a simulation."""

    PORTS = (*FiberPairs.PORTS, LOAD_PORT)

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Account for a cycle; a step that sends nothing also makes it busy."""
        if not self.done and not moved and self.status.get(WORKS):
            return self.busy(now + 1)
        return super().account(now, moved, blocked)

    def counters(self) -> dict[str, int]:
        """Return the counters of the component."""
        matches, pairs = self.moved["out_ref0[0]", DATA], self.moved["out_outer[0]", DATA]
        return {"matches": matches, "pairs": pairs} | super().counters()


def words_of(pairs: FiberPairs, size: int = 0) -> list[Token]:
    """Return the tokens on ``load`` that fill the memories of the RTL of an intersector of pairs.

    Args:
        pairs: the component.
        size: the parameter of the RTL; 0 for the smallest that fits.
    """
    size = size or _size_of(pairs)
    sides = ((pairs.rows, pairs.row_fibers), (pairs.columns, pairs.column_fibers))
    return [
        Token(memory + side * MEMORIES, address, word, 0.0)
        for side, (lists, fibers) in enumerate(sides)
        for memory, words in enumerate(_memories(lists, fibers, size))
        for address, word in enumerate(words)
    ]


def _memories(lists: Level, fibers: Level, size: int) -> Iterator[list[int]]:
    """Yield the words of each memory of a side, in the order of ``_Side``."""
    for level in (lists, fibers):
        yield [level.begin(fiber) for fiber in range(level.fibers + 1)]
        yield [level.coordinate(position) for position in range(level.begin(level.fibers))]
    yield [fibers.find(fiber, place) for fiber in range(fibers.fibers) for place in range(size)]


def _size_of(pairs: FiberPairs) -> int:
    """Return the number of possible coordinates: the largest that occurs, plus 1."""
    levels = (pairs.row_fibers, pairs.column_fibers)
    return max((max(level.coordinates, default=0) for level in levels), default=0) + 1


def _of_pairs(pairs: FiberPairs) -> dict[str, object]:
    rows, columns = pairs.row_fibers, pairs.column_fibers
    # The component passes over empty fibers in no time; the module does not look for an empty fiber
    if any(
        level.begin(fiber) == level.end(fiber) for level in (rows, columns) for fiber in range(level.fibers)
    ):
        raise ValueError("no hardware here passes over empty fibers in no time")
    return {
        "lists": max(1, pairs.rows.fibers, pairs.columns.fibers),
        "rows": max(1, rows.fibers),
        "columns": max(1, columns.fibers),
        "elements": max(1, rows.begin(rows.fibers), columns.begin(columns.fibers)),
        "size": _size_of(pairs),
    }


BLOCK = unit(
    "fiber_pairs",
    FiberPairs,
    FiberPairsParameters,
    port_contents,
    design,
    status=(WORKS, STEPS),
    counters={"steps": StatusCounter(STEPS)},
    base=FiberPairsAdapter,
    alone=False,
    instance=_of_pairs,
)
