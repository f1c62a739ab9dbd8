"""Lines of the scheduler's twin: those of A as they arrive, those of Z's row pointers as they leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyrtl

from fiberscope.accelerators.gamma.scheduler_parts_rtl import ForwardingMemory, Write
from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.hw.rtl.kit.memory_port import LINE
from fiberscope.hw.rtl.kit.trees import chosen, decoded
from fiberscope.hw.rtl.kit.twin import InputStream, Signal, index_bits, unless
from fiberscope.hw.streams.memory_rtl import Memory

if TYPE_CHECKING:
    from fiberscope.accelerators.gamma.scheduler_parameters_rtl import SchedulerParameters
    from fiberscope.accelerators.gamma.scheduler_parts_rtl import Completion

END_BITS = 29  # of a row pointer of Z; those above say which processing element has written the row


class LinesOfA:
    """All lines of nonzeros that have come, that of this cycle among them.

    Args:
        parameters: the parameters of the scheduler.
        reply: from memory.
        slot: the slot of the window, that the reply is for.
    """

    def __init__(self, parameters: SchedulerParameters, reply: InputStream, slot: Signal) -> None:
        self._elements, self._low = parameters.elements_of_a, parameters.offset_bits
        self._bits = index_bits(parameters.stream)
        self._asked = Memory("asked_lines", parameters.stream_lines, 1 + self._bits, 1)
        asked = self._asked[slot]
        comes = reply.valid & ~asked[-1]
        written = [(comes, asked[:-1], reply.fields[LINE])]
        self._lines = ForwardingMemory("lines_of_a", parameters.stream, parameters.line_bits, written)

    def ask(self, slot: Signal, address: Signal, asked: Signal) -> None:
        """Note which line is to come, and whether it has row pointers; to be said once."""
        number = address[self._low : self._low + self._bits]
        self._asked.write(slot, pyrtl.concat(address[TENSOR_SHIFT], number), asked)

    def nonzero(self, number: Signal) -> tuple[Signal, Signal]:
        """Return the column and the value of the nonzero."""
        of_line = self._elements.bits
        lanes = self._elements.lanes(self._lines[number[of_line : of_line + self._bits]])
        here = list(decoded(number[:of_line], len(lanes)))
        columns, values = zip(*lanes, strict=True)
        return chosen(here, list(columns)), chosen(here, list(values))


class RowsOfZ:
    """Row pointers of Z: where rows end among the elements of Z that the processing element writes.

    A row without an element has 0. So of each processing element the rows are told apart by their ends alone.

    Args:
        parameters: the parameters of the scheduler.
        ended: the completions of a cycle, which tell of the rows as the processing element has written them.
        load: what makes all words 0 before the run.
    """

    def __init__(self, parameters: SchedulerParameters, ended: Sequence[Completion], load: Write) -> None:
        self._row_bits = parameters.row_bits
        bits = index_bits(parameters.lines) + self._row_bits
        enable, address, _word = load
        writes = [(enable, address[:bits], pyrtl.Const(0, 32))]
        for i, fiber in enumerate(ended):
            begin: Signal = pyrtl.Register(END_BITS, f"rows_of_{i}")
            is_row, is_empty = fiber.flag & ~fiber.word["is_partial"], fiber.length == 0
            end = (begin + fiber.length)[:END_BITS]
            begin.next <<= pyrtl.select(is_row, end, begin)
            pointer = unless(is_empty, pyrtl.concat(pyrtl.Const(i, 32 - END_BITS), end))
            writes.append((is_row, pyrtl.concat(fiber.word["line"], fiber.word["row"]), pointer))
        self._ends = ForwardingMemory("ends_of_rows", 1 << bits, 32, writes)

    def line(self, number: Signal) -> Signal:
        """A line of row pointers, with what this cycle's completions make of it."""
        rows = range(1 << self._row_bits)
        places = [pyrtl.concat(number, pyrtl.Const(row, self._row_bits)) for row in rows]
        return pyrtl.concat_list([self._ends[place] for place in places])
