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
_Lists = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=NUMBER[,...]", help="Set a parameter, or try it with each value; repeatable."
    ),
]
_Accelerator = Annotated[str, typer.Argument(help="Name of the accelerator; see 'fiberscope list'.")]
_Matrix = Annotated[str, typer.Argument(help="A: a file, a known name, or a generator.")]
_SecondMatrix = Annotated[
    str | None, typer.Option("--b", metavar="MATRIX", help="B, where it is not A again.")
]
_Parameters = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a parameter of the accelerator; repeatable."),
]
_At = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A component to replace; repeatable; the first by default."),
]
_Blocks = Annotated[str, typer.Argument(help="Names of blocks, as in merger or merger,bank.")]
_Verilog = Annotated[list[str] | None, typer.Option(metavar="FILE", help="Verilog of your own; repeatable.")]
_Module = Annotated[str | None, typer.Option(metavar="NAME", help="The module in it; BLOCK by default.")]
_Simulator = Annotated[str, typer.Option("--sim", metavar="NAME", help="icarus, verilator or pyrtl (none).")]
_Folder = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")]


@rtl.callback(invoke_without_command=True)
def _top(context: typer.Context) -> None:
    """The blocks as RTL.

    \b
    Examples:
      fiberscope rtl list
      fiberscope rtl export merger --set radix=64 -o build/
      fiberscope rtl area merger --set radix=8
      fiberscope rtl loop merger gamma uniform:rows=60,cols=60,nonzeros=300
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@rtl.command(name="list")
def list_() -> None:
    """List the blocks that exist as RTL, with their parameters and defaults."""
    from fiberscope.rtl import command as rtl_command

    rtl_command.show_blocks()


@rtl.command()
def export(block: _Block, settings: _Settings = None, output: _Folder = Path("build")) -> None:
    """Write a block as Verilog, as BLOCK.v in the folder.

    The same parameters give the same text, byte for byte.

    \b
    Example:
      fiberscope rtl export merger --set radix=64 -o build/
    """
    from fiberscope.rtl import command as rtl_command

    rtl_command.export(block, settings or [], output)


@rtl.command()
def area(
    block: Annotated[
        str | None, typer.Argument(help="Name of the block; every block with its defaults if none is given.")
    ] = None,
    settings: _Lists = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it here too; - for the terminal alone.")
    ] = None,
) -> None:
    """Count gates, flip-flops, bits of memory and the depth of the logic, by Yosys.

    \b
    Examples:
      fiberscope rtl area merger --set radix=2,8,64
      fiberscope rtl area --json areas.json
    """
    from fiberscope.rtl import command as rtl_command

    rtl_command.area(block, settings or [], json)


@rtl.command()
def loop(
    blocks: _Blocks,
    accelerator: _Accelerator,
    matrix: _Matrix,
    b: _SecondMatrix = None,
    settings: _Parameters = None,
    at: _At = None,
    verilog: _Verilog = None,
    module: _Module = None,
    simulator: _Simulator = "icarus",
    output: _Folder = Path("build/loop"),
) -> int:
    """Run an accelerator with components replaced by RTL, and compare the reports.

    \b
    Examples:
      fiberscope rtl loop merger gamma uniform:rows=60,cols=60,nonzeros=300
      fiberscope rtl loop merger gamma my.mtx --set pe.radix=8 --at gamma.pe01.merger
      fiberscope rtl loop merger,bank gamma uniform:rows=60,cols=60,nonzeros=300
      fiberscope rtl loop merger gamma my.mtx --verilog mine.v --module my_merger
    """
    from fiberscope.rtl import command as rtl_command

    return rtl_command.loop(
        rtl_command.LoopRequest(
            blocks=tuple(dict.fromkeys(blocks.split(","))),
            accelerator=accelerator,
            a=matrix,
            b=b,
            settings=tuple(settings or ()),
            at=tuple(at or ()),
            sources=tuple(verilog or ()),
            module=module,
            simulator=simulator,
            folder=output,
        )
    )
