"""The scanner of a compressed level as RTL: the twin of ``fiberscope.hw.streams``' ``CompressedScanner``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyrtl

from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.parameters import Parameters, check_range, number
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, index_bits, named, unless
from fiberscope.hw.rtl.kit.unit import Carried, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.memory_rtl import LOAD, Memory, level_words
from fiberscope.hw.streams.stream_adapter_rtl import LOAD_PORT, StreamAdapter
from fiberscope.hw.streams.tokens import DATA
from fiberscope.hw.streams.tokens_rtl import Head

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend


@dataclass(frozen=True)
class CompressedScannerParameters(Parameters):
    """Parameters of a scanner.

    Args:
        fibers: the fibers of the level, 1 to 65536.
        elements: of all its fibers, 1 to 65536.
        coordinate_bits: 4 to 55; a stop's level has to fit as well.
        reference_bits: bits of a position or a fiber's number, enough for both.
    """

    fibers: int = number(64, 1, 1 << 16)
    elements: int = number(512, 1, 1 << 16)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    reference_bits: int = number(32, tokens.LEVEL_BITS, 62)

    def __post_init__(self) -> None:
        """Refuse references that cannot tell all positions."""
        super().__post_init__()
        least = max(index_bits(self.fibers), index_bits(self.elements))
        check_range("compressed_scanner", "reference_bits", self.reference_bits, least, 62)

    @property
    def segment_bits(self) -> int:
        """Bits that number the positions and the end of the last fiber."""
        return self.elements.bit_length()


def carried(parameters: CompressedScannerParameters) -> Carried:
    """``load`` writes a word at an address: a segment, or where ``control`` is 1 a coordinate."""
    references = tokens.numbers(parameters.reference_bits)
    return {
        "in_ref": references,
        LOAD: level_words(parameters.fibers, parameters.elements, parameters.coordinate_bits),
        "out_crd": tokens.numbers(parameters.coordinate_bits),
        "out_ref": references,
    }


class Walk:
    """State of a scanner: whether it is in a fiber, and whether a stop is due.

    A fiber's end is told from its last element on: as soon as the next reference shows, whose stop is merged
    with its own, or at once with a higher one where that is a stop.

    Args:
        between: the scanner's streams.
        empty: whether a reference that shows is of a fiber without elements.
        last: whether the element that was sent is the last one of its fiber.
    """

    def __init__(self, between: Streams, empty: Signal, last: Signal) -> None:
        self._between = between
        self._head, self._room = Head.from_stream(between.inputs["in_ref"]), tokens.room_in(between)
        head, room = self._head, self._room
        in_fiber: Signal = pyrtl.Register(1, "in_fiber")
        owes: Signal = pyrtl.Register(1, "owes")
        waits = named("waits", ~in_fiber & ~owes)
        nothing = named("nothing_in_it", head.is_empty | (head.is_data & empty))
        starts = named("starts", waits & head.is_data & ~nothing)
        self._ends = named("ends", head.shown & (owes | (in_fiber & last)))
        self._sends = named("sends", starts | (in_fiber & ~last))
        self._passes = named("passes", waits & head.is_control)
        between.inputs["in_ref"].accept(room & ((waits & head.shown) | (self._ends & head.is_stop)))
        in_fiber.next <<= pyrtl.select(room, starts | (in_fiber & ~self._ends), in_fiber)
        owes.next <<= pyrtl.select(room, (waits & nothing) | (owes & ~self._ends), owes)
        self.starts = starts
        self.moves = named("moves", room & self._sends)

    def send(self, coordinate: Signal, reference: Signal) -> None:
        """Offer the element that is sent now, or the stop or done in its place."""
        head, ends, passes = self._head, self._ends, self._passes
        kind = tokens.kind_of(self._sends, ends | (passes & head.is_stop), passes & head.is_done)
        level = unless(ends & ~head.is_stop, head.raised)
        offered = self._room & (self._sends | ends | passes)
        for port, payload in (("out_crd[0]", coordinate), ("out_ref[0]", reference)):
            tokens.send(self._between.outputs[port], offered, kind, level, payload)


def design(parameters: CompressedScannerParameters, between: Streams) -> None:
    """The position and the last one of its fiber."""
    segments, coordinates = _memories(parameters, between)
    position: Signal = DataRegister(parameters.segment_bits, "position")
    end: Signal = DataRegister(parameters.segment_bits, "behind_last")
    fiber = between.inputs["in_ref"].fields["payload"]
    begins, behind = segments[fiber], segments[following(fiber)]
    walk = Walk(between, begins == behind, following(position) == end)
    place = pyrtl.select(walk.starts, begins, following(position))
    position.next <<= pyrtl.select(walk.moves, place, position)
    end.next <<= pyrtl.select(walk.moves & walk.starts, behind, end)
    walk.send(coordinates[place], place.zero_extended(parameters.reference_bits))


def _memories(parameters: CompressedScannerParameters, between: Streams) -> tuple[Memory, Memory]:
    """Segments and coordinates, filled through ``load``."""
    load = between.inputs[LOAD]
    load.accept(pyrtl.Const(1, 1))
    segments = Memory("segments", parameters.fibers + 1, parameters.segment_bits)
    coordinates = Memory("coordinates", parameters.elements, parameters.coordinate_bits)
    of_coordinates = load.fields["control"]
    place, word = load.fields["address"], load.fields["word"]
    segments.write(place, word, load.valid & ~of_coordinates)
    coordinates.write(place, word, load.valid & of_coordinates)
    return segments, coordinates


def following(place: Signal) -> Signal:
    """The place behind this one."""
    return (place + 1)[: len(place)]


class CompressedScannerAdapter(StreamAdapter):
    """Stands in for a ``CompressedScanner``."""

    PORTS = (*CompressedScanner.PORTS, LOAD_PORT)

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._fibers: set[int] = set()

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Know the fibers."""
        super().observe(moved)
        if "in_ref" in moved and moved["in_ref"].control == DATA:
            self._fibers.add(moved["in_ref"].coordinate)

    def counters(self) -> dict[str, int]:
        """Fibers that differ, and the tokens of the outputs."""
        return {"fibers": len(self._fibers)} | super().counters()


def _of_level(scanner: CompressedScanner) -> dict[str, object]:
    level = scanner.level
    return {"fibers": max(1, level.fibers), "elements": max(1, level.begin(level.fibers))}


BLOCK = unit(
    "compressed_scanner",
    CompressedScanner,
    CompressedScannerParameters,
    carried,
    design,
    base=CompressedScannerAdapter,
    alone=False,
    instance=_of_level,
)
