# cython: infer_types=True
"""A tile's local control processor, which dispatches work to the tile's processing elements.

A group is a unit of work from the central control processor. It consists of segments: elements of one column
k of A each, which are multiplied by row k of B. See ``groups.Groups``.
"""

from __future__ import annotations

from array import array

from fiberscope.accelerators.outerspace.groups import Groups
from fiberscope.accelerators.outerspace.layout import (
    END_OF_WORK,
    GROUP,
    GROUP_DONE,
    PRODUCT_TASK,
    TASK_DONE,
    OperandLayout,
)
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

# Largest number of loads for the pointers of a segment. Parts 0 and 1 are the blocks with the begin and the
# end of the column of A; parts 2 and 3 (from B_PARTS on) are the same for the row of B.
POINTER_PARTS = 4
B_PARTS = 2


class LocalControl(Component):
    """A component that loads the pointers of groups and dispatches their elements to processing elements.

    Interface: ``groups`` brings groups. ``requests`` and ``replies`` load the pointers of the group's columns
    of A and rows of B, unless the operands are stored without pointers. ``tasks[i]`` sends an element of A to
    processing element i, even if the row of B is empty. ``done[i]`` reports that the element is multiplied.
    ``finished`` reports that all elements of the oldest group are multiplied. After the last group, each
    processing element gets ``END_OF_WORK``, and finishes its stores; ``finished`` then reports
    ``END_OF_WORK`` like a group. The sender keeps at most ``overlap`` groups unfinished.

    Timing: in each cycle, the component takes a group, a reply, and a report of every processing element. It
    also sends a load, dispatches an element or begins a segment, and finishes a group. An element goes to the
    next processing element, in round-robin order, whose channel has space.

    Args:
        name: instance name.
        groups: groups of all tiles.
        a, b: the operands; A is stored by columns.
        layouts: layouts of A and B in memory.
        port: number of the component's port at the first-level cache.
        block_bytes: bytes of a load.
        loads: largest number of loads in flight.
        overlap: largest number of groups that the component holds.
    """

    PORTS = (
        Input("groups", GROUP),
        Output("finished", GROUP_DONE),
        Output("requests", REQUEST),
        Input("replies", REPLY),
        Output("tasks", PRODUCT_TASK, array=True),
        Input("done", TASK_DONE, array=True),
    )
    # Pairs of a column of A and a row of B that both have elements; useful bytes of A's pointers, and of B.
    COUNTERS = ("pairs", "a_pointer_bytes", "b_bytes")
    SIGNALS = (Signal("group", 32, "integer"), Signal("dealt", 32), Signal("pairs", 32))

    groups: Channel
    finished: Channel
    requests: Channel
    replies: Channel
    tasks: list[Channel]
    done: list[Channel]

    def __init__(
        self,
        name: str,
        groups: Groups,
        a: CompressedRows,
        b: CompressedRows,
        layouts: tuple[OperandLayout, OperandLayout],
        *,
        port: int,
        block_bytes: int,
        loads: int,
        overlap: int,
    ) -> None:
        super().__init__(name)
        self.columns, self.begins, self.ends = (
            groups.columns,
            groups.begins,
            groups.ends,
        )  # C: columns=long[::1], ends=long[::1], begins=long[::1]
        self.firsts = groups.firsts  # C: long[::1]
        self.a = a
        self.b = b
        self.a_pointers, self.b_pointers = (
            layout.pointers for layout in layouts
        )  # C: a_pointers=long, b_pointers=long
        self.a_index = layouts[0].index_bytes  # C: long
        self.b_index = layouts[1].index_bytes  # C: long
        self.b_element = layouts[1].moved(1, 0)  # C: long; its bytes
        self.first_part = 0 if self.a_index > 0 else B_PARTS
        self.last_part = POINTER_PARTS if self.b_index > 0 else B_PARTS
        self.tag_base = port << PORT_SHIFT
        self.block_bytes = block_bytes
        self.window = ReorderWindow(loads)
        self.targets = array("q", bytes(8 * loads))  # by segment: loads that must arrive before its dispatch
        self.overlap = overlap
        self.ring = array("q", bytes(8 * overlap))  # queue of the groups held
        self.open = array("q", bytes(8 * overlap))  # number of tasks of these groups that are not done
        self.started_groups = self.located = self.dispatched_groups = self.retired = 0  # groups
        self.requested_segments = self.dispatched_segments = 0  # segments
        self.segment = 0  # segment whose pointers are requested next
        self.part = self.first_part
        self.deal_segment = 0
        self.element = 0  # next element to dispatch; at the end of work, next processing element to inform
        self.open_segment = False
        self.turn = 0
        self.group = END_OF_WORK  # latest group, for waveforms
        self.dealt = 0
        self.pairs = 0
        self.a_pointer_bytes = self.b_bytes = 0
        self.elements = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count the processing elements."""
        super().elaborate()
        self.elements = len(self.tasks)

    def tick(self, now: int) -> int:
        """Take reports, a reply and a group; then request, dispatch and finish."""
        progress = self._take_done()
        if self._take():
            progress = True
        if self._ask():
            progress = True
        if self._deal():
            progress = True
        if self._finish():
            progress = True
        return self.busy(now + 1) if progress else self._wait()

    def _take_done(self) -> bool:
        progress = False
        for element in range(self.elements):
            channel = self.done[element]
            if channel.can_pop():
                self.open[channel.control()] -= 1
                channel.pop()
                progress = True
        return progress

    def _take(self) -> bool:
        """Take a reply and a group."""
        progress = False
        if self.replies.can_pop():
            self.window.receive(self.replies.coordinate() & TAG_MASK)
            self.replies.pop()
            progress = True
        if self.groups.can_pop():
            self.group = self.groups.reference()
            self.ring[self.started_groups % self.overlap] = self.group
            self.groups.pop()
            if self.located == self.started_groups:
                self._turn_to_group(self.started_groups)
            if self.dispatched_groups == self.started_groups:
                self._begin_dealing()
            self.started_groups += 1
            progress = True
        return progress

    def _turn_to_group(self, place: int) -> None:
        """Request the pointers of a group next, unless the group is the end of work."""
        group = self.ring[place % self.overlap]
        if group != END_OF_WORK:
            self.segment, self.part = self.firsts[group], self.first_part

    def _begin_dealing(self) -> None:
        group = self.ring[self.dispatched_groups % self.overlap]
        self.open_segment = False
        self.element = 0
        if group != END_OF_WORK:
            self.deal_segment = self.firsts[group]

    def _ask(self) -> bool:
        """Request a block of the pointers of a segment, or skip the end of work; return whether possible.

        At most ``loads`` segments are located and not yet dispatched.
        """
        if self.located == self.started_groups:
            return False
        group = self.ring[self.located % self.overlap]
        if group == END_OF_WORK:
            self._next_group()
            return True
        if self.requested_segments - self.dispatched_segments == self.window.size:
            return False
        if not self.window.has_room():
            return False
        if not self.requests.can_push():
            return False
        if self.part < self.last_part:
            slot = self.window.send()
            self.requests.push(READ, self.tag_base | slot, self._pointer_block(self.part))
            self.part = self._next_part()
        if self.part >= self.last_part:
            self.targets[self.requested_segments % self.window.size] = self.window.sent
            self.requested_segments += 1
            self.segment, self.part = self.segment + 1, self.first_part
            if self.segment == self.firsts[group + 1]:
                self._next_group()
        return True

    def _next_group(self) -> None:
        self.located += 1
        if self.located < self.started_groups:
            self._turn_to_group(self.located)

    def _pointer_block(self, part: int) -> int:  # C: noexcept
        """Return the address of the block of a part: see ``POINTER_PARTS``."""
        base, index = self.a_pointers, self.a_index
        if part >= B_PARTS:
            base, index = self.b_pointers, self.b_index
        address = base + self.columns[self.segment] * index
        if part % 2 == 1:
            address += 2 * index - 1
        return address // self.block_bytes * self.block_bytes

    def _next_part(self) -> int:  # C: noexcept
        """Return the next part whose block differs from the block of the current part."""
        next_part = self.part + 1
        if next_part % 2 == 1 and self._pointer_block(next_part) == self._pointer_block(self.part):
            next_part += 1
        return next_part

    def _deal(self) -> bool:
        """Dispatch an element of the oldest group that has elements left, or the end of work.

        If no segment of the group is open, open the next one instead. Return whether anything was done.
        """
        if self.dispatched_groups == self.started_groups:
            return False
        if self.ring[self.dispatched_groups % self.overlap] == END_OF_WORK:
            return self._deal_end()
        if not self.open_segment:
            return self._open_segment()
        target = self._processing_element()
        if target < 0:
            return False
        self._send(target, self.element, self.columns[self.deal_segment])
        self.turn = target + 1 if target + 1 < self.elements else 0
        self.dealt += 1
        self.element += 1
        if self.element == self.ends[self.deal_segment]:
            self._close_segment()
        return True

    def _deal_end(self) -> bool:
        """Send the end of work to the next processing element; return whether sent."""
        tasks = self.tasks[self.element]
        if not tasks.can_push():
            return False
        self._send(self.element, END_OF_WORK, 0)
        self.element += 1
        if self.element == self.elements:
            self._close_group()
        return True

    def _open_segment(self) -> bool:
        """Open the next segment once its pointers have arrived, or skip an empty one; return whether done.

        The pointers and the row of B count once for a column, with its first segment.
        """
        if self.dispatched_segments == self.requested_segments:
            return False
        if self.window.arrived < self.targets[self.dispatched_segments % self.window.size]:
            return False
        segment = self.deal_segment
        k, begin = self.columns[segment], self.begins[segment]
        length = self.b.pointers[k + 1] - self.b.pointers[k]
        first = begin == self.a.pointers[k]
        if first:
            self.a_pointer_bytes += self.a_index
            self.b_bytes += self.b_index
        if begin == self.ends[segment]:
            self._close_segment()
            return True
        if first and length > 0:
            self.pairs += 1
            self.b_bytes += length * self.b_element
        self.element = begin
        self.open_segment = True
        return True

    def _processing_element(self) -> int:
        """Return the next processing element, in round-robin order, with space; -1 if there is none."""
        target = self.turn
        for _ in range(self.elements):
            tasks = self.tasks[target]
            if tasks.can_push():
                return target
            target += 1
            if target == self.elements:
                target = 0
        return -1

    def _send(self, target: int, element: int, k: int) -> None:
        slot = self.dispatched_groups % self.overlap
        tasks = self.tasks[target]
        tasks.push(slot, element, k)
        self.open[slot] += 1

    def _close_segment(self) -> None:
        self.open_segment = False
        self.dispatched_segments += 1
        self.deal_segment += 1
        if self.deal_segment == self.firsts[self.ring[self.dispatched_groups % self.overlap] + 1]:
            self._close_group()

    def _close_group(self) -> None:
        self.dispatched_groups += 1
        if self.dispatched_groups < self.started_groups:
            self._begin_dealing()

    def _finish(self) -> bool:
        """Report the oldest group, or the end of work, if all its tasks are done; return whether reported."""
        slot = self.retired % self.overlap
        if self.retired == self.dispatched_groups or self.open[slot] > 0 or not self.finished.can_push():
            return False
        self.finished.push(0, 0, self.ring[slot])
        self.retired += 1
        return True

    def _wait(self) -> int:
        if self.retired == self.started_groups:
            return self.idle()
        if self.dispatched_groups == self.started_groups:
            return self.wait_any_input(self.done)
        if self.open_segment or self.ring[self.dispatched_groups % self.overlap] == END_OF_WORK:
            return self.wait_any_output(self.tasks)
        if self.window.in_flight() == 0:
            return self.wait_output(self.requests)
        return self.wait_input(self.replies)
