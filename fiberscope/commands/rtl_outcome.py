"""Output of the comparison of RTL with its components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.base.errors import MACHINE_WRONG

if TYPE_CHECKING:
    from fiberscope.rtl.cosimulation import CosimulationResult

MAX_DIFFERENCES = 10  # printed entries of the report that differ
WAVEFORM = "Waveform"  # description of the waveform among the files of a run with RTL


def print_outcome(outcome: CosimulationResult) -> int:
    """Print the comparison of RTL with the component, and paths of files; return the exit code.

    The exit code is ``MACHINE_WRONG`` for a violation of the protocol and for a ``first_difference``: one at
    an output, or entries of the report that differ though all inputs are taken in the same cycles. If inputs
    are taken in other cycles, entries may differ without an error. Paths of files other than a waveform are
    printed only if something is wrong.
    """
    print(f"cycles with the component  {outcome.component.cycles:>12,}")
    print(f"cycles with RTL            {outcome.rtl.cycles:>12,}")
    from fiberscope.rtl.exercise_coverage import exercise_lines

    for name, exercise in outcome.exercised.items():
        for line in exercise_lines(name, exercise, outcome.rtl.components[name]):
            print(line)
    for key in outcome.missing_counters():
        print(f"NOT compared: {key}, for which the module has no status output")
    different, entries = outcome.differences(), f"{outcome.entries():,} entries of the report"
    if outcome.violation is not None:
        print(f"PROTOCOL VIOLATION: {outcome.violation}")
    if outcome.input_difference is not None:
        print(f"note: inputs are taken in other cycles; {outcome.input_difference}")
    # Three outcomes: all equal; only entries differ, which other input cycles explain; a real difference
    if outcome.first_difference is None and not different:
        print(f"identical in all {entries}, and at every output in every cycle")
    elif outcome.first_difference is None:
        print(f"note: as inputs are taken in other cycles, {len(different)} of {entries} differ:")
        _print_differences(different)
        print("identical at every output in every cycle")
    else:
        at_ports = "at its ports, though in no entry of the report"
        print(f"DIFFERENT {f'in {len(different)} of {entries}:' if different else at_ports}")
        _print_differences(different)
        print(f"where that begins: {outcome.first_difference}")
    is_wrong = outcome.first_difference is not None or outcome.violation is not None
    show_files({name: path for name, path in outcome.files.items() if is_wrong or name == WAVEFORM})
    return MACHINE_WRONG if is_wrong else 0


def _print_differences(lines: Sequence[str]) -> None:
    for line in lines[:MAX_DIFFERENCES]:
        print(f"  {line}")


def show_files(files: Mapping[str, Path]) -> None:
    """Print the paths of files by description, with the command that opens a waveform."""
    for name, path in files.items():
        print(f"{name}: {path}" + (f" (open it: fiberscope wave {path})" if name == WAVEFORM else ""))


def print_coverage(outcome: CosimulationResult, file: Path) -> None:
    """Print the port events of each module, and write them to a JSON file; ``-`` only prints."""
    from fiberscope.rtl.coverage import Coverage, write_coverage

    covered = {
        name: Coverage(exercise.bins or {}, outcome.rtl.components[name].counters)
        for name, exercise in outcome.exercised.items()
    }
    print(*write_coverage(covered, file), sep="\n")
