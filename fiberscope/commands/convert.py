"""``fiberscope convert``: one conversion between formats, its progress, its report and its summary."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from fiberscope.commands.delivery import delivering
from fiberscope.commands.options import Config, Exact, Json, Matrix, Quiet, Settings
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
    states_recorded,
)
from fiberscope.commands.sim import (
    Checked,
    CycleLimit,
    Energy,
    Histograms,
    MemoryTrace,
    checked_outputs,
    ended,
)
from fiberscope.commands.waveform_size import sized

__all__ = ["convert"]

_Source = Annotated[str, typer.Argument(metavar="FROM", help="Format that the matrix is in: csr, zvc, ...")]
_Target = Annotated[str, typer.Argument(metavar="TO", help="Format that it is to be in: csc, bsr2, ...")]
_Bits = Annotated[int, typer.Option(metavar="8|16|32", help="Bits of a value.")]


def convert(
    context: typer.Context,
    source: _Source,
    target: _Target,
    matrix: Matrix,
    bits: _Bits = 32,
    settings: Settings = None,
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
    """Convert a matrix between formats in MINT's hardware; the result is verified bit by bit.

    \b
    Examples:
      fiberscope convert csr csc wiki-Vote
      fiberscope convert csr bsr4 uniform:rows=100,cols=100,nonzeros=500 --bits 16 --json out.json
    """
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.api import simulate
    from fiberscope.commands.progress import watched
    from fiberscope.converters.mint import MINT
    from fiberscope.converters.recipes import recipe

    recipe(source, target)  # refused before anything is read
    waveform, states = checked_outputs(context), states_recorded(context)
    wanted = {"problem.source": source.lower(), "problem.target": target.lower(), "problem.bits": bits}
    asked = partial(simulate, MINT, matrix, config=config, exact=exact, histograms=histograms)
    run = partial(asked, memory_trace=memory_trace, cycle_limit=cycle_limit, checked=checked)
    given = {**parse_settings(settings or []), **wanted}
    with delivering(json, quiet, vcd, states) as deliver, watched(quiet) as tell:
        report = run(settings=given, waveform=waveform, timeline=states, progress=sized(tell, waveform))
    deliver(report)
    return ended(report, energy)
