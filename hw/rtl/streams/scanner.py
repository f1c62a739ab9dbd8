"""The scanner of a compressed level as RTL: the twin of ``hw.streams``' ``CompressedScanner``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyrtl

from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import Interface, Stream
from hw.rtl.kit.parameters import Parameters, check_range, number
from hw.rtl.kit.twin import DataRegister, Signal, Streams, index_bits, named, unless
from hw.rtl.streams import tokens
from hw.rtl.streams.memory import LOAD, Memory, level_words
from hw.rtl.streams.stand_in import LOAD_PORT, StreamStandIn
from hw.rtl.streams.tokens import Head
from hw.streams.compressed import CompressedScanner
from hw.streams.tokens import DATA

if TYPE_CHECKING:
    from hw.rtl.kit.backend import Backend


@dataclass(frozen=True)
class CompressedScannerParameters(Parameters):
    """What a scanner is made for.

    Args:
        fibers: of the level, 1 to 65536.
        elements: of all its fibers, 1 to 65536.
        coordinate_bits: 4 to 55; a stop's level has to fit as well.
        reference_bits: of a position or a fiber's number, enough for both.

    Raises:
        ValueError: for a number out of its range.
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


def interface(parameters: CompressedScannerParameters) -> Interface:
    """Ports: ``in_ref``, ``out_crd`` and ``out_ref``; ``load`` writes a word at an address.

    That is a segment, or where ``control`` is 1 a coordinate.
    """
    references = tokens.numbers(parameters.reference_bits)
    load = level_words(parameters.fibers, parameters.elements, parameters.coordinate_bits)
    return Interface(
        "compressed_scanner",
        (
            tokens.source("in_ref", references),
            Stream(LOAD, LOAD, "input", load),
            tokens.sink("out_crd", tokens.numbers(parameters.coordinate_bits)),
            tokens.sink("out_ref", references),
        ),
    )


def design(parameters: CompressedScannerParameters, between: Streams) -> None:
    """The position, the last one of its fiber, and whether a stop is due.

    A fiber's end is told from its last position on: as soon as the next reference shows, whose stop is merged
    with its own, or at once with a higher one where that is a stop.
    """
    head, room = Head.of(between.inputs["in_ref"]), tokens.room_in(between)
    segments, coordinates = _memories(parameters, between)
    in_fiber: Signal = pyrtl.Register(1, "in_fiber")
    owes: Signal = pyrtl.Register(1, "owes")
    position: Signal = DataRegister(parameters.segment_bits, "position")
    end: Signal = DataRegister(parameters.segment_bits, "behind_last")

    fiber = head.payload
    begins, behind = segments[fiber], segments[_following(fiber)]
    waits = named("waits", ~in_fiber & ~owes)
    nothing = named("nothing_in_it", head.is_empty | (head.is_data & (begins == behind)))
    starts = named("starts", waits & head.is_data & ~nothing)
    ends = named("ends", head.shown & (owes | (in_fiber & (_following(position) == end))))
    steps = named("steps", in_fiber & (_following(position) != end))
    passes = named("passes", waits & head.is_control)

    between.inputs["in_ref"].accept(room & ((waits & head.shown) | (ends & head.is_stop)))
    moves = named("moves", room & (starts | steps))
    place = pyrtl.select(starts, begins, _following(position))
    position.next <<= pyrtl.select(moves, place, position)
    end.next <<= pyrtl.select(room & starts, behind, end)
    in_fiber.next <<= pyrtl.select(room, starts | (in_fiber & ~ends), in_fiber)
    owes.next <<= pyrtl.select(room, (waits & nothing) | (owes & ~ends), owes)

    kind = tokens.kind_of(starts | steps, ends | (passes & head.is_stop), passes & head.is_done)
    level = unless(ends & ~head.is_stop, head.raised)
    offered = room & (starts | steps | ends | passes)
    tokens.send(between.outputs["out_crd[0]"], offered, kind, level, coordinates[place])
    reference = place.zero_extended(parameters.reference_bits)
    tokens.send(between.outputs["out_ref[0]"], offered, kind, level, reference)


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


def _following(place: Signal) -> Signal:
    return (place + 1)[: len(place)]


class CompressedScannerStandIn(StreamStandIn):
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


BLOCK = RtlBlock(
    "compressed_scanner",
    "scans the fibers of a compressed level, one element a cycle",
    CompressedScannerParameters,
    CompressedScannerParameters,
    interface,
    design,
    CompressedScannerStandIn,
)
