# cython: infer_types=True
"""Fiber buffers ahead of a merger, filled from a cache a line at a time."""

from __future__ import annotations

from array import array

from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.merge import MERGE_TASK
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.tasks import END_OF_WORK, TASK, TaskInputs
from fiberscope.hw.memory.protocol import CONSUME, PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

UNSCALED = -1  # reference of an element of a partial fiber


class FiberReader(Component):
    """Reads the fibers of one task after another into the merger's ways.

    Interface: tasks come in on ``tasks``; ``merge_tasks`` tells the merger how many ways a task has,
    ``output_tasks`` tells the writer which task the merged stream belongs to; line reads go out on
    ``requests`` (``CONSUME`` for partial fibers), lines come back on ``replies``, in any order; elements
    leave on ``ways[i]``, with the number of their scale as reference (``UNSCALED`` of a partial fiber's),
    each fiber ended by a stop.

    Timing: one request and one line a cycle; all elements of a line enter the way's buffer in the cycle in
    which it comes. A line is asked for only when its elements will find space. When all of a task's lines are
    asked for, the next task's follow at once, so that its heads wait in the buffers when the merger turns to
    it. An element that straddles two lines comes with the second.

    Args:
        name: instance name.
        table: the tasks.
        operand: the rows that the tasks scale.
        partials: the partial fibers.
        port: number of the requests' port at the cache's network.
        base, partial_base: addresses of the first element of the operand and of the partial fibers.
        buffer_lines: lines that a way may have in flight or arrived out of order.
        line_bytes, element_bytes: bytes of a line and of an element.
    """

    PORTS = (
        Input("tasks", TASK),
        Output("requests", REQUEST),
        Input("replies", REPLY),
        Output("ways", STREAM, array=True),
        Output("merge_tasks", MERGE_TASK),
        Output("output_tasks", TASK),
    )
    COUNTERS = ("lines_read", "lines_consumed")

    tasks: Channel
    requests: Channel
    replies: Channel
    merge_tasks: Channel
    output_tasks: Channel
    ways: list[Channel]

    def __init__(
        self,
        name: str,
        table: TaskInputs,
        operand: CompressedRows,
        partials: PartialStore,
        port: int,
        *,
        base: int,
        partial_base: int,
        buffer_lines: int,
        line_bytes: int,
        element_bytes: int,
    ) -> None:
        super().__init__(name)
        self.table = table
        self.operand = operand
        self.partials = partials
        self.tag_base = port << PORT_SHIFT
        self.buffer_lines = buffer_lines
        self.base = base
        self.partial_base = partial_base
        self.line_bytes = line_bytes
        self.element_bytes = element_bytes
        self.task = END_OF_WORK
        self.fan_in = 0  # ways of the present task
        self.unasked = 0  # those of them with lines still to ask for
        self.turn = 0
        radix = table.radix
        self.next_element = array(
            "q", bytes(8 * radix)
        )  # by way: first element that no line asked for brings
        self.last_element = array("q", bytes(8 * radix))  # by way: the element behind the fiber's last
        self.next_line = array("q", bytes(8 * radix))
        self.line_end = array("q", bytes(8 * radix))  # by way: the element behind the last that it completes
        self.source = array("q", bytes(8 * radix))  # by way: as in the task table
        self.reserved = array("q", bytes(8 * radix))  # by way: tokens that lines in flight will bring
        self.oldest = array("q", bytes(8 * radix))  # by way: its first entry
        self.entries = array("q", bytes(8 * radix))  # by way: lines in flight
        slots = radix * buffer_lines  # a line in flight is an entry of its way's ring
        self.entry_first = array("q", bytes(8 * slots))
        self.entry_count = array("q", bytes(8 * slots))
        self.entry_source = array("q", bytes(8 * slots))
        self.entry_ends = array("q", bytes(8 * slots))
        self.entry_here = array("q", bytes(8 * slots))
        self.in_flight = 0
        self.lines_read = 0
        self.lines_consumed = 0

    def tick(self, now: int) -> int:
        """Take a line, ask for one, turn to the next task."""
        progress = self._receive()
        if self.unasked == 0 and self._begin():
            progress = True
        if self.unasked > 0 and self.requests.can_push() and self._ask():
            progress = True
        if progress:
            return self.busy(now + 1)
        if self.unasked > 0 and not self.requests.can_push():
            return self.wait_output(self.requests)
        if self.in_flight > 0:
            return self.wait_input(self.replies)
        if self.unasked > 0:
            return self.wait_any_output(self.ways)
        if not self.tasks.can_pop():
            return self.idle()
        return self.wait_output(self.output_tasks if self.merge_tasks.can_push() else self.merge_tasks)

    def _begin(self) -> bool:
        """Turn to the next task, if the merger and the writer can be told."""
        if not self.tasks.can_pop() or not self.output_tasks.can_push():
            return False
        task = self.tasks.reference()
        if task != END_OF_WORK:
            if not self.merge_tasks.can_push():
                return False
            self._set_up(task)
            self.merge_tasks.push(0, self.fan_in, task)
        self.task = task
        self.output_tasks.push(0, 0, task)
        self.tasks.pop()
        return True

    def _set_up(self, task: int) -> None:
        """Give each fiber that is not empty a way."""
        table = self.table
        way = 0
        for i in range(table.first_inputs[task], table.first_inputs[task + 1]):
            if table.ends[i] > table.starts[i]:
                self.next_element[way] = table.starts[i]
                self.last_element[way] = table.ends[i]
                self._turn_to_line(way, table.starts[i] * self.element_bytes // self.line_bytes)
                self.source[way] = table.inputs[i]
                way += 1
        self.fan_in = way
        self.unasked = way
        self.turn = 0

    def _ask(self) -> bool:
        """Ask for a line of the next way in turn that has room for one."""
        way = self.turn
        for _ in range(self.fan_in):
            if self.next_element[way] < self.last_element[way] and self._has_room(way):
                self._ask_line(way)
                self.turn = way + 1 if way + 1 < self.fan_in else 0
                return True
            way += 1
            if way == self.fan_in:
                way = 0
        return False

    def _turn_to_line(self, way: int, line: int) -> None:  # C: noexcept, inline
        """Make a line the next one to ask for."""
        self.next_line[way] = line
        self.line_end[way] = min(self.last_element[way], (line + 1) * self.line_bytes // self.element_bytes)

    def _has_room(self, way: int) -> bool:  # C: inline
        if self.entries[way] == self.buffer_lines:
            return False
        needed = self.reserved[way] + self.line_end[way] - self.next_element[way] + 1
        channel = self.ways[way]
        if channel.space() >= needed:
            return True
        channel.want(needed)
        return False

    def _ask_line(self, way: int) -> None:
        end = self.line_end[way]
        place = (self.oldest[way] + self.entries[way]) % self.buffer_lines
        entry = way * self.buffer_lines + place
        self.entry_first[entry] = self.next_element[way]
        self.entry_count[entry] = end - self.next_element[way]
        self.entry_source[entry] = self.source[way]
        self.entry_ends[entry] = end == self.last_element[way]
        self.entry_here[entry] = 0
        self.entries[way] += 1
        self.reserved[way] += self.entry_count[entry] + 1
        self.in_flight += 1
        self._request(entry, self.next_line[way] * self.line_bytes)
        self.next_element[way] = end
        self._turn_to_line(way, self.next_line[way] + 1)
        if end == self.last_element[way]:
            self.unasked -= 1

    def _request(self, entry: int, offset: int) -> None:  # C: inline
        if self.entry_source[entry] < 0:
            self.requests.push(CONSUME, self.tag_base | entry, self.partial_base + offset)
            self.lines_consumed += 1
        else:
            self.requests.push(READ, self.tag_base | entry, self.base + offset)
            self.lines_read += 1

    def _receive(self) -> bool:
        """Take a line; if it is its way's oldest, it and those behind it that are here enter the buffer."""
        if not self.replies.can_pop():
            return False
        entry = self.replies.coordinate() & TAG_MASK
        self.replies.pop()
        self.entry_here[entry] = 1
        way = entry // self.buffer_lines
        while self.entries[way] > 0 and self.entry_here[way * self.buffer_lines + self.oldest[way]]:
            self._deliver(way, way * self.buffer_lines + self.oldest[way])
        return True

    def _deliver(self, way: int, entry: int) -> None:
        """The elements that a line completes enter the way's buffer, with the stop behind the last."""
        channel = self.ways[way]
        source = self.entry_source[entry]
        first = self.entry_first[entry]
        for element in range(first, first + self.entry_count[entry]):
            if source < 0:
                coordinate = self.partials.coordinates[element]
                channel.push(DATA, coordinate, UNSCALED, self.partials.values[element])
            else:
                channel.push(DATA, self.operand.coordinates[element], source, self.operand.values[element])
        if self.entry_ends[entry]:
            channel.push(STOP, 0, 0)
        self.reserved[way] -= self.entry_count[entry] + 1
        self.entry_here[entry] = 0
        self.oldest[way] = (self.oldest[way] + 1) % self.buffer_lines
        self.entries[way] -= 1
        self.in_flight -= 1

    def signals(self) -> tuple[Signal, ...]:
        """The task and its row, its fibers that are not empty, those to ask more of, lines in flight.

        Task and row are -1 at the end of work.
        """
        return (
            Signal("task", 32, "integer"),
            Signal("row", 32, "integer"),
            Signal("fan_in", 16),
            Signal("unasked", 16),
            Signal("in_flight", 16),
        )

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        row = self.table.rows[self.task] if self.task >= 0 else -1
        return self.task, row, self.fan_in, self.unasked, self.in_flight
