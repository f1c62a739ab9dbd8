"""``fiberscope rtl power``: energy of a block or machine from cell toggles."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import MACHINE_WRONG, InputError
from fiberscope.base.progress import ignore_progress
from fiberscope.commands.completion import complete_accelerator, complete_matrix
from fiberscope.commands.options import Settings
from fiberscope.commands.output import print_stacked
from fiberscope.commands.progress import progress_display
from fiberscope.commands.rtl_options import Folder
from fiberscope.results.costs.netlists import LIBRARY
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_json
from fiberscope.rtl.select_block import condense_error, find_block, parse_parameters, rtl_blocks
from fiberscope.run.find_machine import is_machine

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.block import RtlBlock
    from fiberscope.rtl.cosim_request import CosimRequest

_Block = Annotated[
    str, typer.Argument(help="Block (a part of the accelerator, if one is given), or machine.")
]
_Accelerator = Annotated[
    str | None,
    typer.Argument(
        metavar="[ACCELERATOR]",
        help="Accelerator whose run is measured.",
        autocompletion=complete_accelerator,
    ),
]
_Operands = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[A [B]]",
        help="Operands: files, names from 'fiberscope list', or generators.",
        autocompletion=complete_matrix,
    ),
]
_Cells = Annotated[str, typer.Option(metavar="FILE", help=f"Cell library: a Liberty file, or {LIBRARY}.")]
_At = Annotated[str | None, typer.Option(metavar="NAME", help="Component to measure; the first by default.")]
_Simulator = Annotated[
    str, typer.Option("--sim", metavar="NAME", help="HDL simulator: auto, verilator or pyrtl.")
]
_Table = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Also write the energies (pJ) as CSV to this file; - prints only them."
    ),
]

_Json = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Also write the energies of a machine to this file; - prints only them."
    ),
]


def power(
    block: _Block,
    accelerator: _Accelerator = None,
    operands: _Operands = None,
    settings: Settings = None,
    at: _At = None,
    liberty: _Cells = LIBRARY,
    simulator: _Simulator = "auto",
    table: _Table = None,
    json: _Json = None,
    output: Folder = Path("build/power"),
) -> int:
    """Measure the energy of a block in a run, from cell toggles.

    Shows the energy of a cycle and of an event in pJ; an event is one count of a counter of the component.
    The run is that of 'fiberscope rtl loop' in lock-step. Without an accelerator, PyRTL runs the block alone
    on typical operands, and --set takes the block's own parameters. Yosys maps the RTL to cells, the values
    of registers and inputs in each cycle drive the cells, and OpenSTA adds up their energy. The energy of
    memories is estimated by a table.

    For a machine, measures all of its parts in a run of the machine as one module, in the machine's
    technology, and compares them with the machine's costs.yaml.

    \b
    Examples:
      fiberscope rtl power merger gamma uniform:rows=60,cols=60,nonzeros=300 --set pe.radix=8
      fiberscope rtl power bank gamma my.mtx --liberty my_cells.lib --table bank.csv
      fiberscope rtl power accumulator --set value_bits=8 --set sum_bits=16 --table adder.csv
    """
    # A block has precedence over an installed machine of the same name.
    measures_machine = is_machine(block) and block not in rtl_blocks()
    element = None if measures_machine else find_block(block)
    from fiberscope.hw.rtl.tools.activity import DifferentNetlistError

    try:
        if element is None:
            _refuse({"--liberty": liberty != LIBRARY, "--at": at, "--table": table}, block, "a block")
            # The words after a machine are its operands; typer has put the first in ``accelerator``.
            matrices = [*([] if accelerator is None else [accelerator]), *(operands or ())]
            _measure_machine(block, matrices, settings or (), simulator, json, output)
        else:
            _refuse({"--json": json}, block, "a machine")
            request = _build_cosim_request(block, accelerator, operands or (), settings or (), at)
            _measure_block(element, request, settings or (), liberty, simulator, table, output)
    except DifferentNetlistError as error:  # energies of cells that differ from the RTL mean nothing
        print(f"fiberscope: {error}", file=sys.stderr)
        return MACHINE_WRONG
    except InputError as error:
        raise condense_error(error, output) from error
    return 0


def _refuse(options: Mapping[str, object], name: str, kind: str) -> None:
    """Refuse options of the other kind of measurement.

    Args:
        options: a true value for each option that is given. A default that is given is not noticed.
        name: the block or machine of this measurement, for the message.
        kind: what the options are for.

    Raises:
        InputError: an option is given.
    """
    for option, value in options.items():
        if value:
            raise InputError(f"{name}: {option} is for {kind}")


def _measure_block(
    block: RtlBlock,
    request: CosimRequest | None,
    settings: Sequence[str],
    liberty: str,
    simulator: str,
    table: Path | None,
    output: Path,
) -> None:
    """Measure a block in a run or alone, write the requested CSV, and print a table unless CSV is printed.

    A block alone runs in PyRTL and writes nothing to ``output``. Its parameters are ``settings``; for a run,
    ``request`` has the settings.
    """
    from fiberscope.rtl.power import measure, measure_alone, print_power, write_rows

    inputs = {} if request is None else request.inputs
    # The name of a known library is no file, and is not checked.
    check_outputs({"the energies": table}, {**inputs, "the library of cells": Path(liberty)})
    if request is not None:
        measured = measure(request, simulator, liberty, output)
    else:
        measured = measure_alone(block.name, parse_parameters(block, settings), liberty)
    if table is not None:
        write_rows(measured, table)
    if table != STANDARD_OUTPUT:
        print_power(measured)


def _measure_machine(
    machine: str,
    operands: Sequence[str],
    settings: Sequence[str],
    simulator: str,
    json: Path | None,
    output: Path,
) -> None:
    """Measure the parts of a machine, write the requested JSON, and print a table unless JSON is printed."""
    from fiberscope.base.operand_arguments import select_a_and_b
    from fiberscope.rtl.cosim_request import CosimRequest
    from fiberscope.rtl.machine_power import machine_power_report, measure_machine, power_document
    from fiberscope.rtl.substitution import MACHINE

    if not operands:
        raise InputError(f"{machine}: name the matrix that it runs on")
    request = CosimRequest((MACHINE,), machine, *select_a_and_b(operands), settings=tuple(settings))
    check_outputs({"the powers": json}, request.inputs)
    with progress_display(quiet=False) as progress:
        measured = measure_machine(request, simulator, output, progress or ignore_progress)
    if json is not None:
        write_json(json, power_document(measured))
    if json != STANDARD_OUTPUT:
        print_stacked(*machine_power_report(measured))


def _build_cosim_request(
    block: str, accelerator: str | None, operands: Sequence[str], settings: Sequence[str], at: str | None
) -> CosimRequest | None:
    """Return the request of an accelerator's run; None for a block alone, without an accelerator.

    Raises:
        InputError: an accelerator has no operands.
    """
    from fiberscope.base.operand_arguments import select_a_and_b
    from fiberscope.rtl.cosim_request import CosimRequest

    if accelerator is None:
        return None
    if not operands:
        raise InputError(f"{accelerator}: name the matrix that it runs on, or leave out the accelerator too")
    components = () if at is None else (at,)
    return CosimRequest(
        (block,),
        accelerator,
        *select_a_and_b(operands),
        settings=tuple(settings),
        at=components,
        lock_step=True,
    )
