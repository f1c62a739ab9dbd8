"""RTL of the memory of an accumulator: sums in the order of their coordinates, in a sorted shift register.

The model in ``fiberscope.hw.streams`` sorts in zero time. The RTL inserts a new sum at its place and shifts
all later sums back by one place, in one cycle. When the first sum leaves, all others shift forward. This
needs a comparator and a multiplexer for each entry, and one adder for all entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pyrtl

from fiberscope.hw.rtl.kit.arithmetic import SummingParameters
from fiberscope.hw.rtl.kit.trees import any_of, chosen
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, alias

FULL, KEY, SUM = "full", "key", "sum"
Entry: TypeAlias = Mapping[str, Signal]


class SortedSums:
    """A sorted memory of sums, which adds or inserts one point a cycle, and removes its first sum.

    Args:
        points: number of entries, at least 2.
        key: sort key of the point at the input.
        value: value of the point at the input, as wide as a sum.
        parameters: parameters of the block, which define the addition.

    Attributes:
        is_there: whether there is a sum with the key of the point at the input.
        first, second, last: the first, the second and the last entry.
    """

    def __init__(self, points: int, key: Signal, value: Signal, parameters: SummingParameters) -> None:
        self._parameters = parameters
        self._new = {FULL: pyrtl.Const(1, 1), KEY: key, SUM: value}
        self._entries = [_registers(place, self._new) for place in range(points)]
        self._before = [
            alias(f"before_{place:04}", entry[FULL] & (entry[KEY] < key))
            for place, entry in enumerate(self._entries)
        ]
        self._equal = [
            alias(f"equal_{place:04}", entry[FULL] & (entry[KEY] == key))
            for place, entry in enumerate(self._entries)
        ]
        self.is_there = alias("is_there", any_of("equal", self._equal))
        self.first, self.second, self.last = *self._entries[:2], self._entries[-1]

    def move(self, takes: Signal, leaves: Signal) -> None:
        """Build the logic that takes the point at the input, and removes the first sum.

        A point may be taken only if its sum exists or an entry is free. If a point is taken and the first sum
        removed in the same cycle, the key of that sum must be less than the key of the point; the entry of
        the first sum is then free. Call this method once.

        Args:
            takes: 1 in the cycles in which the point is taken.
            leaves: 1 in the cycles in which the first sum is removed.
        """
        none, always = pyrtl.Const(0, 1), pyrtl.Const(1, 1)
        inserts = alias("inserts", takes & ~self.is_there)
        entries = self._added(takes)
        # Element p + 1 of both lists belongs to entry p; the ends stand for its missing neighbors.
        before = [always, *self._before, none]
        around = [self._new, *entries, _nothing(self.first)]
        for place, entry in enumerate(self._entries):
            ahead, this, behind = before[place : place + 3]
            # The new point follows the last entry with a smaller key. If the first sum leaves, all entries
            # before the point move up, and the point takes the place of the last of them.
            lands = inserts & pyrtl.select(leaves, this & ~behind, ahead & ~this)
            moves_up = leaves & (behind | ~inserts)
            moves_back = inserts & ~leaves & ~ahead
            for part, register in entry.items():
                up_or_same = pyrtl.select(moves_up, around[place + 2][part], around[place + 1][part])
                moved = pyrtl.select(moves_back, around[place][part], up_or_same)
                register.next <<= pyrtl.select(lands, self._new[part], moved)

    def _added(self, takes: Signal) -> Sequence[Entry]:
        """Return the entries, with the value added to the sum of the point if it is taken."""
        matching = alias("found", chosen(self._equal, [entry[SUM] for entry in self._entries]))
        total = self._parameters.added(matching, self._new[SUM])
        return [
            {**entry, SUM: pyrtl.select(takes & equal, total, entry[SUM])}
            for entry, equal in zip(self._entries, self._equal, strict=True)
        ]


def _registers(place: int, like: Entry) -> Entry:
    """Return the registers of an entry; only the bit that shows whether it is in use has a reset."""
    return {
        part: (pyrtl.Register if part == FULL else DataRegister)(len(wire), f"{part}_{place:04}")
        for part, wire in like.items()
    }


def _nothing(like: Entry) -> Entry:
    return {part: pyrtl.Const(0, len(wire)) for part, wire in like.items()}
