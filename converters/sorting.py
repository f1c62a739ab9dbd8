# cython: infer_types=True
"""The stages that bring items into another order: count the keys, add the counts up, scatter, read back."""

from __future__ import annotations

from array import array

from fiberscope.converters.stages import ITEM, LaneStage
from fiberscope.hw.lanes.sorting_network import network
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Signal

LAST = 1  # as reference: the last token of a beat, which stays whole from the sorter to the counters
UNUSED = 1 << 62  # key of a lane of the sorter that has none


class Scratchpad:  # C: final
    """The counters of all keys and the items in their new order, in banks next to the stages that use them.

    Args:
        keys: counters.
        items: places for items.
        banks: of the counters; counter i is in bank i modulo their number.
        window: counters that there is room for at a time; those of more keys take turns.
    """

    def __init__(self, keys: int, items: int, banks: int, window: int) -> None:
        self.keys, self.banks, self.window = keys, banks, window
        self.counters = memoryview(bytearray(8 * max(1, keys))).cast("q")
        self.words = memoryview(bytearray(8 * max(1, items))).cast("q")
        self.values = memoryview(bytearray(8 * max(1, items))).cast("d")
        self.items = items
        self.first = 0  # C: public; key of the range under way
        self.total = 0  # C: public; items of the ranges before
        self.load = array("q", bytes(8 * banks))
        self.touched = array("q", bytes(8 * 256))
        self.touches = 0

    def holds(self, key: int) -> bool:  # C: cdef, noexcept
        """Whether a key is in the range under way."""
        return self.first <= key < self.first + self.window

    def end(self) -> int:  # C: cdef, noexcept
        """The key behind the range under way."""
        return min(self.keys, self.first + self.window)

    def touch(self, key: int) -> None:  # C: cdef, noexcept
        """A beat uses a key's counter: once, however often."""
        for i in range(self.touches):
            if self.touched[i] == key:
                return
        self.touched[self.touches] = key
        self.touches += 1
        self.load[key % self.banks] += 1

    def fullest(self) -> int:  # C: cdef, noexcept
        """Cycles of the beat: the distinct counters of its fullest bank, and at least 1."""
        fullest = 1  # C: long
        for i in range(self.touches):
            fullest = max(fullest, self.load[self.touched[i] % self.banks])
        return fullest

    def release(self) -> int:  # C: cdef, noexcept
        """End the beat; the cycles it took."""
        fullest = self.fullest()
        for i in range(self.touches):
            self.load[self.touched[i] % self.banks] = 0
        self.touches = 0
        return fullest


class Sort(LaneStage):
    """The sorter: the compare-exchanges of ``fiberscope.hw.lanes.sorting_network`` over a chunk of keys.

    Args:
        name: instance name.
        width: keys of a chunk, a power of two.
    """

    COUNTERS = ("taken", "beats", "compare_exchanges")

    def __init__(self, name: str, width: int) -> None:
        super().__init__(name, width)
        pairs = [pair for column in network(width) for pair in column]
        self.low = array("q", [low for low, _high in pairs])
        self.high = array("q", [high for _low, high in pairs])
        self.keys = array("q", [UNUSED] * width)
        self.filled = 0
        self.compare_exchanges = 0

    def _take(self) -> bool:
        self.keys[self.filled] = self.items.coordinate()
        self.filled += 1
        return True

    def _flush(self) -> int:
        self._send()
        return 1

    def _close(self) -> None:
        self._send()
        self.results.push(STOP)

    def _send(self) -> None:
        """Send the chunk, sorted."""
        if self.filled:
            self._sort()
        for i in range(self.filled):
            self.results.push(DATA, self.keys[i], LAST if i == self.filled - 1 else 0)
            self.keys[i] = UNUSED
        self.filled = 0

    def _sort(self) -> None:
        """Compare and exchange, column by column."""
        for pair in range(len(self.low)):
            low, high = self.low[pair], self.high[pair]
            if self.keys[low] > self.keys[high]:
                self.keys[low], self.keys[high] = self.keys[high], self.keys[low]
        self.compare_exchanges += len(self.low)


class Cluster(LaneStage):
    """The cluster counter: how often each key of a sorted beat occurs in it.

    A key leaves with twice its count as reference, and one more if it is the last of the beat.
    """

    COUNTERS = ("taken", "beats", "clusters")

    def __init__(self, name: str, lanes: int) -> None:
        super().__init__(name, lanes)
        self.clusters = 0
        self.key = 0
        self.length = 0  # of the run under way
        self.closed = False  # the beat's last key has been taken

    def _ready(self) -> bool:
        return not self.closed or self.items.control() == STOP

    def _take(self) -> bool:
        key = self.items.coordinate()
        if self.length > 0 and key != self.key:
            self._send(0)
        self.key = key
        self.length += 1
        if self.items.reference() == LAST:
            self._send(LAST)
            self.closed = True
        return True

    def _send(self, last: int) -> None:
        self.results.push(DATA, self.key, 2 * self.length + last)
        self.clusters += 1
        self.length = 0

    def _flush(self) -> int:
        self.closed = False
        return 1


class Count(LaneStage):
    """Adds what comes to the counters of the keys: read, add, write, with forwarding between beats.

    A beat takes as many cycles as its fullest bank has distinct counters.

    Args:
        name, lanes: as of a ``LaneStage``; a lane takes a key or a cluster of it.
        scratchpad: the counters.
    """

    COUNTERS = ("taken", "beats", "updates", "conflicts")

    def __init__(self, name: str, lanes: int, scratchpad: Scratchpad) -> None:
        super().__init__(name, lanes)
        self.scratchpad = scratchpad
        self.updates = self.conflicts = 0
        self.closed = False

    def _ready(self) -> bool:
        if self.items.control() == STOP:
            return not self.closed or self.scratchpad.fullest() == 1
        return not self.closed

    def _take(self) -> bool:
        key, cluster = self.items.coordinate(), self.items.reference()
        if self.scratchpad.holds(key):
            self.scratchpad.counters[key] += max(1, cluster >> 1)
            self.scratchpad.touch(key)
            self.updates += 1
        self.closed = cluster == 0 or cluster & LAST == LAST
        return True

    def _flush(self) -> int:
        cycles = self.scratchpad.release()
        self.conflicts += cycles - 1
        self.closed = False
        return cycles


class Offsets(LaneStage):
    """The prefix sum over the counters: each becomes the place of its key's first item.

    Args:
        name, lanes: as of a ``LaneStage``; a lane takes a counter.
        scratchpad: the counters.
        network: adders that work for each beat.
    """

    COUNTERS = ("scanned", "scans", "adds")

    def __init__(self, name: str, lanes: int, scratchpad: Scratchpad, network: int) -> None:
        super().__init__(name, lanes)
        self.scratchpad = scratchpad
        self.network = network
        self.scanned = 0  # counters
        self.scans = 0  # beats of them

    @property
    def adds(self) -> int:
        """Additions: all adders work for every beat."""
        return self.scans * self.network

    def _left(self) -> bool:
        return self.scanned < self.scratchpad.end()

    def _give(self) -> None:
        if (self.scanned - self.scratchpad.first) % self.lanes == 0:
            self.scans += 1
        count = self.scratchpad.counters[self.scanned]
        self.scratchpad.counters[self.scanned] = self.scratchpad.total
        self.scratchpad.total += count
        self.scanned += 1


class Scatter(LaneStage):
    """Writes each item to the place that its key's counter tells, and counts that up.

    Args:
        name, lanes: as of a ``LaneStage``.
        scratchpad: counters and places.
        shift, bits: where in an item's word the key lies.
    """

    PORTS = (
        Input("items", ITEM),
        Input("begin", ITEM),
        Output("results", ITEM),
        Output("gate", ITEM, optional=True),
    )
    COUNTERS = ("taken", "beats", "scattered", "conflicts")
    SIGNALS = (Signal("scattered", 48), Signal("slot", 48))

    begin: Channel
    gate: Channel | None

    def __init__(self, name: str, lanes: int, scratchpad: Scratchpad, shift: int, bits: int) -> None:
        super().__init__(name, lanes, 1)
        self.scratchpad = scratchpad
        self.shift, self.mask = shift, (1 << bits) - 1
        self.begun = False
        self.scattered = self.conflicts = 0
        self.slot = 0  # written last

    def _step(self) -> bool:
        if self.begun or not self.begin.can_pop():
            return False
        self.begin.pop()
        self.begun = True
        return True

    def _ready(self) -> bool:
        if self.items.control() == STOP and self.scratchpad.fullest() > 1:
            return False
        return self.begun

    def _take(self) -> bool:
        word = self.items.coordinate()
        key = word >> self.shift & self.mask
        if self.scratchpad.holds(key):
            self.slot = self.scratchpad.counters[key]
            self.scratchpad.counters[key] += 1
            self.scratchpad.words[self.slot] = word
            self.scratchpad.values[self.slot] = self.items.value()
            self.scratchpad.touch(key)
            self.scattered += 1
        return True

    def _flush(self) -> int:
        cycles = self.scratchpad.release()
        self.conflicts += cycles - 1
        return cycles

    def _close(self) -> None:
        """Go on with the next range of keys, or have the items read back."""
        scratchpad = self.scratchpad
        self.begun = False
        scratchpad.first += scratchpad.window
        if scratchpad.first < scratchpad.keys and self.gate is not None:
            self.gate.push(STOP)
        else:
            self.results.push(STOP)

    def _lack(self) -> int:
        return self.wait_input(self.begin)


class Drain(LaneStage):
    """Reads the items back in their order, and beside them where each key's items end, behind a 0.

    Args:
        name, lanes: as of a ``LaneStage``.
        scratchpad: counters and places.
    """

    PORTS = (Input("items", ITEM), Output("results", ITEM), Output("pointers", ITEM, optional=True))
    COUNTERS = ("drained", "pointed")
    SIGNALS = (Signal("drained", 48), Signal("pointed", 48))

    pointers: Channel | None

    def __init__(self, name: str, lanes: int, scratchpad: Scratchpad) -> None:
        super().__init__(name, lanes)
        self.scratchpad = scratchpad
        self.drained = 0  # items
        self.pointed = 0  # pointers
        self.most = 0

    def elaborate(self) -> None:
        """Fetch the channels."""
        super().elaborate()
        self.most = 0 if self.pointers is None else self.scratchpad.keys + 1

    def _left(self) -> bool:
        return self.drained < self.scratchpad.items or self.pointed < self.most

    def _give(self) -> None:  # C: end=long
        scratchpad, item, key = self.scratchpad, self.drained, self.pointed
        if item < scratchpad.items:
            self.results.push(DATA, scratchpad.words[item], 0, scratchpad.values[item])
            self.drained += 1
        if key < self.most and self.pointers is not None:
            self.pointers.push(DATA, scratchpad.counters[key - 1] if key > 0 else 0)
            self.pointed += 1


class Turn(LaneStage):
    """Sends what comes for the first time to be counted, for the second to be scattered, and so on.

    Args:
        name, lanes: as of a ``LaneStage``.
        shift, bits: where in an item's word the key lies.
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

    def _close(self) -> None:
        if self.scatters:
            self.results.push(STOP)
        else:
            self.keys.push(STOP)
        self.scatters = not self.scatters
