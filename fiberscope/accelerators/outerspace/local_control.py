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

# Pointers of a segment: 0 and 1 are the start and the end of the column of A, 2 and 3 (from B_POINTERS on)
# those of the row of B. A block with both pointers of an operand is loaded once.
POINTERS = 4
B_POINTERS = 2


class LocalControl(Component):
    """A component that loads the pointers of groups and dispatches their elements to processing elements.

    Interface: ``groups`` brings groups. ``requests`` and ``replies`` load the pointers of the group's columns
    of A and rows of B, unless the operands are stored without pointers. ``tasks[i]`` sends an element of A to
    processing element i, even if the row of B is empty. ``done[i]`` reports that the element is multiplied.
    ``finished`` reports that all elements of the oldest group are multiplied. After the last group, each
    processing element gets ``END_OF_WORK``, and finishes its stores; ``finished`` then reports
    ``END_OF_WORK`` like a group. The sender keeps at most ``overlap`` groups unfinished.

    Timing: in each cycle, the component takes a group, a reply, and a report of every processing element. It
    also sends a load, dispatches an element or opens a segment, and reports a group. An element goes to the
    next processing element, in round-robin order, whose channel has space.

    Args:
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
        self.columns = groups.columns  # C: long[::1]
        self.starts = groups.starts  # C: long[::1]
        self.ends = groups.ends  # C: long[::1]
        self.first_segments = groups.first_segments  # C: long[::1]
        self.a = a
        self.b = b
        self.a_pointers = layouts[0].pointers  # C: long
        self.b_pointers = layouts[1].pointers  # C: long
        self.a_index_bytes = layouts[0].index_bytes  # C: long
        self.b_index_bytes = layouts[1].index_bytes  # C: long
        self.b_element_bytes = layouts[1].data_bytes(1, 0)  # C: long
        self.first_pointer = 0 if self.a_index_bytes > 0 else B_POINTERS
        self.end_pointer = POINTERS if self.b_index_bytes > 0 else B_POINTERS
        self.tag_base = port << PORT_SHIFT
        self.block_bytes = block_bytes
        self.window = ReorderWindow(loads)
        # By segment: number of loads that must have arrived before its dispatch
        self.required_loads = array("q", bytes(8 * loads))
        self.overlap = overlap
        self.held_groups = array("q", bytes(8 * overlap))  # ring of the groups held
        self.unfinished_tasks = array("q", bytes(8 * overlap))  # by group in the ring
        # Numbers of groups: taken, with all pointers requested, with all tasks sent, and reported
        self.started_groups = self.located_groups = self.dispatched_groups = self.finished_groups = 0
        self.requested_segments = self.dispatched_segments = 0
        self.segment = 0  # segment whose pointers are requested next
        self.next_pointer = self.first_pointer
        self.dispatch_segment = 0  # segment whose elements are dispatched next
        self.element = 0  # next element to dispatch; at the end of work, next processing element to inform
        self.is_segment_open = False  # whether elements of ``dispatch_segment`` are being dispatched
        self.next_pe = 0  # first choice for the next element
        self.group = END_OF_WORK  # latest group, for waveforms
        self.dealt = 0  # dispatched elements, for waveforms
        self.pairs = 0
        self.a_pointer_bytes = self.b_bytes = 0
        self.pe_count = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count the processing elements."""
        super().elaborate()
        self.pe_count = len(self.tasks)

    def tick(self, now: int) -> int:
        """Take reports, a reply and a group; request pointers, dispatch an element and report a group."""
        progress = self._take_reports()
        if self._take_inputs():
            progress = True
        if self._request_pointers():
            progress = True
        if self._dispatch():
            progress = True
        if self._report_group():
            progress = True
        return self.busy(now + 1) if progress else self._wait()

    def _take_reports(self) -> bool:
        progress = False
        for pe in range(self.pe_count):
            channel = self.done[pe]
            if channel.can_pop():
                self.unfinished_tasks[channel.control()] -= 1
                channel.pop()
                progress = True
        return progress

    def _take_inputs(self) -> bool:
        """Take a reply and a group."""
        progress = False
        if self.replies.can_pop():
            self.window.receive(self.replies.coordinate() & TAG_MASK)
            self.replies.pop()
            progress = True
        if self.groups.can_pop():
            self.group = self.groups.reference()
            self.held_groups[self.started_groups % self.overlap] = self.group
            self.groups.pop()
            if self.located_groups == self.started_groups:
                self._start_pointer_loads(self.started_groups)
            if self.dispatched_groups == self.started_groups:
                self._start_dispatch()
            self.started_groups += 1
            progress = True
        return progress

    def _start_pointer_loads(self, index: int) -> None:
        """Request the pointers of a group next, unless the group is the end of work."""
        group = self.held_groups[index % self.overlap]
        if group != END_OF_WORK:
            self.segment, self.next_pointer = self.first_segments[group], self.first_pointer

    def _start_dispatch(self) -> None:
        group = self.held_groups[self.dispatched_groups % self.overlap]
        self.is_segment_open = False
        self.element = 0
        if group != END_OF_WORK:
            self.dispatch_segment = self.first_segments[group]

    def _request_pointers(self) -> bool:
        """Request a block of the pointers of a segment, or skip the end of work; return whether possible.

        At most ``loads`` segments are located and not yet dispatched.
        """
        if self.located_groups == self.started_groups:
            return False
        group = self.held_groups[self.located_groups % self.overlap]
        if group == END_OF_WORK:
            self._next_group()
            return True
        if self.requested_segments - self.dispatched_segments == self.window.size:
            return False
        if not self.window.has_free_slot() or not self.requests.can_push():
            return False
        if self.next_pointer < self.end_pointer:
            slot = self.window.send()
            self.requests.push(READ, self.tag_base | slot, self._pointer_block(self.next_pointer))
            self.next_pointer = self._find_next_pointer()
        if self.next_pointer >= self.end_pointer:
            self.required_loads[self.requested_segments % self.window.size] = self.window.sent
            self.requested_segments += 1
            self.segment, self.next_pointer = self.segment + 1, self.first_pointer
            if self.segment == self.first_segments[group + 1]:
                self._next_group()
        return True

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0] = self.group
        values[1] = self.dealt
        values[2] = self.pairs

    def _next_group(self) -> None:
        self.located_groups += 1
        if self.located_groups < self.started_groups:
            self._start_pointer_loads(self.located_groups)

    def _pointer_block(self, pointer: int) -> int:  # C: noexcept
        """Return the address of the block of a pointer of the segment; for an end, of its last byte."""
        base, index = self.a_pointers, self.a_index_bytes
        if pointer >= B_POINTERS:
            base, index = self.b_pointers, self.b_index_bytes
        address = base + self.columns[self.segment] * index
        if pointer % 2 == 1:
            address += 2 * index - 1
        return address // self.block_bytes * self.block_bytes

    def _find_next_pointer(self) -> int:  # C: noexcept
        """Return the next pointer of the segment, except an end in the same block as its start."""
        pointer = self.next_pointer + 1
        if pointer % 2 == 1 and self._pointer_block(pointer) == self._pointer_block(self.next_pointer):
            pointer += 1
        return pointer

    def _dispatch(self) -> bool:
        """Dispatch an element of the oldest group that has elements left, or the end of work.

        If no segment of the group is open, open the next one instead. Return whether anything was done.
        """
        if self.dispatched_groups == self.started_groups:
            return False
        if self.held_groups[self.dispatched_groups % self.overlap] == END_OF_WORK:
            return self._dispatch_end_of_work()
        if not self.is_segment_open:
            return self._open_segment()
        target = self._find_free_pe()
        if target < 0:
            return False
        self._send(target, self.element, self.columns[self.dispatch_segment])
        self.next_pe = target + 1 if target + 1 < self.pe_count else 0
        self.dealt += 1
        self.element += 1
        if self.element == self.ends[self.dispatch_segment]:
            self._close_segment()
        return True

    def _dispatch_end_of_work(self) -> bool:
        """Send the end of work to the next processing element; return whether sent."""
        tasks = self.tasks[self.element]
        if not tasks.can_push():
            return False
        self._send(self.element, END_OF_WORK, 0)
        self.element += 1
        if self.element == self.pe_count:
            self._close_group()
        return True

    def _open_segment(self) -> bool:
        """Open the next segment once its pointers have arrived, or skip an empty one; return whether done.

        The pointers and the row of B count once for a column, with its first segment.
        """
        if self.dispatched_segments == self.requested_segments:
            return False
        if self.window.arrived < self.required_loads[self.dispatched_segments % self.window.size]:
            return False
        segment = self.dispatch_segment
        k, start = self.columns[segment], self.starts[segment]
        length = self.b.pointers[k + 1] - self.b.pointers[k]
        is_first_of_column = start == self.a.pointers[k]
        if is_first_of_column:
            self.a_pointer_bytes += self.a_index_bytes
            self.b_bytes += self.b_index_bytes
        if start == self.ends[segment]:
            self._close_segment()
            return True
        if is_first_of_column and length > 0:
            self.pairs += 1
            self.b_bytes += length * self.b_element_bytes
        self.element = start
        self.is_segment_open = True
        return True

    def _find_free_pe(self) -> int:
        """Return the next processing element, in round-robin order, with space; -1 if there is none."""
        target = self.next_pe
        for _ in range(self.pe_count):
            tasks = self.tasks[target]
            if tasks.can_push():
                return target
            target += 1
            if target == self.pe_count:
                target = 0
        return -1

    def _send(self, target: int, element: int, k: int) -> None:
        slot = self.dispatched_groups % self.overlap
        tasks = self.tasks[target]
        tasks.push(slot, element, k)
        self.unfinished_tasks[slot] += 1

    def _close_segment(self) -> None:
        self.is_segment_open = False
        self.dispatched_segments += 1
        self.dispatch_segment += 1
        if (
            self.dispatch_segment
            == self.first_segments[self.held_groups[self.dispatched_groups % self.overlap] + 1]
        ):
            self._close_group()

    def _close_group(self) -> None:
        self.dispatched_groups += 1
        if self.dispatched_groups < self.started_groups:
            self._start_dispatch()

    def _report_group(self) -> bool:
        """Report the oldest group, or the end of work, if all its tasks are done; return whether reported."""
        slot = self.finished_groups % self.overlap
        if (
            self.finished_groups == self.dispatched_groups
            or self.unfinished_tasks[slot] > 0
            or not self.finished.can_push()
        ):
            return False
        self.finished.push(0, 0, self.held_groups[slot])
        self.finished_groups += 1
        return True

    def _wait(self) -> int:
        if self.finished_groups == self.started_groups:
            return self.idle()
        if self.dispatched_groups == self.started_groups:
            return self.wait_any_input(self.done)
        if self.is_segment_open or self.held_groups[self.dispatched_groups % self.overlap] == END_OF_WORK:
            return self.wait_any_output(self.tasks)
        if self.window.in_flight() == 0:
            return self.wait_output(self.requests)
        return self.wait_input(self.replies)
