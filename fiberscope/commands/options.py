"""What several commands take, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fiberscope.commands.completion import complete_accelerator, complete_matrix, complete_setting

__all__ = [
    "Accelerator",
    "Config",
    "Exact",
    "Json",
    "Markdown",
    "Matrix",
    "Operands",
    "Parts",
    "Quiet",
    "Settings",
    "ValueBits",
]

Accelerator = Annotated[
    str,
    typer.Argument(
        help="Name of the accelerator (see 'fiberscope list'), or the folder of one's own, as in ./mine.",
        autocompletion=complete_accelerator,
    ),
]
Matrix = Annotated[
    str,
    typer.Argument(help="A: a file, a known name, or a generator.", autocompletion=complete_matrix),
]
Operands = Annotated[
    list[str],
    typer.Argument(
        metavar="A [B]",
        help="Files, known names, or generators; or NAME=TENSOR for each that it reads.",
        autocompletion=complete_matrix,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a parameter (see 'fiberscope info'), or an option of a model; repeatable.",
        autocompletion=complete_setting,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="YAML file of parameters to override, or the report of a run."),
]
Parts = Annotated[
    list[str] | None,
    typer.Option(
        "--part", metavar="NAME=MODULE:CLASS", help="Put a block of your own in a part's place; repeatable."
    ),
]
Exact = Annotated[bool, typer.Option("--exact", help="Refuse a surrogate for a matrix that cannot be had.")]
Json = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report here; - to the terminal.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")]
ValueBits = Annotated[int, typer.Option("--bits", help="Bits of a value: 8, 16 or 32.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
