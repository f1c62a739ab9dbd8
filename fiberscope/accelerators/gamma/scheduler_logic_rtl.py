"""Logic of the scheduler as RTL.

Each cycle first takes a line of A and the completions, then sends a request, then dispatches a task.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import pyrtl

from fiberscope.accelerators.gamma.layout import Z_POINTERS_BASE
from fiberscope.accelerators.gamma.scheduler_lines_rtl import LinesOfA, RowsOfZ
from fiberscope.accelerators.gamma.scheduler_parts_rtl import (
    Completion,
    Countdowns,
    Queue,
    WaitingTasks,
    Window,
)
from fiberscope.accelerators.gamma.scheduler_space_rtl import Fibers
from fiberscope.accelerators.gamma.scheduler_tables_rtl import (
    ENDS,
    MISSING,
    PORT,
    UNFINISHED,
    WRITES,
    LoadPort,
    SchedulerTables,
)
from fiberscope.accelerators.gamma.writer_rtl import LENGTH
from fiberscope.hw.fibers.tasks import END_OF_WORK
from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS
from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.hw.networks.crossbar_rtl import Turn
from fiberscope.hw.rtl.kit.trees import chosen, lowest, ones_of
from fiberscope.hw.rtl.kit.twin import (
    InputStream,
    OutputStream,
    Signal,
    Streams,
    alias,
    index_bits,
    resized,
    unless,
)

if TYPE_CHECKING:
    from fiberscope.accelerators.gamma.scheduler_parameters_rtl import SchedulerParameters

ROWS_BITS = 13  # width of the number of row pointers in a line
LOAD_BITS = 5  # width of the number of uncompleted tasks of a processing element, which is at most 16
CLOSED_LOAD = (1 << LOAD_BITS) - 1  # load of an element that cannot take a task; larger than any real load

# Status outputs
CAN_GO = "can_go"  # a task is ready to be dispatched, whether or not an element can take it
# a task is ready, but the element after the one served last has as many uncompleted tasks as allowed
IS_FULL = "is_full"
ALL_DONE = "all_done"  # all tasks are complete, and an element still awaits the end of work
ENDED = "ended"  # number of elements that have received the end of work
IN_FLIGHT = "in_flight"  # requests for lines of A are in flight
LEFT = "left"  # some tasks are not complete
HELD = "held"  # the next leaf task is held back
WAS_HELD = "was_held"  # the same, without the reply and the completions of this cycle
PARTIAL_LINES = "taken"  # lines that partial fibers occupy, without the completions of this cycle


class _Completions:
    """Effects of the completions of one cycle.

    Attributes:
        by_element: the completion of each processing element.
        flags: for each processing element, whether it completes a task.
        count: completions up to and including this cycle.
        ready_merges: merge tasks whose last partial fiber is complete: flag, task, and lines of A needed.
        rows: the row pointers of Z; None if lines have no contents.
        lines: queue of the lines of Z's row pointers that can be written.
    """

    def __init__(
        self, parameters: SchedulerParameters, tables: SchedulerTables, loads: LoadPort, between: Streams
    ) -> None:
        self.by_element = [
            _completion(parameters, tables, between.inputs[f"completions[{i}]"])
            for i in range(parameters.elements)
        ]
        self.flags = [fiber.flag for fiber in self.by_element]
        # The end of a task that writes a partial fiber counts for its parent, any other end for a line of Z.
        parents = [(fiber.flag & fiber.word["is_partial"], fiber.word["parent"]) for fiber in self.by_element]
        lines = [(fiber.flag & ~fiber.word["is_partial"], fiber.word["line"]) for fiber in self.by_element]
        missing = Countdowns(
            "missing", parameters.tasks, parameters.radix.bit_length(), loads.write_port(MISSING)
        )
        unfinished = Countdowns("unfinished", parameters.lines, ROWS_BITS, loads.write_port(UNFINISHED))
        enable, _address, word = loads.write_port(WRITES)
        self.ready_merges = [
            (flag, task, tables.needs(task)["needed_lines"]) for flag, task in _count_down(missing, parents)
        ]
        # Lines without rows that have tasks are loaded into the queue before the run.
        written = [(enable, word[: index_bits(parameters.lines)]), *_count_down(unfinished, lines)]
        self.rows = (
            RowsOfZ(parameters, self.by_element, loads.write_port(ENDS)) if parameters.line_bits else None
        )
        self.lines = Queue("writes", parameters.lines, written)
        completed: Signal = pyrtl.Register(parameters.tasks.bit_length(), "completed")
        self.count = alias(
            "completed_now", (completed + ones_of(pyrtl.concat_list(self.flags)))[: len(completed)]
        )
        completed.next <<= self.count


def _completion(parameters: SchedulerParameters, tables: SchedulerTables, end: InputStream) -> Completion:
    """Return the completion that a processing element announces; it is always accepted."""
    end.accept(pyrtl.Const(1, 1))
    task = end.fields["reference"][: index_bits(parameters.tasks)]
    return Completion(end.valid, task, tables.task(task), end.fields[LENGTH][: parameters.length_bits])


def _count_down(counts: Countdowns, requests: list[tuple[Signal, Signal]]) -> list[tuple[Signal, Signal]]:
    """Return, for each request, whether it brings its counter to 0, and the address of the counter."""
    flags = counts.decrement(requests)
    return [(flag, address) for flag, (_enable, address) in zip(flags, requests, strict=True)]


def design(parameters: SchedulerParameters, between: Streams) -> None:
    """Build the logic; the request and the task of a cycle depend on its line of A and its completions."""
    scheduler = _Scheduler(parameters, between)
    scheduler.request()
    scheduler.dispatch()


class _Scheduler:
    """State and logic of the scheduler: window of A, completions, waiting merge tasks, next task in order."""

    def __init__(self, parameters: SchedulerParameters, between: Streams) -> None:
        self.parameters, self.between = parameters, between
        loads = LoadPort(between)
        replies = between.inputs["memory_replies"]
        replies.accept(pyrtl.Const(1, 1))
        slot = replies.fields["coordinate"][: index_bits(parameters.stream_lines)]
        self.lines = LinesOfA(parameters, replies, slot) if parameters.line_bits else None
        self.tables = SchedulerTables(parameters, loads, self.lines)
        self.completions = _Completions(parameters, self.tables, loads, between)
        self.window = Window(parameters.stream_lines, parameters.stream.bit_length(), replies.valid, slot)
        self.waiting_merges = WaitingTasks(
            parameters.waiting, self.completions.ready_merges, self.window.arrived
        )
        self.fibers = Fibers(parameters, self.tables, self.completions.by_element)
        self.next_task: Signal = pyrtl.Register(parameters.tasks.bit_length(), "next_task")
        self.is_left = alias("is_left", self.next_task != self.tables.task_count)
        self.leaf = {**self.tables.task(self.next_task), **self.tables.needs(self.next_task)}
        between.show(IN_FLIGHT, self.window.sent != self.window.arrived)
        between.show(LEFT, self.completions.count != self.tables.task_count)
        self._hold()

    def _hold(self) -> None:
        """Decide whether the next task in order can start, or is held back for lack of cache space."""
        leaf, index = self.leaf, self.next_task[: index_bits(self.parameters.tasks)]
        has_lines = self.is_left & (leaf["needed_lines"] <= self.window.arrived)
        is_admitted, was_admitted = self.fibers.admits(index, leaf)
        self.is_leaf_ready, self.is_leaf_held = (
            alias("leaf_goes", has_lines & is_admitted),
            alias("leaf_held", has_lines & ~is_admitted),
        )
        had_lines = self.is_left & (leaf["needed_lines"] <= self.window.arrived_before)
        self.between.show(HELD, self.is_leaf_held)
        self.between.show(WAS_HELD, had_lines & ~was_admitted)
        self.between.show(PARTIAL_LINES, self.fibers.lines)

    def request(self) -> None:
        """Request the next line of A, or write row pointers of Z.

        A line is requested while fewer than ``stream_lines`` lines are in flight or wait for their task.
        """
        requests, tables, window = self.between.outputs["memory_requests"], self.tables, self.window
        pointer_lines, rows = self.completions.lines, self.completions.rows
        in_flight = alias("lines_in_flight", (window.sent - window.arrived)[: len(window.sent)])
        lines_in_use = in_flight + alias("lines_waiting", self._count_waiting_lines())
        requests_line = alias(
            "asks",
            tables.has_begun
            & (window.sent != tables.line_count)
            & (lines_in_use < self.parameters.stream_lines),
        )
        # A line of A has priority over row pointers of Z.
        sends_request = alias("sends", requests_line | (tables.has_begun & pointer_lines.has_word))
        operation = pyrtl.select(requests_line, PORT.operation(READ), PORT.operation(WRITE))
        # A write has no reply, and so no slot.
        tag = PORT.tag(self.parameters.port, pyrtl.select(requests_line, window.next_slot, 0))
        line_address = tables.addresses[window.sent]
        address = pyrtl.select(requests_line, line_address, self._address_of_pointers(pointer_lines.word))
        content = None if rows is None else unless(requests_line, rows.line(pointer_lines.word))
        requests.send(sends_request, self.parameters.memory.token(operation, tag, address, content))
        is_requested = alias("asked", requests_line & requests.ready)
        if self.lines is not None:
            self.lines.record_request(window.next_slot, line_address, is_requested)
        window.send(is_requested)
        pointer_lines.pop(alias("written", sends_request & ~requests_line & requests.ready))

    def _count_waiting_lines(self) -> Signal:
        """Return the number of arrived lines of nonzeros that the next task or a later one needs."""
        arrived_lines, released_lines = (
            self.tables.nonzero_line_counts[self.window.arrived],
            self.leaf["released_lines"],
        )
        waiting_lines = (arrived_lines - released_lines)[: len(arrived_lines)]
        # 0 if no task is left, or if no needed line has arrived
        return unless(~(self.is_left & (arrived_lines > released_lines)), waiting_lines)

    def _address_of_pointers(self, line: Signal) -> Signal:
        """Return the address of a line of Z's row pointers."""
        low = self.parameters.offset_bits + len(line)
        base = pyrtl.Const(Z_POINTERS_BASE >> low, PORT.address_bits - low)
        return pyrtl.concat(base, line, pyrtl.Const(0, self.parameters.offset_bits))

    def dispatch(self) -> None:
        """Dispatch a task, or END_OF_WORK after all tasks.

        The task is the oldest waiting merge task if its lines of A have arrived, or else the next task in
        order. While the next task in order is held back, the task is the oldest merge task whose lines have
        arrived, although an older one still waits for lines of A.
        """
        merges = self.waiting_merges
        is_merge = alias("merges", merges.is_oldest_ready | (self.is_leaf_held & merges.is_any_ready))
        has_task = alias("goes", is_merge | self.is_leaf_ready)
        task = alias("task", pyrtl.select(is_merge, merges.word, self.next_task[: len(merges.word)]))
        word = self.tables.task(task)
        elements = self._least_loaded(has_task, word["is_partial"])
        is_sent = alias("sent_task", reduce(or_, elements))
        self._send(has_task, elements, task, self.fibers.allocate(task, word, is_sent))
        merges.pop(alias("merge_sent", is_sent & is_merge))
        self.next_task.next <<= pyrtl.select(is_sent & ~is_merge, self.leaf["next_leaf"], self.next_task)
        self.between.show(CAN_GO, has_task)

    def _least_loaded(self, has_task: Signal, is_partial: Signal) -> list[Signal]:
        """Return for each element whether it gets the task.

        This is the least-loaded element with a free slot in its channel and fewer tasks than allowed. Ties
        are broken round-robin.

        Args:
            has_task: whether there is a task.
            is_partial: whether the task writes a partial fiber.
        """
        limits = self.parameters.most_partial_tasks, self.parameters.most_tasks
        limit = pyrtl.select(is_partial, *(pyrtl.Const(limit, LOAD_BITS) for limit in limits))
        registers: list[Signal] = [pyrtl.Register(LOAD_BITS, f"given_{i}") for i in range(len(self._sinks))]
        flags = zip(registers, self.completions.flags, strict=True)
        loads = [(register - completes)[:LOAD_BITS] for register, completes in flags]
        can_take = [sink.ready & (load < limit) for sink, load in zip(self._sinks, loads, strict=True)]
        pairs = list(zip(can_take, loads, strict=True))
        # An element that cannot take the task has a larger load than any that can.
        open_loads = [pyrtl.select(is_open, load, CLOSED_LOAD) for is_open, load in pairs]
        fewest = reduce(lambda load, other: pyrtl.select(load < other, load, other), open_loads)
        has_fewest = [is_open & (load == fewest) for is_open, load in zip(can_take, open_loads, strict=True)]
        turn = Turn("elements", has_fewest)
        is_selected = [has_task & is_first for is_first in turn.first]
        turn.pass_on(is_selected)
        for register, load, is_given in zip(registers, loads, is_selected, strict=True):
            register.next <<= (load + is_given)[:LOAD_BITS]
        # One-hot: the element after the one served last, element 0 if that was the last element.
        *is_next, wraps_around = lowest([*turn.later, pyrtl.Const(1, 1)])
        next_load = chosen([wraps_around, *is_next[1:]], loads)
        self.between.show(IS_FULL, has_task & (next_load >= limit))
        return is_selected

    def _send(
        self, has_task: Signal, elements: list[Signal], task: Signal, operands: dict[str, Signal]
    ) -> None:
        """Send the task to the selected element; after all tasks, the end of work to one element a cycle.

        Args:
            has_task: whether there is a task.
            elements: for each element, whether it gets the task.
            task: number of the task.
            operands: further fields of the task's token.
        """
        ended_count: Signal = pyrtl.Register(len(elements).bit_length(), "ended_elements")
        all_done = self.tables.has_begun & (self.completions.count == self.tables.task_count)
        sends_end = alias("ends", ~has_task & all_done & (ended_count != len(elements)))
        end = pyrtl.Const(END_OF_WORK, INDEX_BITS, signed=True)
        token = pyrtl.select(has_task, resized(task, INDEX_BITS), end)
        gets_end = [sends_end & (ended_count == i) & sink.ready for i, sink in enumerate(self._sinks)]
        for sink, gets_task, takes_end in zip(self._sinks, elements, gets_end, strict=True):
            sink.send(gets_task | takes_end, {"reference": token, **operands})
        ended_count.next <<= (ended_count + reduce(or_, gets_end))[: len(ended_count)]
        self.between.show(ALL_DONE, sends_end)
        self.between.show(ENDED, ended_count)

    @property
    def _sinks(self) -> list[OutputStream]:
        return [self.between.outputs[f"tasks[{i}]"] for i in range(self.parameters.elements)]
