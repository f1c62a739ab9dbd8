# cython: infer_types=True
"""Brings a task's fibers into the FiberCache while the processing element still works on earlier tasks."""

from __future__ import annotations

from array import array

from fiberscope.accelerators.gamma.layout import B_BASE, B_POINTERS_BASE, PARTIAL_BASE, Sizes
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.pointers import RowPointerReader
from fiberscope.hw.fibers.tasks import END_OF_WORK, TASK
from fiberscope.hw.memory.prefetch_policy import FiberLines, PrefetchPolicy
from fiberscope.hw.memory.protocol import FETCH, PORT_SHIFT, REPLY, REQUEST
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal


class Prefetcher(Component):
    """Reads the row pointers of a task's rows of B and fetches the lines of all its fibers.

    Interface: tasks come in on ``tasks`` and, once their last fetch has left, leave on ``prefetched``, with
    their fibers' extents in the task table; reads of row pointers and fetches go out on ``requests``, row
    pointers come back on ``replies``. One request a cycle.
    Until the network has taken the last request of a task, which the prefetcher sees of its queue, it waits
    for output: a fetch has no reply.

    Args:
        name: instance name.
        table: the tasks.
        a, b: the operands.
        port: number of the requests' port at the FiberCache's network.
        sizes: of lines, and of elements of partial fibers.
        b_sizes: of elements and pointers of B.
        pointer_lines: reads of row pointers in flight, at the most.
        fetching: whether to fetch at all; without, the reads miss when the task runs.
    """

    PORTS = (
        Input("tasks", TASK),
        Output("requests", REQUEST),
        Input("replies", REPLY),
        Output("prefetched", TASK),
    )
    POLICY = PrefetchPolicy

    tasks: Channel
    requests: Channel
    replies: Channel
    prefetched: Channel

    def __init__(
        self,
        name: str,
        table: TaskTable,
        a: CompressedRows,
        b: CompressedRows,
        port: int,
        *,
        sizes: Sizes,
        b_sizes: Sizes,
        pointer_lines: int,
        fetching: bool,
    ) -> None:
        super().__init__(name)
        self.policy: PrefetchPolicy | None = None  # C: public
        self.table = table
        self.columns = a.coordinates  # C: int[::1]
        self.row_pointers = b.pointers  # C: long[::1]
        self.tag_base = port << PORT_SHIFT
        self.line_bytes = sizes.line_bytes
        self.partial_bytes = sizes.element_bytes
        self.element_bytes = b_sizes.element_bytes
        self.pointers = RowPointerReader(
            B_POINTERS_BASE,
            self.tag_base,
            line_bytes=sizes.line_bytes,
            pointer_bytes=b_sizes.pointer_bytes,
            lines=pointer_lines,
        )
        self.fetching = fetching
        self.task = END_OF_WORK
        self.working = False
        self.located = 0  # inputs whose row pointers were asked for
        self.fetched = 0  # inputs whose lines were fetched
        self.last_input = 0
        self.line = 0  # next line to fetch of the present input
        self.last_line = 0
        self.extent_known = False
        self.entered = 0  # inputs that the policy knows
        self.fibers: list[FiberLines] = []  # of these, those with lines to fetch
        self.needed = array("q", bytes(8 * (table.radix + 1)))  # by input: lines asked when it is located
        self.fetches = 0

    def tick(self, now: int) -> int:
        """Take a reply, send a request, hand a finished task on."""
        if not self.working and not self._begin():
            return self.idle()
        if self.task == END_OF_WORK or self.fetched == self.last_input:
            return self._hand_on(now)
        progress = self._receive()
        if not self.requests.can_push():
            return self.busy(now + 1) if progress else self.wait_output(self.requests)
        fetched = self._fetch() if self.policy is None else self._fetch_chosen(self.policy, now)
        if fetched or self._locate() or progress:
            return self.busy(now + 1)
        return self.wait_input(self.replies)

    def _begin(self) -> bool:
        if not self.tasks.can_pop():
            return False
        self.task = self.tasks.reference()
        self.tasks.pop()
        self.working = True
        self.pointers.forget()
        if self.task != END_OF_WORK:
            self.located = self.fetched = self.entered = self.table.first_inputs[self.task]
            self.last_input = self.table.first_inputs[self.task + 1]
        return True

    def _receive(self) -> bool:
        """Note that a line of row pointers has come."""
        if not self.replies.can_pop():
            return False
        self.pointers.receive(self.replies)
        return True

    def _hand_on(self, now: int) -> int:
        """Pass the task on once the last fetch has left, so that no read overtakes the fetch of its line.

        That needs no acknowledgement: the prefetcher writes the queue to the network and sees it empty.
        """
        requests = self.requests
        if requests.space() < requests.capacity:
            requests.want(requests.capacity)
            return self.wait_output(requests)
        if not self.prefetched.can_push():
            return self.wait_output(self.prefetched)
        self.prefetched.push(0, 0, self.task)
        self.working = False
        return self.busy(now + 1)

    def _fetch(self) -> bool:
        """Fetch the next line of the first input that is not in full; says whether it did anything."""
        if not self._is_here(self.fetched):
            return False
        if not self.extent_known:
            self._extent(self.fetched)
        if self.fetching and self.line <= self.last_line:
            self._send(self.fetched, self.line)
            self.line += 1
        if not self.fetching or self.line > self.last_line:
            self.fetched += 1
            self.extent_known = False
        return True

    def _is_here(self, place: int) -> bool:  # C: noexcept
        """Return whether the row pointers of an input have come."""
        if place == self.located:
            return False
        return self.needed[place - self.table.first_inputs[self.task]] <= self.pointers.window.arrived

    def _send(self, place: int, line: int) -> None:
        """Fetch a line of an input."""
        base = PARTIAL_BASE if self.table.inputs[place] < 0 else B_BASE
        self.requests.push(FETCH, self.tag_base, base + line * self.line_bytes)
        self.fetches += 1

    def _fetch_chosen(self, policy: PrefetchPolicy, now: int) -> bool:
        """Fetch the next line of the input that the policy chooses; says whether it did anything."""
        first = self.table.first_inputs[self.task]
        while self._is_here(self.entered):
            self._extent(self.entered)
            source = self.table.inputs[self.entered]
            row = -1 if source < 0 else self.columns[source]
            left = self.last_line - self.line + 1 if self.fetching else 0
            self.fibers.append(FiberLines(self.entered - first, row, self.line, left))
            self.entered += 1
        if not self.fibers:
            return False
        chosen = policy.place_of_fiber(self.fibers, now)
        if chosen < 0:
            self.fetched += len(self.fibers)
            self.fibers.clear()
            return True
        fiber: FiberLines = self.fibers[chosen]
        if fiber.left > 0:
            self._send(first + fiber.number, fiber.line)
            fiber.advance()
        if fiber.left == 0:
            self.fetched += 1
            self.fibers.remove(fiber)
        return True

    def _extent(self, place: int) -> None:
        """Enter an input: its elements into the task table, its lines into the fetch list."""
        table = self.table
        source = table.inputs[place]
        size = self.element_bytes
        if source < 0:
            size = self.partial_bytes
            start = table.output_starts[-1 - source]
            end = start + table.output_lengths[-1 - source]
        else:
            row = self.columns[source]
            start = self.row_pointers[row]
            end = self.row_pointers[row + 1]
        table.starts[place] = start
        table.ends[place] = end
        self.line = start * size // self.line_bytes
        self.last_line = (end * size - 1) // self.line_bytes if end > start else self.line - 1
        self.extent_known = True

    def _locate(self) -> bool:
        """Ask for the row pointers of further inputs, one line at the most; says whether it did anything."""
        before = self.located
        while self.located < self.last_input and self.pointers.window.has_room():
            source = self.table.inputs[self.located]
            if source >= 0 and not self.pointers.locate(self.columns[source], self.requests):
                return True
            self.needed[self.located - self.table.first_inputs[self.task]] = self.pointers.window.sent
            self.located += 1
        return self.located > before

    def counters(self) -> dict[str, int]:
        """Lines of row pointers read, and lines fetched."""
        return {"pointer_reads": self.pointers.window.sent, "fetches": self.fetches}

    def signals(self) -> tuple[Signal, ...]:
        """The task, and how far its inputs were located and fetched."""
        return (Signal("task", 32, "integer"), Signal("to_locate", 16), Signal("to_fetch", 16))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        if not self.working or self.task == END_OF_WORK:
            return END_OF_WORK, 0, 0
        return self.task, self.last_input - self.located, self.last_input - self.fetched
