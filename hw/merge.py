"""The high-radix merger: a balanced tree of comparators over the heads of its ways."""

from __future__ import annotations

from array import array

from hw.stream import DATA, STOP, STREAM
from sim.channel import Channel
from sim.component import Component, Input, Output, Signal
from sim.errors import SimulationError
from sim.protocol import Protocol

# Ways 0 to fan_in - 1 take part; the task is for waveforms.
MERGE_TASK = Protocol("merge task", coordinate="fan_in", reference="task")
WAY_BITS = 8  # low bits of a comparison key, which hold the way
WAY_MASK = (1 << WAY_BITS) - 1
RADIX = (2, 1 << WAY_BITS)  # least and most ways of a merger
COORDINATE_BITS = 63 - WAY_BITS  # of an element's coordinate, at the most

PHASES = ("idle", "loading", "merging", "ending")
IDLE_PHASE, LOADING, EMITTING, ENDING = range(len(PHASES))


class HighRadixMerger(Component):
    """Merges up to ``radix`` fibers into one stream ordered by coordinate, one element a cycle.

    Interface: a token on ``tasks`` starts a merge and says how many ways take part (0 gives an empty fiber);
    each of those ways brings one fiber, that is elements with increasing coordinates and a stop. The elements
    leave on ``merged`` with the reference they came with; equal coordinates leave in the order of their ways;
    a stop follows the last one. A coordinate has up to 55 bits.

    Timing: in each cycle the smallest head leaves, provided that every way of the merge shows its head (an
    element or the stop); the head behind it is compared in the next cycle. The stop takes a cycle of its own,
    in which the next merge's heads may already wait. The depth of the tree's pipeline is the latency of the
    channel at ``merged``.

    Source: Gamma (ASPLOS 2021) merges 64 fibers a processing element; here any radix up to 256.

    Args:
        name: instance name.
        radix: number of ways.

    Raises:
        ValueError: if the radix is out of ``RADIX``.
        SimulationError: when built, unless as many ways are connected as the radix says; in the run, if a
            task names more ways than there are.
    """

    PORTS = (Input("tasks", MERGE_TASK), Input("ways", STREAM, array=True), Output("merged", STREAM))
    COUNTERS = ("merges", "merged_elements")
    SIGNALS = (
        Signal("phase", 2, "state", PHASES),
        Signal("task", 48, "integer"),
        Signal("fan_in", 9),
        Signal("alive", 9),
        Signal("way", 9, "integer"),
        Signal("coordinate", 56, "integer"),
        Signal("rival_way", 9, "integer"),
        Signal("rival", 56, "integer"),
    )

    tasks: Channel
    ways: list[Channel]
    merged: Channel

    def __init__(self, name: str, radix: int) -> None:
        super().__init__(name)
        least, most = RADIX
        if not least <= radix <= most:
            raise ValueError(f"{name}: radix must be from {least} to {most}, not {radix}")
        self.radix = radix
        self.merging = False
        self.task = -1  # as the one who gives the tasks numbers them
        self.fan_in = 0
        self.loaded = 0  # ways whose first head has been seen
        self.emptied = -1  # the way whose head left last, and shows no new one yet
        self.size = 0
        self.heap = array("q", bytes(8 * (radix + 1)))  # keys coordinate << WAY_BITS | way, smallest first
        self.merged_elements = 0
        self.merges = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count the ways."""
        super().elaborate()
        if len(self.ways) != self.radix:
            raise SimulationError(
                f"{self.name}: connect {self.radix} ways, as its radix says, not {len(self.ways)}"
            )

    def tick(self, now: int) -> int:
        """Emit the smallest head, if every way shows one."""
        if not self.merging and not self._begin():
            return self.idle()
        missing = self._see_heads()
        if missing >= 0:
            return self.wait_input(self.ways[missing])
        if not self.merged.can_push():
            return self.wait_output(self.merged)
        if self.size == 0:
            self.merged.push(STOP)
            self.merging = False
        else:
            self._emit()
        return self.busy(now + 1)

    def _begin(self) -> bool:
        if not self.tasks.can_pop():
            return False
        self.fan_in = self.tasks.coordinate()
        if self.fan_in < 0 or self.fan_in > self.radix:
            raise SimulationError(f"{self.name}: a task of {self.fan_in} ways, but it has {self.radix}")
        self.task = self.tasks.reference()
        self.tasks.pop()
        self.merges += 1
        self.merging = True
        self.loaded = 0
        self.emptied = -1
        self.size = 0
        return True

    def _see_heads(self) -> int:
        """Bring new heads into the tree; returns a way that shows none, or -1."""
        while self.loaded < self.fan_in:
            way = self.ways[self.loaded]
            if not way.can_pop():
                return self.loaded
            if way.control() == DATA:
                self.size += 1
                self._sift_up(self.size - 1, way.coordinate() << WAY_BITS | self.loaded)
            else:
                way.pop()
            self.loaded += 1
        if self.emptied >= 0:
            way = self.ways[self.emptied]
            if not way.can_pop():
                return self.emptied
            if way.control() == DATA:
                self._sift_down(way.coordinate() << WAY_BITS | self.emptied)
            else:
                way.pop()
                self.size -= 1
                if self.size > 0:
                    self._sift_down(self.heap[self.size])
            self.emptied = -1
        return -1

    def _emit(self) -> None:
        self.emptied = self.heap[0] & WAY_MASK
        way = self.ways[self.emptied]
        self.merged.push(DATA, way.coordinate(), way.reference(), way.value())
        way.pop()
        self.merged_elements += 1

    def _sift_up(self, place: int, key: int) -> None:
        """Let a new key rise from the last place."""
        while place > 0:
            parent = (place - 1) >> 1
            if self.heap[parent] <= key:
                break
            self.heap[place] = self.heap[parent]
            place = parent
        self.heap[place] = key

    def _sift_down(self, key: int) -> None:
        """Let a key that takes the root's place sink."""
        place = 0
        child = 1
        while child < self.size:
            if child + 1 < self.size and self.heap[child + 1] < self.heap[child]:
                child += 1
            if self.heap[child] >= key:
                break
            self.heap[place] = self.heap[child]
            place = child
            child = 2 * place + 1
        self.heap[place] = key

    def sample(self) -> tuple[int, ...]:
        """What it merges, and the two smallest heads.

        - ``phase``: of the merge: its first heads come, elements leave, or but the stop is left;
        - ``task``, ``fan_in``: the task and its ways; ``alive``: those of them that have not ended;
        - ``way``, ``coordinate``: the smallest head, which left in this cycle or, at a stall, leaves next;
        - ``rival_way``, ``rival``: the smallest head of the other ways.

        Numbers are -1 where there is no such thing.
        """
        if not self.merging:
            return (IDLE_PHASE, -1, 0, 0, -1, -1, -1, -1)
        smallest, rival = self._head(0), self._head(1)
        if self.size > 2 and self.heap[2] < rival:
            rival = self._head(2)
        return (
            self._phase(),
            self.task,
            self.fan_in,
            self.size,
            _way_of(smallest),
            smallest >> WAY_BITS,
            _way_of(rival),
            rival >> WAY_BITS,
        )

    def _phase(self) -> int:
        if self.loaded < self.fan_in:
            return LOADING
        return EMITTING if self.size > 0 else ENDING

    def _head(self, place: int) -> int:
        """A key of the tree, -1 where it has none."""
        return self.heap[place] if place < self.size else -1


def _way_of(key: int) -> int:
    return key & WAY_MASK if key >= 0 else -1
