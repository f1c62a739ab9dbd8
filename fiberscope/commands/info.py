"""``fiberscope info``: an accelerator with its parameters, or a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.commands.options import Settings
from fiberscope.commands.output import nonzeros, shape, wide_console
from fiberscope.errors import InputError
from fiberscope.report.table import ruled

if TYPE_CHECKING:
    from rich.console import Console

    from workloads import Entry

__all__ = ["info"]

_Name = Annotated[str, typer.Argument(help="An accelerator or a matrix.")]
_Draw = Annotated[bool, typer.Option("--draw", help="Draw the accelerator: its components and channels.")]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="The drawing; default NAME.svg.")
]


def info(name: _Name, draw: _Draw = False, output: _Output = None, settings: Settings = None) -> None:
    """Describe an accelerator or a matrix.

    Of an accelerator every parameter with its default, unit and source; of a matrix what the registry says.
    With --draw the accelerator as a picture (SVG), from its own composition, with --set also of another one.

    \b
    Examples:
      fiberscope info gamma
      fiberscope info wiki-Vote
      fiberscope info gamma --draw -o gamma.svg
    """
    import accelerators
    import workloads
    from workloads.errors import nearest

    machines = accelerators.names()
    if draw or output is not None or settings:
        _draw(name, output or Path(f"{name}.svg"), settings or [])
        return
    if name in machines or name.endswith(".py"):
        _show_parameters(accelerators.find(name).shipped, wide_console())
        return
    try:
        entry = workloads.lookup(name)
    except workloads.WorkloadError as error:
        known = [*machines, *workloads.names()]
        raise InputError(f"no accelerator or matrix is called {name}; {nearest(name, known)}") from error
    _show_matrix(entry, wide_console())


def _draw(name: str, output: Path, settings: list[str]) -> None:
    from accelerators.configuration import parse_settings
    from fiberscope.drawing.machine import drawn
    from fiberscope.report.files import STANDARD_OUTPUT, check_writable, write_text

    if output != STANDARD_OUTPUT:
        check_writable(output)
    write_text(output, drawn(name, parse_settings(settings)))
    if output != STANDARD_OUTPUT:
        print(f"Drawing: {output}")


def _show_parameters(shipped: Path, console: Console) -> None:
    """What the file of an accelerator's parameters says, first of the whole and then of each."""
    from rich.text import Text

    from accelerators.configuration import header, parameters, written

    for line in header(shipped):
        console.print(line, markup=False, soft_wrap=True)
    console.print()
    table = ruled("Parameter", "Default", "Meaning, unit and source")
    for parameter in parameters(shipped):
        table.add_row(parameter.key, Text(written(parameter.value)), Text(parameter.comment))
    console.print(table)


def _show_matrix(entry: Entry, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    rows = {
        "Name": entry.name,
        "Also called": ", ".join(entry.aliases),
        "Collection": f"{entry.collection} {entry.group or ''}".strip(),
        "Shape": shape(entry),
        "Nonzeros": nonzeros(entry),
        "Kind": entry.kind,
        "Address": entry.address or "",
        "Source": entry.source,
    }
    for label, text in rows.items():
        if text:
            table.add_row(label, Text(text))
    console.print(table)
