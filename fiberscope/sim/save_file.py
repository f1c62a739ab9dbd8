"""The GTKWave save file of a waveform: the signals that GTKWave shows first, their groups and formats."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from vcd.gtkw import GTKWColor, GTKWFlag, GTKWSave

from fiberscope.sim.landmark import Landmark, part_of
from fiberscope.sim.names import family_name
from fiberscope.sim.partial_files import replace_when_complete
from fiberscope.sim.vcd_file import VcdFile
from fiberscope.sim.waveform import COLOURED, ROW_BITS, STATE, Variable, Waveform

SAVE_FILE_ENDING = ".gtkw"
TABLE_ENDING = ".enum"  # of the table from the numbers of states to their names
OURS = "by Fiberscope; written anew with its waveform"  # a comment that GTKWave drops when a user saves
OPEN_LINES = 80  # groups that begin below this line are folded
WINDOW = (1400, 900)  # pixels
SIGNALS_WIDTH = 400  # pixels of the names and of the values at the marker
WAVES_WIDTH = 800  # pixels that show the whole waveform
NO_MARKER = -1
ZOOM_WIDTH = 200  # pixels; GTKWave's zoom is minus log2 of the time that they show


def write_save_file(path: Path, vcd: VcdFile, waveform: Waveform, landmark: Landmark) -> None:
    """Write the save file, and the table of states beside it.

    The file shows the states of all components by kind, then one group for each component, nested by scope.
    The machine's part with the component of the landmark comes first. Groups that begin below ``OPEN_LINES``
    lines are folded. The GTKWave marker is at the landmark.

    An existing file is replaced if Fiberscope wrote it. A view that a user saved is kept, with a warning.

    Args:
        path: the save file.
        vcd: the waveform. The save file names it without its folder, so that both files can move together.
        waveform: contents of the waveform.
        landmark: time and component at which GTKWave opens.
    """
    if is_kept(path):
        return
    table = path.with_suffix(TABLE_ENDING)
    if waveform.table:
        with replace_when_complete(table) as partial:
            partial.writelines(f"{row} {state}\n".encode() for state, row in waveform.table.items())
    with (
        replace_when_complete(path) as partial,
        io.TextIOWrapper(partial, "utf-8", "surrogateescape", "\n") as file,  # keeps a file name's bytes
    ):
        _write(_View(GTKWSave(file), table.name), vcd, waveform.variables, landmark)


def is_kept(path: Path) -> bool:
    """Return whether a view is kept because a user saved it, after a warning that says so."""
    if path.exists() and not _is_ours(path):
        warnings.warn(f"{path} is not Fiberscope's own and is kept as it is", stacklevel=8)
        return True
    return False


def _is_ours(path: Path) -> bool:
    """Return whether Fiberscope wrote a file, by the comment in its first line."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline().rstrip() in (f"[*] {OURS}", f"# {OURS}")


def _write(view: _View, vcd: VcdFile, variables: Sequence[Variable], landmark: Landmark) -> None:
    """Write the comment, the window and the groups of a save file."""
    save = view.save
    start, end = vcd.span
    zoom = -math.log2(max(end - start, 1) * ZOOM_WIDTH / WAVES_WIDTH)
    save.comment(OURS)
    save.dumpfile(vcd.path.name, abspath=False)
    save.timestart(start)
    save.zoom_markers(zoom, marker=NO_MARKER if landmark.time is None else vcd.stamp(landmark.time))
    save.size(*WINDOW)
    save.signals_width(SIGNALS_WIDTH)
    for machine in dict.fromkeys(variable.scope.partition(".")[0] for variable in variables):
        save.treeopen(machine)
    view.states([variable for variable in variables if variable.name == STATE])
    for scope in sorted(list_scopes(variables), key=lambda scope: scope.name != part_of(landmark.scope)):
        view.scope(scope)


@dataclass
class Scope:
    """A scope with its variables and its inner scopes."""

    name: str
    variables: list[Variable] = field(default_factory=list)
    inner: dict[str, Scope] = field(default_factory=dict)


def list_scopes(variables: Sequence[Variable]) -> list[Scope]:
    """Return the scopes of the machine's parts, or the machine's scope if the scope itself has variables.

    The latter is the case for a machine of one component.
    """
    root = Scope("")
    for variable in variables:
        scope = root
        for part in variable.scope.split("."):
            name = f"{scope.name}.{part}" if scope.name else part
            scope = scope.inner.setdefault(part, Scope(name))
        scope.variables.append(variable)
    tops = list(root.inner.values())
    return [scope for top in tops for scope in ([top] if top.variables else top.inner.values())]


class _View:
    """Write groups and signals. ``lines`` counts the lines of the window in use.

    Args:
        save: the file.
        table: file name of the table of states, in the same folder.
    """

    def __init__(self, save: GTKWSave, table: str) -> None:
        self.save = save
        self.lines = 0
        self._table = table

    def states(self, variables: Sequence[Variable]) -> None:
        """Write the states of all components; names that differ only in numbers share a folded line."""
        with self.save.group("states"):
            self.lines += 2
            kinds: dict[str, list[Variable]] = {}
            for variable in variables:
                kinds.setdefault(family_name(variable.scope), []).append(variable)
            for kind, members in kinds.items():
                self.lines += 1
                if len(members) == 1:
                    self._state(members[0])
                    continue
                with self.save.group(f"{kind} x{len(members)}", closed=True):
                    for member in members:
                        self._state(member)

    def _state(self, variable: Variable) -> None:
        alias = _strip_machine(variable.scope).replace(".", " ")  # GTKWave shows the last part
        self._text(variable, alias)

    def _text(self, signal: Variable, alias: str) -> None:
        """Write a signal that is shown as text: by the table of states if it has rows, else as a string."""
        name = f"{signal.scope}.{signal.name}"
        colour = GTKWColor.yellow if signal.name == STATE else None
        if signal.rows:
            name = f"{name}{'' if signal.is_number else COLOURED}[{ROW_BITS - 1}:0]"
            self.save.trace(name, alias=alias, datafmt="dec", color=colour, translate_filter_file=self._table)
        else:
            self.save.trace(name, alias=alias, datafmt="ascii", color=colour)

    def scope(self, scope: Scope) -> None:
        """Write a component, or a scope with its parts; folded if the scope begins below ``OPEN_LINES``."""
        closed = self.lines >= OPEN_LINES
        with self.save.group(scope.name, closed=closed):
            self.lines += 1 if closed else 2  # an open group has a line at its beginning and at its end
            for array, signals in groupby(scope.variables, key=lambda variable: variable.array):
                self._ports(scope.name, array, list(signals), closed)
            for part in scope.inner.values():
                lines_before = self.lines
                self.scope(part)
                self.lines = lines_before if closed else self.lines

    def _ports(self, scope: str, array: str, signals: Sequence[Variable], hidden: bool) -> None:
        """Write consecutive signals; fold the signals of an array of ports."""
        if not array:
            for signal in signals:
                self._signal(signal)
            line_count = sum(2 if signal.kind == "occupancy" else 1 for signal in signals)
        else:
            with self.save.group(f"{scope}.{array} x{len(signals)}", closed=True):
                for signal in signals:
                    self._signal(signal)
            line_count = 1
        self.lines += 0 if hidden else line_count

    def _signal(self, signal: Variable) -> None:
        """Write a signal in the format of its kind; an occupancy is drawn as steps, on two lines."""
        name = f"{signal.scope}.{signal.name}"
        if signal.kind == "occupancy":
            alias = f"{signal.name} of {signal.capacity}"
            steps = GTKWFlag.analog_step | GTKWFlag.analog_fullscale
            self.save.trace(name, alias=alias, datafmt="dec", extraflags=steps)
            self.save.blank(analog_extend=True)
        elif signal.kind == "text":
            self._text(signal, signal.name)
        elif signal.kind == "integer":
            self.save.trace(name, datafmt="signed")
        elif signal.width == 1:
            self.save.trace(name, datafmt="bin")
        else:  # GTKWave finds a vector only with its range
            self.save.trace(f"{name}[{signal.width - 1}:0]", alias=signal.name, datafmt="dec")


def _strip_machine(scope: str) -> str:
    return scope.partition(".")[2] or scope
