"""``fiberscope wave``: a waveform in GTKWave."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from fiberscope.errors import InputError

__all__ = ["show"]

VIEWER = "gtkwave"


def show(vcd: Path) -> None:
    """Open a waveform with the save file beside it, and wait until the viewer is closed.

    Raises:
        InputError: there is no such waveform, or GTKWave is not installed.
    """
    if not vcd.is_file():
        raise InputError(f"{vcd}: there is no such waveform; write one with fiberscope sim ... --vcd {vcd}")
    viewer = shutil.which(VIEWER)
    if viewer is None:
        raise InputError(
            f"GTKWave is not installed (on Debian: apt install gtkwave); {vcd} is a plain VCD file"
        )
    save = vcd.with_suffix(".gtkw")
    subprocess.run([viewer, str(vcd), *([str(save)] if save.is_file() else [])], check=False)
