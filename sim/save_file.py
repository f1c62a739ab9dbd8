"""The GTKWave save file beside a waveform: which signals are shown at first, in which groups and formats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from vcd.gtkw import GTKWColor, GTKWFlag, GTKWSave

from sim.vcd_file import VcdFile
from sim.waveform import Variable

SAVE_FILE_ENDING = ".gtkw"
OPEN_GROUPS = 8  # components whose signals are unfolded at first
WINDOW = (1400, 900)  # pixels
SIGNALS_WIDTH = 280
WAVES_WIDTH = 800  # the whole waveform is to fit into
ZOOM_WIDTH = 200  # GTKWave's zoom is minus the binary logarithm of the time that it shows on so many pixels


def write_save_file(path: Path, vcd: VcdFile, variables: Sequence[Variable]) -> None:
    """Write it with one group a component, in the order of the variables.

    Args:
        path: where to.
        vcd: the waveform, named without its folder, so that the two files can move together.
        variables: what the waveform holds.
    """
    start, end = vcd.span
    with path.open("w", encoding="utf-8", newline="\n") as file:
        save = GTKWSave(file)
        save.dumpfile(vcd.path.name, abspath=False)
        save.timestart(start)
        save.zoom_markers(-math.log2(max(end - start, 1) * ZOOM_WIDTH / WAVES_WIDTH))
        save.size(*WINDOW)
        save.signals_width(SIGNALS_WIDTH)
        for machine in dict.fromkeys(variable.scope.partition(".")[0] for variable in variables):
            save.treeopen(machine)
        for position, (scope, signals) in enumerate(groupby(variables, key=lambda variable: variable.scope)):
            with save.group(scope, closed=position >= OPEN_GROUPS):
                for signal in signals:
                    _show(save, signal)


def _show(save: GTKWSave, signal: Variable) -> None:
    name = f"{signal.scope}.{signal.name}"
    if signal.kind == "occupancy":
        save.trace(name, datafmt="dec", extraflags=GTKWFlag.analog_step | GTKWFlag.analog_fullscale)
        save.blank(analog_extend=True)
    elif signal.kind == "text":
        save.trace(name, datafmt="ascii", color=GTKWColor.yellow if signal.name == "state" else None)
    elif signal.kind == "integer":
        save.trace(name, datafmt="signed")
    elif signal.width == 1:
        save.trace(name, datafmt="bin")
    else:
        save.trace(f"{name}[{signal.width - 1}:0]", datafmt="dec")  # a vector's bare name is not found
