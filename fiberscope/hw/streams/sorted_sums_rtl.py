"""The memory of an accumulator as RTL: sums in the order of their coordinates, in registers that all compare.

What ``fiberscope.hw.streams`` does by sorting in no time is done here by moving: a new sum lands at its
place, and those behind it move back by one, all in one cycle; when the first leaves, the others move up. That
costs a comparator and a multiplexer for each sum that there is room for, and one adder for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pyrtl

from fiberscope.hw.rtl.kit.arithmetic import SummingParameters
from fiberscope.hw.rtl.kit.trees import any_of, chosen
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, named

FULL, KEY, SUM = "full", "key", "sum"
Entry: TypeAlias = Mapping[str, Signal]


class SortedSums:
    """Sums that are added to, or put in their places, one a cycle; the first may leave.

    Args:
        points: how many there is room for, at least 2.
        key: what the order is by, of the point that shows.
        value: the value of that point, as wide as a sum.
        parameters: the parameters of the block, which say how values are added up.

    Attributes are the ``first``, the ``second`` and the ``last`` entry, and whether the sum of the point that
    shows ``is_there``.
    """

    def __init__(self, points: int, key: Signal, value: Signal, parameters: SummingParameters) -> None:
        self._parameters = parameters
        self._new = {FULL: pyrtl.Const(1, 1), KEY: key, SUM: value}
        self._entries = [_registers(place, self._new) for place in range(points)]
        self._before = [
            named(f"before_{place:04}", entry[FULL] & (entry[KEY] < key))
            for place, entry in enumerate(self._entries)
        ]
        self._equal = [
            named(f"equal_{place:04}", entry[FULL] & (entry[KEY] == key))
            for place, entry in enumerate(self._entries)
        ]
        self.is_there = named("is_there", any_of("equal", self._equal))
        self.first, self.second, self.last = *self._entries[:2], self._entries[-1]

    def move(self, takes: Signal, leaves: Signal) -> None:
        """Take the point that shows, for which there must be a place, and let the first leave.

        Where both are in one cycle, the first must be one that lies before the point; its place is free.
        """
        none, always = pyrtl.Const(0, 1), pyrtl.Const(1, 1)
        inserts = named("inserts", takes & ~self.is_there)
        entries = self._added(takes)
        before = [always, *self._before, none]
        around = [self._new, *entries, _nothing(self.first)]
        for place, entry in enumerate(self._entries):
            ahead, this, behind = before[place : place + 3]
            lands = inserts & pyrtl.select(leaves, this & ~behind, ahead & ~this)
            moves_up = leaves & (behind | ~inserts)
            moves_back = inserts & ~leaves & ~ahead
            for part, register in entry.items():
                up_or_same = pyrtl.select(moves_up, around[place + 2][part], around[place + 1][part])
                moved = pyrtl.select(moves_back, around[place][part], up_or_same)
                register.next <<= pyrtl.select(lands, self._new[part], moved)

    def _added(self, takes: Signal) -> Sequence[Entry]:
        """The entries, that of the point that is taken with its value added."""
        matching = named("found", chosen(self._equal, [entry[SUM] for entry in self._entries]))
        total = self._parameters.added(matching, self._new[SUM])
        return [
            {**entry, SUM: pyrtl.select(takes & equal, total, entry[SUM])}
            for entry, equal in zip(self._entries, self._equal, strict=True)
        ]


def _registers(place: int, like: Entry) -> Entry:
    """Only whether there is a sum is reset."""
    return {
        part: (pyrtl.Register if part == FULL else DataRegister)(len(wire), f"{part}_{place:04}")
        for part, wire in like.items()
    }


def _nothing(like: Entry) -> Entry:
    return {part: pyrtl.Const(0, len(wire)) for part, wire in like.items()}
