"""RTL of the scanner of a dense level, ``fiberscope.hw.streams.dense.DenseScanner``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, index_bits
from fiberscope.hw.rtl.kit.unit import unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.dense import DenseScanner
from fiberscope.hw.streams.scanner_rtl import LoopParameters, Walk, element_streams, following
from fiberscope.hw.streams.stream_adapter_rtl import StreamAdapter


@dataclass(frozen=True)
class DenseScannerParameters(LoopParameters):
    """Parameters of a dense scanner.

    Args:
        size: number of coordinates of the level, 0 to 16384.
        coordinate_bits: width of a coordinate, 4 to 55, enough for all coordinates and for the level of a
            stop.
        reference_bits: width of a reference to a fiber or element; the sender must avoid references that do
            not fit.
    """

    size: int = number(64, 0, 1 << 14)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55, lambda own: (index_bits(own.size), 55))
    reference_bits: int = number(32, tokens.LEVEL_BITS, 62, lambda own: (index_bits(own.size), 62))


def design(parameters: DenseScannerParameters, streams: Streams) -> None:
    """Build the scanner. Registers hold the coordinate and the reference of the element that was sent."""
    size, bits = parameters.size, parameters.reference_bits
    coordinate: Signal = DataRegister(index_bits(size), "coordinate")
    reference: Signal = DataRegister(bits, "reference")
    empty, last = pyrtl.Const(size == 0, 1), coordinate == max(0, size - 1)  # no effect for size 0
    walk = Walk(streams, empty, last)
    # Every fiber has ``size`` elements, so the first element of fiber f has the position f * size.
    first = times(streams.inputs["in_ref"].fields["payload"], size)
    place = pyrtl.select(walk.starts, pyrtl.Const(0, len(coordinate)), following(coordinate))
    position = pyrtl.select(walk.starts, first, following(reference))
    coordinate.next <<= pyrtl.select(walk.moves, place, coordinate)
    reference.next <<= pyrtl.select(walk.moves, position, reference)
    walk.send(place.zero_extended(parameters.coordinate_bits), position)


def times(reference: Signal, size: int) -> Signal:
    """Return the product of a reference and a size, as wide as the reference, by shifts and additions.

    High bits of the product that do not fit are lost. The circuit has an adder for each 1 in ``size``.
    """
    bits = len(reference)
    total: Signal = pyrtl.Const(0, bits)
    for place in range(min(bits, size.bit_length())):
        if size >> place & 1:
            total = (total + shifted(reference, place))[:bits]
    return total


def shifted(wire: Signal, places: int) -> Signal:
    """Return the wire shifted left by a number of places, less than its width; the high bits are lost."""
    return pyrtl.concat(wire[: len(wire) - places], pyrtl.Const(0, places)) if places else wire


BLOCK = unit(
    "dense_scanner",
    DenseScanner,
    DenseScannerParameters,
    element_streams,
    design,
    arguments=("size",),
    base=StreamAdapter,
)
