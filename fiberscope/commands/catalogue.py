"""``fiberscope list`` and ``fiberscope info``: what there is to simulate, and on what."""

from __future__ import annotations

from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import accelerators
import workloads
from accelerators.configuration import header, parameters, written
from fiberscope.errors import InputError
from workloads.errors import nearest

__all__ = ["show_all", "show_one"]

PIPE_WIDTH = 200


def show_all() -> None:
    """Print all accelerators and all matrices known by name."""
    console = _console()
    machines = _table("Accelerator", "What it is")
    for name in accelerators.names():
        machines.add_row(name, accelerators.find(name).summary)
    console.print(machines)
    console.print()
    matrices = _table("Matrix", "Shape", "Nonzeros", "Kind")
    for entry in workloads.entries():
        if entry.is_matrix:
            matrices.add_row(entry.name, _shape(entry), _nonzeros(entry), entry.kind)
    console.print(matrices)


def show_one(name: str) -> None:
    """Print what is known of an accelerator or a matrix.

    Raises:
        InputError: there is none of this name.
    """
    console = _console()
    machines = accelerators.names()
    if name in machines:
        for line in header(accelerators.find(name).shipped):
            console.print(line, markup=False, soft_wrap=True)
        console.print()
        console.print(_accelerator(name))
        return
    try:
        entry = workloads.lookup(name)
    except workloads.WorkloadError as error:
        known = [*machines, *workloads.names()]
        raise InputError(f"no accelerator or matrix is called {name}; {nearest(name, known)}") from error
    console.print(_matrix(entry))


def _accelerator(name: str) -> Table:
    table = _table("Parameter", "Default", "Meaning, unit and source")
    for parameter in parameters(accelerators.find(name).shipped):
        table.add_row(parameter.key, Text(written(parameter.value)), Text(parameter.comment))
    return table


def _matrix(entry: workloads.Entry) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    rows = {
        "Name": entry.name,
        "Also called": ", ".join(entry.aliases),
        "Collection": f"{entry.collection} {entry.group or ''}".strip(),
        "Shape": _shape(entry),
        "Nonzeros": _nonzeros(entry),
        "Kind": entry.kind,
        "Address": entry.address or "",
        "Source": entry.source,
    }
    for label, text in rows.items():
        if text:
            table.add_row(label, Text(text))
    return table


def _console() -> Console:
    """As wide as the terminal; in a pipe wide enough for one line a row."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        justify: Literal["left", "right"] = "right" if column == "Nonzeros" else "left"
        table.add_column(column, overflow="fold", justify=justify)
    return table


def _shape(entry: workloads.Entry) -> str:
    return " x ".join(f"{size:,}" for size in entry.shape)


def _nonzeros(entry: workloads.Entry) -> str:
    return f"{'about ' if entry.approximate else ''}{entry.nonzeros:,}"
