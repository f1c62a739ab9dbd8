"""``fiberscope new``: templates of user machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fiberscope.commands.group import Group

new = Group()

_Folder = Annotated[Path, typer.Option("--in", metavar="FOLDER", help="Create the folder in this folder.")]


@new.callback(invoke_without_command=True)
def _top(context: typer.Context) -> None:
    """Create a machine of your own.

    \b
    Example:
      fiberscope new machine mine
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@new.command()
def machine(
    name: Annotated[str, typer.Argument(help="Name of the machine and of its folder.")],
    folder: _Folder = Path(),
) -> None:
    """Create a folder with a machine that runs.

    The machine multiplies row by row; change it to yours. Existing files are never overwritten.
    docs/how_to_add_a_machine.md explains the files.

    \b
    Examples:
      fiberscope new machine mine
      fiberscope new machine mine --in machines
    """
    from fiberscope.template.new import new_machine

    created = new_machine(name, folder)
    for file in sorted(created.iterdir()):
        print(file)
    path = created if created.is_absolute() else f"./{created}"
    print(f"Run it: fiberscope sim {path} uniform:rows=300,cols=300,nonzeros=3000")
