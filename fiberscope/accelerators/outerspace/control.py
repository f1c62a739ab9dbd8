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

# CLEAR writes the heads of the lists, DRAIN waits for the last stores, FINISH writes the pointers of Z.
CLEAR, MULTIPLY, DRAIN, RECONFIGURE, MERGE, FINISH, DONE = range(7)
PHASES = ("clear", "multiply", "drain", "reconfigure", "merge", "finish", "done")


class CentralControl(Component):
    """The central control, which assigns groups of elements to tiles and, after a barrier, rows of Z.

    Interface: ``groups[i]`` sends a group to tile i, if the tile has fewer than ``overlap`` unfinished groups
    and ``Groups.required_groups`` allows the group to begin. ``finished[i]`` reports the end of a group.
    ``END_OF_WORK`` follows the last group, and is reported when the tile has sent all its stores. A row is
    sent on ``rows[i]``, whose channel holds one row; the merging element pops the row when it has merged it.
    ``requests`` sends the writes of two arrays, block by block: the heads of the lists, which are cleared
    first, and the pointers of Z, which are written last.

    Timing: in each cycle, the control takes one report of every tile and assigns a group to each tile, in the
    order of the tiles, or a row to each merging element; or it writes one block. The multiply phase ends
    after the last store of every tile. The first-level caches are then reconfigured into private caches and
    scratchpads, in ``reconfiguration`` cycles.

    Args:
        groups: the groups, in the order in which they are assigned.
        rows: rows of Z, in the order in which they are merged.
        arrays: address and bytes of the heads, then address and bytes of the pointers of Z.
        port: number of the control's port at the network to memory.
        block_bytes: bytes of one write.
        overlap: largest number of unfinished groups of a tile.
        reconfiguration: cycles to reconfigure the caches.
    """

    PORTS = (
        Output("groups", GROUP, array=True),
        Input("finished", GROUP_DONE, array=True),
        Output("rows", ROW, array=True),
        Output("requests", REQUEST),
    )
    # ``multiplied_at``, ``reconfigured_at`` and ``merged_at`` are the cycles in which the phases ended.
    COUNTERS = (
        "groups_done",
        "rows_given",
        "blocks_written",
        "multiplied_at",
        "reconfigured_at",
        "merged_at",
    )
    SIGNALS = (Signal("phase", 3, "state", PHASES), Signal("groups_done", 32), Signal("rows_given", 32))

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
        self.required_groups = groups.required_groups  # C: long[::1]
        self.group_count = groups.count  # C: long
        self.row_order = integers_of(rows)  # C: long[::1]
        self.row_count = len(rows)
        self.arrays = arrays
        self.tag = port << PORT_SHIFT
        self.block_bytes = block_bytes
        self.overlap = overlap
        self.reconfiguration = reconfiguration
        self.phase = CLEAR
        self.address = self.end = 0  # next address and end of the array that is being written
        self.assigned_groups = self.groups_done = 0
        self.rows_given = 0
        self.blocks_written = 0
        self.multiplied_at = self.reconfigured_at = self.merged_at = 0
        self.tiles = self.elements = 0
        self.unfinished_groups = array("q")  # number of unfinished groups of each tile
        self._start_array(0)

    def elaborate(self) -> None:
        """Count the tiles and merging elements that are connected."""
        super().elaborate()
        self.tiles, self.elements = len(self.groups), len(self.rows)
        self.unfinished_groups = array("q", bytes(8 * self.tiles))

    def _start_array(self, index: int) -> None:
        address, size = self.arrays[index]
        self.address, self.end = address, address + size

    def array_bytes(self) -> tuple[int, int]:  # C: def
        """Return the written bytes of the heads and of the pointers of Z, without padding to whole blocks.

        The bytes of an array are 0 until the whole array has been written.
        """
        first, second = (size for _address, size in self.arrays)
        return (first if self.phase > CLEAR else 0), (second if self.phase == DONE else 0)

    def tick(self, now: int) -> int:
        """Do one cycle of work of the current phase."""
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
        """Write the next block of an array, or end the phase after the last block."""
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
        """Take reports and assign groups; at the end, drain the tiles and begin the reconfiguration."""
        has_finished = self._take_finished()
        has_assigned = self._assign_groups()
        if self.phase == MULTIPLY and self.groups_done == self.group_count:
            self.phase = DRAIN
            for tile in range(self.tiles):
                self._send_group(tile, END_OF_WORK)
            return self.busy(now + 1)
        if self.phase == DRAIN and self.groups_done == self.group_count + self.tiles:
            self.groups_done = self.group_count
            self.multiplied_at = now
            self.phase = RECONFIGURE
            self.reconfigured_at = now + self.reconfiguration
            return self.busy(self.reconfigured_at)
        return self.busy(now + 1) if has_finished or has_assigned else self.wait_any_input(self.finished)

    def _take_finished(self) -> bool:
        count_before = self.groups_done
        for tile in range(self.tiles):
            finished = self.finished[tile]
            if finished.can_pop():
                finished.pop()
                self.unfinished_groups[tile] -= 1
                self.groups_done += 1
        return self.groups_done > count_before

    def _assign_groups(self) -> bool:
        """Assign a group to each tile with fewer than ``overlap`` groups, while the next group may begin."""
        count_before = self.assigned_groups
        for tile in range(self.tiles):
            group = self.assigned_groups
            if group == self.group_count or self.required_groups[group] > self.groups_done:
                break
            if self.unfinished_groups[tile] < self.overlap:
                self._send_group(tile, group)
                self.assigned_groups += 1
        return self.assigned_groups > count_before

    def _send_group(self, tile: int, group: int) -> None:
        groups = self.groups[tile]
        # Never full: the capacity is at least ``overlap``, and the end of work follows the last report.
        groups.push(0, 0, group)
        self.unfinished_groups[tile] += 1

    def _merge(self, now: int) -> int:
        """Assign a row to every idle merging element; after the last row, end the merge phase."""
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
        """End the merge phase: stop all merging elements and begin to write the pointers of Z."""
        for element in range(self.elements):
            rows = self.rows[element]
            rows.push(0, 0, END_OF_WORK)
        self.merged_at = now
        self._start_array(1)
        self.phase = FINISH
        return self.busy(now + 1)
