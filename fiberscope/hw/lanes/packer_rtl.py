"""The packer as RTL: the twin of ``fiberscope.hw.lanes.packer.Packer``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyrtl

from fiberscope.hw.lanes.items_rtl import AS_MADE, ItemParameters
from fiberscope.hw.lanes.packer import Packer
from fiberscope.hw.rtl.kit.interface import MASK
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.rows import LANES, Lane, Row
from fiberscope.hw.rtl.kit.trees import chosen, decoded, ones_up_to
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    Signal,
    Streams,
    alias,
    blank_if_stop,
    packed,
    unless,
    unpacked,
)
from fiberscope.hw.rtl.kit.unit import Lanes, PortContents, elements, rows, unit


@dataclass(frozen=True)
class PackerParameters(ItemParameters):
    """Parameters of a packer.

    Args:
        width, reference_bits, word_bits: see ``ItemParameters``.
        inputs: lanes of an input row, 1 to 64.
        outputs: lanes of an output row, 1 to 64.
    """

    inputs: int = number(16, *LANES)
    outputs: int = number(16, *LANES)

    @property
    def places(self) -> int:
        """Return the maximum number of items in a cycle: an output row that is held, and an input row."""
        return self.inputs + self.outputs

    @property
    def kept(self) -> int:
        """Return the maximum number of items that are held from one cycle to the next.

        If an output row leaves, at most the items of an input row stay; else fewer than an output row has.
        """
        return max(self.inputs, self.outputs - 1)


def port_contents(parameters: PackerParameters) -> PortContents:
    """Return the ports: input rows with a mask, and output rows without empty lanes."""
    item = parameters.item()
    return {"lanes": Lanes(item, parameters.inputs, mask=True), "packed": Lanes(item, parameters.outputs)}


def design(parameters: PackerParameters, streams: Streams) -> None:
    """Create a crossbar from the lanes to a list of places, which begins with the held items.

    The first ``outputs`` places are the output row. The register ``held`` is the number of held items, and
    ``ending`` is high while an array has ended whose stops have not been sent. The module does not check that
    all lanes behind a stop hold stops.
    """
    source, sink = streams.inputs["lanes"], streams.outputs["packed"]
    bits = parameters.places.bit_length()
    held: Signal = pyrtl.Register(bits, "held")
    ending: Signal = pyrtl.Register(1, "ending")
    room = alias("room", ~ending & (held <= parameters.outputs))
    takes = alias("takes", source.valid & room)
    row: Row = list(source.lanes)
    items = [alias(f"item_{i:02}", takes & lane[MASK] & ~lane["control"]) for i, lane in enumerate(row)]
    counts = ones_up_to(items)
    count = alias("count", (held + counts[-1])[:bits])
    stops = reduce(or_, [lane[MASK] & lane["control"] for lane in row])
    ends = alias("ends", ending | (takes & stops))
    sends = alias("sends", ends | (count >= parameters.outputs))
    # A row that completes an output row is taken only if the output row leaves in the same cycle
    moves = alias("moves", (takes | sends) & (sink.ready | ~sends))
    source.accept(room & (sink.ready | ~sends))
    # A full row has no stop, so that it is never the last row of its array
    last = alias("last_row", count < parameters.outputs)
    leaves = alias("leaves", moves & sends)
    left = unless(last, (count - parameters.outputs)[:bits])
    held.next <<= pyrtl.select(leaves, left, pyrtl.select(moves, count, held))
    ending.next <<= pyrtl.select(moves, ends & ~(leaves & last), ending)
    kept = _kept(parameters, row)
    places = _crossed(parameters, kept, row, items, held, _places(counts, held))
    for i, register in enumerate(kept):
        # After an output row has left, the items behind it move to the front
        later = i + parameters.outputs
        # Behind the last place there is no item, so that the register may keep any word
        behind = places[later] if later < len(places) else register
        register.next <<= pyrtl.select(leaves, behind, pyrtl.select(moves, places[i], register))
    fields = {name: wire for name, wire in row[0].items() if name not in (MASK, "control")}
    sent = [{"control": count <= i, **unpacked(place, fields)} for i, place in enumerate(places)]
    sink.send_lanes(sends, [blank_if_stop(lane) for lane in sent[: parameters.outputs]])


def _kept(parameters: PackerParameters, row: Row) -> list[Signal]:
    """Return the registers for held items, the oldest item first."""
    width = len(_word(row[0]))
    return [DataRegister(width, f"kept_{i:02}") for i in range(parameters.kept)]


def _word(lane: Lane) -> Signal:
    """Return the fields of an item as one word, without mask and control."""
    return packed({name: wire for name, wire in lane.items() if name not in (MASK, "control")})


def _places(counts: list[Signal], held: Signal) -> list[Signal]:
    """Return the place of each lane's item: after the held items, and the items of lower lanes."""
    before = [pyrtl.Const(0, len(counts[0])), *counts[:-1]]
    return [(held + ones)[: len(held)] for ones in before]


def _crossed(
    parameters: PackerParameters,
    kept: list[Signal],
    row: Row,
    items: list[Signal],
    held: Signal,
    places: list[Signal],
) -> list[Signal]:
    """Return the item in each place: a held item, or the item of the lane with this place.

    Args:
        kept: the held items.
        row: the row at the inputs.
        items: for each lane, whether it has an item that is taken.
        held: number of held items.
        places: for each lane, the place of its item.
    """
    words = [_word(lane) for lane in row]
    at = [decoded(place, parameters.places) for place in places]
    crossed = []
    for i in range(parameters.places):
        flags = [item & flags[i] for item, flags in zip(items, at, strict=True)]
        new = alias(f"new_{i:02}", chosen(flags, words))
        # The held items are in the first places; an item of the row has a place behind them
        crossed.append(pyrtl.select(held > i, kept[i], new) if i < len(kept) else new)
    return crossed


BLOCK = unit(
    "packer",
    Packer,
    PackerParameters,
    port_contents,
    design,
    arguments=("inputs", "outputs"),
    as_made=AS_MADE,
    counters={"rows": rows("lanes"), "words": elements("packed"), "packed_rows": rows("packed")},
    events=("words",),
    fibers=True,
)
