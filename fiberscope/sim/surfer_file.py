"""The command file of a waveform for the viewer Surfer: the signals that Surfer shows first, and its cursor.

Source of the commands: the page Commands of Surfer's manual, https://docs.surfer-project.org/book/.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fiberscope.sim.landmark import Landmark, part_of
from fiberscope.sim.partial_files import replace_when_complete
from fiberscope.sim.save_file import OURS, Scope, is_kept, list_scopes
from fiberscope.sim.vcd_file import VcdFile
from fiberscope.sim.waveform import STATE, Variable, Waveform

COMMAND_FILE_ENDING = ".sucl"
LABELS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")  # Surfer numbers its rows with these digits


def write_command_file(path: Path, vcd: VcdFile, waveform: Waveform, landmark: Landmark) -> None:
    """Write the command file.

    The rows are the states of all components, then the signals of the machine's part with the component of
    the landmark, then a folded group for each other part. The cursor is at the landmark.

    An existing file is replaced if Fiberscope wrote it; otherwise it is kept, with a warning.

    Args:
        path: the command file.
        vcd: the waveform.
        waveform: contents of the waveform.
        landmark: time and component at which Surfer opens.
    """
    if is_kept(path):
        return
    with replace_when_complete(path) as partial:
        partial.writelines(f"{line}\n".encode() for line in _iterate_commands(waveform.variables, landmark))
        if landmark.time is not None:
            partial.write(f"cursor_set {vcd.stamp(landmark.time)}\n".encode())


def _iterate_commands(variables: Sequence[Variable], landmark: Landmark) -> Iterator[str]:
    """Yield the commands, except that of the cursor."""
    yield f"# {OURS}"
    scopes = sorted(list_scopes(variables), key=lambda scope: scope.name != part_of(landmark.scope))
    rows: list[Variable | None] = [None, *(variable for variable in variables if variable.name == STATE)]
    rows += [None, *_iterate_variables(scopes[0])]
    titles = iter(["states", scopes[0].name])
    for row in rows:
        yield f"divider_add {next(titles)}" if row is None else f"variable_add {row.scope}.{row.name}"
    for number, row in enumerate(rows):
        if row is not None and row.kind == "wire" and row.width > 1:
            yield f"item_focus {f'{number:x}'.translate(LABELS)}"
            yield "item_set_format Unsigned"
    yield "item_unfocus"
    for scope in scopes[1:]:
        yield f"scope_add_as_group_recursive {scope.name}"
    yield "group_fold_all"


def _iterate_variables(scope: Scope) -> Iterator[Variable]:
    """Yield the variables of a scope and of its inner scopes."""
    yield from scope.variables
    for inner_scope in scope.inner.values():
        yield from _iterate_variables(inner_scope)
