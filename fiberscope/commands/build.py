"""``fiberscope build``: compilation of a user's parts and machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def build(
    path: Annotated[
        Path, typer.Argument(help="Python file with components or a machine, or a folder of such files.")
    ],
    show: Annotated[bool, typer.Option("--show", help="Print the C types without compiling.")] = False,
) -> None:
    """Compile your own components or machine, for faster runs.

    Later runs use the compiled form until a file changes. C types follow from annotations.

    \b
    Examples:
      fiberscope build my_blocks.py
      fiberscope build my_machine/ --show
    """
    from fiberscope.compiler import user_modules

    if show:
        for file, text in user_modules.declarations(path).items():
            print(f"# {file}\n{text}")
        return
    for file in user_modules.build(path):
        print(f"compiled {file}")
