"""Contents of lines in the scheduler as RTL: lines of A that arrive, lines of Z's row pointers that leave."""

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

# A row pointer of Z has 32 bits, of which three number one of at most eight processing elements.
END_BITS = 29  # low bits of a row pointer of Z; the bits above number the element that wrote the row


class LinesOfA:
    """A memory of all lines of nonzeros that have arrived, including the line of this cycle.

    A record for each slot of the window holds the number of the requested line, and above it a bit that is 1
    for a line of row pointers, whose contents are not stored.

    Args:
        parameters: the parameters of the scheduler.
        reply: stream of replies of memory.
        slot: slot of the window that the reply belongs to.
    """

    def __init__(self, parameters: SchedulerParameters, reply: InputStream, slot: Signal) -> None:
        self._elements, self._offset_bits = parameters.elements_of_a, parameters.offset_bits
        self._line_bits = index_bits(parameters.stream)
        self._requested = Memory("asked_lines", parameters.stream_lines, 1 + self._line_bits, 1)
        request = self._requested[slot]
        has_nonzeros = reply.valid & ~request[-1]
        written = [(has_nonzeros, request[:-1], reply.fields[LINE])]
        self._lines = ForwardingMemory("lines_of_a", parameters.stream, parameters.line_bits, written)

    def record_request(self, slot: Signal, address: Signal, is_requested: Signal) -> None:
        """Record the line that is requested for a slot, and whether it has row pointers; call this once.

        Args:
            slot: slot of the window.
            address: address of the line.
            is_requested: 1 if the request is sent in this cycle.
        """
        number = address[self._offset_bits : self._offset_bits + self._line_bits]
        # The lowest bit of the tensor's number distinguishes A (0) from its row pointers (1), see ``layout``.
        self._requested.write(slot, pyrtl.concat(address[TENSOR_SHIFT], number), is_requested)

    def nonzero(self, number: Signal) -> tuple[Signal, Signal]:
        """Return the column and the value of nonzero ``number`` of A, whose line must have arrived."""
        low_bits = self._elements.bits
        lanes = self._elements.lanes(self._lines[number[low_bits : low_bits + self._line_bits]])
        is_lane = list(decoded(number[:low_bits], len(lanes)))
        columns, values = zip(*lanes, strict=True)
        return chosen(is_lane, list(columns)), chosen(is_lane, list(values))


class RowsOfZ:
    """The row pointers of Z: the end of each row among the elements of Z that its element writes.

    A row without elements has the pointer 0. The ends alone therefore distinguish the rows of a processing
    element.

    Args:
        parameters: the parameters of the scheduler.
        completions: the completions of a cycle; each element completes its rows in the order of writing.
        load: write port that sets all words to 0 before the run.
    """

    def __init__(
        self, parameters: SchedulerParameters, completions: Sequence[Completion], load: Write
    ) -> None:
        self._row_bits = parameters.row_bits
        bits = index_bits(parameters.lines) + self._row_bits
        enable, address, _word = load
        writes = [(enable, address[:bits], pyrtl.Const(0, 32))]
        for i, fiber in enumerate(completions):
            last_end: Signal = pyrtl.Register(END_BITS, f"rows_of_{i}")
            is_row, is_empty = fiber.flag & ~fiber.word["is_partial"], fiber.length == 0
            end = (last_end + fiber.length)[:END_BITS]
            last_end.next <<= pyrtl.select(is_row, end, last_end)
            pointer = unless(is_empty, pyrtl.concat(pyrtl.Const(i, 32 - END_BITS), end))
            writes.append((is_row, pyrtl.concat(fiber.word["line"], fiber.word["row"]), pointer))
        self._ends = ForwardingMemory("ends_of_rows", 1 << bits, 32, writes)

    def line(self, number: Signal) -> Signal:
        """Return a line of row pointers, including the completions of this cycle."""
        rows = range(1 << self._row_bits)
        addresses = [pyrtl.concat(number, pyrtl.Const(row, self._row_bits)) for row in rows]
        return pyrtl.concat_list([self._ends[address] for address in addresses])
