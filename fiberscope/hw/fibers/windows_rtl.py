"""RTL of windows of tokens: all tokens are compared in parallel, and any number of them leaves in a cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyrtl

from fiberscope.hw.rtl.kit.trees import all_up_to, chosen
from fiberscope.hw.rtl.kit.twin import DataRegister, InputStream, Signal, alias, packed, unless, unpacked


def order_of(fields: Mapping[str, Signal]) -> Signal:
    """Return the sort key of a token: its coordinate; the key of a stop is larger than all coordinates."""
    stop = fields["control"]
    return pyrtl.concat(stop, unless(stop, fields["coordinate"]))


class Window:
    """A shift register with its head at place 0, from which any number of tokens leaves in a cycle.

    ``held`` is the number of tokens, and ``present[i]`` whether place i holds a token. Call ``advance`` once,
    with the tokens that leave. After this call, ``moved`` and ``shifted`` shift other data in the same way,
    and ``leaving`` is the number of tokens that leave.

    Args:
        side: ``"a"`` or ``"b"``, part of the names of the wires.
        size: capacity in tokens.
        source: stream whose tokens enter the window.
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
        """The fields of the first token."""
        return self.places[0]

    def advance(self, leaves: Sequence[Signal]) -> Signal:
        """Shift out the tokens that leave, and accept a token if the window had a free place before.

        Args:
            leaves: for each place, whether its token leaves; the tokens that leave are the first ones.

        Returns:
            Whether all tokens leave; a token that enters in this cycle does not count.
        """
        size, bits = len(self.places), len(self.held)
        # ``_leave`` is the number of tokens that leave, one-hot: the first k leave, and token k stays.
        stay = [*(~leave for leave in leaves), pyrtl.Const(1, 1)]
        before = [pyrtl.Const(1, 1), *leaves]
        self._leave = [
            alias(f"{self.side}_leave_{k:02}", gone & kept)
            for k, (gone, kept) in enumerate(zip(before, stay, strict=True))
        ]
        self.leaving = chosen(self._leave, [pyrtl.Const(k, bits) for k in range(size + 1)])
        # A place that becomes free in this cycle does not count: ``accept`` depends on a register only
        room = self.held != size
        fills = alias(f"fills_{self.side}", room & self.source.valid)
        self.source.accept(room)
        # One-hot: a token enters at place i if i tokens are left.
        self._comes = [alias(f"comes_{self.side}_{i:02}", fills & self._left(i)) for i in range(size)]
        self._place = alias(f"place_{self.side}", pyrtl.concat_list(self._comes))
        # For k above ``held``, the difference wraps around; such a k is not selected
        counts = [(self.held - k + fills)[:bits] for k in range(size + 1)]
        self.held.next <<= chosen(self._leave, counts)
        tokens = [packed(place) for place in self.places]
        entering = packed(self.source.fields)
        for place, token in zip(self.places, self.moved(tokens, entering), strict=True):
            for field, value in unpacked(token, place).items():
                place[field].next <<= value
        return self._left(0)

    def _left(self, count: int) -> Signal:
        """Return whether ``count`` tokens are left.

        The comparisons are made for every number of tokens that may leave. Only the selection among their
        results waits for the number that does.
        """
        return chosen(self._leave, [self.held == count + k for k in range(len(self._leave))])

    def moved(self, wires: Sequence[Signal], entering: Signal) -> list[Signal]:
        """Shift data that accompany the tokens.

        Args:
            wires: data of each place.
            entering: data of the token that enters.

        Returns:
            The data of each place after the shift.
        """
        # Place i gets the token of place i + k; no token remains for places without such a place
        after = [chosen(self._leave[: len(wires) - i], wires[i:]) for i in range(len(wires))]
        return [pyrtl.select(comes, entering, wire) for comes, wire in zip(self._comes, after, strict=True)]

    def shifted(self, word: Signal, entering: Signal) -> Signal:
        """Shift a word with one bit for each place, and insert the bit ``entering`` of the entering token."""
        after = chosen(self._leave, [pyrtl.shift_right_logical(word, k) for k in range(len(self._leave))])
        return (after & ~self._place) | pyrtl.select(entering, self._place, 0)


class Comparisons:
    """The order of all pairs of tokens of two windows, in registers.

    A pair is compared in the cycle in which the later of its tokens enters, and the result shifts with both
    tokens. The critical path of a shift therefore contains no comparison. ``less[i]`` has a bit for each
    place of the other window: 1 if token i of the own window comes before the token at that place.

    Args:
        own: window whose tokens are compared.
        other: window with which they are compared.
    """

    def __init__(self, own: Window, other: Window) -> None:
        self._sides = own, other
        size = len(other.places)
        self.less = [
            DataRegister(size, f"{own.side}_{i:02}_before_{other.side}") for i in range(len(own.places))
        ]

    def below(self) -> list[Signal]:
        """Return, for each place, whether it and all earlier places hold tokens before the other head."""
        (own, _other) = self._sides
        # Bit 0 belongs to the head of the other window
        return all_up_to([present & less[0] for present, less in zip(own.present, self.less, strict=True)])

    def advance(self) -> None:
        """Shift the results with both windows; call it after ``advance`` of each window."""
        own, other = self._sides
        # The token that enters the own window, against the window and the entering token of the other side
        compared = pyrtl.concat_list([own.entering < order for order in other.order])
        first = other.shifted(compared, own.entering < other.entering)
        # Each token of the own window, against the token that enters the other window
        rows = [
            other.shifted(less, order < other.entering)
            for less, order in zip(self.less, own.order, strict=True)
        ]
        for less, row in zip(self.less, own.moved(rows, first), strict=True):
            less.next <<= row
