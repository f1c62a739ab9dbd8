"""RTL of the counter of a loop, ``fiberscope.hw.streams.counter.Counter``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, index_bits, resized
from fiberscope.hw.rtl.kit.unit import unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.counter import Counter
from fiberscope.hw.streams.scanner_rtl import LoopParameters, Walk, element_streams
from fiberscope.hw.streams.stream_adapter_rtl import StreamAdapter

MAX_SIZE = 1 << 14  # coordinates of a loop


@dataclass(frozen=True)
class CounterParameters(LoopParameters):
    """Parameters of a counter.

    Args:
        size: upper bound of the coordinates, not included, 0 to 16384.
        step: difference between two successive coordinates, 1 to 16384.
        piece: size of the partition that begins at the accepted element; 0 for a loop over all coordinates.
        coordinate_bits: width of a coordinate, 4 to 55, enough for all coordinates and for the level of a
            stop.
        reference_bits: width of a reference and of the accepted element, enough for the same numbers.
    """

    size: int = number(64, 0, MAX_SIZE)
    step: int = number(1, 1, MAX_SIZE)
    piece: int = number(0, 0, MAX_SIZE)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55, lambda own: (index_bits(own.size), 55))
    reference_bits: int = number(32, tokens.LEVEL_BITS, 62, lambda own: (index_bits(own.size), 62))


def design(parameters: CounterParameters, streams: Streams) -> None:
    """Build the counter. A register holds the coordinate that was sent, another the end of the piece."""
    size = pyrtl.Const(parameters.size)
    piece = parameters.piece if parameters.size else 0  # a loop without coordinates has no pieces
    reference = streams.inputs["in_ref"].fields["payload"]
    coordinate: Signal = DataRegister(index_bits(parameters.size), "coordinate")
    end: Signal = DataRegister(len(size), "end_of_piece") if piece else size
    following = coordinate + pyrtl.Const(parameters.step)
    is_last = following >= end if parameters.size else pyrtl.Const(1, 1)
    walk = Walk(streams, reference >= size if piece else size == 0, is_last)
    first = resized(reference, len(coordinate)) if piece else pyrtl.Const(0, len(coordinate))
    place = pyrtl.select(walk.starts, first, following[: len(coordinate)])
    coordinate.next <<= pyrtl.select(walk.moves, place, coordinate)
    if piece:
        behind = first + pyrtl.Const(piece)
        last = pyrtl.select(behind < size, resized(behind, len(size)), size)
        end.next <<= pyrtl.select(walk.moves & walk.starts, last, end)
    walk.send(place.zero_extended(parameters.coordinate_bits), place.zero_extended(parameters.reference_bits))


BLOCK = unit(
    "counter",
    Counter,
    CounterParameters,
    element_streams,
    design,
    arguments=("size", "step", "piece"),
    base=StreamAdapter,
)
