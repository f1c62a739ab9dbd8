"""``fiberscope wave``: a waveform in an installed viewer."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from fiberscope.base.errors import InputError

VIEWERS = {"gtkwave": "GTKWave", "surfer": "Surfer"}  # names by program, in order of preference

_Waveform = Annotated[Path, typer.Argument(metavar="FILE", help="Waveform written with --vcd.")]


def wave(vcd: _Waveform) -> None:
    """Open a waveform in GTKWave or Surfer.

    GTKWave also opens the save file of the same name that ends in .gtkw, with groups, names and formats;
    Surfer the command file that ends in .sucl.

    \b
    Example:
      fiberscope wave out.vcd
    """
    if not vcd.is_file():
        raise InputError(f"{vcd}: there is no such waveform; write one with fiberscope sim ... --vcd {vcd}")
    program = next((name for name in VIEWERS if shutil.which(name)), None)
    if program is None:
        raise InputError(
            f"GTKWave is not installed (on Debian: apt install gtkwave), nor is Surfer; {vcd} is a plain VCD "
            f"file, which VS Code shows with the extension VaporView (code {vcd})"
        )
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise InputError(
            f"there is no display to open {VIEWERS[program]} on; copy {vcd} to a machine that has one"
        )
    view_file = vcd.with_suffix(".gtkw" if program == "gtkwave" else ".sucl")
    option = [] if program == "gtkwave" else ["--command-file"]
    view_arguments = [*option, view_file.name] if view_file.is_file() else []
    # GTKWave finds the table of states in its working directory.
    exit_status = subprocess.run([program, vcd.name, *view_arguments], check=False, cwd=vcd.parent).returncode
    if exit_status != 0:
        raise InputError(f"{VIEWERS[program]} ended with the exit code {exit_status}; its output is above")
