"""Toggles of the cells of a module in a run, computed for thousands of cycles at once.

A run notes what the registers and inputs of the RTL hold in every cycle. All else in the cells follows from
these: each net is a long integer with a bit for a cycle, and a cell one operation on such integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.hw.rtl.kit.backend import Backend
from fiberscope.hw.rtl.kit.words import joined
from fiberscope.hw.rtl.tools.netlist import Cell, Netlist
from fiberscope.hw.rtl.tools.simulator import HdlError

__all__ = ["Activity", "DifferentNetlistError", "RecordingBackend"]

CHUNK = 4096  # cycles that are computed at once, at most
MOST_NOTED = 1 << 22  # levels of wires that are kept till then
_CONSTANTS: Mapping[int | str, int] = {"0": 0, "1": -1, "x": 0}


class DifferentNetlistError(Exception):
    """A register of the cells would not have become what that of the RTL did."""


@dataclass(frozen=True)
class Activity:
    """Changes of each net, and the cycles in which it was high, of so many ``cycles``."""

    cycles: int
    toggles: Mapping[int, int]
    high: Mapping[int, int]


class RecordingBackend:
    """A backend around another, which counts what every cycle toggles in the cells of modules.

    The registers are compared on the way: each must become what its cells say.

    Args:
        backend: what runs the RTL, with the wires within shown.
        netlists: modules of the RTL in cells, by instance; "" is all of it.

    Raises:
        HdlError: when made, if a register or an input of the cells is no wire of the RTL.
    """

    def __init__(self, backend: Backend, netlists: Mapping[str, Netlist]) -> None:
        self.words = backend.words
        self._backend = backend
        self._rows: list[tuple[int, ...]] = []
        widths = dict.fromkeys((piece.wire for piece in self.words.layout["input"]), 0)
        for piece in self.words.layout["input"]:
            widths[piece.wire] += piece.width
        wires = [*widths.items(), *backend.signals().items()]
        columns = {name: (column, bits) for column, (name, bits) in enumerate(wires)}
        self._cells = {
            name: _Cells(netlist, _instance_wires(name, columns)) for name, netlist in netlists.items()
        }
        self._noted = sorted({column for cells in self._cells.values() for column in cells.columns})
        self._chunk = max(1, min(CHUNK, MOST_NOTED // (1 + len(self._noted))))

    def cycle(self) -> None:
        """Run one clock cycle; see ``Backend``."""
        self._backend.cycle()
        inputs = joined(self.words.layout["input"], self.words.inputs)
        levels = (*inputs.values(), *self._backend.sample())
        self._rows.append(tuple(levels[column] for column in self._noted))
        if len(self._rows) == self._chunk:
            self._compute()

    def idle(self, _cycles: int) -> int:
        """Run one cycle; see ``Backend``."""
        self.cycle()
        return 1

    def signals(self) -> Mapping[str, int]:
        """See ``Backend``."""
        return self._backend.signals()

    def sample(self) -> Sequence[int]:
        """See ``Backend``."""
        return self._backend.sample()

    def activity(self, instance: str = "") -> Activity:
        """Return the activity of a module since the reset."""
        self._compute()
        return self._cells[instance].activity()

    def _compute(self) -> None:
        """Work out all nets in the cycles noted, and count."""
        if not self._rows:
            return
        columns = dict(zip(self._noted, zip(*self._rows, strict=True), strict=True))
        count = len(self._rows)
        self._rows.clear()
        for cells in self._cells.values():
            cells.compute(columns, count)


class _Cells:
    """The cells of one module, and what toggles there.

    Args:
        netlist: the module.
        wires: those of its RTL by name, the column of each and its bits.
    """

    def __init__(self, netlist: Netlist, wires: Mapping[str, tuple[int, int]]) -> None:
        self._netlist = netlist
        nets = {**netlist.inputs, **_register_nets(netlist)}
        self._reset = nets.pop("rst", None)
        self._places = self._find(nets, wires)
        self.columns = {column: bits for column, _bit, bits, _net in self._places}
        self._cycles = 0
        self._toggles: dict[int, int] = {}
        self._high: dict[int, int] = {}
        self._last: dict[int, int] = {}  # bits of the last cycle that was computed, by net
        self._due: dict[str, int] = {}  # what each register is to become in the cycle behind it

    def _find(
        self, nets: Mapping[str, int], wires: Mapping[str, tuple[int, int]]
    ) -> list[tuple[int, int, int, int]]:
        """Find each net by the name of its bit: the column, the bit and the number of bits, and the net."""
        bits = {
            name: (column, bit, width)
            for wire, (column, width) in wires.items()
            for bit in range(width)
            for name in ((wire,) if width == 1 else (f"{wire}_{bit}_",))
        }
        unknown = [name for name in nets if name not in bits]
        if unknown:
            raise HdlError(f"{self._netlist.module}: {unknown[0]} of the cells is no wire of the RTL")
        return [(*bits[name], net) for name, net in nets.items()]

    def activity(self) -> Activity:
        """Return the activity that was counted."""
        return Activity(self._cycles, self._toggles, self._high)

    def compute(self, columns: Mapping[int, Sequence[int]], count: int) -> None:
        """Work out all nets in so many cycles, given the wires in each of them, and count."""
        planes = {column: list(_planes(columns[column], width)) for column, width in self.columns.items()}
        nets: dict[int | str, int] = dict(_CONSTANTS)
        if self._reset is not None:
            nets[self._reset] = 0  # out of reset
        for column, bit, _width, net in self._places:
            nets[net] = planes[column][bit]
        for cell in self._netlist.registers:
            _drive(cell, cell.kind.outputs[:1], nets)
        for cell in self._netlist.logic:
            _drive(cell, [pin for pin in cell.nets if pin not in cell.kind.outputs], nets)
        self._compare(nets, count)
        self._count(nets, count)

    def _compare(self, nets: Mapping[int | str, int], count: int) -> None:
        """Hold the registers to what their cells say."""
        ones = (1 << count) - 1
        for cell in self._netlist.registers:
            assert cell.kind.data is not None
            due = nets[cell.nets[cell.kind.data]] & ones
            held = nets[cell.nets[cell.kind.outputs[0]]] & ones
            first = self._due.get(cell.name, held & 1)
            if held != (due << 1 | first) & ones:
                name = self._netlist.names[cell.name]
                raise DifferentNetlistError(f"{self._netlist.module}: {name} differs from that of the RTL")
            self._due[cell.name] = due >> count - 1

    def _count(self, nets: Mapping[int | str, int], count: int) -> None:
        ones = (1 << count) - 1
        for net, bits in nets.items():
            if isinstance(net, str):
                continue
            levels = bits & ones
            before = (levels << 1 | self._last.get(net, levels & 1)) & ones
            self._toggles[net] = self._toggles.get(net, 0) + (levels ^ before).bit_count()
            self._high[net] = self._high.get(net, 0) + levels.bit_count()
            self._last[net] = levels >> count - 1
        self._cycles += count


def _drive(cell: Cell, inputs: Iterable[str], nets: dict[int | str, int]) -> None:
    """Work out the nets that a cell drives from those at these pins."""
    pins = {pin: nets[cell.nets[pin]] for pin in inputs}
    for target, gate, sources in cell.kind.gates:
        pins[target] = gate(*(pins[source] for source in sources))
    for pin in cell.kind.outputs:
        nets[cell.nets[pin]] = pins[pin]


def _instance_wires(instance: str, columns: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """The wires within an instance by their names there, the column of each and its bits."""
    scope = f"{instance}." if instance else ""
    return {wire.removeprefix(scope): at for wire, at in columns.items() if wire.startswith(scope)}


def _register_nets(netlist: Netlist) -> dict[str, int]:
    """The net of each flip-flop, by the name of its bit."""
    unnamed = [cell.name for cell in netlist.registers if cell.name not in netlist.names]
    if unnamed:
        raise HdlError(f"{netlist.module}: {len(unnamed)} flip-flops of the cells are no wire of the RTL")
    return {netlist.names[cell.name]: cell.nets[cell.kind.outputs[0]] for cell in netlist.registers}


def _planes(column: Sequence[int], width: int) -> Iterator[int]:
    """For each bit of a column an integer of it, with a bit for a cycle, the first lowest."""
    for low in range(0, width, 64):
        words = np.array([number >> low & (1 << 64) - 1 for number in column], dtype="<u8")
        bits = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        packed = np.packbits(bits, axis=0, bitorder="little")
        for bit in range(min(64, width - low)):
            yield int.from_bytes(packed[:, bit].tobytes(), "little")
