"""A module in the cells of a library, cell by cell: what they compute, and the text that static timing reads.

Memories stay outside, with whatever reads and writes them; what is left are cells and the wires between.
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
from fiberscope.hw.rtl.tools.area import MAPPING, synthesized
from fiberscope.hw.rtl.tools.simulator import HdlError

__all__ = ["Cell", "Kind", "Memory", "Netlist", "mapped"]

LOGIC = "_logic"  # behind the module's name: the module of cells within it
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
        name: in the library.
        gates: what it consists of, each behind those that it needs: the wire that it drives, how it computes
            that, of which wires. Wires at pins are called as these.
        outputs: its pins that drive a net; of a flip-flop first that of its state, as it is.
        data: the pin that a flip-flop takes over at the rising edge of ``clock``, None if it is none.
        clock: another pin of a flip-flop.
    """

    name: str
    gates: Sequence[tuple[str, Callable[..., int], Sequence[str]]]
    outputs: Sequence[str]
    data: str | None = None
    clock: str | None = None


@dataclass(frozen=True)
class Cell:
    """A cell: its instance name, its kind, and the net at each pin."""

    name: str
    kind: Kind
    nets: Mapping[str, int]


@dataclass(frozen=True)
class Memory:
    """A memory beside the cells: its bits, and the nets that enable it to be read and written."""

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
        verilog: nothing but instances of cells.
        inputs: the net of each of its inputs that is one bit of the RTL, by the name of that: ``held_3_`` is
            bit 3 of ``held``. The clock is not among them.
        registers: the flip-flops, and ``names`` the name of the bit that each is.
        logic: the other cells, each behind those that drive it.
        memories: those that the module has.
    """

    module: str
    verilog: str
    inputs: Mapping[str, int]
    registers: Sequence[Cell]
    names: Mapping[str, str]
    logic: Sequence[Cell]
    memories: Sequence[Memory]


def mapped(verilog: str, module: str, liberty: Path) -> Netlist:
    """A module of any Verilog in a library's cells, as ``fiberscope.hw.rtl.tools.area.cells_of`` maps it.

    Raises:
        HdlError: if Yosys is missing or does not accept the Verilog or the library, or a kind of cell is used
            that is neither logic nor a flip-flop of the rising edge without set and reset.
    """
    files = ("before.json", "netlist.json", "netlist.v", "cells.json")
    before, design, text, library = synthesized(verilog, module, _SCRIPT, files, liberty)
    renames = _chosen_names(json.loads(before)["modules"][module])
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
        _ordered([cell for cell in cells if cell.kind.data is None]),
        _memories(top, inner, module + LOGIC),
    )


def _kind(name: str, model: Json) -> Kind:
    """A kind of cell, of the gates that Yosys reads in the library."""
    pins = {pin: port["bits"][0] for pin, port in model["ports"].items()}
    outputs = [pin for pin, port in model["ports"].items() if port["direction"] == "output"]
    wires = {bit: pin for pin, bit in pins.items() if pin not in outputs}
    gates = [(gate["type"], _ends(gate)) for gate in model["cells"].values()]
    state = next(
        (at for kind, at in gates if kind == _REGISTER and {at["D"], at["Q"]} <= {*pins.values()}), None
    )
    if state is not None:
        outputs.sort(key=lambda pin: pins[pin] != state["Q"])
        twins = [
            at for kind, at in gates if kind == _REGISTER and (at["D"], at["C"]) == (state["D"], state["C"])
        ]
        wires.update((at["Q"], outputs[0]) for at in twins)  # Yosys reads IQ and IQN as a flip-flop each
        gates = [(kind, at) for kind, at in gates if at not in twins]
    driven: dict[str, tuple[str, Callable[..., int], Sequence[str]]] = {
        pin: (pin, pos, (_wire(pins[pin], wires),)) for pin in outputs[state is not None :]
    }
    for kind, at in gates:
        if kind not in _GATES:
            raise HdlError(f"the cell {name} is of a kind that cannot be followed ({kind})")
        target = _wire(at.pop("Y"), wires)
        driven[target] = (target, _GATES[kind], tuple(_wire(bit, wires) for bit in at.values()))
    order = TopologicalSorter({target: gate[2] for target, gate in driven.items()}).static_order()
    logic = [driven[wire] for wire in order if wire in driven]
    if state is None:
        return Kind(name, logic, outputs)
    return Kind(name, logic, outputs, wires[state["D"]], wires[state["C"]])


def _ends(gate: Json) -> dict[str, int | str]:
    """The wire at each pin of a gate of one bit."""
    return {pin: bits[0] for pin, bits in gate["connections"].items()}


def _wire(bit: int | str, wires: Mapping[int | str, str]) -> str:
    """The name of a wire in a cell: that of the input pin at it, if there is one."""
    return wires.get(bit, f"wire {bit}")


def _inputs(inner: Json, renames: Mapping[str, str]) -> dict[str, int]:
    return {
        renames.get(name, name): port["bits"][0]
        for name, port in inner["ports"].items()
        if port["direction"] == "input" and name != "clk"
    }


def _chosen_names(before: Json) -> dict[str, str]:
    """For each bit that has several names one that somebody has given, while all of these are known."""
    bits = {
        name if len(net["bits"]) == 1 else f"{name}_{i}_": (bit, is_shown(name))
        for name, net in before["netnames"].items()
        for i, bit in enumerate(net["bits"])
    }
    shown = {bit: name for name, (bit, is_given) in bits.items() if is_given}
    return {name: shown[bit] for name, (bit, is_given) in bits.items() if not is_given and bit in shown}


def _names(inner: Json, registers: Sequence[Cell], renames: Mapping[str, str]) -> dict[str, str]:
    """The name in the RTL of each flip-flop."""
    nets = {cell.nets[cell.kind.outputs[0]]: cell.name for cell in registers}
    names: dict[str, str] = {}
    for name, net in inner["netnames"].items():
        cell = nets.get(net["bits"][0])
        if cell is not None and not name.startswith("net_"):
            names.setdefault(cell, renames.get(name, name))
    return names


def _ordered(cells: Sequence[Cell]) -> list[Cell]:
    """The cells, each behind those that drive it."""
    driver = {cell.nets[pin]: i for i, cell in enumerate(cells) for pin in cell.kind.outputs}
    needs = {
        i: [driver[net] for pin, net in cell.nets.items() if pin not in cell.kind.outputs and net in driver]
        for i, cell in enumerate(cells)
    }
    return [cells[i] for i in TopologicalSorter(needs).static_order()]


def _memories(top: Json, inner: Json, instance: str) -> list[Memory]:
    """The memories, and which outputs of the cells enable them."""
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
