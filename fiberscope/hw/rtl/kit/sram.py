"""Synchronous memory, which an SRAM macro can replace: an address in one cycle, data in the next.

In Verilog each lane is an array with a registered read, which synthesis takes for a memory of one port to
read and one to write. ``srams`` lists those of a twin, by which an area is known and a macro can be chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyrtl

from fiberscope.hw.rtl.kit.parameters import CHOICES, UNNAMED
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Twin, index_bits

__all__ = ["COMBINATIONAL", "MEMORIES", "REGISTERED", "Macro", "Sram", "memory_kind", "srams"]

# How a block reads its memory: in the cycle of the address, or with a latency of one cycle.
MEMORIES = COMBINATIONAL, REGISTERED = "combinational", "registered"


def memory_kind() -> str:
    """Declare the parameter ``memory`` of a block; the head of its Verilog names only ``registered``."""
    parameter: str = field(default=COMBINATIONAL, metadata={CHOICES: MEMORIES, UNNAMED: True})
    return parameter


@dataclass(frozen=True)
class Macro:
    """Required SRAM macro: ``entries`` of ``lanes`` of ``bits``, each lane with a write enable.

    One port reads and one writes.
    """

    name: str
    entries: int
    bits: int
    lanes: int = 1

    @property
    def width(self) -> int:
        """Bits of an entry."""
        return self.bits * self.lanes

    @property
    def size(self) -> int:
        """Bits of all entries."""
        return self.entries * self.width


class _Lane(pyrtl.MemBlock):  # type: ignore[misc]  # PyRTL has no types
    """The memory of a lane, which knows the macro that it is a part of, and what its register is called."""

    def __init__(self, macro: Macro, name: str) -> None:
        super().__init__(
            macro.bits,
            index_bits(macro.entries),
            name,
            max_read_ports=1,
            max_write_ports=1,
            asynchronous=True,
        )
        self.macro = macro
        self.data = f"{name}_data"


class Sram:
    """A synchronous memory of one port to read and one to write; never reset.

    What is read is there from the cycle behind that of its address until another address is read. Of an
    entry that is written in the cycle of its address, the old contents are read.

    Args:
        name: the name of the macro; its wires begin so.
        entries: how many, at least 1.
        bits: the bits of a lane.
        lanes: the lanes of an entry, each with an enable to write of its own.
    """

    def __init__(self, name: str, entries: int, bits: int, lanes: int = 1) -> None:
        self.macro = Macro(name, entries, bits, lanes)
        names = [name] if lanes == 1 else [f"{name}_{lane:02}" for lane in range(lanes)]
        self._lanes = [_Lane(self.macro, lane) for lane in names]

    def read(self, address: Signal, enable: Signal) -> list[Signal]:
        """The lanes of the entry whose address was there when this was enabled last; to be called once."""
        return [self._read(lane, address, enable) for lane in self._lanes]

    def look(self, address: Signal) -> list[Signal]:
        """The lanes of the entry at an address, whose register is behind this module; to be called once."""
        return [lane[address] for lane in self._lanes]

    @staticmethod
    def _read(lane: _Lane, address: Signal, enable: Signal) -> Signal:
        data: Signal = DataRegister(lane.bitwidth, lane.data)
        data.next <<= pyrtl.select(enable, lane[address], data)
        return data

    def write(self, address: Signal, data: Sequence[Signal], enables: Sequence[Signal]) -> None:
        """Write lanes of an entry at the end of the cycle, those that are enabled; once."""
        for lane, contents, enable in zip(self._lanes, data, enables, strict=True):
            lane[address] <<= pyrtl.MemBlock.EnabledWrite(contents, enable)


def srams(twin: Twin) -> list[Macro]:
    """The macros that a twin consists of beside its logic, by name."""
    macros = {
        net.op_param[1].macro for net in twin.block.logic_subset("m") if isinstance(net.op_param[1], _Lane)
    }
    return sorted(macros, key=lambda macro: macro.name)
