"""``fiberscope sim``: one run, its progress, its report and its summary."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.commands.delivery import delivering
from fiberscope.commands.options import (
    Accelerator,
    Config,
    Exact,
    Json,
    Matrix,
    Parts,
    Quiet,
    SecondMatrix,
    Settings,
)
from fiberscope.commands.recorded import (
    Perfetto,
    Timeline,
    TimelineWindow,
    Vcd,
    VcdCycles,
    VcdPlain,
    VcdScope,
    VcdTrigger,
    VcdWindow,
    recorded,
    states_recorded,
)
from fiberscope.commands.waveform_size import sized
from fiberscope.errors import INTERRUPTED
from fiberscope.report.files import check_outputs, matrices

if TYPE_CHECKING:
    from fiberscope.report.document import Report
    from fiberscope.waveform import Waveform

__all__ = ["Checked", "CycleLimit", "Energy", "Histograms", "MemoryTrace", "checked_outputs", "ended", "sim"]

Histograms = Annotated[
    bool, typer.Option("--histograms", help="Report how full the channels were, for 'fiberscope plot'.")
]
Checked = Annotated[
    bool, typer.Option("--checked", help="Hold every request that memory gets to its tensor; slower.")
]
CycleLimit = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Stop at this cycle, with an incomplete report.")
]
MemoryTrace = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the memory's requests here, for 'fiberscope memory replay'."),
]
Energy = Annotated[
    bool, typer.Option("--energy", help="Show what memory and operations take, by the table that ships.")
]


def sim(
    context: typer.Context,
    accelerator: Accelerator,
    matrix: Matrix,
    b: SecondMatrix = None,
    settings: Settings = None,
    part: Parts = None,
    config: Config = None,
    json: Json = None,
    vcd: Vcd = None,
    vcd_window: VcdWindow = None,
    vcd_scope: VcdScope = None,
    vcd_trigger: VcdTrigger = None,
    vcd_cycles: VcdCycles = None,
    vcd_plain: VcdPlain = False,
    timeline: Timeline = None,
    perfetto: Perfetto = None,
    timeline_window: TimelineWindow = None,
    memory_trace: MemoryTrace = None,
    exact: Exact = False,
    histograms: Histograms = False,
    checked: Checked = False,
    cycle_limit: CycleLimit = None,
    energy: Energy = False,
    quiet: Quiet = False,
) -> int:
    """Simulate A times A, or A times B, on an accelerator; the product is verified against scipy.

    \b
    Examples:
      fiberscope sim gamma wiki-Vote --set pe.count=64 --set fibercache.size=1536KiB
      fiberscope sim gamma a.mtx --b b.mtx --json out.json
      fiberscope sim gamma uniform:rows=1000,cols=1000,nonzeros=5000
      fiberscope sim gamma wiki-Vote --vcd out.vcd --vcd-window 1000:5000
      fiberscope sim gamma wiki-Vote --vcd out.fst --vcd-trigger 'pe00 busy > 99'
    """
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.api import simulate
    from fiberscope.commands.progress import watched
    from fiberscope.parts import parse_parts

    waveform, states = checked_outputs(context), states_recorded(context)
    asked = partial(simulate, accelerator, matrix, b, config=config, exact=exact, histograms=histograms)
    asked = partial(asked, checked=checked, parts=parse_parts(part or []))
    run = partial(asked, memory_trace=memory_trace, cycle_limit=cycle_limit)
    with delivering(json, quiet, vcd, states) as deliver, watched(quiet) as tell:
        given = parse_settings(settings or [])
        report = run(settings=given, waveform=waveform, timeline=states, progress=sized(tell, waveform))
    deliver(report)
    return ended(report, energy)


def ended(report: Report, energy: bool) -> int:
    """Show the energy if that was asked for; returns the exit code."""
    from fiberscope.commands.output import show
    from fiberscope.energy import energy_table
    from fiberscope.models.energies import default_table

    if energy:
        show([energy_table(report, default_table())], markdown=False)
    return INTERRUPTED if report.ending == "interrupted" else 0


def checked_outputs(context: typer.Context) -> Waveform | None:
    """The waveform; refuses outputs that cannot be, before anything is read or run."""
    from fiberscope.waveform import files_of

    waveform = recorded(context)
    given = context.params
    vcd = given["vcd"]
    outputs = {"the report": given["json"], "the memory trace": given["memory_trace"]}
    outputs |= files_of(vcd) if vcd else {}
    outputs |= {"the timeline": given["timeline"], "the trace for Perfetto": given["perfetto"]}
    check_outputs(
        outputs, {**matrices(given["matrix"], given.get("b")), "the file of --config": given["config"]}
    )
    return waveform
