# cython: infer_types=True
"""Writer of a processing element: packs the output elements of tasks into lines and writes the lines."""

from __future__ import annotations

from array import array

from fiberscope.accelerators.gamma.layout import COMPLETION, NO_PARENT, PARTIAL_BASE, Z_BASE, Sizes
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.packing import LinePacker
from fiberscope.hw.fibers.pages import PAGE, PAGE_REQUEST
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.product import ProductRows
from fiberscope.hw.fibers.tasks import END_OF_WORK, TASK
from fiberscope.hw.memory.protocol import (
    PORT_SHIFT,
    REPLY,
    REQUEST,
    TAG_MASK,
    WRITE,
    WRITE_THROUGH,
    WRITE_UNREAD,
    refuse_reply,
)
from fiberscope.hw.stream import STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.lookahead import Consumer


class FiberWriter(Consumer):
    """A component that writes finished rows of Z to memory, and partial fibers into the FiberCache.

    Interface: a task arrives on ``output_tasks``, and its elements on ``elements``, where a stop ends them.
    Lines leave on ``requests``: ``WRITE`` for partial fibers, acknowledged on ``replies``, and for Z the
    operation that ``keeps_z_in_cache`` selects. A partial fiber is announced on ``completions`` once its
    lines are acknowledged, a row of Z once its stop is taken; completions keep the order of the tasks. At the
    end of work, the part-filled line of Z is written. The writer requests pages of Z on ``page_requests``,
    one page ahead of use. They arrive on ``pages``.

    Timing: one element a cycle. A line is sent in the cycle in which its last byte arrives, the part-filled
    last line of a partial fiber with the stop.

    Accounting: waiting for ``pages`` or ``requests`` while an element cannot be stored, else for ``replies``
    or ``completions`` while the oldest task has all its elements, else for ``elements``; idle without a task.

    Counts: elements of partial fibers count in ``elements_written`` and in ``partial_elements_written``.
    Their lines count only in ``partial_lines_written``, not in ``lines_written``.

    Args:
        table: the tasks.
        partials: the partial fibers.
        product: the rows of Z.
        port: number of the requests' port at the FiberCache's network.
        sizes: bytes of a line and of an element.
        page_bytes: bytes of a page of Z's memory.
        max_open_tasks: largest number of open tasks, which have begun and are not announced.
        keeps_z_in_cache: whether rows of Z stay in the FiberCache until evicted, instead of going to memory.

    Raises:
        SimulationError: during the run, at more replies than lines of a task.
    """

    PORTS = (
        Input("output_tasks", TASK),
        Input("elements", STREAM),
        Output("requests", REQUEST),
        Input("replies", REPLY),
        Output("completions", COMPLETION),
        Output("page_requests", PAGE_REQUEST),
        Input("pages", PAGE),
    )
    COUNTERS = ("elements_written", "partial_elements_written", "lines_written", "partial_lines_written")

    output_tasks: Channel
    elements: Channel
    requests: Channel
    replies: Channel
    completions: Channel
    page_requests: Channel
    pages: Channel

    def __init__(
        self,
        name: str,
        table: TaskTable,
        partials: PartialStore,
        product: ProductRows,
        port: int,
        *,
        sizes: Sizes,
        page_bytes: int,
        max_open_tasks: int,
        keeps_z_in_cache: bool,
    ) -> None:
        super().__init__(name)
        self.table = table
        self.partials = partials
        self.product = product
        self.tag_base = port << PORT_SHIFT
        self.element_bytes = sizes.element_bytes
        self.page_bytes = page_bytes
        self.max_open_tasks = max_open_tasks
        self.z_operation = WRITE_UNREAD if keeps_z_in_cache else WRITE_THROUGH
        self.task = END_OF_WORK
        self.is_working = False
        self.is_partial = False
        self.length = 0  # elements of the current task so far
        self.base = 0  # address of the first byte of the partial fiber or of the current page
        self.partial_lines = LinePacker(sizes.line_bytes, sizes.element_bytes)
        self.z_lines = LinePacker(sizes.line_bytes, sizes.element_bytes)  # all rows, one after another
        self.packer = self.z_lines  # packer of the current task
        self.page = -1  # number of the current page, counted over this writer's pages of Z
        self.page_base = 0  # address of the current page
        self.next_page = -1  # number in memory of the next page, -1 until it arrives
        self.has_requested_page = False  # whether the first page was requested
        # Ring buffer of the open tasks, which have begun and are not announced: the task, whether its last
        # element was taken, and the number of its lines without an acknowledgement.
        self.oldest_open = 0
        self.open_count = 0
        self.open_tasks = array("q", bytes(8 * max_open_tasks))
        self.has_last_element = array("q", bytes(8 * max_open_tasks))
        self.unacknowledged = array("q", bytes(8 * max_open_tasks))
        self.lines_written = 0
        self.partial_lines_written = 0
        self.elements_written = 0
        self.partial_elements_written = 0

    def tick(self, now: int) -> int:
        """Pop an acknowledgement, a page and an element; announce the oldest task if it is finished."""
        progress = self._acknowledge()
        if self._take_page():
            progress = True
        if self._announce():
            progress = True
        if not self.is_working and self._begin():
            progress = True
        if self.is_working and self._write():
            progress = True
        if progress:
            return self.busy(now + 1)
        return self._wait()

    def _wait(self) -> int:
        """Return the reason for a cycle without progress."""
        if self.is_working and (self.task == END_OF_WORK or self.elements.can_pop()):
            if self.requests.can_push():
                return self.wait_input(self.pages)
            return self.wait_output(self.requests)
        if self.open_count > 0 and self.has_last_element[self.oldest_open]:
            if self.unacknowledged[self.oldest_open] > 0:
                return self.wait_input(self.replies)
            return self.wait_output(self.completions)
        return self.wait_input(self.elements) if self.is_working else self.idle()

    def _begin(self) -> bool:
        if not self.output_tasks.can_pop() or self.open_count == self.max_open_tasks:
            return False
        self.task = self.output_tasks.reference()
        self.output_tasks.pop()
        self.is_working = True
        if self.task != END_OF_WORK:
            self.is_partial = self.table.parents[self.task] != NO_PARENT
            self._open()
        return True

    def _open(self) -> None:
        """Prepare for the elements of a task, and append the task to the queue of completions."""
        slot = (self.oldest_open + self.open_count) % self.max_open_tasks
        self.open_tasks[slot] = self.task
        self.has_last_element[slot] = 0
        self.unacknowledged[slot] = 0
        self.open_count += 1
        self.length = 0
        if self.is_partial:
            self.base = PARTIAL_BASE + self.table.output_starts[self.task] * self.element_bytes
            self.packer = self.partial_lines
            self.packer.reset()
        else:
            self.base = self.page_base
            self.packer = self.z_lines
            if not self.has_requested_page:
                self._request_page()

    def _write(self) -> bool:
        """Pop an element or the stop, or flush Z at the end of work; return whether it progressed."""
        if self.task == END_OF_WORK:
            return self._flush_z()
        if not self.elements.can_pop():
            return False
        if self.elements.control() == STOP:
            return self._close()
        return self._store()

    def _store(self) -> bool:
        """Pop an element, store it, and send its line if the line is full; return whether it could."""
        fills_line = self.packer.completes_line()
        if fills_line and not self._prepare_line():
            return False
        coordinate = self.elements.coordinate()
        value = self.elements.value()
        if self.is_partial:
            index = self.table.output_starts[self.task] + self.length
            self.partials.coordinates[index] = coordinate
            self.partials.values[index] = value
            self.partial_elements_written += 1
        else:
            index = self.product.starts[self.table.rows[self.task]] + self.length
            self.product.coordinates[index] = coordinate
            self.product.values[index] = value
        if fills_line:
            self._send_line()
        self.elements.pop()
        self.packer.add()
        self.length += 1
        self.elements_written += 1
        return True

    def _prepare_line(self) -> bool:
        """Return whether the next byte's line can be sent; move to the next page if the line lies there."""
        if not self.requests.can_push():
            return False
        if self.is_partial or self.packer.bytes // self.page_bytes == self.page:
            return True
        if self.next_page < 0:
            return False
        self.page += 1
        self.page_base = self.base = Z_BASE + self.next_page * self.page_bytes
        self.next_page = -1
        self._request_page()
        return True

    def promised_pops(self) -> int:
        """Return the number of elements that can be taken before a line waits.

        A line waits if ``requests`` has no free slot for it, or if it is not in the current page of Z.
        """
        if not self.is_working or self.task == END_OF_WORK:
            return 0
        lines = self.requests.free()
        if not self.is_partial:
            page_end = (self.page + 1) * self.page_bytes
            lines = min(lines, max(page_end - self.packer.line_offset(), 0) // self.packer.line_bytes)
        return self.packer.elements_before(lines)

    def _request_page(self) -> None:
        self.page_requests.push(0, 0, 0)
        self.has_requested_page = True

    def _take_page(self) -> bool:
        if not self.pages.can_pop():
            return False
        self.next_page = self.pages.reference()
        self.pages.pop()
        return True

    def _send_line(self) -> None:
        """Send the write of the line that holds the next byte."""
        line = self.packer.line_offset()
        address = self.base + (line if self.is_partial else line % self.page_bytes)
        if self.is_partial:
            slot = (self.oldest_open + self.open_count - 1) % self.max_open_tasks
            self.unacknowledged[slot] += 1
            self.requests.push(WRITE, self.tag_base | slot, address)
            self.partial_lines_written += 1
        else:
            # the tag of lines of Z, whose replies are not counted
            self.requests.push(self.z_operation, self.tag_base | self.max_open_tasks, address)
            self.lines_written += 1

    def _close(self) -> bool:
        """Pop the stop of a task; return whether it could.

        The last line of a partial fiber is sent. In Z, the next row continues in the same line.
        """
        if self.is_partial and self.packer.has_partial_line():
            if not self.requests.can_push():
                return False
            self._send_line()
        self.elements.pop()
        self.has_last_element[(self.oldest_open + self.open_count - 1) % self.max_open_tasks] = 1
        if self.is_partial:
            self.table.output_lengths[self.task] = self.length
        else:
            self.table.row_lengths[self.table.rows[self.task]] = self.length
        self.is_working = False
        return True

    def _flush_z(self) -> bool:
        if self.z_lines.has_partial_line():
            self.is_partial = False
            self.base = self.page_base
            self.packer = self.z_lines
            if not self._prepare_line():
                return False
            self._send_line()
        self.is_working = False
        return True

    def _acknowledge(self) -> bool:
        if not self.replies.can_pop():
            return False
        slot = self.replies.coordinate() & TAG_MASK
        if slot < self.max_open_tasks:  # a line of a partial fiber
            if self.unacknowledged[slot] == 0:
                refuse_reply(slot)
            self.unacknowledged[slot] -= 1
        self.replies.pop()
        return True

    def _announce(self) -> bool:
        """Announce the oldest task once it is finished and all its lines are acknowledged."""
        slot = self.oldest_open
        if self.open_count == 0 or not self.has_last_element[slot] or self.unacknowledged[slot] > 0:
            return False
        if not self.completions.can_push():
            return False
        self.completions.push(0, 0, self.open_tasks[slot])
        self.has_last_element[slot] = 0
        self.oldest_open = (slot + 1) % self.max_open_tasks
        self.open_count -= 1
        return True

    def signals(self) -> tuple[Signal, ...]:
        """Return the signals: the current task, its row of the product, its destination and its elements.

        ``finishing`` is the number of tasks that are not announced. Without a task, ``task`` and ``row``
        are -1.
        """
        return (
            Signal("task", 32, "integer"),
            Signal("row", 32, "integer"),
            Signal("writes", 2, "state", ("nothing", "Z", "partial")),
            Signal("length", 32),
            Signal("finishing", 8),
        )

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        has_task = self.is_working and self.task != END_OF_WORK
        values[0] = self.task if has_task else END_OF_WORK
        values[1] = self.table.rows[self.task] if has_task else -1
        values[2] = 0 if not has_task else 2 if self.is_partial else 1
        values[3] = self.length if has_task else 0
        values[4] = self.open_count
