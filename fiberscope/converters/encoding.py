# cython: infer_types=True
"""Stages that decode and encode the arrays of formats: pointers, masks, runs and trees."""

from __future__ import annotations

from array import array

from fiberscope.converters.stages import ITEM, LaneStage
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output


class Expand(LaneStage):
    """A stage that adds to each item the number of its interval between pointers, for example its row in CSR.

    The pointers are the bounds of the intervals, from 0 to the number of items, then a stop. A comparison
    with a pointer is a step and uses no lane. If ``outers`` is connected, the items of an interval get a word
    from ``outers``, the path to a node of a tree, instead of the interval's number. ``outers`` has one word
    for each interval. The stage can process several arrays, one after the other.

    Args:
        name, lanes: as of a ``LaneStage``.
        shift: shift of the interval's number in an item's word.
    """

    PORTS = (
        Input("items", ITEM),
        Input("pointers", ITEM),
        Input("outers", ITEM, optional=True),
        Output("results", ITEM),
    )
    COUNTERS = ("taken", "beats", "compares")

    pointers: Channel
    outers: Channel | None

    def __init__(self, name: str, lanes: int, shift: int) -> None:
        super().__init__(name, lanes, lanes)
        self.shift = shift
        self.outer_word = 0
        self.compares = 0
        self._reset()

    def _reset(self) -> None:
        self.interval = -2  # number of the interval: -2 before the first pointer, 0 after the second
        self.end = 0  # end of the interval
        self.item_count = 0  # number of items so far
        self.has_pointer_stop = False  # whether the stop of the pointers has been taken

    def _step(self) -> bool:
        """Take a pointer if the head item lies after the interval, or if all items have been processed."""
        if self.items.control() != STOP and self.item_count < self.end:
            return False
        if self.has_pointer_stop or not self.pointers.can_pop():
            return False
        # The first pointer opens no interval; each later token has a partner in ``outers``, the stop too
        if self.outers is not None and self.interval >= -1 and not self.outers.can_pop():
            return False
        self._advance()
        return True

    def _advance(self) -> None:
        if self.outers is not None and self.interval >= -1:
            self.outer_word = self.outers.coordinate()
            self.outers.pop()
        if self.pointers.control() == STOP:
            self.has_pointer_stop = True
        else:
            self.end = self.pointers.coordinate()
            self.interval += 1
            self.compares += 1
        self.pointers.pop()

    def _is_head_ready(self) -> bool:
        return self.has_pointer_stop if self.items.control() == STOP else self.item_count < self.end

    def _take(self) -> bool:
        path = self.interval << self.shift if self.outers is None else self.outer_word
        self.results.push(DATA, path | self.items.coordinate(), 0, self.items.value())
        self.item_count += 1
        return True

    def _send_stop(self) -> None:
        self._reset()
        self.results.push(STOP)

    def _wait_for_input(self) -> int:
        missing = self.outers if self.pointers.can_pop() else self.pointers
        assert missing is not None
        return self.wait_input(missing)


class Tally(LaneStage):
    """A stage of row counters, which sends the number of items of each row when the next row begins.

    ``counts`` gets a 0 first, then the count of each row, empty rows included. Items must be sorted by row.

    Args:
        name, lanes: as of a ``LaneStage``.
        counts: largest number of counts sent per cycle.
        rows: number of rows of the matrix.
        shift: shift of the row in an item's word.
    """

    PORTS = (Input("items", ITEM), Output("results", ITEM), Output("counts", ITEM))
    COUNTERS = ("taken", "beats", "updates")

    counts: Channel

    def __init__(self, name: str, lanes: int, counts: int, rows: int, shift: int) -> None:
        super().__init__(name, lanes, counts)
        self.rows, self.shift = rows, shift
        self.row = -1  # current row; the count of row -1 is the leading 0 of ``counts``
        self.count = 0
        self.updates = 0

    def _step(self) -> bool:
        if self.row >= self._head():
            return False
        self.counts.push(DATA, self.count)
        self.row += 1
        self.count = 0
        return True

    def _head(self) -> int:
        """Return the row of the head item; the number of rows for a stop."""
        return self.rows if self.items.control() == STOP else self.items.coordinate() >> self.shift

    def _is_head_ready(self) -> bool:
        return self.row == self._head()

    def _take(self) -> bool:
        self.count += 1
        self.updates += 1
        self.results.push(DATA, self.items.coordinate(), 0, self.items.value())
        return True


class Fill(LaneStage):
    """A stage that sends a value for every position, zero for positions without an item; each uses a lane.

    The word of an item is its position. Items must be sorted by position and distinct.

    Args:
        name, lanes: as of a ``LaneStage``.
        size: number of positions.
    """

    COUNTERS = ("taken", "beats", "filled")

    def __init__(self, name: str, lanes: int, size: int) -> None:
        super().__init__(name, lanes)
        self.size = size
        self.filled = 0

    def _take(self) -> bool:
        is_present = self.filled == self.items.coordinate()
        self.results.push(DATA, 0, 0, self.items.value() if is_present else 0.0)
        self.filled += 1
        return is_present

    def _has_remaining_output(self) -> bool:
        return self.filled < self.size

    def _send_remaining(self) -> None:
        self.results.push(DATA)
        self.filled += 1


class Mask(LaneStage):
    """The packer of ZVC, which sends the nonzero values and a mask with one bit for every position.

    The word of an item is its position; items must be sorted by position. ``masks`` gets one token per word
    of the mask, whose lowest bit is the first position. A word leaves in a step, when an item of a later word
    or the stop is next. At most one word leaves per cycle.

    Args:
        name, lanes: as of a ``LaneStage``.
        size: number of positions.
        width: number of bits in a word of the mask.
    """

    PORTS = (Input("items", ITEM), Output("results", ITEM), Output("masks", ITEM))

    masks: Channel

    def __init__(self, name: str, lanes: int, size: int, width: int) -> None:
        super().__init__(name, lanes, 1)
        self.words, self.width = -(-size // width), width
        self.word = 0  # number of the current word of the mask
        self.bits = 0  # bits of the current word so far

    def _step(self) -> bool:
        if self.word >= self._head():
            return False
        self.masks.push(DATA, self.bits)
        self.word += 1
        self.bits = 0
        return True

    def _head(self) -> int:
        """Return the number of the word that has the head item's bit; the number of words for a stop."""
        return self.words if self.items.control() == STOP else self.items.coordinate() // self.width

    def _is_head_ready(self) -> bool:
        return self.word == self._head()

    def _take(self) -> bool:
        bit = 1  # C: long
        bit <<= self.items.coordinate() % self.width
        self.bits |= bit
        self.results.push(DATA, 0, 0, self.items.value())
        return True


class Difference(LaneStage):
    """The subtractors of RLC, which turn each position into the run of zeros before it.

    A run that is too long for one entry begins with continuation entries. An entry without a value has the
    reference 1. Items must be sorted by position and distinct. Zeros after the last item get no entry.

    Args:
        name, lanes: as of a ``LaneStage``; a continuation entry uses a lane.
        max_run: longest run of an entry.
        has_value: whether a continuation entry has a value, which is zero.
    """

    COUNTERS = ("taken", "beats", "continuations")

    def __init__(self, name: str, lanes: int, max_run: int, has_value: bool) -> None:
        super().__init__(name, lanes)
        self.max_run = max_run
        self.has_value = has_value
        self.next_position = 0  # first position after all entries so far
        self.continuations = 0

    def _take(self) -> bool:
        run = self.items.coordinate() - self.next_position
        # Without values in continuations, a decoder takes each longest run for a continuation
        if run > self.max_run or (run == self.max_run and not self.has_value):
            self._send_continuation()
            return False
        self.results.push(DATA, run, 0, self.items.value())
        self.next_position += run + 1
        return True

    def _send_continuation(self) -> None:
        self.results.push(DATA, self.max_run, 0 if self.has_value else 1)
        # The value of a continuation is the zero at the position after the run
        self.next_position += self.max_run + (1 if self.has_value else 0)
        self.continuations += 1


class Tree(LaneStage):
    """A stage that builds a tree of fibers.

    The first coordinate of an item that differs from the previous item opens a node, and so do all
    coordinates after it. Nodes leave with their level as reference. When a node opens, the number of children
    of the previous node on its level is sent on the channel of ``counts`` of this level; for the first node,
    a 0. The counts of the last nodes are sent at the end. Items must be sorted and distinct.

    Args:
        name, lanes: as of a ``LaneStage``.
        shifts: shift of each rank's coordinate in a word.
    """

    PORTS = (Input("items", ITEM), Output("results", ITEM), Output("counts", ITEM, array=True, optional=True))
    COUNTERS = ("taken", "beats", "nodes")

    counts: list[Channel]

    def __init__(self, name: str, lanes: int, shifts: list[int]) -> None:
        # An item opens at most one node on each level, and thus sends up to this number of tokens
        super().__init__(name, lanes, 0, len(shifts))
        self.ranks = len(shifts)
        self.shifts = array("q", shifts)
        self.children = array("q", bytes(8 * (self.ranks + 1)))  # by level of the children
        self.previous_word = -1  # word of the previous item
        self.nodes = 0

    def _take(self) -> bool:
        word = self.items.coordinate()
        rank = 0  # C: long
        # Find the first rank that differs; there is one, as items are distinct
        while self.previous_word >= 0 and (word ^ self.previous_word) >> self.shifts[rank] == 0:
            rank += 1
        self.previous_word = word
        while rank < self.ranks:
            self._open_node(rank, word)
            rank += 1
        return True

    def _open_node(self, rank: int, word: int) -> None:
        # The coordinates of the ranks above, which are not part of the node
        prefix = word >> self.shifts[rank - 1] << self.shifts[rank - 1] if rank > 0 else 0
        value = self.items.value() if rank == self.ranks - 1 else 0.0
        self.results.push(DATA, (word - prefix) >> self.shifts[rank], rank, value)
        self.children[rank] += 1
        self.nodes += 1
        if rank < self.ranks - 1:
            self._send_count(rank)

    def _send_count(self, rank: int) -> None:
        """Send the number of children of the previous node of a level, and restart this count."""
        counts = self.counts[rank]
        counts.push(DATA, self.children[rank + 1])
        self.children[rank + 1] = 0

    def _send_stop(self) -> None:
        for rank in range(self.ranks - 1):
            self._send_count(rank)
        # A C method has no super()
        LaneStage._send_stop(self)
