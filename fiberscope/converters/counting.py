# cython: infer_types=True
"""Blocks around the banked counters, for conversions that sort items by a key (a row or a column).

Items are first counted by key. The sums of the counts are the first slots of the keys in the sorted order.
Then the items are scattered to their slots. If there are more keys than counters, *ranges* of keys are
processed one after another, and the source is read again for each range.
"""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.converters.rows import Former
from fiberscope.converters.stages import ITEM, LaneStage
from fiberscope.hw.lanes import channels
from fiberscope.hw.lanes.channels import check_connected
from fiberscope.hw.lanes.counter_protocol import COMMAND
from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal


class Selector(Former):
    """A former of the keys of the current range; items with other keys are discarded.

    The first array is filtered by the first range, the second array by the second range, and so on.

    Interface: as of a ``Former``. A lane gets the key relative to the first key of the range. The whole word
    of the item bypasses the counters on ``rests``.

    Timing: as of a ``Former``, but discarded items also count towards the ``width`` items of a cycle.

    Args:
        name, width: as of a ``Former``.
        window: number of keys in a range.
        shift, bits: shift of the key in an item's word, and number of bits of the key.
    """

    def __init__(self, name: str, width: int, window: int, shift: int = 0, bits: int = 62) -> None:
        # One shift, so that ``row_rests`` has one word for each lane
        super().__init__(name, width)
        self.window = window
        self.shift, self.mask = shift, (1 << bits) - 1
        self.base = 0  # first key of the current range

    def _add_item(self, word: int, value: float) -> None:
        key = (word >> self.shift & self.mask) - self.base
        if 0 <= key < self.window:
            self.row_rests[self.row_items] = word
            self._append(key, 0, value)

    def _restart(self) -> None:
        self.base += self.window


class Control(Component):
    """A sender of commands to the counters, one per cycle.

    Args:
        program: the commands in order, each with the number of counters that it concerns.
    """

    PORTS = (Output("commands", COMMAND),)
    COUNTERS = ("told",)

    commands: Channel

    def __init__(self, name: str, program: Sequence[tuple[int, int]]) -> None:
        super().__init__(name)
        self.program = list(program)
        self.told = 0

    def tick(self, now: int) -> int:
        """Send the next command."""
        if self.told == len(self.program):
            return self.idle()
        if not self.commands.can_push():
            return self.wait_output(self.commands)
        command, counters = self.program[self.told]
        self.commands.push(command, counters)
        self.told += 1
        return self.busy(now + 1)


class Drain(Component):
    """A block that writes each item to its slot, and reads all items in order after the last item.

    Interface: ``slots`` brings rows of slots, one array for each range of keys, and ``rests`` the word of
    each item in these rows. The block does not wait for ``rests``: the word of an item must have arrived in
    the cycle in which the block takes its slot. ``results`` gets the items in order, then a stop.

    Timing: one row written per cycle; after the last array, ``words`` items read per cycle.

    Args:
        width: number of lanes of ``slots``.
        words: number of items read per cycle.
        ranges: number of ranges of keys.
        items: number of items in all ranges.
    """

    PORTS = (Input("slots", STREAM, array=True), Input("rests", ITEM), Output("results", ITEM))
    COUNTERS = ("scattered", "drained")
    SIGNALS = (Signal("scattered", 48), Signal("drained", 48))

    slots: list[Channel]
    rests: Channel
    results: Channel

    def __init__(self, name: str, width: int, words: int, ranges: int, items: int) -> None:
        super().__init__(name)
        self.width, self.words, self.ranges, self.items = width, words, ranges, items
        self.sorted_words = memoryview(bytearray(8 * max(1, items))).cast("q")  # contents of the scratchpad
        self.values = memoryview(bytearray(8 * max(1, items))).cast("d")
        self.base = 0  # first slot of the current range of keys
        self.scattered = self.drained = 0
        self.is_finished = False

    def elaborate(self) -> None:
        """Fetch the channels, and check that all lanes are connected."""
        super().elaborate()
        check_connected(self, "slots", self.width)

    def tick(self, now: int) -> int:
        """Write a row of items, or send the next items."""
        if self.is_finished or (self.ranges > 0 and channels.first_missing(self.slots) >= 0):
            return self.idle()
        if self.ranges > 0:
            self._scatter()
        elif self.results.space() <= self.words:
            # The last items leave together with the stop, hence one more slot
            self.results.want(self.words + 1)
            return self.wait_output(self.results)
        else:
            self._send_items()
        return self.busy(now + 1)

    def _scatter(self) -> None:
        is_last_row = False
        for lane in range(self.width):
            slot = self.slots[lane]
            if slot.control() == DATA:
                index = self.base + slot.coordinate()
                self.sorted_words[index] = self.rests.coordinate()
                self.values[index] = slot.value()
                self.rests.pop()
                self.scattered += 1
            # Lanes after the last item of an array have stops: a stop in the last lane ends the array
            is_last_row = slot.control() == STOP
            slot.pop()
        if is_last_row:
            # All items of this range have slots before the items of the next range
            self.base = self.scattered
            self.ranges -= 1

    def _send_items(self) -> None:
        end = min(self.items, self.drained + self.words)
        for item in range(self.drained, end):
            self.results.push(DATA, self.sorted_words[item], 0, self.values[item])
        self.drained = end
        if end == self.items:
            self.results.push(STOP)
            self.is_finished = True


class Ends(Component):
    """A block that turns counters that are read back into pointers: a 0, then the end of each key's items.

    If ``results`` is not connected, the block takes the counters and makes no pointers.

    Timing: one row per cycle.

    Args:
        width: number of lanes of counters.
        ranges: number of ranges of keys, each of which is an array.
    """

    PORTS = (Input("stored", STREAM, array=True), Output("results", ITEM, optional=True))
    COUNTERS = ("pointed",)
    SIGNALS = (Signal("pointed", 48),)

    stored: list[Channel]
    results: Channel | None

    def __init__(self, name: str, width: int, ranges: int) -> None:
        super().__init__(name)
        self.width, self.ranges = width, ranges
        self.pointed = 0
        self.base = self.last_pointer = 0  # number of items before the current range, and the latest pointer

    def elaborate(self) -> None:
        """Fetch the channels, and check that all lanes are connected."""
        super().elaborate()
        check_connected(self, "stored", self.width)

    def tick(self, now: int) -> int:
        """Take a row of counters and send its pointers."""
        if channels.first_missing(self.stored) >= 0:
            return self.idle()
        # A row may send the 0 at the beginning, a pointer for each lane, and the stop
        if self.results is not None and self.results.space() < self.width + 2:
            self.results.want(self.width + 2)
            return self.wait_output(self.results)
        is_last_row = False
        for lane in range(self.width):
            counter = self.stored[lane]
            is_last_row = counter.control() == STOP
            if not is_last_row:
                self._send_pointer(self.base + counter.coordinate())
            counter.pop()
        if is_last_row:
            self._end_range()
        return self.busy(now + 1)

    def _send_pointer(self, end: int) -> None:
        if self.results is None:
            return
        if self.pointed == 0:
            self.results.push(DATA, 0)
            self.pointed = 1
        self.results.push(DATA, end)
        self.pointed += 1
        self.last_pointer = end

    def _end_range(self) -> None:
        """End a range; after the last range, send the stop."""
        # The next range counts its items from 0 again
        self.base = self.last_pointer
        self.ranges -= 1
        if self.ranges == 0 and self.results is not None:
            self.results.push(STOP)


class Turn(LaneStage):
    """A stage that sends items alternately to be counted and to be scattered, array by array.

    The source is read twice for each range. The items of the first reading go to ``keys``, as their keys
    alone; the items of the second reading go to ``results``.

    Args:
        name, lanes: as of a ``LaneStage``.
        shift, bits: shift of the key in an item's word, and its number of bits.
    """

    PORTS = (Input("items", ITEM), Output("keys", ITEM), Output("results", ITEM))

    keys: Channel

    def __init__(self, name: str, lanes: int, shift: int, bits: int) -> None:
        super().__init__(name, lanes)
        self.shift, self.mask = shift, (1 << bits) - 1
        self.scatters = False

    def _take(self) -> bool:
        word = self.items.coordinate()
        if self.scatters:
            self.results.push(DATA, word, 0, self.items.value())
        else:
            self.keys.push(DATA, word >> self.shift & self.mask)
        return True

    def _send_stop(self) -> None:
        if self.scatters:
            self.results.push(STOP)
        else:
            self.keys.push(STOP)
        self.scatters = not self.scatters
