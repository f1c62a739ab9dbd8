"""Netlist of a module in a cell library: the functions of its cells, and Verilog for static timing.

Yosys moves all cells into an inner module. Memories, with their read and write logic, stay outside, so that
the netlist has cells and wires only. A *net* is one bit, named by Yosys's number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from operator import and_, invert, or_, pos, xor
from pathlib import Path
from typing import Any, TypeAlias

from fiberscope.hw.rtl.kit.waves import is_shown
from fiberscope.hw.rtl.tools.area import MAPPING, run_yosys
from fiberscope.hw.rtl.tools.simulator import HdlError

LOGIC = "_logic"  # suffix of the inner module of cells
_SCRIPT = (
    "read_liberty -lib {liberty}\n"
    + MAPPING
    + f"""\
write_json before.json
submod -name {{module}}{LOGIC} t:$mem* %n
splitnets -ports -format __ {{module}}{LOGIC}
rename -enumerate -pattern net_% {{module}}{LOGIC}/w:*
rename -enumerate -pattern cell_% {{module}}{LOGIC}/c:*
write_json netlist.json
select -module {{module}}{LOGIC}
write_verilog -noattr -noexpr -nohex -selected netlist.v
select -clear
design -reset
read_liberty -ignore_miss_func {{liberty}}
proc
write_json cells.json
"""
)
Json: TypeAlias = Mapping[str, Any]
_GATES: Mapping[str, Callable[..., int]] = {"$_AND_": and_, "$_OR_": or_, "$_XOR_": xor, "$_NOT_": invert}
_REGISTER = "$_DFF_P_"


@dataclass(frozen=True)
class Kind:
    """Function of a kind of cell.

    Args:
        name: name in the library.
        gates: its gates in topological order: the driven wire, the function, and its input wires. Wires at
            pins have the pins' names.
        outputs: its output pins; for a flip-flop, the pin of its uninverted state first.
        data: data pin of a flip-flop, sampled at the rising edge of ``clock``; None for logic.
        clock: clock pin of a flip-flop.
    """

    name: str
    gates: Sequence[tuple[str, Callable[..., int], Sequence[str]]]
    outputs: Sequence[str]
    data: str | None = None
    clock: str | None = None


@dataclass(frozen=True)
class Cell:
    """A cell of a netlist.

    Args:
        kind: its function.
        nets: the net at each pin.
    """

    name: str
    kind: Kind
    nets: Mapping[str, int]


@dataclass(frozen=True)
class Memory:
    """A memory beside the cells.

    Args:
        name: name in the RTL.
        entries: number of entries.
        bits: bits of an entry.
        read, write: nets that enable a read and a write; None if the memory has no such net.
    """

    name: str
    entries: int
    bits: int
    read: int | None
    write: int | None


@dataclass(frozen=True)
class Netlist:
    """A module in cells.

    Args:
        module: name of the module of cells, in ``verilog``.
        verilog: instances of cells.
        inputs: net of each input, except the clock, by the name of its bit in the RTL: ``held_3_`` is bit 3
            of ``held``.
        registers: the flip-flops; ``names`` has the name of each bit.
        logic: the other cells in topological order.
        memories: the memories of the module.
    """

    module: str
    verilog: str
    inputs: Mapping[str, int]
    registers: Sequence[Cell]
    names: Mapping[str, str]
    logic: Sequence[Cell]
    memories: Sequence[Memory]


def map_to_cells(verilog: str, module: str, liberty: Path) -> Netlist:
    """Map a module of any Verilog to a library's cells, as ``fiberscope.hw.rtl.tools.area.cells_of`` does.

    Args:
        verilog, module, liberty: as for ``cells_of``.

    Raises:
        HdlError: Yosys is missing or does not accept the Verilog or the library, or a cell is neither logic
            nor a rising-edge flip-flop without set and reset.
    """
    files = ("before.json", "netlist.json", "netlist.v", "cells.json")
    unmapped, design, text, library = run_yosys(verilog, module, _SCRIPT, files, liberty)
    renames = _explicit_names(json.loads(unmapped)["modules"][module])
    modules: Json = json.loads(design)["modules"]
    inner, top = modules[module + LOGIC], modules[module]
    models: Json = json.loads(library)["modules"]
    kinds = {kind: _kind(kind, models[kind]) for kind in {cell["type"] for cell in inner["cells"].values()}}
    cells = [
        Cell(name, kinds[cell["type"]], {pin: bits[0] for pin, bits in cell["connections"].items()})
        for name, cell in inner["cells"].items()
    ]
    registers = [cell for cell in cells if cell.kind.data is not None]
    return Netlist(
        module + LOGIC,
        text,
        _inputs(inner, renames),
        registers,
        _names(inner, registers, renames),
        _topological_order([cell for cell in cells if cell.kind.data is None]),
        _memories(top, inner, module + LOGIC),
    )


def _kind(name: str, model: Json) -> Kind:
    """Return a kind of cell, from the gates that Yosys reads in the library.

    Raises:
        HdlError: the cell has a gate that is neither simple logic nor a rising-edge flip-flop.
    """
    pins = {pin: port["bits"][0] for pin, port in model["ports"].items()}
    outputs = [pin for pin, port in model["ports"].items() if port["direction"] == "output"]
    wires = {bit: pin for pin, bit in pins.items() if pin not in outputs}
    gates = [(gate["type"], _ends(gate)) for gate in model["cells"].values()]
    state = next(
        (ends for kind, ends in gates if kind == _REGISTER and {ends["D"], ends["Q"]} <= {*pins.values()}),
        None,
    )
    if state is not None:
        outputs.sort(key=lambda pin: pins[pin] != state["Q"])
        twins = [
            ends
            for kind, ends in gates
            if kind == _REGISTER and (ends["D"], ends["C"]) == (state["D"], state["C"])
        ]
        wires.update((ends["Q"], outputs[0]) for ends in twins)  # Yosys reads IQ and IQN as a flip-flop each
        gates = [(kind, ends) for kind, ends in gates if ends not in twins]
    driven: dict[str, tuple[str, Callable[..., int], Sequence[str]]] = {
        pin: (pin, pos, (_wire(pins[pin], wires),)) for pin in outputs[state is not None :]
    }
    for kind, ends in gates:
        if kind not in _GATES:
            raise HdlError(f"the cell {name} is of a kind that cannot be followed ({kind})")
        target = _wire(ends.pop("Y"), wires)
        driven[target] = (target, _GATES[kind], tuple(_wire(bit, wires) for bit in ends.values()))
    order = TopologicalSorter({target: gate[2] for target, gate in driven.items()}).static_order()
    logic = [driven[wire] for wire in order if wire in driven]
    if state is None:
        return Kind(name, logic, outputs)
    return Kind(name, logic, outputs, wires[state["D"]], wires[state["C"]])


def _ends(gate: Json) -> dict[str, int | str]:
    """Return the wire at each pin of a single-bit gate."""
    return {pin: bits[0] for pin, bits in gate["connections"].items()}


def _wire(bit: int | str, wires: Mapping[int | str, str]) -> str:
    """Return the name of a wire in a cell: the name of its input pin, if any."""
    return wires.get(bit, f"wire {bit}")


def _inputs(inner: Json, renames: Mapping[str, str]) -> dict[str, int]:
    """Return the net of each input except the clock, by the name of its bit in the RTL."""
    return {
        renames.get(name, name): port["bits"][0]
        for name, port in inner["ports"].items()
        if port["direction"] == "input" and name != "clk"
    }


def _explicit_names(unmapped: Json) -> dict[str, str]:
    """Return an explicit name for each bit with several names, before names are removed."""
    bits = {
        name if len(net["bits"]) == 1 else f"{name}_{i}_": (bit, is_shown(name))
        for name, net in unmapped["netnames"].items()
        for i, bit in enumerate(net["bits"])
    }
    explicit = {bit: name for name, (bit, is_given) in bits.items() if is_given}
    return {name: explicit[bit] for name, (bit, is_given) in bits.items() if not is_given and bit in explicit}


def _names(inner: Json, registers: Sequence[Cell], renames: Mapping[str, str]) -> dict[str, str]:
    """Return the RTL name of each flip-flop."""
    nets = {cell.nets[cell.kind.outputs[0]]: cell.name for cell in registers}
    names: dict[str, str] = {}
    for name, net in inner["netnames"].items():
        cell = nets.get(net["bits"][0])
        if cell is not None and not name.startswith("net_"):
            names.setdefault(cell, renames.get(name, name))
    return names


def _topological_order(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells in topological order."""
    driver = {cell.nets[pin]: i for i, cell in enumerate(cells) for pin in cell.kind.outputs}
    needs = {
        i: [driver[net] for pin, net in cell.nets.items() if pin not in cell.kind.outputs and net in driver]
        for i, cell in enumerate(cells)
    }
    return [cells[i] for i in TopologicalSorter(needs).static_order()]


def _memories(top: Json, inner: Json, instance: str) -> list[Memory]:
    """Return the memories, with the outputs of the cells that enable them."""
    (cells,) = (cell for cell in top["cells"].values() if cell["type"] == instance)
    nets = {bits[0]: inner["ports"][port]["bits"][0] for port, bits in cells["connections"].items()}
    return [
        Memory(
            name,
            int(cell["parameters"]["SIZE"], 2),
            int(cell["parameters"]["WIDTH"], 2),
            nets.get(cell["connections"]["RD_EN"][0]),
            nets.get(cell["connections"]["WR_EN"][0]),
        )
        for name, cell in top["cells"].items()
        if cell["type"].startswith("$mem")
    ]
