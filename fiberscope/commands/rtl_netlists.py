"""``fiberscope rtl netlists``: areas of the RTL blocks that a machine's costs name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.completion import complete_accelerator
from fiberscope.commands.options import Settings
from fiberscope.commands.output import print_progress
from fiberscope.results.costs.netlists import LIBRARY

_Machines = Annotated[
    list[str],
    typer.Argument(
        metavar="MACHINE...", help="Machines: names or paths.", autocompletion=complete_accelerator
    ),
]
_Write = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Table to write; by default your own table in the cache.")
]
_Cells = Annotated[
    str, typer.Option(metavar="FILE", help="Cell library: the Liberty file of nangate45, or osu018.")
]


def netlists(
    machines: _Machines, settings: Settings = None, write: _Write = None, cells: _Cells = LIBRARY
) -> None:
    """Measure the areas of the RTL that costs.yaml of a machine names.

    Uses Yosys, and writes a table from which reports take their areas. An entry is measured again only if its
    Verilog or the cells have changed. A size that the RTL does not have follows from the law of its block.

    \b
    Examples:
      fiberscope rtl netlists gamma --set pe.radix=32
      fiberscope rtl netlists gamma --cells nangate45_typ.lib
    """
    from fiberscope.accelerators.configuration import parse_settings, values
    from fiberscope.results.costs.cost_file import read_cost_file
    from fiberscope.results.costs.laws import find_netlist_area
    from fiberscope.results.costs.netlists import user_table
    from fiberscope.results.costs.prices import netlist_calls
    from fiberscope.rtl.select_block import rtl_blocks
    from fiberscope.run.configure import resolve_run
    from fiberscope.run.find_machine import find

    rtl_blocks()  # raises an error without the extra, which the next import needs
    from fiberscope.rtl.netlists import Module, parse_call, update_table

    # By call, so that a block that several machines use is measured once
    modules: dict[str, Module] = {}
    for machine in machines:
        accelerator = find(machine)
        if not accelerator.costs_file.is_file():
            raise InputError(f"{machine}: it has no {accelerator.costs_file}, which lists what is measured")
        configured = resolve_run(accelerator, parse_settings(settings or []), None).configured
        for call in netlist_calls(read_cost_file(accelerator.costs_file), values(configured)):
            try:
                modules[call] = parse_call(call, machine)
            except InputError:  # no RTL of this size; the law of the block may give the area
                area = find_netlist_area(call)
                # Neither measured nor by a law: the first error names the reason
                if area is None:
                    raise
                print(f"{area.um2:>14,.0f} um2  {call}: {area.source}")
    for row in update_table(modules.values(), write or user_table(), print_progress, cells):
        print(f"{row.um2:>14,.0f} um2  {row.call}")
