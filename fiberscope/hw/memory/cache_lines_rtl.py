"""Lines of a FiberCache bank, as RTL: its data array, and the line that arrives from memory."""

from __future__ import annotations

import pyrtl

from fiberscope.hw.memory.cache_stages_rtl import CHOOSE, RANKS, Stages
from fiberscope.hw.memory.misses_rtl import MissTable
from fiberscope.hw.rtl.kit.sram import Sram
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, alias, index_bits


class Lines:
    """A synchronous memory of a line for each way of each set, and the lines that are on their way.

    It is read as a request enters the last stage, in the cycle in which its way is known: the line that it
    asks for, or the victim that it will have written back. It is written when a write is decided about, and
    when a line that came is done with, in whose turn no request is decided about: one port of each suffices.

    A request waits in the last stage when it cannot join those that wait for its line, and finds it here once
    that has come; or it enters just then. What it has read is from before (``_came``). Its line is still in
    the register in which it came, until the next one is taken; in whose turn the memory is read again.

    Args:
        sets, ways: the sets and ways of the bank.
        line_bits: bits of a line.
        stages, table: the bank's, of at least 2 stages.

    ``entering_line`` is the line of the request in the last stage; ``replied`` that of the reply, ``victim``
    that of the line which leaves.
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
        """The number of a way of a set."""
        low = int(self._sets == 1)  # then the bit of the set is always 0
        return pyrtl.concat(way, set_index)[low : low + self._place_bits]

    def take(self, line: Signal) -> None:
        """Put by the line that shows at the port, if it is taken, and where it is to be."""
        table = self._table
        place = self._place(table.of_arriving("set_index"), table.of_arriving("way"))
        arriving = (self._line, line), (self._to, place), (self._fills, table.of_arriving("placed"))
        for register, value in arriving:
            register.next <<= pyrtl.select(table.takes, value, register)

    def enter(self, line: Signal) -> None:
        """Let the line of a request that is taken go along with it."""
        for rank in RANKS[-1]:
            line = self._stages.delay(rank, "line", line)
        self.entering_line = line

    def read(self, way: Signal, wanted: Signal, hit_way: Signal) -> None:
        """Read for the request that enters the last stage, if it wants a line, or again for the one in it.

        Args:
            way: the way of the line that it asks for, or of the victim.
            wanted: whether it needs what is there.
            hit_way: way of the line that it asks for, if that line is present or in flight.
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
        """Write the line of a request that is decided about, if it is ``written``, or one that came."""
        answering = self._table.answering
        line = pyrtl.select(answering, self._line, self.entering_line)
        place = pyrtl.select(answering, self._to, self._at)
        self._memory.write(place, [line], [written | self._filled])
