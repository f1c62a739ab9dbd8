"""Logic of the scheduler in RTL: in a cycle, a line of A and completions, then a request, then a task."""

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
    Loads,
    Tables,
)
from fiberscope.accelerators.gamma.writer_rtl import LENGTH
from fiberscope.hw.fibers.tasks import END_OF_WORK
from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS
from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.hw.networks.crossbar_rtl import Turn
from fiberscope.hw.rtl.kit.trees import lowest, one_hot_mux, ones_of
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
GIVEN_BITS = 5  # width of the number of uncompleted tasks of a processing element
NOBODY = (1 << GIVEN_BITS) - 1  # load of an element that must not get a task; larger than any real load

# Status outputs
CAN_GO = "can_go"  # a task is ready to be dispatched, whether or not an element can take it
IS_FULL = "is_full"  # a task is ready, but the element in turn has as many tasks as it may
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
        ended: the completion of each processing element.
        flags: for each processing element, whether it completes a task.
        count: completions up to and including this cycle.
        merging: merge tasks whose last partial fiber is complete: flag, task, and lines of A needed.
        rows: the rows of Z that are complete, if the design moves the contents of lines.
        lines: queue of the lines of Z's row pointers that can be written.
    """

    def __init__(
        self, parameters: SchedulerParameters, tables: Tables, loads: Loads, between: Streams
    ) -> None:
        self.ended = [
            _completion(parameters, tables, between.inputs[f"completions[{i}]"])
            for i in range(parameters.elements)
        ]
        self.flags = [fiber.flag for fiber in self.ended]
        parents = [(fiber.flag & fiber.word["is_partial"], fiber.word["parent"]) for fiber in self.ended]
        lines = [(fiber.flag & ~fiber.word["is_partial"], fiber.word["line"]) for fiber in self.ended]
        missing = Countdowns("missing", parameters.tasks, parameters.radix.bit_length(), loads.of(MISSING))
        unfinished = Countdowns("unfinished", parameters.lines, ROWS_BITS, loads.of(UNFINISHED))
        enable, _address, word = loads.of(WRITES)
        self.merging = [(flag, task, tables.needs(task)["needed"]) for flag, task in _ended(missing, parents)]
        written = [(enable, word[: index_bits(parameters.lines)]), *_ended(unfinished, lines)]
        self.rows = RowsOfZ(parameters, self.ended, loads.of(ENDS)) if parameters.line_bits else None
        self.lines = Queue("writes", parameters.lines, written)
        completed: Signal = pyrtl.Register(parameters.tasks.bit_length(), "completed")
        self.count = alias(
            "completed_now", (completed + ones_of(pyrtl.concat_list(self.flags)))[: len(completed)]
        )
        completed.next <<= self.count


def _completion(parameters: SchedulerParameters, tables: Tables, end: InputStream) -> Completion:
    """Return the completion that a processing element announces; it is always accepted."""
    end.accept(pyrtl.Const(1, 1))
    task = end.fields["reference"][: index_bits(parameters.tasks)]
    return Completion(end.valid, task, tables.task(task), end.fields[LENGTH][: parameters.length_bits])


def _ended(counts: Countdowns, requests: list[tuple[Signal, Signal]]) -> list[tuple[Signal, Signal]]:
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
        loads = Loads(between)
        replies = between.inputs["memory_replies"]
        replies.accept(pyrtl.Const(1, 1))
        slot = replies.fields["coordinate"][: index_bits(parameters.stream_lines)]
        self.lines = LinesOfA(parameters, replies, slot) if parameters.line_bits else None
        self.tables = Tables(parameters, loads, self.lines)
        self.done = _Completions(parameters, self.tables, loads, between)
        self.window = Window(parameters.stream_lines, parameters.stream.bit_length(), replies.valid, slot)
        self.merging = WaitingTasks(parameters.waiting, self.done.merging, self.window.arrived)
        self.fibers = Fibers(parameters, self.tables, self.done.ended)
        self.following: Signal = pyrtl.Register(parameters.tasks.bit_length(), "next_task")
        self.is_left = alias("is_left", self.following != self.tables.tasks)
        self.leaf = {**self.tables.task(self.following), **self.tables.needs(self.following)}
        between.show(IN_FLIGHT, self.window.sent != self.window.arrived)
        between.show(LEFT, self.done.count != self.tables.tasks)
        self._hold()

    def _hold(self) -> None:
        """Decide whether the next task in order can start, or is held back for lack of cache space."""
        leaf, place = self.leaf, self.following[: index_bits(self.parameters.tasks)]
        here = self.is_left & (leaf["needed"] <= self.window.arrived)
        admitted, before = self.fibers.admitted(place, leaf)
        self.leaf_goes, self.held = alias("leaf_goes", here & admitted), alias("leaf_held", here & ~admitted)
        was_here = self.is_left & (leaf["needed"] <= self.window.arrived_before)
        self.between.show(HELD, self.held)
        self.between.show(WAS_HELD, was_here & ~before)
        self.between.show(PARTIAL_LINES, self.fibers.lines)

    def request(self) -> None:
        """Request the next line of A, or write row pointers of Z.

        A line is requested while fewer than ``stream_lines`` lines are in flight or wait for their task.
        """
        requests, tables, window, lines = (
            self.between.outputs["memory_requests"],
            self.tables,
            self.window,
            self.done.lines,
        )
        in_flight = alias("lines_in_flight", (window.sent - window.arrived)[: len(window.sent)])
        held = in_flight + alias("lines_waiting", self._waiting())
        asks = alias(
            "asks", tables.run & (window.sent != tables.lines) & (held < self.parameters.stream_lines)
        )
        sends = alias("sends", asks | (tables.run & lines.has_word))
        operation = pyrtl.select(asks, PORT.operation(READ), PORT.operation(WRITE))
        tag = PORT.tag(self.parameters.port, pyrtl.select(asks, window.next_slot, 0))
        wanted = tables.addresses[window.sent]
        address = pyrtl.select(asks, wanted, self._pointers(lines.word))
        ends = None if self.done.rows is None else unless(asks, self.done.rows.line(lines.word))
        requests.send(sends, self.parameters.memory.token(operation, tag, address, ends))
        asked = alias("asked", asks & requests.ready)
        if self.lines is not None:
            self.lines.ask(window.next_slot, wanted, asked)
        window.send(asked)
        lines.pop(alias("written", sends & ~asks & requests.ready))

    def _waiting(self) -> Signal:
        """Return the number of arrived lines of nonzeros that the next task or a later one needs."""
        nonzeros, needed = self.tables.nonzeros[self.window.arrived], self.leaf["first_needed"]
        ahead = (nonzeros - needed)[: len(nonzeros)]
        return unless(~(self.is_left & (nonzeros > needed)), ahead)

    def _pointers(self, line: Signal) -> Signal:
        """Return the address of a line of Z's row pointers."""
        low = self.parameters.offset_bits + len(line)
        base = pyrtl.Const(Z_POINTERS_BASE >> low, PORT.address_bits - low)
        return pyrtl.concat(base, line, pyrtl.Const(0, self.parameters.offset_bits))

    def dispatch(self) -> None:
        """Dispatch the oldest ready merge task, or else the next task in order; after all tasks, END_OF_WORK.

        While the next task in order is held back, a ready merge task may be dispatched although an older one
        still waits for lines of A.
        """
        merging = self.merging
        merges = alias("merges", merging.is_oldest_ready | (self.held & merging.is_any_ready))
        goes = alias("goes", merges | self.leaf_goes)
        task = alias("task", pyrtl.select(merges, merging.word, self.following[: len(merging.word)]))
        word = self.tables.task(task)
        elements = self._least_loaded(goes, word["is_partial"])
        sent = alias("sent_task", reduce(or_, elements))
        self._send(goes, elements, task, self.fibers.give(task, word, sent))
        merging.pop(alias("merge_sent", sent & merges))
        self.following.next <<= pyrtl.select(sent & ~merges, self.leaf["following"], self.following)
        self.between.show(CAN_GO, goes)

    def _least_loaded(self, goes: Signal, is_partial: Signal) -> list[Signal]:
        """Return for each element whether it gets the task: the least-loaded element with a free slot.

        Ties are broken round-robin.

        Args:
            goes: whether there is a task.
            is_partial: whether the task writes a partial fiber.
        """
        limits = self.parameters.most_partial_tasks, self.parameters.most_tasks
        most = pyrtl.select(is_partial, *(pyrtl.Const(limit, GIVEN_BITS) for limit in limits))
        counts: list[Signal] = [pyrtl.Register(GIVEN_BITS, f"given_{i}") for i in range(len(self.done.flags))]
        left = [(count - flag)[:GIVEN_BITS] for count, flag in zip(counts, self.done.flags, strict=True)]
        may = [sink.ready & (count < most) for sink, count in zip(self._sinks, left, strict=True)]
        loads = [pyrtl.select(flag, count, NOBODY) for flag, count in zip(may, left, strict=True)]
        fewest = reduce(lambda load, other: pyrtl.select(load < other, load, other), loads)
        turn = Turn("elements", [flag & (load == fewest) for flag, load in zip(may, loads, strict=True)])
        gets = [goes & first for first in turn.first]
        turn.pass_on(gets)
        for count, rest, first in zip(counts, left, gets, strict=True):
            count.next <<= (rest + first)[:GIVEN_BITS]
        *behind, none_behind = lowest([*turn.later, pyrtl.Const(1, 1)])
        self.between.show(IS_FULL, goes & (one_hot_mux([none_behind, *behind[1:]], left) >= most))
        return gets

    def _send(self, goes: Signal, elements: list[Signal], task: Signal, beside: dict[str, Signal]) -> None:
        """Send the task to the selected element; after all tasks, the end of work to one element a cycle.

        Args:
            goes: whether there is a task.
            elements: for each element, whether it gets the task.
            task: number of the task.
            beside: further fields of the task's token.
        """
        ended: Signal = pyrtl.Register(len(elements).bit_length(), "ended_elements")
        all_done = self.tables.run & (self.done.count == self.tables.tasks)
        ends = alias("ends", ~goes & all_done & (ended != len(elements)))
        end = pyrtl.Const(END_OF_WORK, INDEX_BITS, signed=True)
        token = pyrtl.select(goes, resized(task, INDEX_BITS), end)
        told = [ends & (ended == i) & sink.ready for i, sink in enumerate(self._sinks)]
        for sink, gets, tells in zip(self._sinks, elements, told, strict=True):
            sink.send(gets | tells, {"reference": token, **beside})
        ended.next <<= (ended + reduce(or_, told))[: len(ended)]
        self.between.show(ALL_DONE, ends)
        self.between.show(ENDED, ended)

    @property
    def _sinks(self) -> list[OutputStream]:
        return [self.between.outputs[f"tasks[{i}]"] for i in range(self.parameters.elements)]
