"""Toggles of the cells of a module in a run, computed for thousands of cycles at once.

A run records the registers and inputs of the RTL in every cycle. They determine all other nets of the
module's cells. The levels of a net are one long integer with a bit for each cycle, the first cycle lowest; a
cell is a bitwise operation on such integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.hw.rtl.kit.backend import Backend, BackendObserver
from fiberscope.hw.rtl.kit.words import joined
from fiberscope.hw.rtl.tools.netlist import Cell, Netlist
from fiberscope.hw.rtl.tools.simulator import HdlError

CHUNK = 4096  # cycles that are computed at once, at most
MOST_NOTED = 1 << 22  # recorded levels of wires before a computation
# Levels of constant nets in all cycles: -1 has a one for each cycle, however many are computed.
_CONSTANTS: Mapping[int | str, int] = {"0": 0, "1": -1, "x": 0}


class DifferentNetlistError(Exception):
    """A register of the netlist differs from the register of the RTL."""


@dataclass(frozen=True)
class Activity:
    """The activity of the nets of a module in a run.

    Args:
        cycles: number of cycles.
        toggles: number of changes between one cycle and the next, by net.
        high: number of cycles in which the net was high, by net.
    """

    cycles: int
    toggles: Mapping[int, int]
    high: Mapping[int, int]


class RecordingBackend(BackendObserver):
    """A backend that runs another one and counts the toggles of the cells of modules.

    The netlists are also checked: each register must get the value that the cells before it compute.

    Args:
        backend: the backend of the RTL, with inner wires.
        netlists: netlists of modules by instance; "" is the whole RTL.

    Raises:
        HdlError: when constructed, if a register or an input of a netlist is no wire of the RTL.
        DifferentNetlistError: in the run, if a register of the RTL has another value than its cells compute.
    """

    def __init__(self, backend: Backend, netlists: Mapping[str, Netlist]) -> None:
        super().__init__(backend)
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

    def observe(self) -> None:
        """Note the levels of the inputs and wires of this cycle."""
        inputs = joined(self.words.layout["input"], self.words.inputs)
        levels = (*inputs.values(), *self._backend.sample())
        self._rows.append(tuple(levels[column] for column in self._noted))
        if len(self._rows) == self._chunk:
            self._compute()

    def activity(self, instance: str = "") -> Activity:
        """Return the activity of a module since reset; it changes when further cycles are computed.

        Args:
            instance: name of the instance, a key of ``netlists``.
        """
        self._compute()
        return self._cells[instance].activity()

    def _compute(self) -> None:
        """Compute all nets in the recorded cycles, and count toggles."""
        if not self._rows:
            return
        columns = dict(zip(self._noted, zip(*self._rows, strict=True), strict=True))
        count = len(self._rows)
        self._rows.clear()
        for cells in self._cells.values():
            cells.compute(columns, count)


class _Cells:
    """The cells of one module, and their toggles.

    Args:
        netlist: the module.
        wires: the wires of its RTL by name, each with its column and bits.
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
        self._last: dict[int, int] = {}  # bits of the last computed cycle, by net
        self._expected: dict[str, int] = {}  # expected bit of each register in the next cycle

    def _find(
        self, nets: Mapping[str, int], wires: Mapping[str, tuple[int, int]]
    ) -> list[tuple[int, int, int, int]]:
        """Return the column, the bit, the number of bits and the net for each bit name."""
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
        """Return the counted activity."""
        return Activity(self._cycles, self._toggles, self._high)

    def compute(self, columns: Mapping[int, Sequence[int]], count: int) -> None:
        """Compute all nets in ``count`` cycles from the wires of each cycle, and count toggles."""
        planes = {column: list(_planes(columns[column], width)) for column, width in self.columns.items()}
        nets: dict[int | str, int] = dict(_CONSTANTS)
        if self._reset is not None:
            nets[self._reset] = 0  # out of reset
        for column, bit, _width, net in self._places:
            nets[net] = planes[column][bit]
        for cell in self._netlist.registers:
            _drive(cell, cell.kind.outputs[:1], nets)  # the inverted output from the recorded state
        for cell in self._netlist.logic:
            _drive(cell, [pin for pin in cell.nets if pin not in cell.kind.outputs], nets)
        self._compare(nets, count)
        self._count(nets, count)

    def _compare(self, nets: Mapping[int | str, int], count: int) -> None:
        """Compare the registers with the results of their cells.

        The state of a cycle is the data input of the cycle before, hence the shift by one bit. The first bit
        comes from the computation before this one; in the first computation, it is not compared.
        """
        ones = (1 << count) - 1  # an inverter gives ones above the last cycle too, which are cut off
        for cell in self._netlist.registers:
            assert cell.kind.data is not None
            expected = nets[cell.nets[cell.kind.data]] & ones
            state = nets[cell.nets[cell.kind.outputs[0]]] & ones
            first = self._expected.get(cell.name, state & 1)
            if state != (expected << 1 | first) & ones:
                name = self._netlist.names[cell.name]
                raise DifferentNetlistError(f"{self._netlist.module}: {name} differs from that of the RTL")
            self._expected[cell.name] = expected >> count - 1

    def _count(self, nets: Mapping[int | str, int], count: int) -> None:
        """Add the toggles and the high cycles of all nets, also the toggles since the last cycle before."""
        ones = (1 << count) - 1
        for net, bits in nets.items():
            if isinstance(net, str):
                continue
            levels = bits & ones
            previous = (levels << 1 | self._last.get(net, levels & 1)) & ones
            self._toggles[net] = self._toggles.get(net, 0) + (levels ^ previous).bit_count()
            self._high[net] = self._high.get(net, 0) + levels.bit_count()
            self._last[net] = levels >> count - 1
        self._cycles += count


def _drive(cell: Cell, inputs: Iterable[str], nets: dict[int | str, int]) -> None:
    """Compute the nets that a cell drives from the nets at these pins."""
    pins = {pin: nets[cell.nets[pin]] for pin in inputs}
    for target, gate, sources in cell.kind.gates:
        pins[target] = gate(*(pins[source] for source in sources))
    for pin in cell.kind.outputs:
        nets[cell.nets[pin]] = pins[pin]


def _instance_wires(instance: str, columns: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Return the wires of an instance by their local names, each with its column and bits."""
    scope = f"{instance}." if instance else ""
    return {wire.removeprefix(scope): at for wire, at in columns.items() if wire.startswith(scope)}


def _register_nets(netlist: Netlist) -> dict[str, int]:
    """Return the net of each flip-flop by bit name."""
    unnamed = [cell.name for cell in netlist.registers if cell.name not in netlist.names]
    if unnamed:
        raise HdlError(f"{netlist.module}: {len(unnamed)} flip-flops of the cells are no wire of the RTL")
    return {netlist.names[cell.name]: cell.nets[cell.kind.outputs[0]] for cell in netlist.registers}


def _planes(column: Sequence[int], width: int) -> Iterator[int]:
    """Yield, for each bit of a column, an integer with one bit for each cycle, the first cycle lowest."""
    for low in range(0, width, 64):  # numpy transposes words of 64 bits: from bits by cycle to cycles by bit
        words = np.array([number >> low & (1 << 64) - 1 for number in column], dtype="<u8")
        bits = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        packed = np.packbits(bits, axis=0, bitorder="little")
        for bit in range(min(64, width - low)):
            yield int.from_bytes(packed[:, bit].tobytes(), "little")
