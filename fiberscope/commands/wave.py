"""``fiberscope wave``: a waveform in GTKWave."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from fiberscope.base.errors import InputError

__all__ = ["wave"]

VIEWER = "gtkwave"

_Waveform = Annotated[Path, typer.Argument(metavar="FILE", help="Waveform written with --vcd.")]


def wave(vcd: _Waveform) -> None:
    """Open a waveform in GTKWave.

    Also opens the save file of the same name that ends in .gtkw, with groups, names and formats.

    \b
    Example:
      fiberscope wave out.vcd
    """
    if not vcd.is_file():
        raise InputError(f"{vcd}: there is no such waveform; write one with fiberscope sim ... --vcd {vcd}")
    viewer = shutil.which(VIEWER)
    if viewer is None:
        raise InputError(
            f"GTKWave is not installed (on Debian: apt install gtkwave); {vcd} is a plain VCD file"
        )
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise InputError(f"there is no display to open GTKWave on; copy {vcd} to a machine that has one")
    save = vcd.with_suffix(".gtkw")
    shown = [vcd.name, *([save.name] if save.is_file() else [])]
    code = subprocess.run(
        [viewer, *shown], check=False, cwd=vcd.parent
    ).returncode  # its table is looked for there
    if code != 0:
        raise InputError(f"GTKWave ended with the exit code {code}; what it said stands above")
