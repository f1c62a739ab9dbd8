"""The pipeline of a FiberCache bank as RTL: its registers, and the condition for a request to enter.

The pipeline has up to three *ranks* of registers, named after the work of the cycle before them: ``look_up``
reads the set, ``compare`` compares its tags, ``choose`` chooses the victim.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

import pyrtl

from fiberscope.hw.memory.misses_rtl import MissTable
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, alias

LOOK_UP, COMPARE, CHOOSE = "look_up", "compare", "choose"
RANKS = ((LOOK_UP,), (LOOK_UP, CHOOSE), (LOOK_UP, COMPARE, CHOOSE))  # for 1, 2 and 3 stages


class Stages:
    """The stages of the pipeline, all with the same enable ``move``. Call ``enter`` and ``leave`` once.

    Wires pass a rank that the pipeline does not have without a register. ``set_index`` and ``entering_set``
    exist after ``enter``.

    Args:
        count: number of stages, 1 to 3.

    Attributes:
        move: whether all stages move.
        last_full: whether a request is in the last stage.
        set_index: the set of this request.
        entering: whether a request moves into the last stage from the stage before; with 2 or 3 stages.
        entering_set: the set of that request.
    """

    def __init__(self, count: int) -> None:
        self._ranks = RANKS[count - 1]
        self._full: list[Signal] = [pyrtl.Register(1, f"full_{rank}") for rank in self._ranks]
        self.last_full: Signal = self._full[-1]
        self.move: Signal = pyrtl.WireVector(1, "move")
        self.entering: Signal = self.move & self._full[-2] if count > 1 else None

    def delay(self, rank: str, name: str, wire: Signal) -> Signal:
        """Return a wire as it is after a rank: in a register, or the same wire without the rank."""
        if rank not in self._ranks:
            return wire
        register: Signal = DataRegister(len(wire), f"{rank}_{name}")
        register.next <<= pyrtl.select(self.move, wire, register)
        return register

    def all_behind(self, rank: str, name: str, wires: Sequence[Signal]) -> list[Signal]:
        """Return wires as they are after a rank, see ``delay``."""
        return [self.delay(rank, f"{name}_{i:02}", wire) for i, wire in enumerate(wires)]

    def misses_behind(self, rank: str, name: str, flags: Sequence[Signal], table: MissTable) -> list[Signal]:
        """Return flags of misses as they are after a rank. The flag of a miss falls when the miss ends."""
        if rank not in self._ranks:
            return list(flags)
        registers: list[Signal] = [DataRegister(1, f"{rank}_{name}_{i:02}") for i in range(len(flags))]
        after = [pyrtl.select(self.move, *pair) for pair in zip(flags, registers, strict=True)]
        for register, flag in zip(registers, table.still(after), strict=True):
            register.next <<= flag
        return registers

    def enter(self, wanted: Signal, set_index: Signal) -> Signal:
        """Let a request enter if all stages move and no stage has a request to the same set.

        Args:
            wanted: whether there is a request that may enter.

        Returns:
            Whether it enters.
        """
        sets = [set_index]
        for rank in self._ranks:
            sets.append(self.delay(rank, "set", sets[-1]))
        self.entering_set: Signal
        self.entering_set, self.set_index = sets[-2:]
        looked_at = [full & (other == set_index) for full, other in zip(self._full, sets[1:], strict=True)]
        enters = alias("enters", wanted & self.move & ~alias("set_looked_at", reduce(or_, looked_at)))
        for full, source in zip(self._full, [enters, *self._full[:-1]], strict=True):
            full.next <<= pyrtl.select(self.move, source, full)
        return enters

    def leave(self, decided: Signal) -> Signal:
        """Let the request in the last stage leave if it is decided, which lets all stages move.

        Returns:
            Whether any stage has a request.
        """
        self.move <<= ~self.last_full | decided
        return reduce(or_, self._full)
