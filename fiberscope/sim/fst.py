"""FST, the compressed waveform format of GTKWave, written by its ``vcd2fst``."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from fiberscope.sim.errors import SimulationError
from fiberscope.sim.partial_files import Partial, remove_abandoned

ENDING = ".fst"
CONVERTER = "vcd2fst"


def find_converter(path: Path) -> str:
    """Return the path of the converter program.

    Raises:
        SimulationError: if the program is not installed.
    """
    program = shutil.which(CONVERTER)
    if program is None:
        raise SimulationError(
            f"the waveform {path} needs {CONVERTER}, which comes with GTKWave (on Debian: apt install "
            f"gtkwave); without it, write {path.with_suffix('.vcd').name}"
        )
    return program


def convert(program: str, vcd: Path, path: Path) -> None:
    """Convert a complete VCD file to FST. An existing file at ``path`` is replaced atomically.

    Args:
        program: path of the converter, from ``find_converter``.
        vcd: the VCD file, which is kept.
        path: the FST file.

    Raises:
        OSError: if the converter fails, for example because the disk is full.
    """
    remove_abandoned(path)
    output = Partial(path, ENDING)
    try:
        output.path.touch(exist_ok=False)  # the converter would follow a link
        command = [program, str(vcd), str(output.path)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0 or not output.path.stat().st_size:
            raise OSError(
                result.returncode, f"{CONVERTER} failed: {result.stderr.strip() or 'no reason given'}"
            )
        output.keep()
    finally:
        output.discard()
