"""The options of a command that can write a waveform."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.errors import InputError

if TYPE_CHECKING:
    from fiberscope.states.files import StateFiles
    from fiberscope.waveform import Waveform

__all__ = [
    "Perfetto",
    "Timeline",
    "TimelineWindow",
    "Vcd",
    "VcdCycles",
    "VcdPlain",
    "VcdScope",
    "VcdTrigger",
    "VcdWindow",
    "recorded",
    "states_recorded",
]

Vcd = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a waveform here; as FST if it ends in .fst.")
]
VcdWindow = Annotated[
    str | None, typer.Option(metavar="START:END", help="Cycles in the waveform, the end excluded.")
]
VcdScope = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Components in the waveform, as in 'pe0[0-3]'; repeatable."),
]
VcdTrigger = Annotated[
    str | None,
    typer.Option(metavar="CONDITION", help="Begin the waveform when 'pe07 input_stall > 100' or the like."),
]
VcdCycles = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Length of the waveform at the most, from its begin.")
]
VcdPlain = Annotated[
    bool, typer.Option("--vcd-plain", help="No colours in the waveform, for viewers other than GTKWave.")
]

Timeline = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write what every part did over time here, for 'fiberscope page'."),
]
Perfetto = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the same here, for the Perfetto viewer.")
]
TimelineWindow = Annotated[
    str | None, typer.Option(metavar="START:END", help="Cycles in both of these, the end excluded.")
]


def recorded(context: typer.Context) -> Waveform | None:
    """The waveform that a command is asked for by these options, its parameters of the same names.

    Raises:
        InputError: there is no file to write it to, or the window is none.
    """
    from fiberscope.waveform import Waveform

    given = context.params
    if given["vcd"] is None:
        for option in context.command.params:
            if str(option.name).startswith("vcd_") and given[str(option.name)]:
                raise InputError(f"{option.opts[0]} needs --vcd FILE, the waveform to write")
        return None
    return Waveform(
        given["vcd"],
        _window("--vcd-window", given["vcd_window"]),
        given["vcd_scope"] or (),
        given["vcd_trigger"],
        given["vcd_cycles"],
        not given["vcd_plain"],
    )


def states_recorded(context: typer.Context) -> StateFiles | None:
    """The files of states over time that a command is asked for, its parameters of the same names.

    Raises:
        InputError: there is no file for a window, the window is none, or a library is missing.
    """
    from fiberscope.states.files import state_files

    given = context.params
    window = _window("--timeline-window", given["timeline_window"])
    return state_files(given["timeline"], given["perfetto"], window)


def _window(option: str, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    start, _, end = text.partition(":")
    if not (start.isdecimal() and end.isdecimal() and int(start) < int(end)):
        raise InputError(f"{option} {text}: write it as START:END in cycles, for example 1000:5000")
    return int(start), int(end)
