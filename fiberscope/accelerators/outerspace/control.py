# cython: infer_types=True
"""The central control processor, which schedules the phases."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.accelerators.outerspace.groups import Groups
from fiberscope.accelerators.outerspace.layout import END_OF_WORK, GROUP, GROUP_DONE, ROW
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.memory.protocol import PORT_SHIFT, REQUEST, WRITE
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

CLEAR, MULTIPLY, DRAIN, RECONFIGURE, MERGE, FINISH, DONE = range(7)
PHASES = ("clear", "multiply", "drain", "reconfigure", "merge", "finish", "done")


class CentralControl(Component):
    """Hands out groups of elements, then, behind a barrier, rows of Z.

    Interface: a group goes out on ``groups[i]`` to the first tile that has none too many, and ``finished[i]``
    tells that it is done. A row goes out on ``rows[i]``, whose channel holds one: it is taken from it when it
    is merged. On ``requests`` leave the writes of two arrays, block by block: the heads of the lists, which
    are cleared at first, and the pointers of Z at last.

    Timing: a cycle takes what every tile has finished, and gives every tile a group, or every merging element
    a row; or writes a block. Between the phases, behind the last store of every tile, the first-level caches
    are made into private caches and scratchpads for ``reconfiguration`` cycles.

    Args:
        name: instance name.
        groups: in their order.
        rows: of Z, in the order in which they are merged.
        arrays: heads and pointers of Z: address and bytes.
        port: number of its port at the network to memory.
        block_bytes: of one write.
        overlap: groups that a tile may have at once.
        reconfiguration: cycles.
    """

    PORTS = (
        Output("groups", GROUP, array=True),
        Input("finished", GROUP_DONE, array=True),
        Output("rows", ROW, array=True),
        Output("requests", REQUEST),
    )
    # The cycles in which the phases ended: the last store had left, the caches were changed, rows were done.
    COUNTERS = (
        "groups_done",
        "rows_given",
        "blocks_written",
        "multiplied_at",
        "reconfigured_at",
        "merged_at",
    )
    SIGNALS = (
        Signal("phase", 3, "state", PHASES),
        Signal("groups_done", 32),
        Signal("rows_given", 32),
    )

    groups: list[Channel]
    finished: list[Channel]
    rows: list[Channel]
    requests: Channel

    def __init__(
        self,
        name: str,
        groups: Groups,
        rows: Sequence[int],
        arrays: Sequence[tuple[int, int]],
        *,
        port: int,
        block_bytes: int,
        overlap: int,
        reconfiguration: int,
    ) -> None:
        super().__init__(name)
        self.before = groups.before  # C: long[::1]
        self.group_count = groups.count  # C: long
        self.row_order = integers_of(rows)  # C: long[::1]
        self.row_count = len(rows)
        self.arrays = arrays
        self.tag = port << PORT_SHIFT
        self.block_bytes = block_bytes
        self.overlap = overlap
        self.reconfiguration = reconfiguration
        self.phase = CLEAR
        self.address = self.end = 0  # of the array that is being written
        self.groups_given = self.groups_done = 0
        self.rows_given = 0
        self.blocks_written = 0
        self.multiplied_at = self.reconfigured_at = self.merged_at = 0
        self.tiles = self.elements = 0
        self.open = array("q")  # by tile: its groups that are not done
        self._begin_array(0)

    def elaborate(self) -> None:
        """Fetch the channels, and count tiles and merging elements."""
        super().elaborate()
        self.tiles, self.elements = len(self.groups), len(self.rows)
        self.open = array("q", bytes(8 * self.tiles))

    def _begin_array(self, which: int) -> None:
        address, size = self.arrays[which]
        self.address, self.end = address, address + size

    def array_bytes(self) -> tuple[int, int]:  # C: def
        """Bytes of each array that are written by now, without the rest of their blocks."""
        first, second = (size for _address, size in self.arrays)
        return (first if self.phase > CLEAR else 0), (second if self.phase == DONE else 0)

    def tick(self, now: int) -> int:
        """Do the work of the phase."""
        if self.phase in (CLEAR, FINISH):
            return self._write(now)
        if self.phase in (MULTIPLY, DRAIN):
            return self._multiply(now)
        if self.phase == RECONFIGURE:
            if now < self.reconfigured_at:
                return self.busy(self.reconfigured_at)
            self.phase = MERGE
        return self._merge(now) if self.phase == MERGE else self.idle()

    def _write(self, now: int) -> int:
        """Write the next block of an array."""
        if self.address < self.end:
            if not self.requests.can_push():
                return self.wait_output(self.requests)
            self.requests.push(WRITE, self.tag, self.address)
            self.address += self.block_bytes
            self.blocks_written += 1
        else:
            self.phase = MULTIPLY if self.phase == CLEAR else DONE
        return self.busy(now + 1)

    def _multiply(self, now: int) -> int:
        done = self._take_finished()
        is_given = self._give_groups()
        if self.phase == MULTIPLY and self.groups_done == self.group_count:
            self.phase = DRAIN
            for tile in range(self.tiles):
                self._give(tile, END_OF_WORK)
            return self.busy(now + 1)
        if self.phase == DRAIN and self.groups_done == self.group_count + self.tiles:
            self.groups_done = self.group_count
            self.multiplied_at = now
            self.phase = RECONFIGURE
            self.reconfigured_at = now + self.reconfiguration
            return self.busy(self.reconfigured_at)
        return self.busy(now + 1) if done or is_given else self.wait_any_input(self.finished)

    def _take_finished(self) -> bool:
        before = self.groups_done
        for tile in range(self.tiles):
            finished = self.finished[tile]
            if finished.can_pop():
                finished.pop()
                self.open[tile] -= 1
                self.groups_done += 1
        return self.groups_done > before

    def _give_groups(self) -> bool:
        """Give a group to every tile that has none too many, while the next one may begin."""
        before = self.groups_given
        for tile in range(self.tiles):
            if self.groups_given == self.group_count or self.before[self.groups_given] > self.groups_done:
                break
            if self.open[tile] < self.overlap:
                self._give(tile, self.groups_given)
                self.groups_given += 1
        return self.groups_given > before

    def _give(self, tile: int, group: int) -> None:
        groups = self.groups[tile]
        groups.push(0, 0, group)  # there is space: as many as a tile may have
        self.open[tile] += 1

    def _merge(self, now: int) -> int:
        """Give a row to every element that has none; behind the last, the end to all."""
        rows_before = self.rows_given
        waiting = 0
        for element in range(self.elements):
            rows = self.rows[element]
            if not rows.can_push():
                waiting += 1
            elif self.rows_given < self.row_count:
                rows.push(0, 0, self.row_order[self.rows_given])
                self.rows_given += 1
        if self.rows_given > rows_before:
            return self.busy(now + 1)
        if waiting:
            return self.wait_any_output(self.rows)
        return self._end_merge(now)

    def _end_merge(self, now: int) -> int:
        """All rows are merged: have what is left of Z written."""
        for element in range(self.elements):
            rows = self.rows[element]
            rows.push(0, 0, END_OF_WORK)
        self.merged_at = now
        self._begin_array(1)
        self.phase = FINISH
        return self.busy(now + 1)
