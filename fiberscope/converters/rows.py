# cython: infer_types=True
"""Between items side by side in one channel and rows of lanes: what stands before units of rows, and behind.

A unit of ``fiberscope.hw.lanes`` has a channel a lane, as its module has ports. A former makes rows of what
comes, a collector takes them apart again; between them stand units alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import ClassVar

from fiberscope.converters.stages import ITEM
from fiberscope.hw.lanes import channels as rows
from fiberscope.hw.lanes.channels import check_connected
from fiberscope.hw.lanes.divider import DIVISOR
from fiberscope.hw.lanes.position_multiplier import FACTOR
from fiberscope.hw.stream import DATA, EMPTY, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal


class Former(Component):
    """Makes rows of items: full ones, and a last one with stops behind the last item.

    Interface: ``items`` are those of one array behind the other, each with a stop; ``lanes`` get its rows;
    with the first of them each of ``divisors``, or ``factors``, gets its constant. Of an item with more than
    two coordinates those behind the second go to ``rests``, one each.

    Timing: as many items a cycle as there are lanes; a row leaves in the cycle in which its last item comes.

    Args:
        name: instance name.
        width: lanes.
        shifts: where coordinates lie in an item's word; the first becomes the coordinate, the second the
            reference. One alone takes all of the word.
        constants: for dividers or multipliers behind.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        Input("items", ITEM),
        Output("lanes", STREAM, array=True),
        Output("divisors", DIVISOR, array=True, optional=True),
        Output("factors", FACTOR, array=True, optional=True),
        Output("rests", ITEM, array=True, optional=True),
    )
    COUNTERS: ClassVar[tuple[str, ...]] = ("taken", "rows")
    SIGNALS: ClassVar[tuple[Signal, ...]] = (Signal("taken", 48), Signal("rows", 48))

    items: Channel
    lanes: list[Channel]
    divisors: list[Channel]
    factors: list[Channel]
    rests: list[Channel]

    def __init__(
        self, name: str, width: int, shifts: Sequence[int] = (0,), constants: Sequence[int] = ()
    ) -> None:
        super().__init__(name)
        self.width = width
        self.shifts = array("q", shifts)
        self.ranks = len(shifts)
        self.constant_values = array("q", constants)
        self.constants: list[Channel] = []
        self.coordinates = array("q", bytes(8 * width))
        self.references = array("q", bytes(8 * width))
        self.values = array("d", bytes(8 * width))
        self.more = array("q", bytes(8 * width * max(1, self.ranks - 2)))
        self.held = 0
        self.ended = False  # the stop is here
        self.first = True  # the next row is an array's first
        self.taken = self.rows = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count them."""
        super().elaborate()
        check_connected(self, "lanes", self.width)
        self.constants = self.divisors or self.factors

    def tick(self, now: int) -> int:
        """Take what is there, and send a row."""
        moved = self._gather()
        if not self.ended and self.held < self.width:
            if moved:
                return self.busy(now + 1)
            return self.wait_input(self.items) if self.held > 0 else self.idle()
        for sinks in (self.lanes, self.constants):
            full = rows.first_full(sinks)
            if full >= 0:
                return self.wait_output(sinks[full])
        for rest in self.rests:
            if rest.space() < self.width:
                rest.want(self.width)
                return self.wait_output(rest)
        self._send()
        return self.busy(now + 1)

    def _gather(self) -> bool:
        """Take items up to a row or a stop, no more than there are lanes; whether there were any."""
        items, before, ended = self.items, self.taken, self.ended
        most = before + self.width - self.held
        while self.taken < most and not self.ended and items.can_pop():
            if items.control() == STOP:
                self.ended = True
            else:
                self._form(items.coordinate(), items.value())
                self.taken += 1
            items.pop()
        return self.taken > before or self.ended != ended

    def _form(self, word: int, value: float) -> None:
        """Make a lane of an item."""
        if self.ranks > 1:
            self._part(word, value)
        else:
            self._put(word, 0, value)

    def _part(self, word: int, value: float) -> None:
        """The same of a word that has several coordinates."""
        first = word >> self.shifts[0]
        word -= first << self.shifts[0]
        second = word >> self.shifts[1]
        word -= second << self.shifts[1]
        for rank in range(2, self.ranks):
            part = word >> self.shifts[rank]
            word -= part << self.shifts[rank]
            self.more[(rank - 2) * self.width + self.held] = part
        self._put(first, second, value)

    def _put(self, coordinate: int, reference: int, value: float) -> None:  # C: noexcept
        self.coordinates[self.held] = coordinate
        self.references[self.held] = reference
        self.values[self.held] = value
        self.held += 1

    def _restart(self) -> None:
        """Another array follows."""

    def _send(self) -> None:
        if self.first:
            for place in range(len(self.constants)):
                constant = self.constants[place]
                constant.push(DATA, self.constant_values[place])
        for place in range(self.width):
            lane = self.lanes[place]
            if place < self.held:
                lane.push(DATA, self.coordinates[place], self.references[place], self.values[place])
            else:
                lane.push(STOP)
        for rank in range(len(self.rests)):
            rest = self.rests[rank]
            for place in range(self.held):
                rest.push(DATA, self.more[rank * self.width + place])
        self.rows += 1
        self.first = self.ended and self.held < self.width
        if self.first:
            self.ended = False
            self._restart()
        self.held = 0


class Steps(Former):
    """Values that lie side by side, each a step behind the one before it."""

    def _form(self, word: int, value: float) -> None:
        self._put(0 if self.first and self.held == 0 else 1, 0, value)


class Increment(Former):
    """The row of adders before the sum of runs: turns a run into the step from the value before.

    Args:
        name, width: as of a ``Former``.
        greatest: the greatest run, which is a continuation.
        has_value: whether a continuation has a value, which is zero.
        constants: as of a ``Former``.
    """

    def __init__(
        self, name: str, width: int, greatest: int, has_value: bool, constants: Sequence[int] = ()
    ) -> None:
        super().__init__(name, width, (0,), constants)
        self.greatest = greatest
        self.has_value = has_value
        self.offset = 0  # 1 once a value has come

    def _form(self, word: int, value: float) -> None:
        if not self.has_value and word == self.greatest:
            self._put(word, 0, 0.0)
        else:
            self._put(word + self.offset, 0, value)
            self.offset = 1

    def _restart(self) -> None:
        self.offset = 0


class Bits(Former):
    """The bits of a mask, a lane each, with the bit as value, each a step behind the one before it.

    Timing: a word is taken once all bits before it are in a row.

    Args:
        name, width, constants: as of a ``Former``.
        word_bits: of a word.
    """

    def __init__(self, name: str, width: int, word_bits: int, constants: Sequence[int] = ()) -> None:
        super().__init__(name, width, (0,), constants)
        self.word_bits = word_bits
        self.word = self.left = 0  # bits of a word that are in no row yet

    def _gather(self) -> bool:
        """Take bits up to a row or a stop; whether there were any."""
        moved = False
        while self.held < self.width and not self.ended and self._has_bit():
            moved = True
            if self.left > 0:
                count = min(self.left, self.width - self.held)
                self._spread(count)
                self.word >>= count
                self.left -= count
        return moved

    def _spread(self, count: int) -> None:
        """Give the next bits their lanes."""
        bits = self.word  # C: long
        for _bit in range(count):
            self._put(0 if self.first and self.held == 0 else 1, 0, bits & 1)
            bits >>= 1

    def _has_bit(self) -> bool:
        """Return whether there is a bit, or a stop."""
        if self.left > 0:
            return True
        if not self.items.can_pop():
            return False
        if self.items.control() == STOP:
            self.ended = True
        else:
            self.word, self.left = self.items.coordinate(), self.word_bits
            self.taken += 1
        self.items.pop()
        return True


class Collector(Component):
    """Takes rows apart: items in one channel, and a stop behind the last of an array.

    Coordinate and reference lie side by side in an item's word, and behind them what comes on ``rests``.
    Where ``values`` is connected, an item gets the value that comes there.

    Timing: a row a cycle, of which what has no value yet waits.

    Args:
        name: instance name.
        width: lanes.
        shifts: where coordinate, reference and rests lie in a word.
    """

    PORTS = (
        Input("lanes", STREAM, array=True),
        Input("values", ITEM, optional=True),
        Input("rests", ITEM, array=True, optional=True),
        Output("results", ITEM),
    )
    COUNTERS = ("collected", "rows")
    SIGNALS = (Signal("collected", 48), Signal("rows", 48))

    lanes: list[Channel]
    values: Channel | None
    rests: list[Channel]
    results: Channel

    def __init__(self, name: str, width: int, shifts: Sequence[int] = (0,)) -> None:
        super().__init__(name)
        self.width = width
        self.shifts = array("q", shifts)
        self.ranks = len(shifts)
        self.lane = 0  # the next of the row
        self.ending = False  # the row has had a stop
        self.collected = self.rows = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count them."""
        super().elaborate()
        check_connected(self, "lanes", self.width)

    def tick(self, now: int) -> int:
        """Take a row, or what of it has its value."""
        missing = rows.first_missing(self.lanes)
        if self.lane == 0 and missing >= 0:
            return self.idle()
        if self.results.space() <= self.width:
            self.results.want(self.width + 1)
            return self.wait_output(self.results)
        before = self.lane
        while self.lane < self.width and self._take(self.lane):
            self.lane += 1
        if self.lane == before:
            assert self.values is not None
            return self.wait_input(self.values)
        if self.lane == self.width:
            self.lane = 0
            self.ending = False
            self.rows += 1
        return self.busy(now + 1)

    def _take(self, lane: int) -> bool:
        """Take a lane of the row; not if its value is missing."""
        source = self.lanes[lane]
        kind = source.control()
        if self.values is not None and not self.ending and kind != EMPTY:
            if not self.values.can_pop():
                return False
            if kind == DATA:
                self._push(source, self.values.value())
            self.values.pop()
        elif kind == DATA:
            self._push(source, source.value())
        if kind == STOP and not self.ending:
            self.results.push(STOP)
            self.ending = True
        source.pop()
        return True

    def _push(self, source: Channel, value: float) -> None:
        word = source.coordinate() << self.shifts[0]  # C: long
        if self.ranks > 1:
            word |= source.reference() << self.shifts[1]
        for rank in range(2, self.ranks):
            rest = self.rests[rank - 2]
            word |= rest.coordinate() << self.shifts[rank]
            rest.pop()
        self.results.push(DATA, word, 0, value)
        self.collected += 1
