"""Synchronous memory that an SRAM macro can replace: the address in one cycle, the data in the next.

In Verilog, each lane is an array with a registered read, which synthesis infers as a memory with one read
port and one write port. ``Sram.read_unregistered`` is the exception: it reads the array combinationally, and
the register is in another module. ``list_macros`` lists the memories of a twin, for area estimates and macro
selection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import pyrtl

from fiberscope.hw.rtl.kit.interface import Wire
from fiberscope.hw.rtl.kit.parameters import CHOICES, UNNAMED
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Twin, bit_range, index_bits

# Read latency of a block's memory: none, or one cycle.
MEMORY_KINDS = COMBINATIONAL, REGISTERED = "combinational", "registered"


def memory_parameter() -> str:
    """Declare the parameter ``memory`` of a block. The head of its Verilog names only ``registered``."""
    parameter: str = field(default=COMBINATIONAL, metadata={CHOICES: MEMORY_KINDS, UNNAMED: True})
    return parameter


@dataclass(frozen=True)
class Macro:
    """A required SRAM macro with one read port, one write port, and a write enable for each lane.

    Args:
        name: name of the memory.
        entries: number of entries.
        bits: bits of a lane.
        lanes: lanes of an entry.
    """

    name: str
    entries: int
    bits: int
    lanes: int = 1

    @property
    def entry_bits(self) -> int:
        """Bits of an entry."""
        return self.bits * self.lanes

    @property
    def total_bits(self) -> int:
        """Bits of all entries."""
        return self.entries * self.entry_bits

    @property
    def ports(self) -> list[Wire]:
        """Return the ports of the macro's own module, without its clock."""
        address = index_bits(self.entries)
        return [
            Wire("read_enable", "input", 1),
            Wire("read_address", "input", address),
            Wire("read_data", "output", self.entry_bits),
            Wire("write_enable", "input", self.lanes),
            Wire("write_address", "input", address),
            Wire("write_data", "input", self.entry_bits),
        ]


class _Lane(pyrtl.MemBlock):  # type: ignore[misc]  # PyRTL has no types
    """The memory of a lane, with its macro and the name of its register."""

    def __init__(self, macro: Macro, name: str) -> None:
        super().__init__(
            macro.bits,
            index_bits(macro.entries),
            name,
            max_read_ports=1,
            max_write_ports=1,
            # Otherwise PyRTL requires an address from a register. Here the data have the register.
            asynchronous=True,
        )
        self.macro = macro
        self.data = f"{name}_data"


_extracted_macros: ContextVar[dict[str, Macro] | None] = ContextVar("outside", default=None)


@contextmanager
def extract_memories() -> Iterator[dict[str, Macro]]:
    """Write each ``Sram`` of a twin as an instance of a separate module within this context.

    Both the twin and its Verilog must be made within the context. Other memories of PyRTL stay arrays, and
    so do the memories of a twin that was built before. Yield the macro of each separate module by name; the
    dictionary is filled when the Verilog is written.
    """
    macros: dict[str, Macro] = {}
    token = _extracted_macros.set(macros)
    try:
        yield macros
    finally:
        _extracted_macros.reset(token)


class Sram:
    """A synchronous memory with one read port and one write port, without reset.

    Data are available from the cycle after their address, until another address is read. A read of an entry
    that is written in the same cycle returns the old data.

    Args:
        name: name of the macro, a prefix of its wires; ``sram_`` precedes it in ``extract_memories``.
        entries: number of entries, at least 1.
        bits: bits of a lane.
        lanes: lanes of an entry, each with a write enable.
    """

    def __init__(self, name: str, entries: int, bits: int, lanes: int = 1) -> None:
        self.macro = Macro(name, entries, bits, lanes)
        names = [name] if lanes == 1 else [f"{name}_{lane:02}" for lane in range(lanes)]
        self._is_extracted = _extracted_macros.get() is not None
        self._lanes = [] if self._is_extracted else [_Lane(self.macro, lane) for lane in names]
        if self._is_extracted:
            # A separate module needs no array here: the writer of the Verilog calls ``_write_instance``
            pyrtl.working_block().outside.append(self._write_instance)

    def read(self, address: Signal, enable: Signal) -> list[Signal]:
        """Return the lanes of the entry at the last enabled address.

        Call either this method or ``read_unregistered``, and only once, as the memory has one read port.

        Args:
            address: number of an entry, of ``index_bits(entries)`` bits.
            enable: one bit; without it, the lanes keep their data.
        """
        if (
            self._is_extracted
        ):  # inputs of the separate module are outputs of this PyRTL block, and vice versa
            self._make_output("read_enable", enable)
            self._make_output("read_address", address)
            data: Signal = pyrtl.Input(self.macro.entry_bits, self._pin("read_data"))
            bits = self.macro.bits
            return [data[lane * bits :][:bits] for lane in range(self.macro.lanes)]
        return [self._read(lane, address, enable) for lane in self._lanes]

    def read_unregistered(self, address: Signal) -> list[Signal]:
        """Return the lanes of an entry combinationally; the caller registers them in another module.

        Call either this method or ``read``, and only once, as the memory has one read port.

        Raises:
            ValueError: the memory is a separate module, which includes the register.
        """
        if self._is_extracted:
            raise ValueError(f"memory {self.macro.name} is read by a register in another module")
        return [lane[address] for lane in self._lanes]

    @staticmethod
    def _read(lane: _Lane, address: Signal, enable: Signal) -> Signal:
        # No reset: an SRAM has none, so the data are unknown before the first enabled read
        data: Signal = DataRegister(lane.bitwidth, lane.data)
        data.next <<= pyrtl.select(enable, lane[address], data)
        return data

    def write(self, address: Signal, data: Sequence[Signal], enables: Sequence[Signal]) -> None:
        """Write the enabled lanes of an entry at the end of the cycle; to be called once.

        Args:
            address: number of the entry.
            data: for each lane, its new bits.
            enables: for each lane, whether it is written.
        """
        if self._is_extracted:  # the bits of lane 0 are lowest, as in ``read``
            self._make_output("write_enable", pyrtl.concat_list(list(enables)))
            self._make_output("write_address", address)
            self._make_output("write_data", pyrtl.concat_list(list(data)))
            return
        for lane, contents, enable in zip(self._lanes, data, enables, strict=True):
            lane[address] <<= pyrtl.MemBlock.EnabledWrite(contents, enable)

    def _pin(self, port: str) -> str:
        return f"sram_{self.macro.name}_{port}"

    def _make_output(self, port: str, wire: Signal) -> None:
        pin: Signal = pyrtl.Output(len(wire), self._pin(port))
        pin <<= wire

    def _write_instance(self, module: str) -> str:
        """Return the wires and the instance of the memory's module in the Verilog of a module."""
        macro = self.macro
        name = f"{module}_{macro.name}"
        macros = _extracted_macros.get()
        assert macros is not None, "Verilog is written where memories are outside"
        macros[name] = macro
        ports = macro.ports
        wires = "".join(f"    wire {bit_range(port.width)}{self._pin(port.name)};\n" for port in ports)
        pins = "".join(f",\n        .{port.name}({self._pin(port.name)})" for port in ports)
        return f"{wires}    {name} sram_{macro.name}(\n        .clk(clk){pins}\n    );\n"


class AnnouncedSram:
    """A synchronous memory with data in the cycle of the address, which is announced one cycle earlier.

    A word that is written in the cycle of the announcement comes from a bypass register, so that reads behave
    as in a memory without an output register. Each read port has a copy of the memory, since a macro has only
    one read port.

    Args:
        name: name of the macro; with several read ports, each macro appends the number of its port.
        entries: number of entries.
        bits: bits of a word.
        reads: number of read ports.
    """

    def __init__(self, name: str, entries: int, bits: int, reads: int = 1) -> None:
        ports = [f"{name}_{port}" for port in range(reads)] if reads > 1 else [name]
        self._announced = [pyrtl.WireVector(index_bits(entries), f"{port}_announced") for port in ports]
        self._srams = [Sram(port, entries, bits) for port in ports]
        high = pyrtl.Const(1, 1)  # an address is announced in every cycle, needed or not
        self._words = [
            sram.read(address, high)[0] for sram, address in zip(self._srams, self._announced, strict=True)
        ]
        # One bypass register serves all read ports, as at most one word is written in a cycle
        self._written: Signal = DataRegister(bits, f"{name}_written")
        self._hits = [pyrtl.Register(1, f"{port}_hit") for port in ports]

    def announce(self, address: Signal, port: int = 0) -> None:
        """Announce the address of the next cycle at a read port; to be called once for each port.

        Bits of the address above those of an entry's number are dropped without an error.
        """
        wire = self._announced[port]
        wire <<= address[: len(wire)]

    def word(self, port: int = 0) -> Signal:
        """Return the word at the address that was announced in the cycle before."""
        return pyrtl.select(self._hits[port], self._written, self._words[port])

    def write(self, address: Signal, word: Signal, enable: Signal) -> None:
        """Write a word at the end of the cycle, if enabled; to be called once.

        Bits of the address above those of an entry's number are dropped without an error.
        """
        place = address[: len(self._announced[0])]
        self._written.next <<= word  # in every cycle, as only a hit makes a read use the register
        for sram, announced, hit in zip(self._srams, self._announced, self._hits, strict=True):
            sram.write(place, [word], [enable])
            hit.next <<= enable & (announced == place)


def list_macros(twin: Twin) -> list[Macro]:
    """Return the macros of a twin, sorted by name.

    Memories that are never read, and memories of a twin built within ``extract_memories``, are not included.
    """
    # All lanes of a memory share its macro. Other memories of PyRTL are arrays, which no macro replaces.
    macros = {
        net.op_param[1].macro for net in twin.block.logic_subset("m") if isinstance(net.op_param[1], _Lane)
    }
    return sorted(macros, key=lambda macro: macro.name)
