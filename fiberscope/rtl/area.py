"""The command ``fiberscope rtl area``: gates and cells of blocks, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from fiberscope.base.errors import InputError
from fiberscope.base.progress_bar import progress_display
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.sram import Macro, list_macros
from fiberscope.hw.rtl.tools.area import GATES, Area, Cells, cells_of, library, measure, require, version
from fiberscope.hw.rtl.tools.simulator import HdlError
from fiberscope.hw.rtl.tools.sram_table import ESTIMATED, estimate
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_json

SCHEMA = "fiberscope-area-1"

_MeasuredBlock = tuple[RtlBlock, Parameters, Area | Cells]
_NO_SRAM = {"SRAM\num2": "", "SRAM\nns": ""}


def show_area(
    selection: Sequence[tuple[RtlBlock, Parameters]], output: Path | None, liberty: str | None = None
) -> None:
    """Measure blocks and print a table.

    Args:
        selection: the blocks, each with its parameters.
        output: a JSON file that is written too; ``-`` prints JSON in place of the table.
        liberty: a cell library, by its file or a known name; None counts generic gates.

    Raises:
        InputError: Yosys or the library is missing, Yosys does not accept a block, or the file cannot be
            written or is the library.
    """
    check_outputs({"the areas": output}, {"the library of cells": None if liberty is None else Path(liberty)})
    try:
        cells = None if liberty is None else library(liberty)
        require()
        blocks = [
            (block, parameters, _measure(block, parameters, cells))
            for block, parameters in _with_progress(selection)
        ]
    except HdlError as error:
        raise InputError(str(error)) from error
    if output is not None:
        write_json(output, _document(blocks, cells))
    if output == STANDARD_OUTPUT:
        return
    console = Console(highlight=False, markup=False)
    for line in _common_parameters(blocks):
        console.print(line)
    console.print(_table(blocks))
    unit = "Generic gates" if cells is None else f"Cells of {cells.stem}, without wires"
    console.print(f"{unit}, by Yosys {version()}; memories are not among them.")
    if cells is not None and any(_macros(block, parameters) for block, parameters, _area in blocks):
        console.print(f"SRAM is no part of the cells' area, but {ESTIMATED}.")


def _measure(block: RtlBlock, parameters: Parameters, cells: Path | None) -> Area | Cells:
    if cells is None:
        return measure(block, parameters)
    return cells_of(block.verilog(parameters), block.interface(parameters).module, cells)


def _with_progress(selection: Sequence[tuple[RtlBlock, Parameters]]) -> Iterator[tuple[RtlBlock, Parameters]]:
    """Yield the same blocks, with a progress bar on a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield from selection
        return
    with progress_display(console) as display:
        bar = display.add_task("synthesizing", total=len(selection), rest="")
        for block, parameters in selection:
            display.update(bar, rest=block.name)
            yield block, parameters
            display.advance(bar)


def _varying_parameters(blocks: Sequence[_MeasuredBlock]) -> list[str]:
    """Return the parameters in which the rows of a block differ; none if the rows are of several blocks."""
    if len({block.name for block, _parameters, _area in blocks}) > 1:  # their parameters have other names
        return []
    rows = [asdict(parameters) for _block, parameters, _area in blocks]
    return [name for name in rows[0] if len({row[name] for row in rows}) > 1]


def _common_parameters(blocks: Sequence[_MeasuredBlock]) -> list[str]:
    """Return one line for each block with the parameters that are no column of the table."""
    varying = _varying_parameters(blocks)
    lines = [
        f"{block.name}: {' '.join(f'{k}={v}' for k, v in asdict(parameters).items() if k not in varying)}"
        for block, parameters, _area in blocks
    ]
    return list(dict.fromkeys(lines))  # the rows of a block have the same line


def _table(blocks: Sequence[_MeasuredBlock]) -> Table:
    """Return a table with one row for each block, or for each set of parameters of a single block."""
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    varying = _varying_parameters(blocks)
    if not varying:
        table.add_column("block", no_wrap=True)
    for name in varying:
        table.add_column(name.replace("_", "_\n"), justify="right", overflow="fold")
    numbers = [_numbers(area) for _block, _parameters, area in blocks]
    if isinstance(blocks[0][-1], Cells):
        srams = [_sram_numbers(_macros(block, parameters)) for block, parameters, _area in blocks]
        if any(srams):
            # Every row needs the columns, blank for a block without SRAM.
            numbers = [row | (sram or _NO_SRAM) for row, sram in zip(numbers, srams, strict=True)]
    for name in numbers[0]:
        table.add_column(name, justify="right", overflow="fold")  # digits are never truncated
    for (block, parameters, _area), row in zip(blocks, numbers, strict=True):
        head = [str(getattr(parameters, name)) for name in varying] or [block.name]
        table.add_row(*head, *row.values())
    return table


def _numbers(area: Area | Cells) -> dict[str, str]:
    """Return the numbers of a row by column."""
    if isinstance(area, Cells):
        return {
            "area um2": f"{area.area:,.0f}",
            "of flip-\nflops": f"{area.flip_flop_area:,.0f}",
            "memory\nbits": f"{area.memory_bits:,}",
            "path ns": f"{area.path_ns:.2f}",
            "MHz": f"{area.megahertz:,.0f}",
        }
    numbers = {"gates": area.gate_count} | {kind: area.gates.get(kind, 0) for kind in GATES}
    numbers |= {"flip-\nflops": area.flip_flops, "memory\nbits": area.memory_bits, "depth": area.depth}
    return {name: f"{number:,}" for name, number in numbers.items()}


def _macros(block: RtlBlock, parameters: Parameters) -> list[Macro]:
    """Return the synchronous memories. A memory that is read within the cycle of its address is no SRAM."""
    return list_macros(block.twin(parameters))


def _sram_numbers(macros: Sequence[Macro]) -> dict[str, str]:
    """Return the SRAM columns of a row: the total area, and the longest access time."""
    # An estimate is of the size in bytes and the bits of an access.
    estimates = [estimate(macro.total_bits / 8, macro.entry_bits) for macro in macros]
    if not estimates:
        return {}
    area, access = (sum(sram.area_um2 for sram in estimates), max(sram.access_ns for sram in estimates))
    return dict(zip(_NO_SRAM, (f"{area:,.0f}", f"{access:.2f}"), strict=True))


def _sram_document(macros: Sequence[Macro]) -> dict[str, Any]:
    """Return the SRAMs of a block for JSON."""
    return {
        "srams": [
            {**asdict(macro), **asdict(estimate(macro.total_bits / 8, macro.entry_bits)), "source": ESTIMATED}
            for macro in macros
        ]
    }


def _document(blocks: Sequence[_MeasuredBlock], cells: Path | None) -> Mapping[str, Any]:
    """Return the areas as plain data for JSON."""
    return {
        "schema": SCHEMA,
        "yosys": version(),
        **({} if cells is None else {"cells": cells.stem}),
        "blocks": [
            {
                "block": block.name,
                "parameters": asdict(parameters),
                **area.to_json(),
                **({} if cells is None else _sram_document(_macros(block, parameters))),
            }
            for block, parameters, area in blocks
        ],
    }
