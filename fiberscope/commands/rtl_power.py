"""``fiberscope rtl power``: what the options are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.commands.completion import complete_accelerator, complete_matrix
from fiberscope.commands.options import Settings
from fiberscope.commands.rtl_options import Folder
from fiberscope.errors import MACHINE_WRONG, InputError
from fiberscope.report.files import check_outputs
from fiberscope.rtl.choice import in_one_line, named, one_line

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.block import RtlBlock
    from fiberscope.hw.rtl.kit.parameters import Parameters
    from fiberscope.rtl.order import Loop

__all__ = ["power"]

_Block = Annotated[str, typer.Argument(help="Name of a block, a part of the accelerator if there is one.")]
_Accelerator = Annotated[
    str | None,
    typer.Argument(
        metavar="[ACCELERATOR]", help="Name of the accelerator.", autocompletion=complete_accelerator
    ),
]
_Operands = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[A [B]]", help="Files, known names, or generators.", autocompletion=complete_matrix
    ),
]
_Cells = Annotated[str, typer.Option(metavar="FILE", help="The library's cells: a Liberty file, or osu018.")]
_At = Annotated[str | None, typer.Option(metavar="NAME", help="The component; the first by default.")]
_Simulator = Annotated[str, typer.Option("--sim", metavar="NAME", help="verilator or pyrtl (none).")]
_Table = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the energies as CSV; - for the terminal alone.")
]


def power(
    block: _Block,
    accelerator: _Accelerator = None,
    operands: _Operands = None,
    settings: Settings = None,
    at: _At = None,
    liberty: _Cells = "osu018",
    simulator: _Simulator = "verilator",
    table: _Table = None,
    output: Folder = Path("build/power"),
) -> int:
    """Energy of a block in a run, by the toggles of its cells.

    A cycle's, and an event's. The run is that of 'fiberscope rtl loop', in lock-step; without an
    accelerator, one of the block alone on usual operands (--set then has the block's own parameters;
    PyRTL runs it). What registers and inputs of the RTL hold in each cycle goes through the cells that
    Yosys maps it to; OpenSTA adds up what they take. An event is a count of one of the component's
    counters. Memories are no cells: theirs is estimated by a table.

    \b
    Examples:
      fiberscope rtl power merger gamma uniform:rows=60,cols=60,nonzeros=300 --set pe.radix=8
      fiberscope rtl power bank gamma my.mtx --liberty my_cells.lib --table bank.csv
      fiberscope rtl power accumulator --set value_bits=8 --set sum_bits=16 --table adder.csv
    """
    made = named(block)
    from fiberscope.hw.rtl.tools.activity import DifferentNetlistError
    from fiberscope.rtl.power import measure, measure_alone, said, written

    order = _order(block, accelerator, operands or (), settings or (), at)
    inputs = {} if order is None else order.inputs
    check_outputs({"the energies": table}, {**inputs, "the library of cells": Path(liberty)})
    try:
        if order is not None:
            measured = measure(order, simulator, liberty, output)
        else:
            measured = measure_alone(block, _parameters(made, settings or ()), liberty)
    except DifferentNetlistError as error:
        print(f"fiberscope: {error}", file=sys.stderr)
        return MACHINE_WRONG
    except InputError as error:
        raise in_one_line(error, output) from error
    if table is not None:
        written(measured, table)
    if str(table) != "-":
        said(measured)
    return 0


def _order(
    block: str,
    accelerator: str | None,
    operands: Sequence[str],
    settings: Sequence[str],
    at: str | None,
) -> Loop | None:
    """The run of an accelerator that is asked for, None if the block is to run alone."""
    from fiberscope.rtl.order import Loop
    from fiberscope.words import a_and_b

    if accelerator is None:
        return None
    if not operands:
        raise InputError(f"{accelerator}: say on which matrix it runs, or leave it out too")
    places = () if at is None else (at,)
    return Loop(
        (block,), accelerator, *a_and_b(operands), settings=tuple(settings), at=places, lock_step=True
    )


def _parameters(block: RtlBlock, settings: Sequence[str]) -> Parameters:
    """The block's own."""
    from fiberscope.hw.rtl.kit.parameters import parse

    with one_line():
        return parse(block.name, block.parameters, settings)
