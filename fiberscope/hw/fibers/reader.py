# cython: infer_types=True
"""The fiber reader: fetches the fibers of each task from the cache into the buffers of the merger's ways."""

from __future__ import annotations

from array import array

from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.merge import MERGE_TASK
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.tasks import END_OF_WORK, TASK, TaskInputs
from fiberscope.hw.fibers.way_lookahead import WayLookahead
from fiberscope.hw.lanes.channels import check_connected
from fiberscope.hw.memory.protocol import CONSUME, PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK, refuse_reply
from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

UNSCALED = -1  # reference of an element of a partial fiber
# Words of the record of a way. A record fills a line of the host's cache.
NEXT_ELEMENT = 0  # first element that no requested line completes
FIBER_END = 1  # end of the fiber: the element after its last one
NEXT_LINE = 2  # number of the next line to request, from the start of the operand or of the partial fibers
LINE_END = 3  # element after the last one that the next line completes
SOURCE = 4  # input number, as in ``TaskInputs.inputs``
RESERVED = 5  # slots of the way's buffer that are reserved for the tokens of lines in flight
OLDEST_ENTRY = 6  # index of the oldest entry in the way's ring of entries
LINES_IN_FLIGHT = 7  # number of entries in use
WAY_WORDS = 8
# Words of an entry. An entry is a requested line that is not yet in the way's buffer.
ENTRY_FIRST = 0
ENTRY_ELEMENTS = 1
ENTRY_SOURCE = 2
MARKS = 3
ENTRY_WORDS = 4
# Bits of the word ``MARKS``.
LAST_LINE = 1  # the line is the last line of its fiber
ARRIVED = 2  # the line has arrived
REQUESTED = 4  # the entry is in use


class FiberReader(Component):
    """Reads the fibers of one task after another into the merger's ways.

    Interface: tasks arrive on ``tasks``. For each task, ``merge_tasks`` gives the merger the number of ways
    of the task, and ``output_tasks`` gives the writer the number of the task. Read requests for lines leave
    on ``requests`` (``CONSUME`` for partial fibers, ``READ`` for rows of the operand). The lines arrive on
    ``replies``, in any order. Elements leave on ``ways[i]``, and a stop follows the last element of each
    fiber. The reference of an element is the number of its scale, or ``UNSCALED`` for an element of a
    partial fiber. Only fibers that are not empty take a way. ``END_OF_WORK`` is passed on to ``output_tasks``
    only.

    Timing: one request and one line per cycle. All elements of a line enter the way's buffer in the cycle in
    which the line is popped, if all older lines of the way have arrived. A line is requested only if the
    way's buffer has free slots for all its elements and a stop; a channel that can never hold so many tokens
    blocks the reader. When all lines of a task are requested, the
    lines of the next task follow without a gap; the buffers then hold the heads of the next task when the
    merger begins it. An element that straddles two lines arrives with the second line.

    Accounting: busy while a line is requested or received or a task begins. Else the reader waits for the
    first of these that applies: a free slot in ``requests`` while lines are to be requested, a line in
    flight, free slots in any way, a free slot for the next task in ``merge_tasks`` or ``output_tasks``.

    Counters: ``lines_read`` and ``lines_consumed`` count the requests of lines of the operand and of partial
    fibers.

    Args:
        table: the tasks.
        operand: the matrix whose rows the tasks scale.
        partials: the partial fibers.
        port: number of this reader's port at the network to the cache.
        base, partial_base: byte addresses of the first element of the operand and of the partial fibers.
        buffer_lines: number of lines that a way can have in flight or arrived out of order.
        line_bytes, element_bytes: bytes of a line, and of an element of the operand.

    Raises:
        SimulationError: when built, unless it has as many ways as the radix of the tasks; in the run, at a
            reply without a request.
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
        self.partial_bytes = partials.element_bytes
        self.task = END_OF_WORK
        self.fan_in = 0  # number of ways of the current task
        self.unasked = 0  # number of ways of the current task with lines that are not yet requested
        self.turn = 0  # way that has priority for the next request
        radix = table.radix
        self.fibers = array("q", bytes(8 * WAY_WORDS * radix))  # records of the ways
        self.lines = array("q", bytes(8 * ENTRY_WORDS * radix * buffer_lines))  # a ring of entries per way
        self.has_request = array("b", bytes(radix))  # by way: a line to request and a free entry
        self.lookahead: WayLookahead | None = (
            None  # C: public WayLookahead; takes lines in the place of the ways
        )
        self.in_flight = 0  # number of entries in use by all ways
        self.lines_read = 0
        self.lines_consumed = 0

    def elaborate(self) -> None:
        """Look up the channels, and check the number of ways."""
        super().elaborate()
        check_connected(self, "ways", self.table.radix)

    def tick(self, now: int) -> int:
        """Receive a line, begin the next task if all lines are requested, and request a line."""
        progress = self._receive()
        if self.unasked == 0 and self._start_task():
            progress = True
        if self.unasked > 0 and self.requests.can_push() and self._request_any(now):
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

    def _start_task(self) -> bool:
        """Begin the next task, if there is one and the merger and the writer can receive it."""
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
        """Assign each fiber of a task that is not empty to a way, in order."""
        table = self.table
        way = 0
        for i in range(table.first_inputs[task], table.first_inputs[task + 1]):
            if table.ends[i] > table.starts[i]:
                self._start_fiber(WAY_WORDS * way, table.starts[i], table.ends[i], table.inputs[i])
                self._update_way(way)
                way += 1
        self.fan_in = way
        self.unasked = way
        self.turn = 0

    def _start_fiber(self, record: int, start: int, end: int, source: int) -> None:  # C: noexcept, inline
        """Start a fiber in the way whose record begins at word ``record``.

        Args:
            record: first word of the way's record.
            start, end: first element of the fiber, and the element after its last one.
            source: input number, as in ``TaskInputs.inputs``.
        """
        self.fibers[record + NEXT_ELEMENT] = start
        self.fibers[record + FIBER_END] = end
        self.fibers[record + SOURCE] = source
        self._set_next_line(record, start * self._size(source) // self.line_bytes)

    def _size(self, source: int) -> int:  # C: noexcept, inline
        """Return the bytes of an element of this input; a negative number is a partial fiber."""
        return self.partial_bytes if source < 0 else self.element_bytes

    def _update_way(self, way: int) -> None:
        """Update whether a way has a line to request and a free entry, and what the lookahead waits for."""
        record = WAY_WORDS * way
        unasked = self.fibers[record + NEXT_ELEMENT] < self.fibers[record + FIBER_END]
        self.has_request[way] = unasked and self.fibers[record + LINES_IN_FLIGHT] < self.buffer_lines
        if self.lookahead is not None and self.lookahead.engaged:
            if self.has_request[way]:
                self.lookahead.need(way, self._tokens(record))
            else:
                self.lookahead.need_none(way)

    def _request_any(self, now: int) -> bool:
        """Request a line for the first way that can, in round-robin order; return whether there was one."""
        way = self.turn
        for _ in range(self.fan_in):
            if self._may_request(way, now):
                self._request_line(way)
                self.turn = way + 1 if way + 1 < self.fan_in else 0
                return True
            way += 1
            if way == self.fan_in:
                way = 0
        return False

    def _set_next_line(self, record: int, line: int) -> None:  # C: noexcept, inline
        """Make ``line`` the next line that a way requests, and find where its complete elements end."""
        self.fibers[record + NEXT_LINE] = line
        line_end = (line + 1) * self.line_bytes // self._size(self.fibers[record + SOURCE])
        self.fibers[record + LINE_END] = min(self.fibers[record + FIBER_END], line_end)

    def _may_request(self, way: int, now: int) -> bool:  # C: inline
        """Return whether a way has a line to request, a free entry, and free slots in its buffer."""
        if self.lookahead is not None and self.lookahead.engaged:
            return self.lookahead.free_from[way] <= now
        return bool(self.has_request[way]) and inline.fits(self.ways, way, self._tokens(WAY_WORDS * way))

    def _tokens(self, record: int) -> int:  # C: noexcept, inline
        """Return the free slots that a way needs to request its next line.

        The slots reserved for lines in flight, and a slot for a stop of each line, are included.
        """
        return (
            self.fibers[record + RESERVED]
            + self.fibers[record + LINE_END]
            - self.fibers[record + NEXT_ELEMENT]
            + 1
        )

    def _request_line(self, way: int) -> None:
        """Request the next line of a way, and reserve slots of its buffer for the elements and a stop."""
        record = WAY_WORDS * way
        end = self.fibers[record + LINE_END]
        entry_index = (
            self.fibers[record + OLDEST_ENTRY] + self.fibers[record + LINES_IN_FLIGHT]
        ) % self.buffer_lines
        number = way * self.buffer_lines + entry_index
        entry = ENTRY_WORDS * number
        elements = end - self.fibers[record + NEXT_ELEMENT]
        self.lines[entry + ENTRY_FIRST] = self.fibers[record + NEXT_ELEMENT]
        self.lines[entry + ENTRY_ELEMENTS] = elements
        self.lines[entry + ENTRY_SOURCE] = self.fibers[record + SOURCE]
        self.lines[entry + MARKS] = REQUESTED | (LAST_LINE if end == self.fibers[record + FIBER_END] else 0)
        self.fibers[record + LINES_IN_FLIGHT] += 1
        # A slot for a stop is reserved with every line, although only the last line of a fiber brings one
        self.fibers[record + RESERVED] += elements + 1
        self.in_flight += 1
        self._request(number, self.fibers[record + SOURCE], self.fibers[record + NEXT_LINE] * self.line_bytes)
        self.fibers[record + NEXT_ELEMENT] = end
        self._set_next_line(record, self.fibers[record + NEXT_LINE] + 1)
        self._update_way(way)
        if end == self.fibers[record + FIBER_END]:
            self.unasked -= 1

    def _request(self, number: int, source: int, offset: int) -> None:  # C: inline
        """Send the request for a line.

        Args:
            number: entry of the line, which is the slot in the tag.
            source: input number, as in ``TaskInputs.inputs``; it selects the operand or the partial fibers.
            offset: byte offset of the line in the tensor.
        """
        if source < 0:
            self.requests.push(CONSUME, self.tag_base | number, self.partial_base + offset)
            self.lines_consumed += 1
        else:
            self.requests.push(READ, self.tag_base | number, self.base + offset)
            self.lines_read += 1

    def _receive(self) -> bool:
        """Receive a line; if it is the oldest of its way, deliver it and the arrived lines that follow it."""
        if not self.replies.can_pop():
            return False
        number = self.replies.coordinate() & TAG_MASK
        if (
            ENTRY_WORDS * number >= len(self.lines)
            or self.lines[ENTRY_WORDS * number + MARKS] & (REQUESTED | ARRIVED) != REQUESTED
        ):
            refuse_reply(number)
        self.replies.pop()
        self.lines[ENTRY_WORDS * number + MARKS] |= ARRIVED
        way = number // self.buffer_lines
        while self.lines[self._oldest(way) + MARKS] & ARRIVED:
            self._deliver(way, self._oldest(way))
        return True

    def _oldest(self, way: int) -> int:  # C: noexcept, inline
        """Return the first word of a way's oldest entry."""
        return ENTRY_WORDS * (way * self.buffer_lines + self.fibers[WAY_WORDS * way + OLDEST_ENTRY])

    def _deliver(self, way: int, entry: int) -> None:
        """Move the oldest line of a way into its buffer, or pass it to the lookahead; free its entry."""
        source = self.lines[entry + ENTRY_SOURCE]
        first_element = self.lines[entry + ENTRY_FIRST]
        count = self.lines[entry + ENTRY_ELEMENTS]
        if self.lookahead is None or not self.lookahead.engaged:
            self._push_elements(way, source, first_element, count, self.lines[entry + MARKS] & LAST_LINE)
        elif count > 0:
            self.lookahead.deliver(
                way, first_element, count, 2 * source + (self.lines[entry + MARKS] & LAST_LINE)
            )
        at = WAY_WORDS * way
        self.lines[entry + MARKS] = 0
        self.fibers[at + RESERVED] -= count + 1
        self.fibers[at + OLDEST_ENTRY] = (self.fibers[at + OLDEST_ENTRY] + 1) % self.buffer_lines
        self.fibers[at + LINES_IN_FLIGHT] -= 1
        self._update_way(way)
        self.in_flight -= 1

    def _push_elements(self, way: int, source: int, first: int, count: int, ends: int) -> None:
        """Send elements ``first`` to ``first + count`` - 1 of an input to a way, and a stop if ``ends``."""
        channel = self.ways[way]
        for element in range(first, first + count):
            if source < 0:
                coordinate = self.partials.coordinates[element]
                channel.push(DATA, coordinate, UNSCALED, self.partials.values[element])
            else:
                channel.push(DATA, self.operand.coordinates[element], source, self.operand.values[element])
        if ends:
            channel.push(STOP, 0, 0)

    def signals(self) -> tuple[Signal, ...]:
        """Return the signals: task, its row, its ways, ways with lines to request, and lines in flight.

        Task and row are -1 at the end of the work.
        """
        return (
            Signal("task", 32, "integer"),
            Signal("row", 32, "integer"),
            Signal("fan_in", 16),
            Signal("unasked", 16),
            Signal("in_flight", 16),
        )

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0] = self.task
        values[1] = self.table.rows[self.task] if self.task >= 0 else -1
        values[2], values[3], values[4] = self.fan_in, self.unasked, self.in_flight
