"""The bitmap intersector as RTL: the twin of ``hw.bitmap_intersect.BitmapIntersector``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from hw.bitmap_intersect import WIDTHS, BitmapIntersector
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.interface import Bundle, Interface, Stream
from hw.rtl.kit.parameters import Parameters, number, one_of
from hw.rtl.kit.trees import ones_up_to
from hw.rtl.kit.twin import Signal, Streams, named, unless


@dataclass(frozen=True)
class BitmapIntersectorParameters(Parameters):
    """What a bitmap intersector is made for.

    Args:
        width: bits of a word, and lanes, as in the component.
        coordinate_bits: 6 to 55; a fiber has no more words than these can number.
        reference_bits: of a position, in two's complement, 7 to 64.
    """

    width: int = one_of(16, *WIDTHS)
    coordinate_bits: int = number(32, 6, 55)
    reference_bits: int = number(33, 7, 64)


def interface(parameters: BitmapIntersectorParameters) -> Interface:
    """Ports: words on ``a`` and ``b``; rows with a mask on ``matches_a`` and ``matches_b``."""
    word = {"control": 1, "coordinate": parameters.width}
    match = {**word, "coordinate": parameters.coordinate_bits, "reference": parameters.reference_bits}
    words = (Stream(side, side, "input", word) for side in "ab")
    rows = (f"matches_{side}" for side in "ab")
    matches = (Bundle(row, row, "output", match, parameters.width, mask=True) for row in rows)
    return Interface("bitmap_intersector", (*words, *matches))


def design(parameters: BitmapIntersectorParameters, between: Streams) -> None:
    """An AND, and for each side the ones before each bit by a network of adders, above a running count."""
    a, b = between.inputs["a"], between.inputs["b"]
    ready = between.outputs["matches_a"].ready & between.outputs["matches_b"].ready
    row = named("row_moves", a.valid & b.valid & ready)
    a.accept(row)
    b.accept(row)
    stop = named("stop", a.fields["control"] & b.fields["control"])
    both = named("both", a.fields["coordinate"] & b.fields["coordinate"])
    bits = parameters.width.bit_length() - 1  # of a coordinate, within a word
    word_number = _counter("word_number", parameters.coordinate_bits - bits, row, stop, pyrtl.Const(1, 1))
    for side, words in (("a", a.fields["coordinate"]), ("b", b.fields["coordinate"])):
        counts = ones_up_to(list(words))
        position = _counter(f"position_{side}", parameters.reference_bits - 1, row, stop, counts[-1])
        before = [pyrtl.Const(0, 1), *counts[:-1]]
        lanes = [
            {
                "mask": stop | both[lane],
                "control": stop,
                "coordinate": unless(stop, pyrtl.concat(word_number, pyrtl.Const(lane, bits))),
                "reference": unless(stop, _sum(position, before[lane]).zero_extended(len(position) + 1)),
            }
            for lane in range(parameters.width)
        ]
        between.outputs[f"matches_{side}"].send_lanes(row, lanes)


def _counter(name: str, bits: int, moves: Signal, clear: Signal, more: Signal) -> Signal:
    """A register that grows when a row moves, up to a stop."""
    count: Signal = pyrtl.Register(bits, name)
    count.next <<= pyrtl.select(moves, unless(clear, _sum(count, more)), count)
    return count


def _sum(left: Signal, right: Signal) -> Signal:
    """As wide as the left one."""
    return (left + right)[: len(left)]


class BitmapIntersectorStandIn(Adapter):
    """Stands in for a ``BitmapIntersector``; the module's ports are those of this file."""

    PORTS = BitmapIntersector.PORTS
    FIBERS = True
    TOGETHER = ("matches_a", "matches_b")

    def counters(self) -> dict[str, int]:
        """Those of the component."""
        words, matches = self.end("a"), self.end("matches_a")
        return {"intersect": words.elements, "matches": matches.elements, "fibers": words.stops}


BLOCK = RtlBlock(
    "bitmap_intersector",
    "intersects two fibers by their bitmaps, a word of each a cycle, all matches of it at once",
    BitmapIntersectorParameters,
    BitmapIntersectorParameters,
    interface,
    design,
    BitmapIntersectorStandIn,
    lambda name, parameters: BitmapIntersector(name, parameters.width),
)
