# cython: infer_types=True
"""Formers and collectors, which convert between items in one channel and rows with one channel per lane.

A *row* is one token in each of several lanes, all for the same cycle. The coordinates of an item are packed
into one word; a *shift* is the position of a coordinate in this word, in bits. A token of a row has two
fields for coordinates. Further coordinates of an item bypass the units: they are called *rests*. The units of
``fiberscope.hw.lanes`` have one channel per lane, as their Verilog modules have one port per lane. A former
stands before such units, and a collector after them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import ClassVar

from fiberscope.converters.stages import ITEM
from fiberscope.hw.lanes import channels
from fiberscope.hw.lanes.channels import check_connected
from fiberscope.hw.lanes.divider import DIVISOR
from fiberscope.hw.lanes.position_multiplier import FACTOR
from fiberscope.hw.stream import DATA, EMPTY, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal


class Former(Component):
    """A former, which groups items into full rows.

    After the last item of an array, the remaining lanes of the row have stops. If this item fills a row, a
    row of stops follows.

    Interface: ``items`` brings the items of one array after the other, each with a stop. ``lanes`` get the
    rows. With the first row of an array, each channel of ``divisors`` or ``factors`` gets its constant. If an
    item has more than two coordinates, each coordinate after the second goes to a channel of ``rests``.

    Timing: up to one item per lane and cycle; a row leaves in the cycle in which its last item arrives, if
    all outputs have space.

    Args:
        width: number of lanes.
        shifts: shift of each coordinate in an item's word. The first becomes the coordinate, the second the
            reference. If there is only one shift, the whole word becomes the coordinate.
        constants: constants for the dividers or multipliers after the former.
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
        self.row_rests = array("q", bytes(8 * width * max(1, self.ranks - 2)))  # by rank, then lane
        self.row_items = 0  # number of items in the row that is being formed
        self.is_ended = False  # whether the stop of the array has been taken
        self.is_first_row = True  # whether the next row is the first of an array
        self.taken = self.rows = 0

    def elaborate(self) -> None:
        """Fetch the channels, and check that all lanes are connected."""
        super().elaborate()
        check_connected(self, "lanes", self.width)
        self.constants = self.divisors or self.factors

    def tick(self, now: int) -> int:
        """Take the items that have arrived, and send a row if it is full or the array has ended."""
        has_taken = self._gather()
        if not self.is_ended and self.row_items < self.width:
            if has_taken:
                return self.busy(now + 1)
            return self.wait_input(self.items) if self.row_items > 0 else self.idle()
        for sinks in (self.lanes, self.constants):
            blocked = channels.first_full(sinks)
            if blocked >= 0:
                return self.wait_output(sinks[blocked])
        for channel in self.rests:
            if channel.space() < self.width:
                channel.want(self.width)
                return self.wait_output(channel)
        self._send_row()
        return self.busy(now + 1)

    def _gather(self) -> bool:
        """Take up to one item per free lane, or a stop; return whether anything was taken."""
        items, taken_before, was_ended = self.items, self.taken, self.is_ended
        limit = taken_before + self.width - self.row_items
        while self.taken < limit and not self.is_ended and items.can_pop():
            if items.control() == STOP:
                self.is_ended = True
            else:
                self._add_item(items.coordinate(), items.value())
                self.taken += 1
            items.pop()
        return self.taken > taken_before or self.is_ended != was_ended

    def _add_item(self, word: int, value: float) -> None:
        """Put an item into the next lane of the row."""
        if self.ranks > 1:
            self._split_item(word, value)
        else:
            self._append(word, 0, value)

    def _split_item(self, word: int, value: float) -> None:
        """Split a word into its coordinates and put the item into the next lane of the row."""
        first = word >> self.shifts[0]
        word -= first << self.shifts[0]
        second = word >> self.shifts[1]
        word -= second << self.shifts[1]
        for rank in range(2, self.ranks):
            coordinate = word >> self.shifts[rank]
            word -= coordinate << self.shifts[rank]
            self.row_rests[(rank - 2) * self.width + self.row_items] = coordinate
        self._append(first, second, value)

    def _append(self, coordinate: int, reference: int, value: float) -> None:  # C: noexcept
        self.coordinates[self.row_items] = coordinate
        self.references[self.row_items] = reference
        self.values[self.row_items] = value
        self.row_items += 1

    def _restart(self) -> None:
        """Prepare for the next array, after the last row of an array."""

    def _send_row(self) -> None:
        if self.is_first_row:
            for index in range(len(self.constants)):
                constant = self.constants[index]
                constant.push(DATA, self.constant_values[index])
        for index in range(self.width):
            lane = self.lanes[index]
            if index < self.row_items:
                lane.push(DATA, self.coordinates[index], self.references[index], self.values[index])
            else:
                lane.push(STOP)
        for rank in range(len(self.rests)):
            channel = self.rests[rank]
            for index in range(self.row_items):
                channel.push(DATA, self.row_rests[rank * self.width + index])
        self.rows += 1
        # A full row has no stop: if the array ended with it, another row with stops follows.
        self.is_first_row = self.is_ended and self.row_items < self.width
        if self.is_first_row:
            self.is_ended = False
            self._restart()
        self.row_items = 0


class Steps(Former):
    """A former of dense values, each with its distance from the previous value: 0 for the first, then 1.

    A prefix sum after this former turns the distances into positions.
    """

    def _add_item(self, word: int, value: float) -> None:
        self._append(0 if self.is_first_row and self.row_items == 0 else 1, 0, value)


class Increment(Former):
    """A former with adders, which turns each run of RLC into the distance from the previous value.

    A run is the number of zeros before a value. The distance is the run plus 1, except for the first value of
    an array. An entry with the longest run and without a value is a continuation: it only adds to the
    distance of the next value.

    Args:
        name, width: as of a ``Former``.
        max_run: longest run of an entry.
        has_value: whether a continuation has a value, which is zero. It is then an entry like any other.
        constants: as of a ``Former``.
    """

    def __init__(
        self, name: str, width: int, max_run: int, has_value: bool, constants: Sequence[int] = ()
    ) -> None:
        super().__init__(name, width, (0,), constants)
        self.max_run = max_run
        self.has_value = has_value
        self.offset = 0  # 0 before the first value of an array, then 1

    def _add_item(self, word: int, value: float) -> None:
        if not self.has_value and word == self.max_run:
            self._append(word, 0, 0.0)
        else:
            self._append(word + self.offset, 0, value)
            self.offset = 1

    def _restart(self) -> None:
        self.offset = 0


class Bits(Steps):
    """A former of the bits of a mask, which sends each bit as a value with distance 1 from the previous bit.

    The first bit of an array has distance 0.

    Timing: a word is taken once all bits of the previous word are in a row.

    Args:
        name, width, constants: as of a ``Former``.
        word_bits: number of bits in a word.
    """

    def __init__(self, name: str, width: int, word_bits: int, constants: Sequence[int] = ()) -> None:
        super().__init__(name, width, (0,), constants)
        self.word_bits = word_bits
        self.word = self.remaining_bits = 0  # remaining bits of the current word, and their number

    def _gather(self) -> bool:
        """Take bits until the row is full or a stop arrives; return whether anything was taken."""
        has_taken = False
        while self.row_items < self.width and not self.is_ended and self._take_word_if_empty():
            has_taken = True
            for _bit in range(min(self.remaining_bits, self.width - self.row_items)):
                self._add_item(0, self.word & 1)
                self.word >>= 1
                self.remaining_bits -= 1
        return has_taken

    def _take_word_if_empty(self) -> bool:
        """Take a word or a stop if no bit remains; return False if neither has arrived."""
        if self.remaining_bits > 0:
            return True
        if not self.items.can_pop():
            return False
        if self.items.control() == STOP:
            self.is_ended = True
        else:
            self.word, self.remaining_bits = self.items.coordinate(), self.word_bits
            self.taken += 1
        self.items.pop()
        return True


class Collector(Component):
    """A collector, which sends the items of rows on one channel, with a stop after each array.

    The word of an item is packed from coordinate, reference and the coordinates from ``rests``. The collector
    does not wait for ``rests``: they must have arrived with the row. If ``values`` is connected, an item gets
    its value from that channel, whose stop is taken with the first stop of the array.

    Timing: one row per cycle; lanes whose value has not arrived wait.

    Args:
        width: number of lanes.
        shifts: shifts of coordinate, reference and rests in a word; with one shift, only of the coordinate.
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
        self.lane = 0  # next lane of the current row
        self.is_stop_sent = False  # whether the stop of the current row has been sent
        self.collected = self.rows = 0

    def elaborate(self) -> None:
        """Fetch the channels, and check that all lanes are connected."""
        super().elaborate()
        check_connected(self, "lanes", self.width)

    def tick(self, now: int) -> int:
        """Take a row, or its lanes up to the first lane without a value."""
        missing = channels.first_missing(self.lanes)
        if self.lane == 0 and missing >= 0:
            return self.idle()
        if self.results.space() <= self.width:
            self.results.want(self.width + 1)
            return self.wait_output(self.results)
        first_lane = self.lane
        while self.lane < self.width and self._take(self.lane):
            self.lane += 1
        if self.lane == first_lane:
            assert self.values is not None
            return self.wait_input(self.values)
        if self.lane == self.width:
            self.lane = 0
            self.is_stop_sent = False
            self.rows += 1
        return self.busy(now + 1)

    def _take(self, lane: int) -> bool:
        """Take a lane of the row; return False if its value is missing."""
        channel = self.lanes[lane]
        kind = channel.control()
        if self.values is not None and not self.is_stop_sent and kind != EMPTY:
            if not self.values.can_pop():
                return False
            if kind == DATA:
                self._send_item(channel, self.values.value())
            self.values.pop()
        elif kind == DATA:
            self._send_item(channel, channel.value())
        if kind == STOP and not self.is_stop_sent:
            self.results.push(STOP)
            self.is_stop_sent = True
        channel.pop()
        return True

    def _send_item(self, channel: Channel, value: float) -> None:
        word = channel.coordinate() << self.shifts[0]  # C: long
        if self.ranks > 1:
            word |= channel.reference() << self.shifts[1]
        for rank in range(2, self.ranks):
            bypass = self.rests[rank - 2]
            word |= bypass.coordinate() << self.shifts[rank]
            bypass.pop()
        self.results.push(DATA, word, 0, value)
        self.collected += 1
