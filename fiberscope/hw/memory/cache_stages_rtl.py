"""The pipeline of a FiberCache bank as RTL: its registers, and who may come in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

import pyrtl

from fiberscope.hw.memory.misses_rtl import MissTable
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, alias

LOOK_UP, COMPARE, CHOOSE = "look_up", "compare", "choose"
RANKS = ((LOOK_UP,), (LOOK_UP, CHOOSE), (LOOK_UP, COMPARE, CHOOSE))  # of registers, for 1, 2 and 3 stages


class Stages:
    """Stages that are full, and ``move``, the enable of all their registers.

    There is a rank of registers behind the cycle that looks up, and with more stages behind the one that
    compares, and the one that chooses. Where one is left out, what it would hold passes on within the cycle.

    Args:
        count: stages, 1 to 3.

    ``last_full`` says that a request is in the last stage, ``set_index`` which set it is to. With 2 stages or
    more, ``entering`` says that one moves there from the stage before, ``entering_set`` to which set that is.
    """

    def __init__(self, count: int) -> None:
        self._ranks = RANKS[count - 1]
        self._full: list[Signal] = [pyrtl.Register(1, f"full_{rank}") for rank in self._ranks]
        self.last_full: Signal = self._full[-1]
        self.move: Signal = pyrtl.WireVector(1, "move")
        self.entering: Signal = self.move & self._full[-2] if count > 1 else None

    def delay(self, rank: str, name: str, wire: Signal) -> Signal:
        """The wire in the stage behind a rank."""
        if rank not in self._ranks:
            return wire
        register: Signal = DataRegister(len(wire), f"{rank}_{name}")
        register.next <<= pyrtl.select(self.move, wire, register)
        return register

    def all_behind(self, rank: str, name: str, wires: Sequence[Signal]) -> list[Signal]:
        """The wires in the stage behind a rank."""
        return [self.delay(rank, f"{name}_{i:02}", wire) for i, wire in enumerate(wires)]

    def misses_behind(self, rank: str, name: str, flags: Sequence[Signal], table: MissTable) -> list[Signal]:
        """Flags of misses in the stage behind a rank; they fall when a miss is done."""
        if rank not in self._ranks:
            return list(flags)
        registers: list[Signal] = [DataRegister(1, f"{rank}_{name}_{i:02}") for i in range(len(flags))]
        after = [pyrtl.select(self.move, *pair) for pair in zip(flags, registers, strict=True)]
        for register, flag in zip(registers, table.still(after), strict=True):
            register.next <<= flag
        return registers

    def enter(self, wanted: Signal, set_index: Signal) -> Signal:
        """Take a request that is wanted, if all stages move and none looks at its set; says whether it is."""
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
        """Say whether the request in the last stage leaves; tells whether there is any."""
        self.move <<= ~self.last_full | decided
        return reduce(or_, self._full)
