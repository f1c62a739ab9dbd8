# cython: infer_types=True
"""Gamma's scheduler: streams A, hands tasks to the processing elements and keeps track of the trees."""

from __future__ import annotations

from array import array

from fiberscope.accelerators.gamma.layout import (
    A_POINTERS_BASE,
    COMPLETION,
    NO_PARENT,
    Z_POINTERS_BASE,
    Sizes,
)
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.stream import stream_of, unfinished_rows
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.tasks import END_OF_WORK, TASK
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK, WRITE
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.schedule import SchedulePolicy, Task, least_loaded
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

NOT_HELD = -1


class Scheduler(Component):
    """Walks A in order and dispatches one task a cycle.

    Interface: lines of A (row pointers and nonzeros, in the order of use) are read on ``memory_requests`` and
    come on ``memory_replies``, up to ``stream_lines`` ahead; tasks go out on ``tasks[i]``, one channel a
    processing element, and come back on ``completions[i]``. A task that merges partial fibers is ready when
    the last of them is written; ready ones go before new rows, so that partial fibers are short-lived. The
    row pointers of Z are written a line at a time, once all rows of the line are finished. After the last
    task every processing element is told the end of work.

    A leaf, which writes a partial fiber and merges none, is held back while those in flight leave it no room
    in the FiberCache, and all rows behind it with it.

    Timing: a cycle takes one line of A, all completions at hand, one read or write, and one dispatch, to the
    processing element with the fewest tasks.

    Args:
        name: instance name.
        table: the tasks.
        a: the operand that streams in.
        partials: where partial fibers are allocated.
        occupancy: what they take of the FiberCache.
        port: number of the port at the network to memory.
        stream_lines: lines of A that may be in flight or wait.
        most_tasks: tasks that a processing element may have been given and not completed.
        most_partial_tasks: the same, when one that writes a partial fiber is to be given.
        sizes: of lines, elements and pointers.
        a_sizes: the same of A.
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
        self.stream = stream_of(a, table, a_sizes)
        self.line_bytes = sizes.line_bytes
        self.window = ReorderWindow(stream_lines)  # lines of the stream
        self.arrived_nonzeros = 0  # lines of nonzeros among those that came
        self.next_task = 0  # the next in the table's order; those that merge are skipped
        self._skip_merging()
        self.ready = array("q", bytes(8 * max(1, table.count)))  # queue of the merging tasks that can run
        self.first_ready = self.ready_count = 0
        self.processing_elements = 0
        self.most_tasks = most_tasks
        self.most_partial_tasks = most_partial_tasks
        self.tasks_given = array("q")  # uncompleted tasks, by processing element
        self.turn = 0
        self.choice = -1  # task that is next in this cycle
        self.held_since = NOT_HELD  # cycle since which the next task, a leaf, is held back
        self.held_back_cycles = 0
        self.ended = self.completed = 0  # elements that were sent the end of work; tasks
        self.rows_per_line = sizes.line_bytes // sizes.pointer_bytes
        self.unfinished = unfinished_rows(table, self.rows_per_line)  # C: long[::1]
        self.pointer_writes = array("q", bytes(8 * len(self.unfinished)))  # queue of the lines to write
        self.first_write = self.write_count = 0
        for line in range(len(self.unfinished)):
            if self.unfinished[line] == 0:
                self._queue_write(line)

    def elaborate(self) -> None:
        """Fetch the channels, and count the processing elements."""
        super().elaborate()
        self.processing_elements = len(self.tasks)
        self.tasks_given = array("q", bytes(8 * self.processing_elements))

    def tick(self, now: int) -> int:
        """Take what came, ask for more of A, write row pointers of Z, dispatch a task."""
        progress = self._receive()
        if self._complete():
            progress = True
        if self.memory_requests.can_push() and (self._ask() or self._write_pointers()):
            progress = True
        if self._dispatch(now):
            progress = True
        self._watch_room(now)
        if progress:
            return self.busy(now + 1)
        return self._wait()

    def _watch_room(self, now: int) -> None:
        """Count the cycles in which a leaf is held back, whatever else goes on."""
        held = self._held_back()
        if held and self.held_since == NOT_HELD:
            self.held_since = now
        elif not held and self.held_since != NOT_HELD:
            self.held_back_cycles += now - self.held_since
            self.held_since = NOT_HELD

    def _held_back(self) -> bool:
        """Return whether the next task, a leaf, has its nonzeros and waits for room in the FiberCache."""
        return self._next_is_here() and not self.occupancy.admits(self.next_task)

    def _wait(self) -> int:
        """Nothing could be done in this cycle: say why."""
        if self.choice >= 0:
            if self.tasks_given[self.turn] >= self._most(self.choice):
                return self.wait_any_input(self.completions)
            return self.wait_any_output(self.tasks)
        if self._all_completed() and self.ended < self.processing_elements:
            return self.wait_output(self.tasks[self.ended])
        if self._held_back():
            return self.wait_any_input(self.completions)
        if not self.memory_requests.can_push():
            return self.wait_output(self.memory_requests)
        if self.window.in_flight() > 0:
            return self.wait_input(self.memory_replies)
        if self.completed < self.table.count:
            return self.wait_any_input(self.completions)
        return self.idle()

    def _receive(self) -> bool:
        """A line of the stream has come; they may come out of order."""
        if not self.memory_replies.can_pop():
            return False
        first = self.window.arrived
        self.window.receive(self.memory_replies.coordinate() & TAG_MASK)
        self.memory_replies.pop()
        for line in range(first, self.window.arrived):
            if self.stream.addresses[line] < A_POINTERS_BASE:
                self.arrived_nonzeros += 1
        return True

    def _ask(self) -> bool:
        """Ask for the next line of the stream; ahead of its use as far as the lines not dispatched allow."""
        line = self.window.sent
        if line == self.stream.count or line - self._used() >= self.window.size:
            return False
        tag = self.tag_base | self.window.send()
        self.memory_requests.push(READ, tag, self.stream.addresses[line])
        return True

    def _used(self) -> int:  # C: noexcept
        """Lines that came and are not held: of row pointers, and of nonzeros that no task waits for."""
        if self.next_task == self.table.count:
            return self.window.arrived
        waiting = self.arrived_nonzeros - self.stream.first_needed[self.next_task]
        return self.window.arrived - max(0, waiting)

    def _complete(self) -> bool:
        """Take all completions at hand."""
        progress = False
        for i in range(self.processing_elements):
            channel = self.completions[i]
            if channel.can_pop():
                self.tasks_given[i] -= 1
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
                self.partials.release(table.output_starts[child], self.occupancy.bound(child))
        self.occupancy.end(task)
        parent = table.parents[task]
        if parent == NO_PARENT:
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
        """Write a line of Z's row pointers all of whose rows are finished."""
        if self.write_count == 0:
            return False
        address = Z_POINTERS_BASE + self.pointer_writes[self.first_write] * self.line_bytes
        self.memory_requests.push(WRITE, self.tag_base, address)
        self.first_write += 1
        self.write_count -= 1
        return True

    def _dispatch(self, now: int) -> bool:
        """Hand the next task that can run, or the end of work, to the next processing element with space."""
        task = self.choice = self._next_ready()
        if task < 0 and (not self._all_completed() or self.ended == self.processing_elements):
            return False
        if task >= 0 and self.policy is not None:
            element = self._chosen(self.policy, now)
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
            self.tasks_given[element] += 1
            self.turn = element + 1 if element + 1 < self.processing_elements else 0
        tasks.push(0, 0, task if task >= 0 else END_OF_WORK)
        return True

    def _next_ready(self) -> int:
        """The task to dispatch next: one that merges and is ready, else the next row's; -1 if none can."""
        if self.ready_count > 0 and self._here(self.ready[self.first_ready]):
            return self.ready[self.first_ready]
        if self._next_is_here() and self.occupancy.admits(self.next_task):
            return self.next_task
        return self._ready_behind()

    def _ready_behind(self) -> int:
        """A task that merges, behind one whose nonzeros of A come after those of the leaf that is held back.

        That leaf waits for the partial fibers which this one merges, so it must not wait for its turn.
        """
        if not self._held_back():
            return -1
        for place in range(self.first_ready, self.first_ready + self.ready_count):
            if self._here(self.ready[place]):
                return self.ready[place]
        return -1

    def _next_is_here(self) -> bool:  # C: noexcept
        return self.next_task < self.table.count and self._here(self.next_task)

    def _here(self, task: int) -> bool:  # C: noexcept
        """Return whether the nonzeros of A that the task needs have come."""
        return self.stream.needed[task] <= self.window.arrived

    def _all_completed(self) -> bool:  # C: noexcept
        return self.completed == self.table.count

    def _least_loaded(self, task: int) -> int:
        """The element with the fewest tasks, the next in turn among equals; -1 if none may have this one."""
        fewest = self._most(task)
        best = -1
        element = self.turn
        for _ in range(self.processing_elements):
            tasks = self.tasks[element]
            if self.tasks_given[element] < fewest and tasks.can_push():
                best = element
                fewest = self.tasks_given[element]
            element += 1
            if element == self.processing_elements:
                element = 0
        return best

    def _chosen(self, policy: SchedulePolicy, now: int) -> int:
        """The element for the task that the policy chooses instead of the next; -1 if none may have it."""
        queue = self.ready[self.first_ready : self.first_ready + self.ready_count]
        numbers = [self.choice, *[i for i in queue if i != self.choice and self._here(i)]]
        if self.choice != self.next_task and self._next_is_here() and self.occupancy.admits(self.next_task):
            numbers.append(self.next_task)
        inputs = self.table.first_inputs
        task = policy.chosen_task([Task(i, inputs[i + 1] - inputs[i]) for i in numbers], now)
        self.choice = task.number
        waiting, most = list(self.tasks_given), self._most(task.number)
        is_open = [waiting[i] < most and self.tasks[i].can_push() for i in range(self.processing_elements)]
        return policy.number_of_worker(task, least_loaded(self.turn, waiting, is_open), now)

    def _most(self, task: int) -> int:
        """Tasks that an element may have with this one."""
        return self.most_tasks if self.table.parents[task] == NO_PARENT else self.most_partial_tasks

    def _take(self, task: int) -> None:
        """A task leaves the queue that it stood in; a partial fiber is given space."""
        if self.stream.merges[task]:
            self._leave_queue(task)
        else:
            self.next_task += 1
            self._skip_merging()
        if self.table.parents[task] != NO_PARENT:
            self.occupancy.begin(task)
            self.table.output_starts[task] = self.partials.allocate(self.occupancy.bound(task))

    def _leave_queue(self, task: int) -> None:
        """A task that merges leaves its queue; those before it stay in their order."""
        place = self.first_ready
        while self.ready[place] != task:
            place += 1
        while place > self.first_ready:
            self.ready[place] = self.ready[place - 1]
            place -= 1
        self.first_ready += 1
        self.ready_count -= 1

    def _skip_merging(self) -> None:
        """Go on to the next task that does not wait for partial fibers; the others become ready later."""
        while self.next_task < self.table.count and self.stream.merges[self.next_task]:
            self.next_task += 1

    def counters(self) -> dict[str, int]:
        """Lines of A asked for, tasks completed, cycles in which a leaf was held back.

        ``most_partial_lines`` is what partial fibers took at a time, those being written at their longest.
        """
        return {
            "stream_lines": self.window.sent,
            "tasks": self.completed,
            **super().counters(),
            "most_partial_lines": self.occupancy.most_lines,
        }

    def sample(self) -> tuple[int, ...]:
        """The next task in order, merging tasks that are ready, tasks completed, lines of A that came.

        ``next_waits_for`` is what the next task lacks; ``partial_lines`` are those that partial fibers take.
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
        """As in the signal's states: its turn at an element, A, room in the FiberCache; there is none."""
        if self.next_task == self.table.count:
            return 3
        if not self._here(self.next_task):
            return 1
        return 2 if self._held_back() else 0
