"""Line coverage of RTL: the simulator that counts lines, and the output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs


def select_simulator(simulator: str, file: Path | None, inputs: Mapping[str, Path | None]) -> str:
    """Return the simulator of a run: Verilator if its line coverage is written.

    Args:
        simulator: the simulator that the user names, or ``auto``.
        file: the lcov file; ``-`` only prints; None without line coverage.
        inputs: files that the output must not overwrite, by their names in messages.

    Raises:
        InputError: a simulator other than Verilator is named, or a file cannot be written.
    """
    if file is None:
        return simulator
    from fiberscope.hw.rtl.tools.hdl import AUTO
    from fiberscope.hw.rtl.tools.verilator import Verilator
    from fiberscope.rtl.line_coverage import outputs

    if simulator not in (AUTO, Verilator.name):
        raise InputError(f"--line-coverage: {simulator} counts no lines; leave out --sim {simulator}")
    if file != STANDARD_OUTPUT:
        check_outputs(outputs(file), inputs)
    return Verilator.name


def print_line_coverage(folder: Path, file: Path | None) -> None:
    """Print the line coverage of the run in a folder, and write the lcov file; do nothing if it is None."""
    if file is None:
        return
    from fiberscope.rtl.line_coverage import write_line_coverage

    print(*write_line_coverage(folder, file), sep="\n")
