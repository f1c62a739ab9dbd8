# cython: infer_types=True
"""The quick way of counting: one component, which takes as long as the units around the counters do apart."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.converters.counting import Places, Selector
from fiberscope.converters.moves import ENDED
from fiberscope.converters.rows import Former
from fiberscope.converters.stages import ITEM
from fiberscope.converters.together import Together
from fiberscope.hw.lanes import channels as rows
from fiberscope.hw.lanes.counter_protocol import COUNT, FETCH, READ
from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Signal

SETTLES = 2  # cycles from the last row of a command to the next command


class CountingTogether(Together):
    """Counts keys, sums the counts up and gives items their slots, as ``CounterBanks`` and units around do.

    Of a row of keys goes on how many cycles the banks of its counters take, of a row of items how many it
    has. Items are put in their places here; of ``slots`` come the stops alone.

    Args:
        name: instance name.
        keys, items: what makes the rows; no components of the kernel's.
        units: what sorts and clusters, as of a ``Together``.
        room: rows that a channel holds beside one that is on its way.
        summed: cycles from a row of counters to their sums written.
        sweep_lanes: counters of such a row.
        counters: of all ranges.
        banks: of counters.
        places: where items lie in their new order.
        points: whether counters are read back after the last range, too.
        comparators: of the sorter.
    """

    PORTS = (
        Input("keys", ITEM),
        Input("items", ITEM),
        Output("slots", STREAM, array=True),
        Output("stored", STREAM, array=True),
    )
    SIGNALS = (Signal("clusters", 48), Signal("conflicts", 48))

    keys: Channel
    slots: list[Channel]
    stored: list[Channel]

    def __init__(
        self,
        name: str,
        keys: Selector,
        items: Selector,
        units: Sequence[tuple[int, int]],
        room: int,
        *,
        summed: int,
        sweep_lanes: int,
        counters: int,
        banks: int,
        places: Places,
        points: bool,
        comparators: int,
    ) -> None:
        super().__init__(name, keys, units, room, [1] * (len(units) + 2), items.width, (0,))
        self.counted, self.fetched = keys, items
        self.fetches = len(units) + 1  # the channel of rows of items
        self.summed, self.sweep_lanes, self.counter_count = summed, sweep_lanes, counters
        self.banks, self.scratchpad, self.points, self.comparators = banks, places, points, comparators
        self.contents = memoryview(bytearray(8 * counters)).cast("q")
        self.seen = memoryview(bytearray(8 * counters)).cast("q")  # by key: the row that it was in last
        self.load = array("q", bytes(8 * banks))
        self.command = COUNT
        self.base = 0  # key of the range
        self.free = 0  # the cycle from which on a row may be taken
        self.ends = -1  # the last cycle of the row that shows
        self.stops = -1  # the cycle in which those of a range of slots leave
        self.swept = 0
        self.chunks = self.clusters = self.conflicts = 0

    def elaborate(self) -> None:
        """Fetch the channels."""
        super().elaborate()
        self.former.items, self.fetched.items = self.keys, self.items

    def counters(self) -> dict[str, int]:
        """Rows summed up, cycles in which a row waited for a bank, and what the units before count."""
        counters = {"rows": self.rows, "conflicts": self.conflicts}
        if self.comparators:
            counters |= {"clusters": self.clusters, "compare_exchanges": self.chunks * self.comparators}
        return counters

    def _range(self) -> int:  # C: noexcept
        """Keys of the range."""
        return min(self.counted.window, self.counter_count - self.base)

    def _collect(self, now: int) -> bool:
        """As ``fiberscope.hw.lanes.counter_banks.CounterBanks`` does."""
        moved = now == self.stops
        if moved:
            for slot in self.slots:  # C: Channel
                slot.push(STOP)
        if now < self.free or self.base >= self.counter_count:
            return moved
        if self.command == READ:
            return self._read(now) or moved
        return self._update(now) or moved

    def _update(self, now: int) -> bool:
        """Take a row in the last of its cycles."""
        channel = self.units if self.command == COUNT else self.fetches
        if not self._shows(channel, now):
            return False
        row = self.waiting[channel * self.deepest + self.oldest[channel]] & (ENDED - 1)
        if self.ends < 0:
            self.ends = now - 1 + (row if self.command == COUNT else self._item_cycles(row))
        if now < self.ends:
            return False
        self.ends = -1
        if self.command == FETCH:
            self._place(row)
        if self._pop(channel, now) >= ENDED:
            self._end(now)
        return True

    def _end(self, now: int) -> None:
        """The array of a command has ended: sum up what has been counted, or go on behind the last item."""
        self.free = now + SETTLES
        if self.command == COUNT:
            self._sum_up()
            self.command = FETCH
        else:
            self.stops = now + 1
            if self.points or self.base + self._range() < self.counter_count:
                self.command = READ
            else:
                self._turn()

    def _sum_up(self) -> None:
        total = 0  # C: long
        for key in range(self.base, self.base + self._range()):
            count = self.contents[key]
            self.contents[key] = total
            total += count
        swept = self._range() // self.sweep_lanes + 1
        self.rows += swept
        self.free += swept + self.summed

    def _turn(self) -> None:
        """Another range follows, or none."""
        self.base += self._range()
        self.command = COUNT
        self.swept = 0

    def _read(self, now: int) -> bool:
        """Let a row of counters out."""
        if rows.first_full(self.stored) >= 0:
            return False
        count, ended = self._range(), False
        for lane in range(self.sweep_lanes):
            sink = self.stored[lane]
            ended = self.swept == count
            if ended:
                sink.push(STOP)
            else:
                sink.push(DATA, self.contents[self.base + self.swept], self.swept)
                self.swept += 1
        if ended:
            self.free = now + 1
            self._turn()
        return True

    def _item_cycles(self, count: int) -> int:
        """Those of a row of items; each has an access of its own."""
        cycles = 1  # C: long
        for item in range(count):
            cycles = max(cycles, self._access(self._key(item)))
        return self._released(cycles)

    def _key(self, item: int) -> int:  # C: noexcept
        """The key of an item on its way, in the range."""
        place = self.head + item  # C: long
        if place >= self.places:
            place -= self.places
        return (self.words[place] >> self.fetched.shift & self.fetched.mask) - self.base

    def _access(self, key: int) -> int:  # C: noexcept
        """A row uses a counter; how many of its bank it uses by now."""
        bank = key % self.banks  # C: long
        self.load[bank] += 1
        return self.load[bank]

    def _released(self, cycles: int) -> int:
        """The row has been looked at; the cycles that it takes."""
        for bank in range(self.banks):
            self.load[bank] = 0
        self.conflicts += cycles - 1
        return cycles

    def _place(self, count: int) -> None:
        """Put the items of a row where their keys' counters say, and count these up."""
        for _item in range(count):
            key = self.base + self._key(0)
            self.scratchpad.put(self.contents[key], self.words[self.head], self.held[self.head])
            self.contents[key] += 1
            self.head = self.head + 1 if self.head + 1 < self.places else 0
            self.count -= 1

    def _enter(self, now: int) -> bool:
        """Let a row of keys in, and one of items."""
        moved = self._form_into(0, self.counted, now)
        return self._form_into(self.fetches, self.fetched, now) or moved

    def _formed(self, former: Former) -> int:
        """Of keys, which are counted at once, the cycles that the row takes; of items their number."""
        if former is self.counted:
            return self._count_keys()
        for place in range(former.held):
            self._keep(former.more[place], 0, former.values[place])
        return former.held

    def _count_keys(self) -> int:
        """Equal keys of a row have one access."""
        keys, cycles = self.counted, 1  # C: cycles=long
        self.numbers += 1
        for place in range(keys.held):
            key = keys.base + keys.coordinates[place]
            self.contents[key] += 1
            if self.seen[key] != self.numbers:
                self.seen[key] = self.numbers
                self.clusters += 1
                cycles = max(cycles, self._access(keys.coordinates[place]))
        self.chunks += keys.held > 0
        return self._released(cycles)

    def _due(self, now: int) -> int:
        """The next cycle in which anything goes on; 0 if nothing does by itself."""
        due_together = Together._due(self, now)
        for due in (self.free, self.ends, self.stops):
            if due > now and (due_together == 0 or due < due_together):
                due_together = due
        return due_together

    def _wait(self, now: int) -> int:
        full = rows.first_full(self.stored)
        return self.wait_output(self.stored[full]) if full >= 0 else self.idle()
