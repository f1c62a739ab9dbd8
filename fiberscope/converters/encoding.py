# cython: infer_types=True
"""The stages that open and make the arrays of formats: pointers, masks, runs and trees."""

from __future__ import annotations

from array import array

from fiberscope.converters.stages import ITEM, LaneStage
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output


class Expand(LaneStage):
    """Gives each item the number of the interval of pointers that it lies in: its row in CSR.

    Pointers are compared beside the lanes. Where ``outers`` is connected, the items of an interval get the
    word that came there instead of the interval's number: the path to a node of a tree.

    Args:
        name, lanes: as of a ``LaneStage``.
        shift: where in an item's word the number belongs.
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
        self.outer = 0
        self.compares = 0
        self._begin()

    def _begin(self) -> None:
        self.number = -2  # of the interval; before the first pointer there is none
        self.end = 0  # of it
        self.seen = 0  # items
        self.ended = False  # the stops beside the items have been taken

    def _step(self) -> bool:
        """Take a pointer if the head lies behind the interval, or all of them behind the last item."""
        if self.items.control() != STOP and self.seen < self.end:
            return False
        if self.ended or not self.pointers.can_pop():
            return False
        if self.outers is not None and self.number >= -1 and not self.outers.can_pop():
            return False
        self._advance()
        return True

    def _advance(self) -> None:
        if self.outers is not None and self.number >= -1:
            self.outer = self.outers.coordinate()
            self.outers.pop()
        if self.pointers.control() == STOP:
            self.ended = True
        else:
            self.end = self.pointers.coordinate()
            self.number += 1
            self.compares += 1
        self.pointers.pop()

    def _ready(self) -> bool:
        return self.ended if self.items.control() == STOP else self.seen < self.end

    def _take(self) -> bool:
        outer = self.number << self.shift if self.outers is None else self.outer
        self.results.push(DATA, outer | self.items.coordinate(), 0, self.items.value())
        self.seen += 1
        return True

    def _close(self) -> None:
        self._begin()
        self.results.push(STOP)

    def _lack(self) -> int:
        missing = self.outers if self.pointers.can_pop() else self.pointers
        assert missing is not None
        return self.wait_input(missing)


class Tally(LaneStage):
    """The row counters: how many items each row has, told when the next row begins, behind a 0.

    Args:
        name, lanes: as of a ``LaneStage``.
        counts: told beside the lanes in a cycle, at the most.
        rows: of the matrix.
        shift: where in an item's word the row lies.
    """

    PORTS = (Input("items", ITEM), Output("results", ITEM), Output("counts", ITEM))
    COUNTERS = ("taken", "beats", "updates")

    counts: Channel

    def __init__(self, name: str, lanes: int, counts: int, rows: int, shift: int) -> None:
        super().__init__(name, lanes, counts)
        self.rows, self.shift = rows, shift
        self.row = -1
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
        """The row of the head of the items."""
        return self.rows if self.items.control() == STOP else self.items.coordinate() >> self.shift

    def _ready(self) -> bool:
        return self.row == self._head()

    def _take(self) -> bool:
        self.count += 1
        self.updates += 1
        self.results.push(DATA, self.items.coordinate(), 0, self.items.value())
        return True


class Fill(LaneStage):
    """Gives a value for every position, zeros where none came; each takes a lane.

    Args:
        name, lanes: as of a ``LaneStage``.
        size: positions.
    """

    COUNTERS = ("taken", "beats", "filled")

    def __init__(self, name: str, lanes: int, size: int) -> None:
        super().__init__(name, lanes)
        self.size = size
        self.filled = 0

    def _take(self) -> bool:
        here = self.filled == self.items.coordinate()
        self.results.push(DATA, 0, 0, self.items.value() if here else 0.0)
        self.filled += 1
        return here

    def _left(self) -> bool:
        return self.filled < self.size

    def _give(self) -> None:
        self.results.push(DATA)
        self.filled += 1


class Mask(LaneStage):
    """The packer of ZVC: values side by side, and a bit for every position, told a word at a time.

    Args:
        name, lanes: as of a ``LaneStage``.
        size: positions.
        width: bits of a word.
    """

    PORTS = (Input("items", ITEM), Output("results", ITEM), Output("masks", ITEM))

    masks: Channel

    def __init__(self, name: str, lanes: int, size: int, width: int) -> None:
        super().__init__(name, lanes, 1)
        self.words, self.width = -(-size // width), width
        self.word = 0  # under way
        self.bits = 0  # of it

    def _step(self) -> bool:
        if self.word >= self._head():
            return False
        self.masks.push(DATA, self.bits)
        self.word += 1
        self.bits = 0
        return True

    def _head(self) -> int:
        """The word in which the head of the items has its bit."""
        return self.words if self.items.control() == STOP else self.items.coordinate() // self.width

    def _ready(self) -> bool:
        return self.word == self._head()

    def _take(self) -> bool:
        bit = 1  # C: long
        bit <<= self.items.coordinate() % self.width
        self.bits |= bit
        self.results.push(DATA, 0, 0, self.items.value())
        return True


class Difference(LaneStage):
    """The subtractors of RLC: a position becomes the run of zeros before it, continued where that is long.

    An entry without a value has the reference 1.

    Args:
        name, lanes: as of a ``LaneStage``; a continuation takes a lane.
        greatest: the greatest run that is written.
        has_value: whether a continuation has a value, which is zero.
    """

    COUNTERS = ("taken", "beats", "continuations")

    def __init__(self, name: str, lanes: int, greatest: int, has_value: bool) -> None:
        super().__init__(name, lanes)
        self.greatest = greatest
        self.has_value = has_value
        self.next = 0  # position behind all entries so far
        self.continuations = 0

    def _take(self) -> bool:
        run = self.items.coordinate() - self.next
        if run > self.greatest or (run == self.greatest and not self.has_value):
            self._continue()
            return False
        self.results.push(DATA, run, 0, self.items.value())
        self.next += run + 1
        return True

    def _continue(self) -> None:
        self.results.push(DATA, self.greatest, 0 if self.has_value else 1)
        self.next += self.greatest + (1 if self.has_value else 0)
        self.continuations += 1


class Tree(LaneStage):
    """Builds a tree of fibers: a coordinate that differs from the item before opens a node, and all below it.

    Nodes leave with their level as reference; when a node opens, the number of children of the one before it
    on its level is told, and at the end that of the last, to each level's own of ``counts``.

    Args:
        name, lanes: as of a ``LaneStage``.
        shifts: where each rank's coordinate lies in a word.
    """

    PORTS = (Input("items", ITEM), Output("results", ITEM), Output("counts", ITEM, array=True, optional=True))
    COUNTERS = ("taken", "beats", "nodes")

    counts: list[Channel]

    def __init__(self, name: str, lanes: int, shifts: list[int]) -> None:
        super().__init__(name, lanes, 0, len(shifts))
        self.ranks = len(shifts)
        self.shifts = array("q", shifts)
        self.children = array("q", bytes(8 * (self.ranks + 1)))  # by level of the children
        self.word = -1  # of the item before
        self.nodes = 0

    def _take(self) -> bool:
        word = self.items.coordinate()
        rank = 0  # C: long
        while self.word >= 0 and word >> self.shifts[rank] == self.word >> self.shifts[rank]:
            rank += 1
        self.word = word
        while rank < self.ranks:
            self._open(rank, word)
            rank += 1
        return True

    def _open(self, rank: int, word: int) -> None:
        above = word >> self.shifts[rank - 1] << self.shifts[rank - 1] if rank > 0 else 0
        value = self.items.value() if rank == self.ranks - 1 else 0.0
        self.results.push(DATA, (word - above) >> self.shifts[rank], rank, value)
        self.children[rank] += 1
        self.nodes += 1
        if rank < self.ranks - 1:
            self._tell(rank)

    def _tell(self, rank: int) -> None:
        """Tell how many children the last node of a level got."""
        counts = self.counts[rank]
        counts.push(DATA, self.children[rank + 1])
        self.children[rank + 1] = 0

    def _close(self) -> None:
        for rank in range(self.ranks - 1):
            self._tell(rank)
        LaneStage._close(self)
