"""``fiberscope list``: available accelerators and matrices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.commands.output import find_terminal_width, format_nonzeros, format_shape, print_stacked
from fiberscope.results.report.files import STANDARD_OUTPUT, check_writable, write_json
from fiberscope.results.report.table import ruled_table

if TYPE_CHECKING:
    from fiberscope.workloads import Entry

KIND_WIDTH = 100  # characters of a terminal from which the list has the kind of each matrix
_Json = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the lists to this file; - prints them.")
]


def list_(json: _Json = None) -> None:
    """List the accelerators and the known matrices.

    Also shows where each matrix is: shipped with Fiberscope, in a folder of FIBERSCOPE_DATA, or in the cache.
    Any other matrix is downloaded at first use; if that fails, a generated surrogate takes its place.

    \b
    Examples:
      fiberscope list
      fiberscope list --json -
    """
    from fiberscope.run.catalogue import collect_summaries, list_matrix_entries

    machines, matrices = collect_summaries(), list_matrix_entries()
    if json is not None:
        check_writable(json)
        write_json(json, _document(machines, matrices))
    if json != STANDARD_OUTPUT:
        _show(machines, matrices)


def _document(machines: dict[str, str], matrices: list[Entry]) -> dict[str, object]:
    """Return the lists as plain data for JSON; ``machines`` has summaries by name.

    ``here`` says where a matrix is on this computer; it is empty if the matrix is not there.
    """
    from fiberscope.workloads.cache import find_location

    return {
        "schema": "fiberscope-list-1",
        "accelerators": [{"name": name, "summary": summary} for name, summary in machines.items()],
        "matrices": [{**entry.model_dump(mode="json"), "here": find_location(entry)} for entry in matrices],
    }


def _show(machines: dict[str, str], matrices: list[Entry]) -> None:
    from rich.text import Text

    from fiberscope.workloads.cache import find_location

    machine_table = ruled_table("Accelerator", "What it is")
    for name, summary in machines.items():
        machine_table.add_row(name, summary)
    # In a narrow terminal every kind would be cut; ``fiberscope info`` shows it.
    kind_heads = ["Kind"] if find_terminal_width() >= KIND_WIDTH else []
    matrix_table = ruled_table("Matrix", "Shape", "Nonzeros", "Here", *kind_heads, numbers=["Nonzeros"])
    for column in matrix_table.columns:
        column.no_wrap = True
    for entry in matrices:
        kinds = [Text(entry.kind, overflow="ellipsis") for _ in kind_heads]
        matrix_table.add_row(
            entry.name, format_shape(entry), format_nonzeros(entry), find_location(entry), *kinds
        )
    print_stacked(machine_table, "", matrix_table)
