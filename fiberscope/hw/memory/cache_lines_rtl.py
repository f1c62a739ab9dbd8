"""Lines of a FiberCache bank as RTL: the data array, and the line that arrives from memory."""

from __future__ import annotations

import pyrtl

from fiberscope.hw.memory.cache_stages_rtl import CHOOSE, RANKS, Stages
from fiberscope.hw.memory.misses_rtl import MissTable
from fiberscope.hw.rtl.kit.sram import Sram
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, alias, index_bits


class Lines:
    """The data array of a bank, a synchronous memory with a line for each way of each set.

    The memory is read when a request enters the last stage, as its way is then known: the requested line, or
    the victim that has to be written back. It is written when a write is decided, and when the targets of an
    arrived line with a place are answered. No request is decided in the latter cycles: one port suffices.

    A request may be in the last stage, or enter it, when its line arrives. The memory was then read before
    the line was written (``_came``). The request gets the line from the register in which it arrived. When
    the next line is taken into this register, the memory is read again.

    Order of calls: ``take`` and ``enter``, then ``read``, then ``write``, once each.

    Args:
        sets, ways: sets and ways of the bank.
        stages: pipeline of the bank, with at least 2 stages.
        table: misses of the bank.

    Attributes:
        entering_line: line beside the request in the last stage, to be written.
        replied: line for a reply.
        victim: line that is written back.
    """

    def __init__(self, sets: int, ways: int, line_bits: int, stages: Stages, table: MissTable) -> None:
        self._sets = sets
        self._stages = stages
        self._table = table
        self._memory = Sram("lines", sets * ways, line_bits)
        self._place_bits = index_bits(sets * ways)
        self._line: Signal = DataRegister(line_bits, "arrived_line")
        self._fills: Signal = DataRegister(1, "arrived_line_has_place")
        self._to: Signal = DataRegister(self._place_bits, "arrived_line_place")
        self._came: Signal = pyrtl.Register(1, "line_came")

    def _place(self, set_index: Signal, way: Signal) -> Signal:
        """Return the address of a way of a set."""
        low = int(self._sets == 1)  # then the bit of the set is always 0
        return pyrtl.concat(way, set_index)[low : low + self._place_bits]

    def take(self, line: Signal) -> None:
        """Store the line at the port in a register if it is taken, with its place in the memory."""
        table = self._table
        place = self._place(table.of_arriving("set_index"), table.of_arriving("way"))
        arriving = (self._line, line), (self._to, place), (self._fills, table.of_arriving("placed"))
        for register, value in arriving:
            register.next <<= pyrtl.select(table.takes, value, register)

    def enter(self, line: Signal) -> None:
        """Pass the line of a request that enters through the stages, beside the request."""
        for rank in RANKS[-1]:
            line = self._stages.delay(rank, "line", line)
        self.entering_line = line

    def read(self, way: Signal, wanted: Signal, hit_way: Signal) -> None:
        """Read for the request that enters the last stage, or again for the request in the last stage.

        Args:
            way: way of the requested line, or of the victim.
            wanted: whether the entering request needs the line in this way.
            hit_way: way of the requested line, if that line is present or in flight.
        """
        stages, table = self._stages, self._table
        entering = self._place(stages.entering_set, way)
        self._at: Signal = stages.delay(CHOOSE, "place", entering)
        stays = alias("line_stays", stages.last_full & table.answering)
        address = alias("line_address", pyrtl.select(stays, self._at, entering))
        (stored,) = self._memory.read(address, pyrtl.select(stays, self._came, stages.entering & wanted))
        self._filled = alias("line_is_filled", table.closes & self._fills)
        asked = pyrtl.select(stays, self._at, self._place(stages.entering_set, hit_way))
        comes = self._filled & (self._to == asked)
        self._came.next <<= comes | (self._came & ~stays & ~stages.move)
        self.victim: Signal = stored
        self.replied: Signal = pyrtl.select(table.answering | self._came, self._line, stored)

    def write(self, written: Signal) -> None:
        """Write a decided request's line if ``written``, or an arrived line with a place as its miss ends."""
        answering = self._table.answering
        line = pyrtl.select(answering, self._line, self.entering_line)
        place = pyrtl.select(answering, self._to, self._at)
        self._memory.write(place, [line], [written | self._filled])
