# cython: infer_types=True
"""Gamma's scheduler: streams A, dispatches tasks to the processing elements and tracks the task trees."""

from __future__ import annotations

from array import array

from fiberscope.accelerators.gamma.fetch_order import count_rows_to_finish, order_lines_of_a
from fiberscope.accelerators.gamma.layout import (
    A_POINTERS_BASE,
    COMPLETION,
    NO_PARENT,
    Z_POINTERS_BASE,
    Sizes,
)
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.tasks import END_OF_WORK, TASK
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK, WRITE
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.schedule import SchedulePolicy, Task, least_loaded
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

NOT_HELD = -1  # value of ``held_since`` if no leaf task is held back


class Scheduler(Component):
    """A component that reads A in order, and dispatches one task per cycle.

    Interface: lines of A (row pointers and nonzeros, in the order of use) are read on ``memory_requests`` and
    arrive on ``memory_replies``, at most ``stream_lines`` ahead of their use. Tasks leave on ``tasks[i]``,
    one channel for each processing element, and their completions arrive on ``completions[i]``. A merge task
    is ready when its last partial fiber is written. Ready merge tasks precede new rows, so that partial
    fibers are short-lived. A line of Z's row pointers is written once all its rows are finished. After the
    last task, each processing element receives the end of work.

    A leaf task writes a partial fiber and merges none. It is held back, with all rows after it, while the
    partial fibers in flight leave no space for its output in the FiberCache.

    Timing: in each cycle the scheduler takes one line of A and one completion of each processing element,
    sends one read or write, and dispatches one task to the processing element with the fewest tasks.

    Args:
        table: the tasks.
        a: the operand that streams in.
        partials: allocator of partial fibers.
        occupancy: occupancy of the FiberCache by partial fibers.
        port: number of the port at the network to memory.
        stream_lines: largest number of lines of A in flight or waiting for their task.
        most_tasks: largest number of dispatched and uncompleted tasks of a processing element.
        most_partial_tasks: the same limit for the dispatch of a task that writes a partial fiber.
        sizes: bytes of a line, an element and a pointer.
        a_sizes: the same sizes for A.
    """

    PORTS = (
        Output("memory_requests", REQUEST),
        Input("memory_replies", REPLY),
        Output("tasks", TASK, array=True),
        Input("completions", COMPLETION, array=True),
    )
    COUNTERS = ("held_back_cycles",)  # cycles in which a leaf task was held back
    SIGNALS = (
        Signal("next_task", 32, "integer"),
        Signal("ready", 16),
        Signal("completed", 32),
        Signal("arrived", 32),
        Signal("next_waits_for", 2, "state", ("turn", "A", "room", "nothing")),
        Signal("partial_lines", 32),
    )

    POLICY = SchedulePolicy

    memory_requests: Channel
    memory_replies: Channel
    tasks: list[Channel]
    completions: list[Channel]

    def __init__(
        self,
        name: str,
        table: TaskTable,
        a: CompressedRows,
        partials: PartialStore,
        occupancy: PartialOccupancy,
        port: int,
        *,
        stream_lines: int,
        most_tasks: int,
        most_partial_tasks: int,
        sizes: Sizes,
        a_sizes: Sizes,
    ) -> None:
        super().__init__(name)
        self.policy: SchedulePolicy | None = None  # C: public
        self.table = table
        self.a = a
        self.partials = partials
        self.occupancy = occupancy
        self.tag_base = port << PORT_SHIFT
        self.fetch_order = order_lines_of_a(a, table, a_sizes)
        self.line_bytes = sizes.line_bytes
        self.window = ReorderWindow(stream_lines)  # lines of the stream
        self.arrived_nonzeros = 0  # lines of nonzeros that have arrived
        self.next_task = 0  # next task in the table's order that is not a merge task
        self._skip_merging()
        self.ready = array("q", bytes(8 * max(1, table.count)))  # queue of merge tasks that can run
        self.first_ready = self.ready_count = 0
        self.processing_elements = 0
        self.most_tasks = most_tasks
        self.most_partial_tasks = most_partial_tasks
        self.task_counts = array("q")  # dispatched and uncompleted tasks, by processing element
        self.first_element = 0  # processing element that has priority among equally loaded ones
        self.choice = -1  # task to dispatch in this cycle, -1 for none
        self.held_since = NOT_HELD  # cycle since which the next task, a leaf, is held back
        self.held_back_cycles = 0
        self.ended = self.completed = 0  # processing elements that were sent the end of work; completed tasks
        self.rows_per_line = sizes.line_bytes // sizes.pointer_bytes if sizes.pointer_bytes else 0  # of Z
        self.unfinished = count_rows_to_finish(table, self.rows_per_line)  # C: long[::1]
        self.pointer_writes = array("q", bytes(8 * len(self.unfinished)))  # queue of lines to write
        self.first_write = self.write_count = 0
        for line in range(len(self.unfinished)):
            if self.unfinished[line] == 0:
                self._queue_write(line)

    def elaborate(self) -> None:
        """Look up the channels, and count the processing elements."""
        super().elaborate()
        self.processing_elements = len(self.tasks)
        self.task_counts = array("q", bytes(8 * self.processing_elements))

    def tick(self, now: int) -> int:
        """Pop replies and completions, request a line of A or write row pointers of Z, dispatch a task."""
        progress = self._receive()
        if self._complete():
            progress = True
        if self.memory_requests.can_push() and (self._request_line() or self._write_pointers()):
            progress = True
        if self._dispatch(now):
            progress = True
        self._count_held_back(now)
        if progress:
            return self.busy(now + 1)
        return self._wait()

    def _count_held_back(self, now: int) -> None:
        """Count the cycles in which a leaf task is held back, also while other work progresses."""
        is_held_back = self._is_held_back()
        if is_held_back and self.held_since == NOT_HELD:
            self.held_since = now
        elif not is_held_back and self.held_since != NOT_HELD:
            self.held_back_cycles += now - self.held_since
            self.held_since = NOT_HELD

    def _is_held_back(self) -> bool:
        """Return whether the next task is a leaf that has its nonzeros and waits for space in the cache."""
        return self._next_arrived() and not self.occupancy.admits(self.next_task)

    def _wait(self) -> int:
        """Return the reason for a cycle without progress."""
        if self.choice >= 0:
            if self.task_counts[self.first_element] >= self._max_tasks(self.choice):
                return self.wait_any_input(self.completions)
            return self.wait_any_output(self.tasks)
        if self._all_completed() and self.ended < self.processing_elements:
            return self.wait_output(self.tasks[self.ended])
        if self._is_held_back():
            return self.wait_any_input(self.completions)
        if not self.memory_requests.can_push():
            return self.wait_output(self.memory_requests)
        if self.window.in_flight() > 0:
            return self.wait_input(self.memory_replies)
        if self.completed < self.table.count:
            return self.wait_any_input(self.completions)
        return self.idle()

    def _receive(self) -> bool:
        """Pop a line of the stream; return whether there was one. Lines can arrive out of order."""
        if not self.memory_replies.can_pop():
            return False
        first = self.window.arrived
        self.window.receive(self.memory_replies.coordinate() & TAG_MASK)
        self.memory_replies.pop()
        for line in range(first, self.window.arrived):
            if self.fetch_order.addresses[line] < A_POINTERS_BASE:
                self.arrived_nonzeros += 1
        return True

    def _request_line(self) -> bool:
        """Request the next line of the stream if the window has a free slot; return whether it did."""
        line = self.window.sent
        if line == self.fetch_order.count or line - self._count_released() >= self.window.size:
            return False
        tag = self.tag_base | self.window.send()
        self.memory_requests.push(READ, tag, self.fetch_order.addresses[line])
        return True

    def _count_released(self) -> int:  # C: noexcept
        """Return the number of arrived lines other than lines of nonzeros that waiting tasks need."""
        if self.next_task == self.table.count:
            return self.window.arrived
        unused = self.arrived_nonzeros - self.fetch_order.released_lines[self.next_task]
        return self.window.arrived - max(0, unused)

    def _complete(self) -> bool:
        """Pop a completion of each processing element that has one; return whether there was one."""
        progress = False
        for i in range(self.processing_elements):
            channel = self.completions[i]
            if channel.can_pop():
                self.task_counts[i] -= 1
                self._finish(channel.reference())
                channel.pop()
                progress = True
        return progress

    def _finish(self, task: int) -> None:
        table = self.table
        self.completed += 1
        for i in range(table.first_inputs[task], table.first_inputs[task + 1]):
            if table.inputs[i] < 0:
                child = -1 - table.inputs[i]
                self.partials.release(table.output_starts[child], self.occupancy.largest_length(child))
        self.occupancy.complete(task)
        parent = table.parents[task]
        if parent == NO_PARENT:
            if self.rows_per_line > 0:
                line = table.rows[task] // self.rows_per_line
                self.unfinished[line] -= 1
                if self.unfinished[line] == 0:
                    self._queue_write(line)
        else:
            table.missing[parent] -= 1
            if table.missing[parent] == 0:
                self.ready[self.first_ready + self.ready_count] = parent
                self.ready_count += 1

    def _queue_write(self, line: int) -> None:
        self.pointer_writes[self.first_write + self.write_count] = line
        self.write_count += 1

    def _write_pointers(self) -> bool:
        """Write the next line of Z's row pointers whose rows are all finished; return whether it did."""
        if self.write_count == 0:
            return False
        address = Z_POINTERS_BASE + self.pointer_writes[self.first_write] * self.line_bytes
        self.memory_requests.push(WRITE, self.tag_base, address)
        self.first_write += 1
        self.write_count -= 1
        return True

    def _dispatch(self, now: int) -> bool:
        """Dispatch the next task that can run, or the end of work; return whether a token was sent."""
        task = self.choice = self._next_ready()
        if task < 0 and (not self._all_completed() or self.ended == self.processing_elements):
            return False
        if task >= 0 and self.policy is not None:
            element = self._select_element(self.policy, now)
            task = self.choice
        else:
            element = self.ended if task < 0 else self._least_loaded(task)
        if element < 0:
            return False
        tasks = self.tasks[element]
        if not tasks.can_push():
            return False
        if task < 0:
            self.ended += 1
        else:
            self._take(task)
            self.task_counts[element] += 1
            self.first_element = element + 1 if element + 1 < self.processing_elements else 0
        tasks.push(0, 0, task if task >= 0 else END_OF_WORK)
        return True

    def _next_ready(self) -> int:
        """Return the task to dispatch: a ready merge task, else the next in order; -1 if none can run."""
        if self.ready_count > 0 and self._has_nonzeros(self.ready[self.first_ready]):
            return self.ready[self.first_ready]
        if self._next_arrived() and self.occupancy.admits(self.next_task):
            return self.next_task
        return self._find_ready_merge()

    def _find_ready_merge(self) -> int:
        """Return the first ready merge task whose nonzeros have arrived, while a leaf is held back; else -1.

        The oldest ready merge task may need later nonzeros than the leaf, which waits for freed space.
        """
        if not self._is_held_back():
            return -1
        for slot in range(self.first_ready, self.first_ready + self.ready_count):
            if self._has_nonzeros(self.ready[slot]):
                return self.ready[slot]
        return -1

    def _next_arrived(self) -> bool:  # C: noexcept
        return self.next_task < self.table.count and self._has_nonzeros(self.next_task)

    def _has_nonzeros(self, task: int) -> bool:  # C: noexcept
        """Return whether the nonzeros of A that the task needs have arrived."""
        return self.fetch_order.needed_lines[task] <= self.window.arrived

    def _all_completed(self) -> bool:  # C: noexcept
        return self.completed == self.table.count

    def _least_loaded(self, task: int) -> int:
        """Return the least-loaded element that can take the task, ties round-robin; -1 if there is none."""
        fewest = self._max_tasks(task)
        best = -1
        element = self.first_element
        for _ in range(self.processing_elements):
            tasks = self.tasks[element]
            if self.task_counts[element] < fewest and tasks.can_push():
                best = element
                fewest = self.task_counts[element]
            element += 1
            if element == self.processing_elements:
                element = 0
        return best

    def _select_element(self, policy: SchedulePolicy, now: int) -> int:
        """Let the policy choose a task and an element for it; return the element, -1 if there is none."""
        queue = self.ready[self.first_ready : self.first_ready + self.ready_count]
        numbers = [self.choice, *[i for i in queue if i != self.choice and self._has_nonzeros(i)]]
        if self.choice != self.next_task and self._next_arrived() and self.occupancy.admits(self.next_task):
            numbers.append(self.next_task)
        inputs = self.table.first_inputs
        task = policy.choose_task([Task(i, inputs[i + 1] - inputs[i]) for i in numbers], now)
        self.choice = task.number
        loads, limit = list(self.task_counts), self._max_tasks(task.number)
        is_open = [loads[i] < limit and self.tasks[i].can_push() for i in range(self.processing_elements)]
        return policy.choose_worker(task, least_loaded(self.first_element, loads, is_open), now)

    def _max_tasks(self, task: int) -> int:
        """Return the largest number of uncompleted tasks of a processing element, this task included."""
        return self.most_tasks if self.table.parents[task] == NO_PARENT else self.most_partial_tasks

    def _take(self, task: int) -> None:
        """Remove a dispatched task from its queue, and allocate its partial fiber if it writes one."""
        if self.fetch_order.is_merge_task[task]:
            self._remove_ready(task)
        else:
            self.next_task += 1
            self._skip_merging()
        if self.table.parents[task] != NO_PARENT:
            self.occupancy.reserve(task)
            self.table.output_starts[task] = self.partials.allocate(self.occupancy.largest_length(task))

    def _remove_ready(self, task: int) -> None:
        """Remove a merge task from the queue of ready tasks; older tasks keep their order."""
        slot = self.first_ready
        while self.ready[slot] != task:
            slot += 1
        while slot > self.first_ready:
            self.ready[slot] = self.ready[slot - 1]
            slot -= 1
        self.first_ready += 1
        self.ready_count -= 1

    def _skip_merging(self) -> None:
        """Advance ``next_task`` over merge tasks, which become ready later."""
        while self.next_task < self.table.count and self.fetch_order.is_merge_task[self.next_task]:
            self.next_task += 1

    def counters(self) -> dict[str, int]:
        """Return the lines of A requested, the tasks completed and the cycles in which a leaf was held back.

        ``most_partial_lines`` is the largest number of lines that partial fibers occupied or reserved.
        """
        return {
            "stream_lines": self.window.sent,
            "tasks": self.completed,
            **super().counters(),
            "most_partial_lines": self.occupancy.most_lines,
        }

    def sample(self) -> tuple[int, ...]:
        """Return the current values of ``SIGNALS``: the next task in order, and numbers of tasks and lines.

        ``ready`` counts merge tasks, ``arrived`` lines of A, ``partial_lines`` lines of partial fibers.
        """
        return (
            self.next_task,
            self.ready_count,
            self.completed,
            self.window.arrived,
            self._next_waits_for(),
            self.occupancy.lines,
        )

    def _next_waits_for(self) -> int:
        """Return the state of the signal: 0 for turn, 1 for A, 2 for cache space, 3 for no next task."""
        if self.next_task == self.table.count:
            return 3
        if not self._has_nonzeros(self.next_task):
            return 1
        return 2 if self._is_held_back() else 0
