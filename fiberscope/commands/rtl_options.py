"""Options shared by commands of ``fiberscope rtl``."""

from pathlib import Path
from typing import Annotated

import typer

BlockSettings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=NUMBER", help="Set a parameter; repeatable.")
]
Simulator = Annotated[
    str, typer.Option("--sim", metavar="NAME", help="HDL simulator: auto, icarus, verilator or pyrtl.")
]
HdlSimulator = Annotated[
    str, typer.Option("--sim", metavar="NAME", help="HDL simulator: auto, icarus or verilator.")
]
Folder = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the output.")]
CoverageFile = Annotated[
    Path | None,
    typer.Option(
        "--coverage",
        metavar="FILE",
        help="Print which events the ports saw, and write them to this JSON file; - prints only.",
    ),
]
LineCoverageFile = Annotated[
    Path | None,
    typer.Option(
        "--line-coverage",
        metavar="FILE",
        help="Print which lines, branches and bits of the Verilog ran; write them to this lcov file and as "
        "text beside it; - prints only. Needs Verilator.",
    ),
]
ValueBits = Annotated[
    int, typer.Option("--value-bits", min=1, max=53, metavar="N", help="Width of a value in bits.")
]
Points = Annotated[
    int,
    typer.Option(
        "--points", min=2, max=4096, metavar="N", help="Number of points that an accumulator holds."
    ),
]
Status = Annotated[
    bool, typer.Option("--status", help="Add the status outputs that counters and accounting need.")
]
Period = Annotated[
    float | None,
    typer.Option(
        "--clock-ns",
        min=0.001,
        metavar="NS",
        help="Clock period of the constraints; of a machine by default its own, else 1 ns.",
    ),
]
Formal = Annotated[
    bool, typer.Option("--formal", help="Also write formal properties, for SymbiYosys and for Yosys alone.")
]
SramWrappers = Annotated[
    bool, typer.Option("--sram-wrappers", help="Write a module for each memory that an SRAM can replace.")
]
Ports = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="Ports: plain, registered (valid does not wait for ready), checked, or axis (AXI4-Stream).",
    ),
]
Level = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Level of the specification whose first instance is written."),
]
Stage = Annotated[
    str, typer.Option(metavar="EINSUM", help="Stage of the specification, such as R; the first by default.")
]
