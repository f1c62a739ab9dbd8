"""``fiberscope rtl``: blocks as RTL: listed, exported, measured and co-simulated.

The module is imported for ``--help``. Heavy modules and extras are therefore imported within functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.accelerators import names
from fiberscope.base.errors import InputError
from fiberscope.commands.group import Group
from fiberscope.commands.option_groups import expand_groups
from fiberscope.commands.options import Accelerator, Operands, Parts, Settings
from fiberscope.commands.rtl_area import measure_machine_area
from fiberscope.commands.rtl_bench import bench
from fiberscope.commands.rtl_export import check_wrappers, export_block, write_verilog
from fiberscope.commands.rtl_instance import export_instance
from fiberscope.commands.rtl_line_coverage import print_line_coverage, select_simulator
from fiberscope.commands.rtl_machine import export_machine
from fiberscope.commands.rtl_netlists import netlists
from fiberscope.commands.rtl_options import (
    BlockSettings,
    CoverageFile,
    Folder,
    Formal,
    Level,
    LineCoverageFile,
    Period,
    Points,
    Ports,
    Simulator,
    SramWrappers,
    Stage,
    Status,
    ValueBits,
)
from fiberscope.commands.rtl_outcome import print_coverage, print_outcome, show_files
from fiberscope.commands.rtl_power import power
from fiberscope.commands.rtl_prove import prove
from fiberscope.commands.run_options import WaveformOptions
from fiberscope.results.report.files import check_outputs
from fiberscope.rtl.select_block import condense_error, find_block, input_errors, parse_parameters, rtl_blocks
from fiberscope.run.find_machine import find_specification, is_machine

if TYPE_CHECKING:
    from fiberscope.results.recording.waveform import Waveform
    from fiberscope.rtl.cosim_request import CosimRequest

rtl = Group()

_Block = Annotated[str, typer.Argument(help="Block: a name from 'fiberscope rtl list'.")]
_UserMachine = Annotated[
    str, typer.Argument(metavar="[MACHINE]", help="Folder of your own machine, if the block is its part.")
]
_BlockOrMachine = Annotated[
    str, typer.Argument(metavar="BLOCK", help="Block, machine, or specification (with --level).")
]
_Tensors = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[[NAME=]TENSOR]...", help="Tensors of a machine; small random tensors by default."
    ),
]
_AnyBlock = Annotated[
    str | None, typer.Argument(help="Block or machine; by default every block with its default parameters.")
]
_SizingMatrix = Annotated[
    str, typer.Argument(metavar="[MATRIX]", help="Matrix for a machine, which sizes some of its parts.")
]
_Parts = Annotated[
    list[str] | None,
    typer.Option("--part", metavar="NAME", help="Measure only this kind of part of a machine; repeatable."),
]
_SettingLists = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=NUMBER[,...]",
        help="Set a parameter; for a block, several values are each measured; repeatable.",
    ),
]
_At = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Replace this component, or all; the first by default; repeatable."),
]
_Blocks = Annotated[
    str,
    typer.Argument(
        help="Blocks to run as RTL: merger, or merger,bank; all (a module for each); machine (one module)."
    ),
]
_Verilog = Annotated[
    list[str] | None, typer.Option(metavar="FILE", help="Use this Verilog file of your own; repeatable.")
]
_Module = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the module in --verilog; BLOCK by default.")
]
_LockStep = Annotated[
    bool, typer.Option("--lock-step", help="Advance the RTL by one cycle in every cycle of the machine.")
]
_Json = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write the numbers to this file; - prints only them.")
]
_Liberty = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Count in the cells of this library: a Liberty file, or osu018."),
]


@rtl.callback(invoke_without_command=True)
def _top(context: typer.Context) -> None:
    """Write, simulate and measure blocks and machines as RTL.

    \b
    Examples:
      fiberscope rtl list
      fiberscope rtl export merger --set radix=64 -o build/
      fiberscope rtl area merger --set radix=8
      fiberscope rtl power merger gamma uniform:rows=60,cols=60,nonzeros=300
      fiberscope rtl loop merger gamma uniform:rows=60,cols=60,nonzeros=300
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@rtl.command(name="list")
def list_() -> None:
    """List the blocks that exist as RTL, with their parameters."""
    blocks = rtl_blocks()
    from fiberscope.hw.rtl.kit.parameters import described

    for block in blocks.values():
        print(f"{block.name:<12} {block.summary}")
        for line in described(block.parameters):
            print(f"{'':<12} {line}")


@rtl.command()
def export(
    block: _BlockOrMachine,
    tensors: _Tensors = None,
    settings: BlockSettings = None,
    level: Level = None,
    stage: Stage = "",
    value_bits: ValueBits = 32,
    points: Points = 64,
    simulator: Simulator = "pyrtl",
    output: Folder = Path("build"),
    ports: Ports = "plain",
    status: Status = False,
    period: Period = None,
    formal: Formal = False,
    sram_wrappers: SramWrappers = False,
) -> int:
    """Write a block, an instance or a machine as Verilog.

    Writes BLOCK.v, and beside it README.md, a list of files, constraints (SDC, XDC) and a FuseSoC core file.
    The same parameters give the same text, byte for byte. With registered or axis ports, each output has a
    channel of two tokens behind it; axis uses the names of AXI4-Stream. Checked ports are registered, and
    stop a simulation in which an offered token changes or disappears before it is taken.
    --status adds outputs for counters; --sram-wrappers writes a module for each memory that an SRAM can be.

    A machine is written as one module without its memory, with AXI4 ports for memory, a list of files, and a
    cocotb bench with its data. Its internal memories are as large as the product of A needs.

    For a specification, the first instance of a level is written, with the contents of its memories and the
    tokens at its ports in a run with ideal memory. The module is then run and compared with the machine.

    \b
    Examples:
      fiberscope rtl export merger --set radix=64 -o build/
      fiberscope rtl export two_finger --ports checked --clock-ns 2.5
      fiberscope rtl export merger --set radix=4 --ports axis
      fiberscope rtl export divider --set width=4 --formal -o build/
      fiberscope rtl export spec:gamma --level pe --set pe.radix=8 -o pe/
      fiberscope rtl export gamma my.mtx --set pe.count=2 --set fibercache.banks=2 --set value=integer
    """
    check_wrappers(block, sram_wrappers)
    if find_specification(block):
        options: dict[str, Any] = {"value_bits": value_bits, "points": points, "period": period}
        return export_instance(block, level, stage, tensors, settings, simulator, output, **options)
    if block in names() and level is None:
        return export_machine(block, tensors, settings, output, period=period)
    if level is not None or tensors or stage:
        raise InputError(f"{block} is a block; --level, --stage and tensors are for a specification")
    kinds = {"formal": formal, "sram_wrappers": sram_wrappers}
    export_block(find_block(block), settings or [], output, ports, status=status, period=period, **kinds)
    return 0


@rtl.command()
def shell(
    block: _Block, machine: _UserMachine = "", settings: BlockSettings = None, output: Folder = Path("build")
) -> None:
    """Write an empty module with a block's ports, as BLOCK.v.

    In a bench, the event model of the block runs behind these ports.

    \b
    Example:
      fiberscope rtl shell merger --set radix=4 -o build/
    """
    chosen = find_block(block, machine)
    from fiberscope.hw.rtl.kit.contract import contract
    from fiberscope.hw.rtl.kit.model import port_module
    from fiberscope.hw.rtl.kit.registered import registered

    parameters = parse_parameters(chosen, settings or [])
    with input_errors():
        # A bench puts a channel at each port, so the shell has the ports of the block with its channels.
        ports = registered(chosen, inputs=True).interface(parameters)
    write_verilog(chosen, contract(ports, registered=True) + "\n" + port_module(ports), output)


@rtl.command()
def area(
    block: _AnyBlock = None,
    matrix: _SizingMatrix = "uniform:rows=30,cols=30,nonzeros=90",
    settings: _SettingLists = None,
    liberty: _Liberty = None,
    json: _Json = None,
    parts: _Parts = None,
) -> None:
    """Measure the area and longest path of blocks, with Yosys.

    For a block: counts gates, flip-flops, bits and the depth of logic. With a cell library: the area in
    square micrometres and the longest path in ns. For a machine: the sum over all parts that exist as RTL, in
    cells (osu018, or those of nangate45) scaled to the machine's technology, and the clock that the slowest
    part allows. Measurements are kept in the table of 'fiberscope rtl netlists'.

    \b
    Examples:
      fiberscope rtl area merger --set radix=2,8,64
      fiberscope rtl area gamma --set pe.count=2 --set pe.radix=8 --part pe.merger
      fiberscope rtl area merger --liberty my_cells.lib
      fiberscope rtl area --json areas.json
    """
    if block is None and settings:
        raise InputError(f"--set {settings[0]}: name the block, as in fiberscope rtl area merger")
    # A block has precedence over an installed machine of the same name.
    if block is not None and is_machine(block) and block not in rtl_blocks():
        measure_machine_area(block, matrix, settings or [], parts or [], json, liberty)
        return
    chosen = list(rtl_blocks().values()) if block is None else [find_block(block)]
    from fiberscope.hw.rtl.kit.parameters import combinations
    from fiberscope.rtl.area import show_area

    with input_errors():
        measured = [
            (element, parameters)
            for element in chosen
            for parameters in combinations(element.name, element.parameters, settings or [])
        ]
    show_area(measured, json, liberty)


@rtl.command()
@expand_groups()
def loop(
    context: typer.Context,
    blocks: _Blocks,
    accelerator: Accelerator,
    operands: Operands,
    waves: WaveformOptions,
    settings: Settings = None,
    part: Parts = None,
    at: _At = None,
    verilog: _Verilog = None,
    module: _Module = None,
    simulator: Simulator = "auto",
    lock_step: _LockStep = False,
    output: Folder = Path("build/loop"),
    coverage: CoverageFile = None,
    line_coverage: LineCoverageFile = None,
) -> int:
    """Run an accelerator with RTL in place of components, and compare.

    Runs the machine with and without the RTL, in an HDL simulator, and compares the whole reports.

    \b
    Examples:
      fiberscope rtl loop merger gamma uniform:rows=60,cols=60,nonzeros=300
      fiberscope rtl loop merger gamma my.mtx --set pe.radix=8 --at gamma.pe01.merger
      fiberscope rtl loop merger,bank gamma uniform:rows=60,cols=60,nonzeros=300
      fiberscope rtl loop merger gamma my.mtx --verilog mine.v --module my_merger
      fiberscope rtl loop bank gamma my.mtx --part merger=my_blocks.py:SlowMerger
      fiberscope rtl loop merger gamma my.mtx --vcd loop.vcd --vcd-scope pe00
    """
    request = make_request(context.params, waves.waveform())
    simulator = select_simulator(simulator, line_coverage, request.inputs)
    code = print_comparison(request, simulator, output, coverage)
    print_line_coverage(output, line_coverage)
    return code


def print_comparison(
    request: CosimRequest, simulator: str, output: Path, coverage: Path | None = None
) -> int:
    """Run a machine with and without RTL, and print the comparison; return the exit code.

    Args:
        request: the run.
        simulator: see ``fiberscope.rtl.cosimulation.cosimulate``.
        output: folder of Verilog, logs and the report of the run with RTL.
        coverage: a JSON file for the events at the ports, which are also printed; ``-`` only prints them.

    Raises:
        InputError: an error that the user can correct. If the error has several lines, ``output`` gets a log.
        FailedRunError: the machine failed, with or without RTL.
        KeyboardInterrupt: one of the runs was interrupted.
    """
    from fiberscope.rtl.cosimulation import FailedCosimulationError, cosimulate

    try:
        outcome = cosimulate(request, simulator, output)
    except InputError as error:
        raise condense_error(error, output) from error
    except FailedCosimulationError as failed:
        show_files(failed.files)  # the logs and the waveform that show the failure
        raise
    name, instances = outcome.component.workload.name, ", ".join(outcome.instance_names)
    print(f"{request.accelerator} on {name}, RTL in {outcome.simulator} at {instances}")
    code = print_outcome(outcome)
    if coverage is not None:
        print_coverage(outcome, coverage)
    return code


def make_request(options: Mapping[str, Any], waveform: Waveform | None) -> CosimRequest:
    """Return the request of ``loop`` or of a conversion with RTL, after a check of its outputs.

    Args:
        options: values of the options of ``loop`` by parameter. Only ``blocks``, ``accelerator``,
            ``operands`` and ``settings`` are required.
        waveform: the waveform to record, if any.

    Raises:
        InputError: the request is invalid, or an output cannot be written.
        ConfigurationError: there is no such machine.
    """
    names = tuple(dict.fromkeys(options["blocks"].split(",")))  # each block once, in the order given
    from fiberscope.base.operand_arguments import select_a_and_b
    from fiberscope.results.recording.waveform import list_files
    from fiberscope.rtl.cosim_request import CosimRequest, verilog_files

    request = CosimRequest(
        names,
        options["accelerator"],
        *select_a_and_b(options["operands"]),
        settings=tuple(options["settings"] or ()),
        at=tuple(options.get("at") or ()),
        # Without --verilog, a specification may name Verilog for its parts.
        sources=tuple(options.get("verilog") or ()) or verilog_files(options["accelerator"], names),
        module=options.get("module"),
        lock_step=options.get("lock_step", False),
        coverage=options.get("coverage") is not None,
        line_coverage=options.get("line_coverage") is not None,
        waveform=waveform,
        part_texts=tuple(options.get("part") or ()),
    )
    request.parts  # noqa: B018  (refused here, before anything is written)
    if waveform is not None:
        check_outputs(list_files(waveform.path), request.inputs)
    if request.coverage:
        check_outputs({"the coverage": options["coverage"]}, request.inputs)
    return request


rtl.command()(power)
rtl.command()(bench)
rtl.command()(netlists)
rtl.command()(prove)
