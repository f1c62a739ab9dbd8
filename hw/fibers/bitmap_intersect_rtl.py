"""The bitmap intersector as RTL: the twin of ``fiberscope.hw.fibers.bitmap_intersect.BitmapIntersector``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.fibers.bitmap_intersect import WIDTHS, BitmapIntersector
from fiberscope.hw.rtl.kit.parameters import Parameters, number, one_of
from fiberscope.hw.rtl.kit.trees import ones_up_to
from fiberscope.hw.rtl.kit.twin import Signal, Streams, named, unless
from fiberscope.hw.rtl.kit.unit import Carried, Lanes, elements, stops, unit


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


def carried(parameters: BitmapIntersectorParameters) -> Carried:
    """Words, and rows with a mask of the matches in one."""
    word = {"control": 1, "coordinate": parameters.width}
    match = {**word, "coordinate": parameters.coordinate_bits, "reference": parameters.reference_bits}
    matches = Lanes(match, parameters.width, mask=True)
    return {"a": word, "b": word, "matches_a": matches, "matches_b": matches}


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


BLOCK = unit(
    "bitmap_intersector",
    BitmapIntersector,
    BitmapIntersectorParameters,
    carried,
    design,
    arguments=("width",),
    counters={"intersect": elements("a"), "matches": elements("matches_a"), "fibers": stops("a")},
    fibers=True,
    together=("matches_a", "matches_b"),
)
