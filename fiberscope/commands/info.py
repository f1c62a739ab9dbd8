"""``fiberscope info``: description of an accelerator and its parameters, or of a matrix."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.completion import complete_name, complete_parameter
from fiberscope.commands.options import Settings
from fiberscope.commands.output import find_terminal_width, format_nonzeros, format_shape, print_stacked
from fiberscope.results.report.files import STANDARD_OUTPUT, check_writable, write_json, write_text
from fiberscope.results.report.table import ruled_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from fiberscope.accelerators.configuration import Parameter
    from fiberscope.accelerators.machine import Accelerator
    from fiberscope.workloads import Entry, Workload
    from fiberscope.workloads.character import Character, Degrees

COLUMNS = ("Parameter", "Default", "Range", "Meaning")
WIDE = 120  # columns from which a terminal shows the parameters as a table
PIPE_COLUMNS = 100  # columns in a pipe or file

_Name = Annotated[
    str,
    typer.Argument(
        help="An accelerator; or a matrix as a name, a file or a generator.", autocompletion=complete_name
    ),
]
_Parameter = Annotated[
    str | None, typer.Argument(help="Show only this parameter or section.", autocompletion=complete_parameter)
]
_Draw = Annotated[bool, typer.Option("--draw", help="Draw the components and channels of the accelerator.")]
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="File of the drawing; NAME.svg by default."),
]
_Json = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the description to this file; - prints it.")
]


def info(
    name: _Name,
    parameter: _Parameter = None,
    draw: _Draw = False,
    output: _Output = None,
    settings: Settings = None,
    json: _Json = None,
) -> None:
    """Show the parameters of an accelerator, or describe a matrix.

    For an accelerator: every parameter with default, range, unit and source. A run can still refuse values
    that contradict one another. For a matrix: what the registry knows; for a matrix that is on this computer,
    also nonzeros by row and column, digest, and a picture of its pattern. With --draw: the components and
    channels of the accelerator as SVG, also for other parameters (--set).

    \b
    Examples:
      fiberscope info gamma
      fiberscope info gamma pe.radix
      fiberscope info wiki-Vote
      fiberscope info my_matrix.mtx
      fiberscope info gamma --json gamma.json
      fiberscope info gamma --draw -o gamma.svg
    """
    conflicting = (
        {"a parameter": parameter, "--json": json} if draw else {"--output": output, "--set": settings}
    )
    for option, options in conflicting.items():
        if options:
            raise InputError(f"{option} goes {'without' if draw else 'with'} --draw")
    if draw:
        _draw(name, output, settings or [])
        return
    if json is not None:
        check_writable(json)
    description = _describe(name, parameter)
    if json is not None:
        write_json(json, description.document())
    if json != STANDARD_OUTPUT:
        description.show()


def _draw(name: str, output: Path | None, settings: list[str]) -> None:
    """Draw an accelerator with these settings as SVG, by default into ``NAME.svg`` in the current folder.

    Raises:
        InputError: the file has another ending than ``.svg``, or cannot be written.
        ConfigurationError: there is no such accelerator, or a setting is invalid.
    """
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.results.drawing.machine import draw_machine
    from fiberscope.run.find_machine import find

    accelerator = find(name)
    output = output or Path(f"{accelerator.name.replace(':', '-')}.svg")
    if output != STANDARD_OUTPUT and output.suffix.lower() != ".svg":
        raise InputError(f"{output}: drawings are .svg files")
    if output != STANDARD_OUTPUT:
        check_writable(output)
    write_text(output, draw_machine(accelerator, parse_settings(settings)))
    if output != STANDARD_OUTPUT:
        print(f"Drawing: {output}")


def _describe(name: str, parameter: str | None) -> _MachineDescription | _MatrixDescription:
    """Return the description of the machine or matrix with this name; a machine comes before a matrix.

    A registered matrix that is not on this computer is described by the registry, and not downloaded.

    Raises:
        InputError: nothing has this name, or a matrix is asked for a parameter.
    """
    from fiberscope import accelerators, workloads
    from fiberscope.run.find_machine import find, is_machine
    from fiberscope.workloads.cache import find_location
    from fiberscope.workloads.errors import suggest
    from fiberscope.workloads.files import file_of
    from fiberscope.workloads.registry import is_registered
    from fiberscope.workloads.spec import is_spec

    if is_machine(name):
        return _MachineDescription(find(name), parameter)
    entry = workloads.lookup(name) if is_registered(name) else None
    if entry is None and not is_spec(name) and file_of(name) is None:
        names = [*accelerators.names(), *workloads.names()]
        raise InputError(f"no accelerator or matrix is called {name}; {suggest(name, names)}")
    if parameter is not None:
        matrix = name if entry is None else entry.name
        raise InputError(f"{matrix} is a matrix, which has no parameter {parameter}")
    is_available = entry is None or (entry.is_matrix and find_location(entry))
    return _MatrixDescription(entry, workloads.load(name) if is_available else None)


class _MachineDescription:
    """Description of an accelerator from its parameter file, optionally of one parameter or section.

    Args:
        machine: the accelerator.
        key: the dotted key of the parameter or section; None for all.

    Raises:
        InputError: there is no such parameter or section.
    """

    def __init__(self, machine: Accelerator[Any], key: str | None) -> None:
        from fiberscope.accelerators.configuration import header
        from fiberscope.accelerators.ranges import ranges
        from fiberscope.run.catalogue import list_machine_parameters
        from fiberscope.workloads.errors import suggest

        self._machine, self._header = machine, header(machine.shipped)
        self._ranges = ranges(machine.configuration)
        all_parameters = list_machine_parameters(machine)
        self._selected = [
            parameter
            for parameter in all_parameters
            if key is None or f"{parameter.key}.".startswith(f"{key}.")  # the dot excludes longer names
        ]
        # Not the number of parameters: a section with one parameter is still shown as a section
        self._is_single = [parameter.key for parameter in self._selected] == [key]
        if not self._selected:
            hint = suggest(str(key), [parameter.key for parameter in all_parameters])
            raise InputError(f"{machine.name} has no parameter {key}; {hint}")

    def document(self) -> dict[str, object]:
        """Return plain data; a missing end of a range is null."""
        from dataclasses import asdict

        shown = [
            {
                "key": parameter.key,
                "default": parameter.value,
                **asdict(self._ranges[parameter.key]),
                "meaning": parameter.comment,
            }
            for parameter in self._selected
        ]
        return {
            "schema": "fiberscope-info-1",
            "accelerator": self._machine.name,
            "sources": self._header,
            "parameters": shown,
        }

    def show(self) -> None:
        """Print one parameter above the sources of the machine, or several below these sources.

        Several parameters are a table, or paragraphs if the terminal has fewer than ``WIDE`` columns.
        """
        from rich.text import Text

        columns, show = find_terminal_width(PIPE_COLUMNS), partial(print_stacked, pipe_width=PIPE_COLUMNS)
        sources = Text(("\n" if columns >= max(map(len, self._header)) else " ").join(self._header))
        rows = [self._row(parameter) for parameter in self._selected]
        if self._is_single:
            show(_label_table(dict(zip(COLUMNS, rows[0], strict=True))), "", sources)
        elif columns < WIDE:
            show(sources, *(part for row in rows for part in ("", *_paragraph(row))))
        else:
            table = ruled_table(*COLUMNS[:-1], "Meaning, unit and source")
            for row in rows:
                table.add_row(*map(Text, row))
            show(sources, "", table)

    def _row(self, parameter: Parameter) -> tuple[str, str, str, str]:
        from fiberscope.accelerators.configuration import format_value

        return (
            parameter.key,
            format_value(parameter.value),
            str(self._ranges[parameter.key]),
            parameter.comment,
        )


def _paragraph(row: tuple[str, str, str, str]) -> tuple[RenderableType, RenderableType]:
    """Return a parameter as a paragraph, for terminals too narrow for a table."""
    from rich.padding import Padding
    from rich.text import Text

    key, default, allowed, meaning = row
    head = Text.assemble((key, "bold"), f" = {default}", (f"  ({allowed})" if allowed else "", "dim"))
    return head, Padding(Text(meaning), (0, 0, 0, 4))


class _MatrixDescription:
    """Description of a matrix or tensor by the registry, and by its content if available.

    Args:
        entry: the entry of the registry; None for a file or a generator.
        workload: the loaded matrix; None if it is not on this computer. One of the two is not None.
    """

    def __init__(self, entry: Entry | None, workload: Workload | None) -> None:
        self._entry, self._workload = entry, workload

    @cached_property
    def _character(self) -> Character | None:
        from fiberscope.workloads.character import character

        return None if self._workload is None else character(self._workload)

    def document(self) -> dict[str, object]:
        """Return plain data; unknown values are null."""
        from dataclasses import asdict

        return {
            "schema": "fiberscope-info-1",
            "matrix": None if self._entry is None else self._entry.model_dump(mode="json"),
            "counted": None if self._character is None else asdict(self._character),
        }

    def show(self) -> None:
        """Print all known properties, and a picture."""
        parts: list[RenderableType] = (
            [] if self._entry is None else [_label_table(_registered_rows(self._entry))]
        )
        if self._workload is not None and self._character is not None:
            from rich.text import Text

            from fiberscope.workloads.character import draw_picture

            lines = draw_picture(self._workload.matrix)
            parts += [_label_table(_measured_rows(self._character)), Text("\n".join(_frame_lines(lines)))]
        # An empty line between two parts, but none before the first part
        print_stacked(*[item for part in parts for item in ("", part)][1:])


def _registered_rows(entry: Entry) -> dict[str, str]:
    rows = {
        "Name": entry.name,
        "Also called": ", ".join(entry.aliases),
        "Collection": f"{entry.collection} {entry.group or ''}".strip(),
        "Shape": format_shape(entry),
        "Nonzeros": format_nonzeros(entry),
        "Kind": entry.kind,
        "Address": entry.address or "",
        "Source": entry.source,
    }
    if graph := entry.rmat:
        description = f"R-MAT graph of {graph.edges:,} edges, and a tail of {graph.tail:,} vertices"
        rows["Stand-in"] = f"{description} ({graph.source})"
    return rows


def _measured_rows(character: Character) -> dict[str, str]:
    sizes = " x ".join(f"{size:,}" for size in character.shape)
    # Only a square matrix can be multiplied by itself
    is_square = character.multiplies is not None
    share = f"{character.density:.2g} of all places; {character.diagonal:,} on the diagonal"
    return {
        "Read": f"{character.origin}, {character.source}",
        "Shape": sizes,
        "Nonzeros": f"{character.nonzeros:,}, {share}",
        "Values": "whole numbers" if character.whole else "real numbers",
        "Rows": _format_degrees(character.rows),
        "Columns": _format_degrees(character.columns),
        "Pattern": ("symmetric" if character.symmetric else "not symmetric") if is_square else "",
        "A times A": f"{character.multiplies:,} multiplications" if is_square else "",
        "Digest": character.digest,
    }


def _format_degrees(degrees: Degrees) -> str:
    empty = f"; {degrees.empty:,} are empty" if degrees.empty else ""
    range_ = f"median {degrees.median:g}, at most {degrees.most:,}"
    return f"{degrees.mean:.1f} nonzeros on average, {range_}{empty}"


def _label_table(rows: dict[str, str]) -> Table:
    """Return a table with a line for each label; a label with an empty text is left out."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows.items():
        if text:
            table.add_row(label, Text(text))
    return table


def _frame_lines(lines: list[str]) -> list[str]:
    """Return the lines between two horizontal rules."""
    rule = "─" * len(lines[0])
    return [rule, *lines, rule]
