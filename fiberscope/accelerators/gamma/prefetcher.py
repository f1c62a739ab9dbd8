# cython: infer_types=True
"""Prefetcher of a processing element: fetches a task's fibers into the FiberCache during earlier tasks."""

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
    """A component that reads the row pointers of a task's rows of B, and fetches the lines of its fibers.

    Interface: tasks arrive on ``tasks``. Reads of row pointers and fetches leave on ``requests``, and row
    pointers arrive on ``replies``. The prefetcher writes the first and last elements of a task's fibers to
    the task table. It sends the task on ``prefetched`` after the network has taken its last fetch. A fetch
    has no reply; the prefetcher waits until its queue of requests is empty, which counts as waiting for
    output.

    Timing: one request a cycle.

    Args:
        table: the tasks.
        a, b: the operands.
        port: number of the requests' port at the FiberCache's network.
        sizes: bytes of a line and of an element of a partial fiber.
        b_sizes: bytes of an element and of a row pointer of B.
        pointer_lines: largest number of reads of row pointers in flight.
        fetching: whether to fetch; if not, the reads miss when the task runs.
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
        self.is_working = False
        self.located = 0  # first input whose row pointers have not been requested
        self.fetched = 0  # first input whose lines have not all been fetched
        self.end_input = 0  # input after the last one of the task
        self.line = 0  # next line to fetch of the current input
        self.last_line = 0  # last line of the current input
        self.has_extent = False  # whether ``line`` and ``last_line`` are valid
        self.entered = 0  # first input that the policy does not know
        self.fibers: list[FiberLines] = []  # inputs that the policy knows and that are not fetched in full
        # For each input, the lines of row pointers requested when the input was located
        self.needed = array("q", bytes(8 * (table.radix + 1)))
        self.fetches = 0

    def tick(self, now: int) -> int:
        """Pop a reply, send a request, and pass on a task whose fibers are fetched."""
        if not self.is_working and not self._begin():
            return self.idle()
        if self.task == END_OF_WORK or self.fetched == self.end_input:
            return self._send_task(now)
        progress = self._receive()
        if not self.requests.can_push():
            return self.busy(now + 1) if progress else self.wait_output(self.requests)
        has_fetched = self._fetch() if self.policy is None else self._fetch_by_policy(self.policy, now)
        if has_fetched or self._locate() or progress:
            return self.busy(now + 1)
        return self.wait_input(self.replies)

    def _begin(self) -> bool:
        if not self.tasks.can_pop():
            return False
        self.task = self.tasks.reference()
        self.tasks.pop()
        self.is_working = True
        self.pointers.forget()
        if self.task != END_OF_WORK:
            self.located = self.fetched = self.entered = self.table.first_inputs[self.task]
            self.end_input = self.table.first_inputs[self.task + 1]
        return True

    def _receive(self) -> bool:
        """Pop a reply with a line of row pointers; return whether there was one."""
        if not self.replies.can_pop():
            return False
        self.pointers.receive(self.replies)
        return True

    def _send_task(self, now: int) -> int:
        """Pass the task on once the last fetch has left, so that no read overtakes the fetch of its line.

        No acknowledgement is needed: the prefetcher sees that its queue of requests is empty.
        """
        requests = self.requests
        if requests.space() < requests.capacity:
            requests.want(requests.capacity)
            return self.wait_output(requests)
        if not self.prefetched.can_push():
            return self.wait_output(self.prefetched)
        self.prefetched.push(0, 0, self.task)
        self.is_working = False
        return self.busy(now + 1)

    def _fetch(self) -> bool:
        """Fetch the next line of the first incompletely fetched input; return whether it progressed."""
        if not self._has_pointers(self.fetched):
            return False
        if not self.has_extent:
            self._set_extent(self.fetched)
        if self.fetching and self.line <= self.last_line:
            self._send(self.fetched, self.line)
            self.line += 1
        if not self.fetching or self.line > self.last_line:
            self.fetched += 1
            self.has_extent = False
        return True

    def _has_pointers(self, input_index: int) -> bool:  # C: noexcept
        """Return whether the row pointers of an input have arrived."""
        if input_index == self.located:
            return False
        return self.needed[input_index - self.table.first_inputs[self.task]] <= self.pointers.window.arrived

    def _send(self, input_index: int, line: int) -> None:
        """Send the fetch of a line of an input."""
        base = PARTIAL_BASE if self.table.inputs[input_index] < 0 else B_BASE
        self.requests.push(FETCH, self.tag_base, base + line * self.line_bytes)
        self.fetches += 1

    def _fetch_by_policy(self, policy: PrefetchPolicy, now: int) -> bool:
        """Fetch the next line of the input that the policy chooses; return whether it progressed."""
        first = self.table.first_inputs[self.task]
        while self._has_pointers(self.entered):
            self._set_extent(self.entered)
            source = self.table.inputs[self.entered]
            row = -1 if source < 0 else self.columns[source]
            remaining = self.last_line - self.line + 1 if self.fetching else 0
            self.fibers.append(FiberLines(self.entered - first, row, self.line, remaining))
            self.entered += 1
        if not self.fibers:
            return False
        selected = policy.choose_index(self.fibers, now)
        if selected < 0:
            self.fetched += len(self.fibers)
            self.fibers.clear()
            return True
        fiber: FiberLines = self.fibers[selected]
        if fiber.left > 0:
            self._send(first + fiber.number, fiber.line)
            fiber.advance()
        if fiber.left == 0:
            self.fetched += 1
            self.fibers.remove(fiber)
        return True

    def _set_extent(self, input_index: int) -> None:
        """Write the elements of an input to the task table, and set the lines to fetch."""
        table = self.table
        source = table.inputs[input_index]
        size = self.element_bytes
        if source < 0:
            size = self.partial_bytes
            start = table.output_starts[-1 - source]
            end = start + table.output_lengths[-1 - source]
        else:
            row = self.columns[source]
            start = self.row_pointers[row]
            end = self.row_pointers[row + 1]
        table.starts[input_index] = start
        table.ends[input_index] = end
        self.line = start * size // self.line_bytes
        self.last_line = (end * size - 1) // self.line_bytes if end > start else self.line - 1
        self.has_extent = True

    def _locate(self) -> bool:
        """Request row pointers of further inputs, at most one line; return whether it progressed."""
        first_unlocated = self.located
        while self.located < self.end_input and self.pointers.window.has_free_slot():
            source = self.table.inputs[self.located]
            if source >= 0 and not self.pointers.locate(self.columns[source], self.requests):
                return True
            self.needed[self.located - self.table.first_inputs[self.task]] = self.pointers.window.sent
            self.located += 1
        return self.located > first_unlocated

    def counters(self) -> dict[str, int]:
        """Return the number of lines of row pointers read and the number of lines fetched."""
        return {"pointer_reads": self.pointers.window.sent, "fetches": self.fetches}

    def signals(self) -> tuple[Signal, ...]:
        """Return the signals: the task, and the numbers of its inputs still to locate and to fetch."""
        return (Signal("task", 32, "integer"), Signal("to_locate", 16), Signal("to_fetch", 16))

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        has_task = self.is_working and self.task != END_OF_WORK
        values[0] = self.task if has_task else END_OF_WORK
        values[1] = self.end_input - self.located if has_task else 0
        values[2] = self.end_input - self.fetched if has_task else 0
