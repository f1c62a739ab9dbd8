# cython: infer_types=True
"""Fiber buffers ahead of a merger, filled from a cache a line at a time."""

from __future__ import annotations

from array import array

from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.merge import MERGE_TASK
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.tasks import END_OF_WORK, TASK, TaskInputs
from fiberscope.hw.fibers.way_lookahead import WayLookahead
from fiberscope.hw.memory.protocol import CONSUME, PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

UNSCALED = -1  # reference of an element of a partial fiber
# Words of a way side by side, so that they fill a line of the host's cache.
NEXT_ELEMENT = 0  # first that no line asked for brings
LAST_ELEMENT = 1  # the one behind the fiber's last
NEXT_LINE = 2
LINE_END = 3  # the element behind the last that this line completes
SOURCE = 4  # as in the task table
RESERVED = 5  # tokens that lines in flight will bring
OLDEST = 6  # the first of its entries
ENTRIES = 7  # lines in flight
WAY = 8
# Words of an entry, a line in flight.
FIRST = 0
COUNT = 1
ENTRY_SOURCE = 2
MARKS = 3
ENTRY = 4
ENDS = 1  # marks: behind it the fiber ends,
HERE = 2  # it is here


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
        line_bytes, element_bytes: bytes of a line, and of an element of the operand.
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
        self.fan_in = 0  # ways of the present task
        self.unasked = 0  # those of them with lines still to ask for
        self.turn = 0
        radix = table.radix
        self.fibers = array("q", bytes(8 * WAY * radix))  # by way
        self.lines = array("q", bytes(8 * ENTRY * radix * buffer_lines))  # each way has a ring of entries
        self.askable = array("b", bytes(radix))  # ways that have a line to ask for and an entry for it
        self.ahead: WayLookahead | None = None  # C: public WayLookahead; takes lines in the place of the ways
        self.in_flight = 0
        self.lines_read = 0
        self.lines_consumed = 0

    def tick(self, now: int) -> int:
        """Take a line, ask for one, turn to the next task."""
        progress = self._receive()
        if self.unasked == 0 and self._begin():
            progress = True
        if self.unasked > 0 and self.requests.can_push() and self._ask(now):
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
                self._turn_to_fiber(WAY * way, table.starts[i], table.ends[i], table.inputs[i])
                self._note(way)
                way += 1
        self.fan_in = way
        self.unasked = way
        self.turn = 0

    def _turn_to_fiber(self, at: int, start: int, end: int, source: int) -> None:  # C: noexcept, inline
        """Make a fiber the one of a way, whose words begin at a place."""
        self.fibers[at + NEXT_ELEMENT] = start
        self.fibers[at + LAST_ELEMENT] = end
        self.fibers[at + SOURCE] = source
        self._turn_to_line(at, start * self._size(source) // self.line_bytes)

    def _size(self, source: int) -> int:  # C: noexcept, inline
        """Bytes of an element of a fiber."""
        return self.partial_bytes if source < 0 else self.element_bytes

    def _note(self, way: int) -> None:
        """Note whether a way has a line to ask for and an entry for it."""
        at = WAY * way
        unasked = self.fibers[at + NEXT_ELEMENT] < self.fibers[at + LAST_ELEMENT]
        self.askable[way] = unasked and self.fibers[at + ENTRIES] < self.buffer_lines
        if self.ahead is not None and self.ahead.engaged:
            if self.askable[way]:
                self.ahead.need(way, self._tokens(at))
            else:
                self.ahead.need_none(way)

    def _ask(self, now: int) -> bool:
        """Ask for a line of the next way in turn that has room for one."""
        way = self.turn
        for _ in range(self.fan_in):
            if self._may_ask(way, now):
                self._ask_line(way)
                self.turn = way + 1 if way + 1 < self.fan_in else 0
                return True
            way += 1
            if way == self.fan_in:
                way = 0
        return False

    def _turn_to_line(self, at: int, line: int) -> None:  # C: noexcept, inline
        """Make a line the next one to ask for."""
        self.fibers[at + NEXT_LINE] = line
        behind = (line + 1) * self.line_bytes // self._size(self.fibers[at + SOURCE])
        self.fibers[at + LINE_END] = min(self.fibers[at + LAST_ELEMENT], behind)

    def _may_ask(self, way: int, now: int) -> bool:  # C: inline
        """Return whether a way has a line to ask for, and room for it."""
        if self.ahead is not None and self.ahead.engaged:
            return self.ahead.room[way] <= now
        return bool(self.askable[way]) and inline.fits(self.ways, way, self._tokens(WAY * way))

    def _tokens(self, at: int) -> int:  # C: noexcept, inline
        """For how many tokens a way needs room, that of the lines in flight included."""
        return self.fibers[at + RESERVED] + self.fibers[at + LINE_END] - self.fibers[at + NEXT_ELEMENT] + 1

    def _ask_line(self, way: int) -> None:
        at = WAY * way
        end = self.fibers[at + LINE_END]
        place = (self.fibers[at + OLDEST] + self.fibers[at + ENTRIES]) % self.buffer_lines
        number = way * self.buffer_lines + place
        entry = ENTRY * number
        elements = end - self.fibers[at + NEXT_ELEMENT]
        self.lines[entry + FIRST] = self.fibers[at + NEXT_ELEMENT]
        self.lines[entry + COUNT] = elements
        self.lines[entry + ENTRY_SOURCE] = self.fibers[at + SOURCE]
        self.lines[entry + MARKS] = ENDS if end == self.fibers[at + LAST_ELEMENT] else 0
        self.fibers[at + ENTRIES] += 1
        self.fibers[at + RESERVED] += elements + 1
        self.in_flight += 1
        self._request(number, self.fibers[at + SOURCE], self.fibers[at + NEXT_LINE] * self.line_bytes)
        self.fibers[at + NEXT_ELEMENT] = end
        self._turn_to_line(at, self.fibers[at + NEXT_LINE] + 1)
        self._note(way)
        if end == self.fibers[at + LAST_ELEMENT]:
            self.unasked -= 1

    def _request(self, number: int, source: int, offset: int) -> None:  # C: inline
        if source < 0:
            self.requests.push(CONSUME, self.tag_base | number, self.partial_base + offset)
            self.lines_consumed += 1
        else:
            self.requests.push(READ, self.tag_base | number, self.base + offset)
            self.lines_read += 1

    def _receive(self) -> bool:
        """Take a line; if it is its way's oldest, it and those behind it that are here enter the buffer."""
        if not self.replies.can_pop():
            return False
        number = self.replies.coordinate() & TAG_MASK
        self.replies.pop()
        self.lines[ENTRY * number + MARKS] |= HERE
        way = number // self.buffer_lines
        while self.lines[self._oldest(way) + MARKS] & HERE:
            self._deliver(way, self._oldest(way))
        return True

    def _oldest(self, way: int) -> int:  # C: noexcept, inline
        """Return the first word of a way's oldest entry."""
        return ENTRY * (way * self.buffer_lines + self.fibers[WAY * way + OLDEST])

    def _deliver(self, way: int, entry: int) -> None:
        """The elements that a line completes enter the way's buffer, with the stop behind the last."""
        source = self.lines[entry + ENTRY_SOURCE]
        first = self.lines[entry + FIRST]
        count = self.lines[entry + COUNT]
        if self.ahead is None or not self.ahead.engaged:
            self._push_elements(way, source, first, count, self.lines[entry + MARKS] & ENDS)
        elif count > 0:
            self.ahead.deliver(way, first, count, 2 * source + (self.lines[entry + MARKS] & ENDS))
        at = WAY * way
        self.lines[entry + MARKS] = 0
        self.fibers[at + RESERVED] -= count + 1
        self.fibers[at + OLDEST] = (self.fibers[at + OLDEST] + 1) % self.buffer_lines
        self.fibers[at + ENTRIES] -= 1
        self._note(way)
        self.in_flight -= 1

    def _push_elements(self, way: int, source: int, first: int, count: int, ends: int) -> None:
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
