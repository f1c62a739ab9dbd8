"""Windows of tokens as RTL: all places are compared at once, and any number of tokens leaves at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyrtl

from fiberscope.hw.rtl.kit.trees import all_up_to, chosen
from fiberscope.hw.rtl.kit.twin import DataRegister, InputStream, Signal, alias, packed, unless, unpacked


def order_of(fields: Mapping[str, Signal]) -> Signal:
    """Return the sort key of a token: its coordinate; the stop is behind all coordinates."""
    stop = fields["control"]
    return pyrtl.concat(stop, unless(stop, fields["coordinate"]))


class Window:
    """A shift register with its head at place 0, which any number of tokens leave at once.

    ``held`` counts its tokens, ``present`` says of each place whether it has one. Once it is known which
    tokens leave, ``advance`` shifts, and ``moved`` does the same with whatever else goes with the tokens.
    """

    def __init__(self, side: str, size: int, source: InputStream) -> None:
        self.side = side
        self.source = source
        self.held: Signal = pyrtl.Register(size.bit_length(), f"held_{side}")
        self.places: list[dict[str, Signal]] = [
            {
                field: DataRegister(len(wire), f"window_{side}_{i:02}_{field}")
                for field, wire in source.fields.items()
            }
            for i in range(size)
        ]
        self.present = [alias(f"present_{side}_{i:02}", self.held > i) for i in range(size)]
        self.order = [alias(f"order_{side}_{i:02}", order_of(place)) for i, place in enumerate(self.places)]
        self.entering = alias(f"order_{side}_entering", order_of(source.fields))

    @property
    def head(self) -> dict[str, Signal]:
        """The first token."""
        return self.places[0]

    def advance(self, leaves: Sequence[Signal]) -> Signal:
        """Shift out the tokens that leave, take one in if there was room; gives whether all leave."""
        size, bits = len(self.places), len(self.held)
        stay = [*(~leave for leave in leaves), pyrtl.Const(1, 1)]
        before = [pyrtl.Const(1, 1), *leaves]
        self._leave = [
            alias(f"{self.side}_leave_{k:02}", gone & kept)
            for k, (gone, kept) in enumerate(zip(before, stay, strict=True))
        ]
        self.leaving = chosen(self._leave, [pyrtl.Const(k, bits) for k in range(size + 1)])
        room = self.held != size
        fills = alias(f"fills_{self.side}", room & self.source.valid)
        self.source.accept(room)
        self._comes = [alias(f"comes_{self.side}_{i:02}", fills & self._left(i)) for i in range(size)]
        self._place = alias(f"place_{self.side}", pyrtl.concat_list(self._comes))
        counts = [(self.held - k + fills)[:bits] for k in range(size + 1)]
        self.held.next <<= chosen(self._leave, counts)
        tokens = [packed(place) for place in self.places]
        entering = packed(self.source.fields)
        for place, token in zip(self.places, self.moved(tokens, entering), strict=True):
            for field, value in unpacked(token, place).items():
                place[field].next <<= value
        return self._left(0)

    def _left(self, count: int) -> Signal:
        """Return whether so many are left, for each number that may leave, before it is known which does."""
        return chosen(self._leave, [self.held == count + k for k in range(len(self._leave))])

    def moved(self, wires: Sequence[Signal], entering: Signal) -> list[Signal]:
        """Return the wires of the tokens behind the shift: one a place, and one for the new token."""
        after = [chosen(self._leave[: len(wires) - i], wires[i:]) for i in range(len(wires))]
        return [pyrtl.select(comes, entering, wire) for comes, wire in zip(self._comes, after, strict=True)]

    def shifted(self, word: Signal, entering: Signal) -> Signal:
        """A word with a bit a place, behind the shift, and the bit for the token that comes in."""
        after = chosen(self._leave, [pyrtl.shift_right_logical(word, k) for k in range(len(self._leave))])
        return (after & ~self._place) | pyrtl.select(entering, self._place, 0)


class Comparisons:
    """Order of tokens of two windows, for all pairs of places.

    A pair is compared when the second of it comes in, and the answer shifts with both, so that no comparison
    stands before the shift. A word for each place of the one window has a bit for each of the other.
    """

    def __init__(self, own: Window, other: Window) -> None:
        self._sides = own, other
        size = len(other.places)
        self.less = [
            DataRegister(size, f"{own.side}_{i:02}_before_{other.side}") for i in range(len(own.places))
        ]

    def below(self) -> list[Signal]:
        """For each place whether it and all before it hold what comes before the other side's head."""
        (own, _other) = self._sides
        return all_up_to([present & less[0] for present, less in zip(own.present, self.less, strict=True)])

    def advance(self) -> None:
        """Shift with both windows."""
        own, other = self._sides
        compared = pyrtl.concat_list([own.entering < order for order in other.order])
        first = other.shifted(compared, own.entering < other.entering)
        rows = [
            other.shifted(less, order < other.entering)
            for less, order in zip(self.less, own.order, strict=True)
        ]
        for less, row in zip(self.less, own.moved(rows, first), strict=True):
            less.next <<= row
