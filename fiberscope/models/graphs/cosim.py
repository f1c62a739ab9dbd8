"""Cosimulation of a graph: export as Verilog, lint, run against the event model, and measure the area."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit.wrapper import Part
from fiberscope.hw.rtl.tools.area import Area, measure
from fiberscope.hw.rtl.tools.hdl import Bench, choose, find, run
from fiberscope.hw.rtl.tools.lint import WAIVERS, Waiver, lint
from fiberscope.models.graphs.execution import graph_settings, prepare
from fiberscope.models.graphs.gv_writer import write_gv
from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.transcript import machine_transcript
from fiberscope.models.graphs.verilog import (
    GraphVerilog,
    build_machine,
    build_verilog,
    strip_machine,
    to_module_name,
    write_verilog,
)
from fiberscope.results.report.files import make_folder
from fiberscope.results.report.table import Table

GRAPH_WAIVERS = (
    *WAIVERS,
    Waiver("DECLFILENAME", "*does not match MODULE name: 'graph_*", "the file is called as its graph"),
    *(
        Waiver(
            "UNUSEDSIGNAL", f"Signal is not used: '{port}'*", "a fork of no consumers takes every token away"
        )
        for port in ("in_valid", "in_control", "in_payload", "in_value")
    ),
    Waiver("UNUSEDSIGNAL", "Signal is not used: 'in_val_0_value'*", "a take copies its other operand"),
    Waiver("PINCONNECTEMPTY", "*empty reference: '*_absent'*", "not every reader of a value may lack it"),
)


@dataclass(frozen=True)
class CosimulationResult:
    """Result of a cosimulation in which the module moved every token in the same cycle as the event model.

    Args:
        verilog: Verilog of the graph.
        cycles: cycles of the run.
        tokens: number of tokens without those of roots, which the test bench itself sends.
        files: paths of the written files.
        simulator: name of the HDL simulator.
    """

    verilog: GraphVerilog
    cycles: int
    tokens: int
    files: tuple[Path, ...]
    simulator: str


def cosimulate(
    name: str,
    graph: Graph,
    tensors: Mapping[str, str],
    settings: Mapping[str, object],
    *,
    value_bits: int,
    points: int,
    simulator: str,
    folder: Path,
) -> CosimulationResult:
    """Export a graph, lint the module, and compare its run in an HDL simulator with the event model.

    Args:
        name: stem of the file names.
        graph: a graph whose blocks have twins.
        tensors: operands as on the command line; the test bench loads them again in another process.
        settings: parameters of the run, by key.
        value_bits: bits of every value.
        points: capacity of an accumulator in points.
        simulator: ``icarus``, ``verilator``, or ``auto`` for the first that is installed.
        folder: folder of all written files.

    Raises:
        InputError: the graph has no Verilog, a tensor cannot be loaded, or an accumulator is too small.
        FailedBenchError: a token differs, or moves in another cycle.
        HdlError: a tool is missing, or reports an error.
    """
    machine = build_machine(prepare(graph, tensors), graph_settings(settings))
    hardware, module = build_verilog(machine, to_module_name(name), value_bits, points), to_module_name(name)
    simulator = find(choose(simulator)).name
    make_folder(folder)
    file = folder / f"{name}.gv"
    write_gv(graph, file)
    files = (file, *write_verilog(hardware, name, folder))
    lint(files[1], module, folder, GRAPH_WAIVERS)
    # this runs the event model: the occupancy of the accumulators is known only after a run
    transcript = machine_transcript(machine)
    _check_places(machine, points)
    tokens = sum(len(stream) for name, stream in transcript.items() if ".root" not in name)
    order: dict[str, object] = {
        "graph": str(file.resolve()),
        "tensors": {tensor: _resolve_operand(operand) for tensor, operand in tensors.items()},
        "settings": dict(settings),
    }
    order |= {"module": module, "value_bits": value_bits, "points": points, "tokens": tokens}
    ports = hardware.composition.without_status().interface()
    bench = Bench((files[1],), module, (ports,), "fiberscope.models.graphs.bench", order, folder / "bench")
    run(bench, simulator)
    return CosimulationResult(hardware, machine.kernel.cycle, tokens, files, simulator)


def _resolve_operand(operand: str) -> str:
    """Return the absolute path of an operand that is a file or a folder; other operands stay as they are."""
    return str(Path(operand).resolve()) if Path(operand).exists() else operand


def _check_places(machine: GraphMachine, points: int) -> None:
    """Refuse a capacity of accumulators below the largest occupancy in the event model."""
    for block in machine.blocks.values():
        most_points = block.counters().get("most_held", 0)
        if most_points > points:
            raise InputError(
                f"{strip_machine(block)} holds {most_points} points at once and has places for {points}; "
                f"--points {most_points} gives it as many"
            )


def build_area_table(verilog: GraphVerilog) -> Table:
    """Return a table of the area of each block without channels; equal blocks share a row.

    Raises:
        HdlError: Yosys is missing, or does not accept the Verilog of a block.
    """
    names: dict[Part, list[str]] = {}
    for name in verilog.names:
        names.setdefault(verilog.composition.parts[name], []).append(name)
    # a synthesis for each distinct part; the totals below count every instance
    areas = {part: measure(part.block, part.parameters) for part in names}
    table = Table("Area by block", ("block", "gates", "flip-flops", "memory bits", "depth"))
    for part in sorted(areas, key=lambda part: -areas[part].gate_count):
        same_parts = f" (each of {len(names[part])})" if len(names[part]) > 1 else ""
        depth = str(areas[part].depth)
        table.add(
            f"{', '.join(names[part])}{same_parts}", *map(_group_digits, _list_sizes(areas[part])), depth
        )
    sizes = [_list_sizes(areas[part]) for part, same_parts in names.items() for _name in same_parts]
    table.add("all blocks", *(_group_digits(sum(column)) for column in zip(*sizes, strict=True)), "")
    return table


def _list_sizes(area: Area) -> tuple[int, int, int]:
    return area.gate_count, area.flip_flops, area.memory_bits


def _group_digits(number: int) -> str:
    return f"{number:,}"
