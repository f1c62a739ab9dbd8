"""``fiberscope rtl``: the commands about RTL. Thin and light to import, as ``fiberscope.cli``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["rtl"]

rtl = typer.Typer(rich_markup_mode=None)

_Block = Annotated[str, typer.Argument(help="Name of the block; see 'fiberscope rtl list'.")]
_Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=NUMBER", help="Set a parameter; repeatable.")
]
_Folder = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")]


@rtl.callback(invoke_without_command=True)
def _top(context: typer.Context) -> None:
    """The blocks as RTL.

    \b
    Examples:
      fiberscope rtl list
      fiberscope rtl export merger --set radix=64 -o build/
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@rtl.command(name="list")
def list_() -> None:
    """List the blocks that exist as RTL, with their parameters and defaults."""
    from fiberscope import rtl_command

    rtl_command.show_blocks()


@rtl.command()
def export(block: _Block, settings: _Settings = None, output: _Folder = Path("build")) -> None:
    """Write a block as Verilog, as BLOCK.v in the folder.

    The same parameters give the same text, byte for byte.

    \b
    Example:
      fiberscope rtl export merger --set radix=64 -o build/
    """
    from fiberscope import rtl_command

    rtl_command.export(block, settings or [], output)
