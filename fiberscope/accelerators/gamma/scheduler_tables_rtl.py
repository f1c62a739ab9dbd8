"""Memories of the scheduler as RTL that the run only reads, and the port that fills all its memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyrtl

from fiberscope.accelerators.gamma.scheduler_parts_rtl import Write
from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS
from fiberscope.hw.rtl.kit.memory_port import MemoryPort
from fiberscope.hw.rtl.kit.twin import Signal, Streams, index_bits, split_word
from fiberscope.hw.streams.memory_rtl import LOAD, Memory

if TYPE_CHECKING:
    from fiberscope.accelerators.gamma.scheduler_lines_rtl import LinesOfA
    from fiberscope.accelerators.gamma.scheduler_parameters_rtl import SchedulerParameters

# Destinations of the port ``load``: memories, the queue of row pointers to write (WRITES) and registers
# (COUNTS). Register 0 is the number of lines of the stream, and register 1 the number of tasks; loading
# register 1 starts the run. In the memories of inputs, the low bits of an address are the number of the
# input, and the bits above the number of the task.
ADDRESSES, NONZERO_LINE_COUNTS, TASKS, NEEDS, BOUNDS, SOURCES, ROWS = range(7)
SCALES, MISSING, UNFINISHED, WRITES, ENDS, COUNTS = range(7, 13)
TABLE_BITS = 4  # of the number of a destination
PORT = MemoryPort()  # its address width is that of the lines of A


class LoadPort:
    """The port that fills all memories; it accepts a word in every cycle."""

    def __init__(self, between: Streams) -> None:
        load = between.inputs[LOAD]
        load.accept(pyrtl.Const(1, 1))
        self._address, self._word = load.fields["address"], load.fields["word"]
        self._valid, self._table = load.valid, load.fields["table"]

    def write_port(self, table: int) -> Write:
        """Return the write port of one of the tables."""
        return self._valid & (self._table == table), self._address, self._word

    def memory(self, name: str, table: int, entries: int, bits: int, reads: int = 1) -> Memory:
        """Create a memory that the run only reads."""
        memory = Memory(name, entries, bits, reads)
        enable, address, word = self.write_port(table)
        memory.write(address, word, enable)
        return memory

    def inputs(self, name: str, table: int, parameters: SchedulerParameters, bits: int) -> list[Memory]:
        """Create one memory for each input of a task, addressed by task."""
        enable, address, word = self.write_port(table)
        lanes, low = range(parameters.radix), index_bits(parameters.radix)
        memories = [Memory(f"{name}_{i:02}", parameters.tasks, bits, 1) for i in lanes]
        for i, memory in enumerate(memories):
            memory.write(address[low:], word, enable & (address[:low] == i))
        return memories

    def count(self, name: str, register_number: int, bits: int) -> Signal:
        """Create a register that is 0 until it is loaded."""
        register: Signal = pyrtl.Register(bits, name)
        register.next <<= pyrtl.select(self.is_count_loaded(register_number), self._word[:bits], register)
        return register

    def is_count_loaded(self, register_number: int) -> Signal:
        """Return whether a register of COUNTS is loaded in this cycle."""
        return self.write_port(COUNTS)[0] & (self._address == register_number)


class SchedulerTables:
    """Memories with the stream of A and the tasks.

    Args:
        parameters: the parameters of the scheduler.
        loads: port that fills the memories.
        lines: the lines of A, if rows of B and scales arrive with them; otherwise None.

    Attributes:
        addresses: address of each line of the stream.
        bounds: upper bound of the length of each task's result.
        nonzero_line_counts: for each number of leading lines of the stream, from 0 on, how many of the lines
            hold nonzeros.
        line_count: number of lines of the stream, 0 until it is loaded, shortly before the run.
        task_count: number of tasks, 0 before the run.
        has_begun: 1 once the run has begun.
    """

    def __init__(self, parameters: SchedulerParameters, loads: LoadPort, lines: LinesOfA | None) -> None:
        count, tasks, elements = parameters.stream.bit_length(), parameters.tasks, parameters.elements
        self._layout, self._need_layout = parameters.layout, parameters.needs
        # One read for each completion in a cycle, for the next task in order and for the dispatched task;
        # only the first two kinds read ``needs``
        self._tasks = loads.memory("tasks", TASKS, tasks, sum(self._layout.values()), elements + 2)
        self._needs = loads.memory("needs", NEEDS, tasks, sum(self._need_layout.values()), elements + 1)
        self.bounds = loads.memory("bounds", BOUNDS, parameters.tasks, parameters.length_bits, 2)
        self._sources = loads.inputs("sources", SOURCES, parameters, INDEX_BITS)
        self._lines_of_a = lines
        if lines is None:
            self._rows = loads.inputs("rows", ROWS, parameters, INDEX_BITS)
            self._scales = loads.inputs("scales", SCALES, parameters, parameters.value_field.width)
        self.addresses = loads.memory("addresses", ADDRESSES, parameters.stream, PORT.address_bits)
        self.nonzero_line_counts = loads.memory("nonzeros", NONZERO_LINE_COUNTS, parameters.stream + 1, count)
        self.line_count = loads.count("line_count", 0, count)
        self.task_count = loads.count("task_count", 1, parameters.tasks.bit_length())
        self.has_begun: Signal = pyrtl.Register(1, "run")
        self.has_begun.next <<= self.has_begun | loads.is_count_loaded(1)

    def inputs(self, task: Signal) -> list[tuple[Signal, Signal, Signal]]:
        """Return the source of each input of a task, and the row of B and the scale of a nonzero of A."""
        sources = [memory[task] for memory in self._sources]
        if self._lines_of_a is not None:
            return [(source, *self._lines_of_a.nonzero(source)) for source in sources]
        row_scales = zip(self._rows, self._scales, strict=True)
        return [
            (source, rows[task], scales[task])
            for source, (rows, scales) in zip(sources, row_scales, strict=True)
        ]

    def task(self, index: Signal) -> dict[str, Signal]:
        """Return the fields of a task's word."""
        return split_word(self._tasks[index], self._layout)

    def needs(self, index: Signal) -> dict[str, Signal]:
        """Return the fields of the word with the lines of A that a task needs."""
        return split_word(self._needs[index], self._need_layout)
