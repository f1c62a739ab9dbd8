"""``fiberscope info``: an accelerator with its parameters, or a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fiberscope.commands.completion import complete_name, complete_parameter
from fiberscope.commands.options import Settings
from fiberscope.commands.output import lay, nonzeros, shape
from fiberscope.errors import InputError
from fiberscope.report.files import STANDARD_OUTPUT, check_writable, write_json, write_text
from fiberscope.report.table import ruled

if TYPE_CHECKING:
    from rich.table import Table

    from fiberscope.accelerators.machine import Accelerator
    from fiberscope.workloads import Entry

__all__ = ["info"]

_Name = Annotated[str, typer.Argument(help="An accelerator or a matrix.", autocompletion=complete_name)]
_Parameter = Annotated[
    str | None,
    typer.Argument(help="One parameter of an accelerator, or a section.", autocompletion=complete_parameter),
]
_Draw = Annotated[bool, typer.Option("--draw", help="Draw the accelerator: its components and channels.")]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="The drawing; default NAME.svg.")
]
_Json = Annotated[Path | None, typer.Option(metavar="FILE", help="Write it here; - for the terminal.")]


def info(
    name: _Name,
    parameter: _Parameter = None,
    draw: _Draw = False,
    output: _Output = None,
    settings: Settings = None,
    json: _Json = None,
) -> None:
    """Describe an accelerator, a parameter of it, or a matrix.

    Of an accelerator every parameter with its default, range, unit and source; of a matrix what the registry
    says. Several values may have to agree beyond their ranges; a run that they do not fit is refused.
    With --draw the accelerator as a picture (SVG), from its own composition, with --set also of another one.

    \b
    Examples:
      fiberscope info gamma
      fiberscope info gamma pe.radix
      fiberscope info wiki-Vote
      fiberscope info gamma --json gamma.json
      fiberscope info gamma --draw -o gamma.svg
    """
    strange = {"a parameter": parameter, "--json": json} if draw else {"--output": output, "--set": settings}
    for what, given in strange.items():
        if given:
            raise InputError(f"{what} goes {'without' if draw else 'with'} --draw")
    if draw:
        _draw(name, output, settings or [])
        return
    if json is not None:
        check_writable(json)
    described = _described(name, parameter)
    if json is not None:
        write_json(json, described.document())
    if json != STANDARD_OUTPUT:
        described.show()


def _draw(name: str, output: Path | None, settings: list[str]) -> None:
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.drawing.machine import drawn
    from fiberscope.machines import find

    kind = find(name)
    output = output or Path(f"{kind.name.replace(':', '-')}.svg")
    if output != STANDARD_OUTPUT and output.suffix.lower() != ".svg":
        raise InputError(f"{output}: drawings are .svg files")
    if output != STANDARD_OUTPUT:
        check_writable(output)
    write_text(output, drawn(kind, parse_settings(settings)))
    if output != STANDARD_OUTPUT:
        print(f"Drawing: {output}")


def _described(name: str, parameter: str | None) -> _Machine | _Matrix:
    from fiberscope import accelerators, workloads
    from fiberscope.machines import find, is_machine
    from fiberscope.workloads.errors import nearest

    machines = accelerators.names()
    if is_machine(name):
        return _Machine(find(name), parameter)
    try:
        entry = workloads.lookup(name)
    except workloads.WorkloadError as error:
        known = [*machines, *workloads.names()]
        raise InputError(f"no accelerator or matrix is called {name}; {nearest(name, known)}") from error
    if parameter is not None:
        raise InputError(f"{entry.name} is a matrix, which has no parameter {parameter}")
    return _Matrix(entry)


class _Machine:
    """An accelerator as its file of parameters describes it; of one parameter or section if that is given."""

    def __init__(self, machine: Accelerator[Any], key: str | None) -> None:
        from fiberscope.accelerators.configuration import header, parameters
        from fiberscope.accelerators.ranges import ranges
        from fiberscope.workloads.errors import nearest

        self._machine, self._header = machine, header(machine.shipped)
        self._ranges = ranges(machine.configuration)
        every = [one for file in (machine.shipped, *machine.defaults) for one in parameters(file)]
        self._shown = [given for given in every if key is None or f"{given.key}.".startswith(f"{key}.")]
        self._single = key is not None and [given.key for given in self._shown] == [key]
        if not self._shown:
            hint = nearest(str(key), [given.key for given in every])
            raise InputError(f"{machine.name} has no parameter {key}; {hint}")

    def document(self) -> dict[str, object]:
        """As plain data; a range's ends are null where there is none."""
        from dataclasses import asdict

        shown = [
            {
                "key": given.key,
                "default": given.value,
                **asdict(self._ranges[given.key]),
                "meaning": given.comment,
            }
            for given in self._shown
        ]
        return {
            "schema": "fiberscope-info-1",
            "accelerator": self._machine.name,
            "sources": self._header,
            "parameters": shown,
        }

    def show(self) -> None:
        """One parameter with what its sources are below it; several as a table below that."""
        from rich.text import Text

        from fiberscope.accelerators.configuration import written

        sources = Text("\n".join(self._header))
        if self._single:
            (given,) = self._shown
            rows = {"Parameter": given.key, "Default": written(given.value)}
            rows |= {"Range": str(self._ranges[given.key]), "Meaning": given.comment}
            lay(_labelled(rows), "", sources)
            return
        table = ruled("Parameter", "Default", "Range", "Meaning, unit and source")
        for given in self._shown:
            texts = (written(given.value), str(self._ranges[given.key]), given.comment)
            table.add_row(given.key, *map(Text, texts))
        lay(sources, "", table)


class _Matrix:
    """A matrix or tensor as the registry describes it."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    def document(self) -> dict[str, object]:
        """As plain data."""
        return {"schema": "fiberscope-info-1", "matrix": self._entry.model_dump(mode="json")}

    def show(self) -> None:
        """A line for everything that is known."""
        entry = self._entry
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
        if graph := entry.rmat:
            what = f"R-MAT graph of {graph.edges:,} edges, and a tail of {graph.tail:,} vertices"
            rows["Stand-in"] = f"{what} ({graph.source})"
        lay(_labelled(rows))


def _labelled(rows: dict[str, str]) -> Table:
    """A line for each label with a text."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows.items():
        if text:
            table.add_row(label, Text(text))
    return table
