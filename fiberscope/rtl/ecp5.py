"""Synthesis, placement and routing of an exported folder for an ECP5 FPGA, by Yosys and nextpnr.

An FPGA has fewer pins than a block has ports. A harness therefore stands around the module: a shift register
drives all inputs, and registers capture all outputs, so that every path begins and ends at a register.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit.interface import Wire
from fiberscope.hw.rtl.kit.twin import bit_range
from fiberscope.hw.rtl.tools.programs import first_error, run_program
from fiberscope.hw.rtl.tools.simulator import HdlError
from fiberscope.results.report.files import read_text, write_text
from fiberscope.rtl.handover.module_text import module_ports

__all__ = ["DEVICE", "Ecp5Result", "find_program", "parse_results", "run_ecp5", "write_scripts"]

DEVICE = ("--85k", "--package", "CABGA756", "--speed", "6")  # LFE5U-85F, the largest; the slowest grade
DEVICE_LUTS = 83_640  # of this device
LUT_SITES = {
    "LUT4": 1,
    "CCU2C": 2,
    "TRELLIS_DPR16X4": 6,
}  # of each cell; a RAM of 16 x 4 bits has three slices
FLIP_FLOP, BLOCK_RAM, MULTIPLIER = "TRELLIS_FF", "DP16KD", "MULT18X18D"
_CLOCK = re.compile(r"create_clock -name (?P<name>\w+) -period (?P<ns>[\d.]+)")


@dataclass(frozen=True)
class Ecp5Result:
    """Utilisation of an ECP5 by a module, without the harness, and the clock after routing.

    Args:
        luts: sites of four-input LUTs, for logic, carries and LUT RAM.
        block_rams: block RAMs of 18 Kibit.
        multipliers: multipliers of 18 x 18 bits (DSP).
        megahertz: the clock that the slowest path allows, with wires; None if the device has too few LUTs.
    """

    luts: int
    flip_flops: int
    block_rams: int
    multipliers: int
    megahertz: float | None


def write_scripts(folder: Path) -> str:
    """Write the harness, the constraints and the script of Yosys into an exported folder.

    Args:
        folder: what ``fiberscope rtl export`` has written.

    Returns:
        The name with which the written files begin.

    Raises:
        InputError: the folder is not an exported one.
    """
    cores = sorted(folder.glob("*.core"))
    if len(cores) != 1:
        raise InputError(f"{folder}: {len(cores)} core files; one is in a folder of 'fiberscope rtl export'")
    try:
        core = yaml.safe_load(read_text(cores[0]))
        files, module = core["filesets"]["rtl"]["files"], core["targets"]["default"]["toplevel"]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise InputError(f"{cores[0]}: not a core file of 'fiberscope rtl export'") from error
    clock = _CLOCK.search(read_text(cores[0].with_suffix(".sdc")))
    if clock is None:
        raise InputError(f"{cores[0].with_suffix('.sdc')}: no create_clock -name ... -period ...")
    name = f"{cores[0].stem}_ecp5"
    ports = module_ports(read_text(folder / files[0]), module)
    write_text(folder / f"{name}.v", _harness(name, module, ports, clock["name"]))
    write_text(folder / f"{name}.lpf", f'FREQUENCY PORT "clk" {1000 / float(clock["ns"]):.3f} MHZ;\n')
    write_text(folder / f"{name}.ys", _script(name, module, files))
    return name


def _harness(name: str, module: str, ports: Sequence[Wire], clock: str) -> str:
    """Return a module with a pin each for the clock, the inputs and the outputs."""
    pins, widths = [f".{clock}(clk)"], {"input": 0, "output": 0}
    for port in ports:
        if port.name != clock:
            low = widths[port.direction]
            widths[port.direction] += port.width
            pins.append(f".{port.name}({port.direction}s[{low + port.width - 1}:{low}])")
    inputs, outputs = (bit_range(max(width, 2)) for width in widths.values())
    last = max(widths["output"], 2) - 1
    return f"""\
// Puts the module {module} between registers: a shift register at its inputs, and two ranks at its outputs.
module {name}(
    input clk,
    input serial_in,
    output serial_out
);
    reg {inputs}inputs;
    wire {outputs}outputs;
    reg {outputs}captured, collected;

    {module} dut (
        {f",{chr(10)}        ".join(pins)}
    );
    always @(posedge clk) begin
        inputs <= {{inputs, serial_in}};
        captured <= outputs;
        collected <= captured ^ {{collected, 1'b0}};
    end
    assign serial_out = collected[{last}];
endmodule
"""


def _script(name: str, module: str, files: Sequence[str]) -> str:
    return f"""\
# Yosys: synthesizes {module} and the harness, each for itself, and counts the cells of {module}.
read_verilog -sv {" ".join(files)}
hierarchy -check -top {module}
proc
flatten
read_verilog {name}.v
synth_ecp5 -top {name} -noflatten -json {name}.json
tee -q -o {name}_cells.json stat -json {module}
"""


def find_program(name: str) -> str:
    """Return the path of a program of YoWASP, or of one that the system has.

    Raises:
        HdlError: there is neither.
    """
    folders = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    if path := shutil.which(f"yowasp-{name}", path=folders) or shutil.which(name):
        return path
    raise HdlError(f"{name} is not installed: pip install 'fiberscope[ecp5]'")


def run_ecp5(folder: Path) -> Ecp5Result:
    """Synthesize, place and route an exported folder; logs and reports stay in it.

    Raises:
        InputError: the folder is not an exported one.
        HdlError: a tool is missing, or fails.
    """
    name = write_scripts(folder)
    yosys, nextpnr = find_program("yosys"), find_program("nextpnr-ecp5")
    _run([yosys, "-q", "-l", f"{name}_yosys.log", "-s", f"{name}.ys"], folder)
    cells = json.loads(read_text(folder / f"{name}_cells.json"))
    unplaced = parse_results(cells, None)
    if unplaced.luts > DEVICE_LUTS:
        return unplaced
    arguments = ["--json", f"{name}.json", "--lpf", f"{name}.lpf", "--lpf-allow-unconstrained"]
    arguments += ["--timing-allow-fail", "--seed", "1", "--report", f"{name}_report.json"]
    _run([nextpnr, *DEVICE, *arguments, "-q", "-l", f"{name}_nextpnr.log"], folder)
    return parse_results(cells, json.loads(read_text(folder / f"{name}_report.json")))


def _run(command: Sequence[str], folder: Path) -> None:
    outcome = run_program(command, folder)
    if outcome.returncode:
        error = first_error(outcome) or "no message"
        raise HdlError(f"{folder}: {Path(command[0]).name} failed: {error}")


def parse_results(cells: Mapping[str, Any], report: Mapping[str, Any] | None) -> Ecp5Result:
    """Read the numbers of a run.

    Args:
        cells: what ``stat -json`` of Yosys says of the module.
        report: what nextpnr reports (``--report``); None if it was not run.

    Raises:
        HdlError: nextpnr reports no clock, or several.
    """
    count = next(iter(cells["modules"].values()))["num_cells_by_type"]
    clocks = [entry["achieved"] for entry in report["fmax"].values()] if report else [None]
    if len(clocks) != 1:
        raise HdlError(f"nextpnr reports {len(clocks)} clocks, not one")
    return Ecp5Result(
        luts=sum(count.get(cell, 0) * sites for cell, sites in LUT_SITES.items()),
        flip_flops=count.get(FLIP_FLOP, 0),
        block_rams=count.get(BLOCK_RAM, 0),
        multipliers=count.get(MULTIPLIER, 0),
        megahertz=clocks[0],
    )
