"""A buffet: a buffer filled in order, read anywhere, updated in place and freed from its head.

After Pellauer et al., "Buffets: An Efficient and Composable Storage Idiom for Explicit Decoupled Data
Orchestration" (ASPLOS 2019). Whoever fills it needs to know nothing of whoever reads it: a read waits for
what is not there yet, and credits tell the filler how much has been freed.
"""

from __future__ import annotations

from array import array

from hw.buffet_protocol import BUFFET_READ, BUFFET_UPDATE, CREDITS, READ_TO_UPDATE, SHRINK
from hw.stream import STREAM
from sim.channel import Channel
from sim.component import Component, Input, Output, Signal
from sim.errors import SimulationError

# What the first of ``reads`` waits for.
NOTHING = 0
A_FILL = 1
AN_UPDATE = 2
SPACE = 3


class Buffet(Component):
    """A ring of entries between a head, where they are freed, and a tail, where they are filled.

    Interface: a token on ``fills`` becomes the entry at the tail. A token on ``reads`` names an entry by its
    index from the head; a copy goes out on ``values``. With a reference above 0 it then frees so many entries
    from the head. A token on ``updates`` gives an entry another reference and value. On ``credits`` goes how
    many entries may be filled: first all, later those that were freed. Without ``credits``, a fill waits for
    space in its channel.

    A read waits for an entry that is not filled yet, and for one whose update an earlier read announced;
    freeing waits for entries that are not filled yet, and for all announced updates, so that the index of an
    update means what it meant when its entry was read. Reads and frees share a port since their order
    matters: the one moves the head from which the other counts.

    Timing: in each cycle, in this order: one read, with what it frees; one update; one fill; all credits that
    are owed. So an entry can be read in the cycle after its fill or its update, and what is freed can be
    filled in the same cycle.

    Args:
        name: instance name.
        capacity: entries.

    Raises:
        SimulationError: in the run: a read beyond the capacity, or one that frees more; a read that announces
            an update where ``updates`` is not connected, or frees as well; an update of an entry that is not
            filled; a fill without a credit.
    """

    PORTS = (
        Input("fills", STREAM),
        Input("reads", BUFFET_READ),
        Input("updates", BUFFET_UPDATE, optional=True),
        Output("values", STREAM),
        Output("credits", CREDITS, optional=True),
    )
    SIGNALS = (Signal("filled", 32), Signal("awaiting", 32))  # entries; announced updates that have not come

    fills: Channel
    reads: Channel
    updates: Channel | None
    values: Channel
    credits: Channel | None

    def __init__(self, name: str, capacity: int) -> None:
        super().__init__(name)
        if capacity < 1:
            raise SimulationError(f"{name}: a buffet's capacity should be at least 1 entry, not {capacity}")
        self.capacity = capacity
        self.control = array("q", bytes(8 * capacity))
        self.coordinate = array("q", bytes(8 * capacity))
        self.reference = array("q", bytes(8 * capacity))
        self.value = array("d", bytes(8 * capacity))
        self.awaited = array("q", bytes(8 * capacity))  # whether an update was announced
        self.head = 0
        self.filled = 0
        self.awaiting = 0  # announced updates that have not come
        self.owed = 0  # credits not sent yet
        self.fill_count = 0
        self.read_count = 0
        self.update_count = 0
        self.freed = 0

    def elaborate(self) -> None:
        """Fetch the channels; all entries are free, as is to be said on ``credits``."""
        super().elaborate()
        self.owed = self.capacity if self.credits is not None else 0

    def tick(self, now: int) -> int:
        """Read and free, update, fill, send credits."""
        progress = self._read()
        if self._update():
            progress = True
        if self._fill():
            progress = True
        if self._send_credits():
            progress = True
        return self.busy(now + 1) if progress else self._wait()

    def _read(self) -> bool:
        if not self.reads.can_pop() or self._obstacle() != NOTHING:
            return False
        operation = self.reads.control()
        if operation != SHRINK:
            place = self._place(self.reads.coordinate())
            self.values.push(
                self.control[place], self.coordinate[place], self.reference[place], self.value[place]
            )
            self.read_count += 1
            if operation == READ_TO_UPDATE:
                self.awaited[place] = 1
                self.awaiting += 1
        self._free(self.reads.reference())
        self.reads.pop()
        return True

    def _obstacle(self) -> int:
        """What the first of ``reads`` waits for."""
        operation, freed = self.reads.control(), self.reads.reference()
        if operation != SHRINK:
            index = self.reads.coordinate()
            if index < 0 or index >= self.capacity:
                raise SimulationError(f"{self.name}: reads index {index}; its capacity is {self.capacity}")
            if operation == READ_TO_UPDATE:
                self._check_announcement(freed)
            if index >= self.filled:
                return A_FILL
            if self.awaited[self._place(index)]:
                return AN_UPDATE
            if not self.values.can_push():
                return SPACE
        if freed < 0 or freed > self.capacity:
            raise SimulationError(f"{self.name}: frees {freed} entries; its capacity is {self.capacity}")
        if freed > self.filled:
            return A_FILL
        return AN_UPDATE if freed > 0 and self.awaiting > 0 else NOTHING

    def _check_announcement(self, freed: int) -> None:
        if self.updates is None:
            raise SimulationError(f"{self.name}: a read announces an update, and updates is not connected")
        if freed != 0:
            raise SimulationError(
                f"{self.name}: a read that announces an update frees {freed} entries; it should free none, "
                "since it would wait for its own update"
            )

    def _free(self, count: int) -> None:
        self.head = (self.head + count) % self.capacity
        self.filled -= count
        self.freed += count
        if self.credits is not None:
            self.owed += count

    def _update(self) -> bool:
        if self.updates is None or not self.updates.can_pop():
            return False
        index = self.updates.coordinate()
        if index < 0 or index >= self.filled:
            raise SimulationError(f"{self.name}: updates index {index}; {self.filled} entries are filled")
        place = self._place(index)
        self.reference[place] = self.updates.reference()
        self.value[place] = self.updates.value()
        self.updates.pop()
        self.awaiting -= self.awaited[place]
        self.awaited[place] = 0
        self.update_count += 1
        return True

    def _fill(self) -> bool:
        fills = self.fills
        if not fills.can_pop():
            return False
        if self.filled == self.capacity:
            if self.credits is not None:
                raise SimulationError(
                    f"{self.name}: a fill without a credit; all {self.filled} entries are filled"
                )
            return False
        place = self._place(self.filled)
        self.control[place] = fills.control()
        self.coordinate[place] = fills.coordinate()
        self.reference[place] = fills.reference()
        self.value[place] = fills.value()
        fills.pop()
        self.filled += 1
        self.fill_count += 1
        return True

    def _send_credits(self) -> bool:
        if self.credits is None or self.owed == 0 or not self.credits.can_push():
            return False
        self.credits.push(0, self.owed)
        self.owed = 0
        return True

    def _wait(self) -> int:
        obstacle = self._obstacle() if self.reads.can_pop() else NOTHING
        if obstacle == SPACE:
            return self.wait_output(self.values)
        if obstacle == A_FILL:
            return self.wait_input(self.fills)
        if self.updates is not None and self.awaiting > 0:
            return self.wait_input(self.updates)
        if self.credits is not None and self.owed > 0:
            return self.wait_output(self.credits)
        return self.wait_input(self.reads) if self.fills.can_pop() else self.idle()

    def _place(self, index: int) -> int:
        """Where the entry with this index from the head lies."""
        place = self.head + index
        return place - self.capacity if place >= self.capacity else place

    def counters(self) -> dict[str, int]:
        """Entries filled, read, updated and freed."""
        return {
            "fills": self.fill_count,
            "reads": self.read_count,
            "updates": self.update_count,
            "freed": self.freed,
        }
