"""What several commands of ``fiberscope rtl`` take, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Folder", "HdlSimulator", "Numbers", "Points", "Simulator", "ValueBits"]

Numbers = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=NUMBER", help="Set a parameter; repeatable.")
]
Simulator = Annotated[str, typer.Option("--sim", metavar="NAME", help="auto, icarus, verilator or pyrtl.")]
HdlSimulator = Annotated[str, typer.Option("--sim", metavar="NAME", help="auto, icarus or verilator.")]
Folder = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")]
ValueBits = Annotated[int, typer.Option("--value-bits", min=1, max=53, metavar="N", help="Of every value.")]
Points = Annotated[
    int, typer.Option("--points", min=2, max=4096, metavar="N", help="That an accumulator holds.")
]
