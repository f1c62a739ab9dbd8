"""What the scheduler's twin does in a cycle: a line of A and completions, then a request, then a task."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import pyrtl

from fiberscope.accelerators.gamma.layout import Z_POINTERS_BASE
from fiberscope.accelerators.gamma.scheduler_parts_rtl import Countdowns, Queue, Window, Write
from fiberscope.hw.fibers.tasks import END_OF_WORK
from fiberscope.hw.memory.protocol import READ, WRITE
from fiberscope.hw.networks.crossbar_rtl import Turn
from fiberscope.hw.rtl.kit.memory_port import MemoryPort
from fiberscope.hw.rtl.kit.trees import chosen, lowest, ones_of
from fiberscope.hw.rtl.kit.twin import OutputStream, Signal, Streams, index_bits, named, unless
from fiberscope.hw.streams.memory_rtl import LOAD, Memory

if TYPE_CHECKING:
    from fiberscope.accelerators.gamma.scheduler_rtl import SchedulerParameters

# What the port ``load`` fills: a memory, the queue of row pointers to write, or with COUNTS a register: first
# how many lines are in the stream, then how many tasks there are, with which the run begins.
LINES, NONZEROS, TASKS, MISSING, UNFINISHED, WRITES, COUNTS = range(7)
PORT = MemoryPort()
ROWS_BITS = 13  # of the number of row pointers in a line
GIVEN_BITS = 5  # of the number of tasks that an element has,
NOBODY = (1 << GIVEN_BITS) - 1  # more than any may have

CAN_GO = "can_go"  # status outputs: a task can be given out,
IS_FULL = "is_full"  # and the element in turn has as many as it may have
ALL_DONE = "all_done"  # elements are left to be told the end of work,
ENDED = "ended"  # behind so many that were
IN_FLIGHT = "in_flight"  # lines of A are
LEFT = "left"  # tasks are


class _Loads:
    """The port that fills all memories."""

    def __init__(self, between: Streams) -> None:
        load = between.inputs[LOAD]
        load.accept(pyrtl.Const(1, 1))
        self._address, self._word = load.fields["address"], load.fields["word"]
        self._valid, self._table = load.valid, load.fields["table"]

    def of(self, table: int) -> Write:
        """What is written into one of them."""
        return self._valid & (self._table == table), self._address, self._word

    def memory(self, name: str, table: int, entries: int, bits: int, reads: int = 1) -> Memory:
        """A memory that is only read in the run."""
        memory = Memory(name, entries, bits, reads)
        enable, address, word = self.of(table)
        memory.write(address, word, enable)
        return memory

    def count(self, name: str, place: int, bits: int) -> Signal:
        """A register, 0 until it is loaded."""
        register: Signal = pyrtl.Register(bits, name)
        register.next <<= pyrtl.select(self.counted(place), self._word[:bits], register)
        return register

    def counted(self, place: int) -> Signal:
        """Whether one of these registers is loaded."""
        return self.of(COUNTS)[0] & (self._address == place)


class _Tables:
    """The stream of A and the tasks; ``lines`` and ``tasks`` say how many there are, 0 before the run."""

    def __init__(self, parameters: SchedulerParameters, loads: _Loads) -> None:
        count, reads = parameters.stream.bit_length(), parameters.elements + 2
        self._layout = parameters.layout
        self._tasks = loads.memory("tasks", TASKS, parameters.tasks, sum(self._layout.values()), reads)
        self.addresses = loads.memory("addresses", LINES, parameters.stream, PORT.address_bits)
        self.nonzeros = loads.memory("nonzeros", NONZEROS, parameters.stream + 1, count)
        self.lines = loads.count("line_count", 0, count)
        self.tasks = loads.count("task_count", 1, parameters.tasks.bit_length())
        self.run: Signal = pyrtl.Register(1, "run")
        self.run.next <<= self.run | loads.counted(1)

    def task(self, place: Signal) -> dict[str, Signal]:
        """The fields of a task's word."""
        word, low = self._tasks[place], 0
        fields = {}
        for name, bits in self._layout.items():
            fields[name] = word[low : low + bits]
            low += bits
        return fields


class _Completions:
    """What a cycle's completions do.

    ``flags`` say which element has one, ``count`` all up to this cycle; ``merging`` are the tasks that merge
    and can run, ``lines`` those of Z's row pointers that can be written.
    """

    def __init__(
        self, parameters: SchedulerParameters, tables: _Tables, loads: _Loads, between: Streams
    ) -> None:
        ends = [between.inputs[f"completions[{i}]"] for i in range(parameters.elements)]
        for end in ends:
            end.accept(pyrtl.Const(1, 1))
        self.flags = [end.valid for end in ends]
        tasks = [(end.valid, tables.task(end.fields["reference"])) for end in ends]
        parents = [(flag & task["is_partial"], task["parent"]) for flag, task in tasks]
        lines = [(flag & ~task["is_partial"], task["line"]) for flag, task in tasks]
        missing = Countdowns("missing", parameters.tasks, parameters.radix.bit_length(), loads.of(MISSING))
        unfinished = Countdowns("unfinished", parameters.lines, ROWS_BITS, loads.of(UNFINISHED))
        enable, _address, word = loads.of(WRITES)
        ready = _ended(missing, parents)
        self.merging = Queue("merging", parameters.tasks, ready)
        written = [(enable, word[: index_bits(parameters.lines)]), *_ended(unfinished, lines)]
        self.lines = Queue("writes", parameters.lines, written)
        completed: Signal = pyrtl.Register(parameters.tasks.bit_length(), "completed")
        self.count = named(
            "completed_now", (completed + ones_of(pyrtl.concat_list(self.flags)))[: len(completed)]
        )
        completed.next <<= self.count


def _ended(counts: Countdowns, asks: list[tuple[Signal, Signal]]) -> list[tuple[Signal, Signal]]:
    """Which of these places come to 0, and which they are."""
    return [(flag, place) for flag, (_ask, place) in zip(counts.down(asks), asks, strict=True)]


def design(parameters: SchedulerParameters, between: Streams) -> None:
    """What a cycle's line and completions have done is known to its request and to its task."""
    scheduler = _Scheduler(parameters, between)
    scheduler.request()
    scheduler.dispatch()


class _Scheduler:
    """The next task in order and the oldest that merges, beside the window of A and the completions."""

    def __init__(self, parameters: SchedulerParameters, between: Streams) -> None:
        self.parameters, self.between = parameters, between
        loads = _Loads(between)
        self.tables = _Tables(parameters, loads)
        self.done = _Completions(parameters, self.tables, loads, between)
        replies = between.inputs["memory_replies"]
        replies.accept(pyrtl.Const(1, 1))
        slot = replies.fields["coordinate"][: index_bits(parameters.stream_lines)]
        self.window = Window(parameters.stream_lines, parameters.stream.bit_length(), replies.valid, slot)
        self.following: Signal = pyrtl.Register(parameters.tasks.bit_length(), "next_task")
        self.is_left = named("is_left", self.following != self.tables.tasks)
        self.leaf = self.tables.task(self.following)
        between.show(IN_FLIGHT, self.window.sent != self.window.arrived)
        between.show(LEFT, self.done.count != self.tables.tasks)

    def request(self) -> None:
        """Ask for the next line of A where the window has room, or else write row pointers."""
        requests, tables, window, lines = (
            self.between.outputs["memory_requests"],
            self.tables,
            self.window,
            self.done.lines,
        )
        in_flight = named("lines_in_flight", (window.sent - window.arrived)[: len(window.sent)])
        held = in_flight + named("lines_waiting", self._waiting())
        asks = named("asks", (window.sent != tables.lines) & (held < self.parameters.stream_lines))
        sends = named("sends", asks | (tables.run & lines.waits))
        operation = pyrtl.select(asks, PORT.operation(READ), PORT.operation(WRITE))
        tag = PORT.tag(self.parameters.port, pyrtl.select(asks, window.slot, 0))
        address = pyrtl.select(asks, tables.addresses[window.sent], self._pointers(lines.word))
        requests.send(sends, PORT.token(operation, tag, address))
        window.send(named("asked", asks & requests.ready))
        lines.pop(named("written", sends & ~asks & requests.ready))

    def _waiting(self) -> Signal:
        """Lines of nonzeros that came and that the next task still needs."""
        nonzeros, needed = self.tables.nonzeros[self.window.arrived], self.leaf["first_needed"]
        ahead = (nonzeros - needed)[: len(nonzeros)]
        return unless(~(self.is_left & (nonzeros > needed)), ahead)

    def _pointers(self, line: Signal) -> Signal:
        """The address of a line of Z's row pointers."""
        low = self.parameters.offset_bits + len(line)
        base = pyrtl.Const(Z_POINTERS_BASE >> low, PORT.address_bits - low)
        return pyrtl.concat(base, line, pyrtl.Const(0, self.parameters.offset_bits))

    def dispatch(self) -> None:
        """Give out the oldest task that merges, else the next in order; behind all, the end of work."""
        merging, leaf, arrived = self.done.merging, self.leaf, self.window.arrived
        merge = self.tables.task(merging.word)
        merges = named("merges", merging.waits & (merge["needed"] <= arrived))
        goes = named("goes", merges | (self.is_left & (leaf["needed"] <= arrived)))
        task = pyrtl.select(merges, merging.word, self.following[: len(merging.word)])
        is_partial = pyrtl.select(merges, merge["is_partial"], leaf["is_partial"])
        sent = self._send(goes, task, self._least_loaded(goes, is_partial))
        merging.pop(named("merge_sent", sent & merges))
        self.following.next <<= pyrtl.select(sent & ~merges, leaf["following"], self.following)
        self.between.show(CAN_GO, goes)

    def _least_loaded(self, goes: Signal, is_partial: Signal) -> list[Signal]:
        """The element that gets the task: with space, with the fewest, the next in turn among equals."""
        limits = self.parameters.most_partial_tasks, self.parameters.most_tasks
        most = pyrtl.select(is_partial, *(pyrtl.Const(limit, GIVEN_BITS) for limit in limits))
        given: list[Signal] = [pyrtl.Register(GIVEN_BITS, f"given_{i}") for i in range(len(self.done.flags))]
        left = [(count - flag)[:GIVEN_BITS] for count, flag in zip(given, self.done.flags, strict=True)]
        may = [goes & sink.ready & (count < most) for sink, count in zip(self._sinks, left, strict=True)]
        loads = [pyrtl.select(flag, count, NOBODY) for flag, count in zip(may, left, strict=True)]
        fewest = reduce(lambda one, other: pyrtl.select(one < other, one, other), loads)
        turn = Turn("elements", [flag & (load == fewest) for flag, load in zip(may, loads, strict=True)])
        turn.pass_on(turn.first)
        for count, rest, first in zip(given, left, turn.first, strict=True):
            count.next <<= (rest + first)[:GIVEN_BITS]
        *behind, none_behind = lowest([*turn.behind, pyrtl.Const(1, 1)])
        self.between.show(IS_FULL, goes & (chosen([none_behind, *behind[1:]], left) >= most))
        return turn.first

    def _send(self, goes: Signal, task: Signal, elements: list[Signal]) -> Signal:
        """Send it to one of the elements, or the next one the end of work; gives whether it is sent."""
        ended: Signal = pyrtl.Register(len(elements).bit_length(), "ended_elements")
        all_done = self.tables.run & (self.done.count == self.tables.tasks)
        ends = named("ends", ~goes & all_done & (ended != len(elements)))
        end = pyrtl.Const(END_OF_WORK, len(task) + 1, signed=True)
        token = pyrtl.select(goes, task.zero_extended(len(end)), end)
        told = [ends & (ended == i) & sink.ready for i, sink in enumerate(self._sinks)]
        for sink, gets, tells in zip(self._sinks, elements, told, strict=True):
            sink.send(gets | tells, {"reference": token})
        ended.next <<= (ended + reduce(or_, told))[: len(ended)]
        self.between.show(ALL_DONE, ends)
        self.between.show(ENDED, ended)
        return reduce(or_, elements)

    @property
    def _sinks(self) -> list[OutputStream]:
        return [self.between.outputs[f"tasks[{i}]"] for i in range(self.parameters.elements)]
