"""``fiberscope rtl power``: what the options are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fiberscope.commands.options import Accelerator, Matrix, SecondMatrix, Settings
from fiberscope.errors import MACHINE_WRONG, InputError
from fiberscope.report.files import check_outputs
from fiberscope.rtl.choice import in_one_line, named
from fiberscope.rtl.options import Folder

__all__ = ["power"]

_Block = Annotated[str, typer.Argument(help="Name of a block that is a part of the accelerator.")]
_Cells = Annotated[str, typer.Option(metavar="FILE", help="The library's cells: a Liberty file, or osu018.")]
_At = Annotated[str | None, typer.Option(metavar="NAME", help="The component; the first by default.")]
_Simulator = Annotated[str, typer.Option("--sim", metavar="NAME", help="verilator or pyrtl (none).")]
_Table = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the energies as CSV; - for the terminal alone.")
]


def power(
    block: _Block,
    accelerator: Accelerator,
    matrix: Matrix,
    b: SecondMatrix = None,
    settings: Settings = None,
    at: _At = None,
    liberty: _Cells = "osu018",
    simulator: _Simulator = "verilator",
    table: _Table = None,
    output: Folder = Path("build/power"),
) -> int:
    """Energy of a block in an accelerator's run, by the toggles of its cells: a cycle's, and an event's.

    The run is that of 'fiberscope rtl loop', in lock-step. What registers and inputs of the RTL hold in each
    cycle goes through the cells that Yosys maps it to; OpenSTA adds up what they take. An event is a count of
    one of the component's counters. Memories are no cells: theirs is estimated by a table.

    \b
    Examples:
      fiberscope rtl power merger gamma uniform:rows=60,cols=60,nonzeros=300 --set pe.radix=8
      fiberscope rtl power bank gamma my.mtx --liberty my_cells.lib --table bank.csv
    """
    named(block)
    from fiberscope.rtl.loop import Loop
    from fiberscope.rtl.power import measure, said, written
    from hw.rtl.tools.activity import DifferentNetlistError

    order = Loop(
        (block,),
        accelerator,
        matrix,
        b,
        settings=tuple(settings or ()),
        at=() if at is None else (at,),
        lock_step=True,
    )
    check_outputs({"the energies": table}, {**order.inputs, "the library of cells": Path(liberty)})
    try:
        measured = measure(order, simulator, liberty, output)
    except DifferentNetlistError as error:
        print(f"fiberscope: {error}", file=sys.stderr)
        return MACHINE_WRONG
    except InputError as error:
        raise in_one_line(error) from error
    if table is not None:
        written(measured, table)
    if str(table) != "-":
        said(measured)
    return 0
