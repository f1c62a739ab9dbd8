"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from fiberscope.commands.completion import complete_accelerator, complete_matrix, complete_setting

Accelerator = Annotated[
    str,
    typer.Argument(
        help="Accelerator: a name from 'fiberscope list', spec:NAME, or the path of your own "
        "machine, such as ./mine.",
        autocompletion=complete_accelerator,
    ),
]
Matrix = Annotated[
    str,
    typer.Argument(
        help="Matrix: a file, a name from 'fiberscope list', or a generator.", autocompletion=complete_matrix
    ),
]
Operands = Annotated[
    list[str],
    typer.Argument(
        metavar="A [B]",
        help="Operands: files, names from 'fiberscope list', or generators; or NAME=TENSOR for each tensor.",
        autocompletion=complete_matrix,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a parameter (see 'fiberscope info') or an option of a model; repeatable.",
        autocompletion=complete_setting,
    ),
]
FigureWidth = Annotated[
    str | None,
    typer.Option(
        "--figure-width",
        metavar="WIDTH",
        help="Width of figures: column or page (IEEE; the default), acm-column, acm-page, or inches.",
    ),
]
Config = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Take parameters from this YAML file or report.")
]
Parts = Annotated[
    list[str] | None,
    typer.Option(
        "--part",
        metavar="NAME=MODULE:CLASS",
        help="Replace a part by a component of your own (or NAME=FILE.py:CLASS); repeatable.",
    ),
]
Exact = Annotated[
    bool,
    typer.Option(
        "--exact", help="Fail, instead of using a generated surrogate, if a matrix is not available."
    ),
]
Json = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the report to this file; - prints it.")
]
Live = Annotated[
    str | None,
    typer.Option(
        metavar="[PORT]",
        help="Show the progress on a web page of this computer; at any free port by default.",
    ),
]
ReportFile = Annotated[Path, typer.Argument(metavar="REPORT", help="Report written with --json.")]
AllSources = Annotated[
    bool, typer.Option("--all-sources", help="Also show runs of sources that have changed since.")
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no summary.")]


def parse_setting_values(settings: Iterable[str] | None) -> dict[str, object]:
    """Return the values of ``--set`` by key; of a repeated key the last value.

    Raises:
        ConfigurationError: a setting has another form than ``KEY=VALUE``.
    """
    from fiberscope.accelerators.configuration import parse_settings

    return {key: entry.value for key, entry in parse_settings(settings or ()).items()}
