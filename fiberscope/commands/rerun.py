"""``fiberscope rerun``: a run again, from its report, and what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.debug import Script, hold, script_lines
from fiberscope.commands.options import Json, Quiet
from fiberscope.commands.report_output import report_delivery
from fiberscope.commands.run_options import exit_code
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs

__all__ = ["rerun"]

_Report = Annotated[Path, typer.Argument(metavar="FILE", help="Report written with --json.")]
_Anyway = Annotated[bool, typer.Option("--anyway", help="Run even if the sources or operands have changed.")]

_To = Annotated[
    int | None,
    typer.Option("--to", metavar="CYCLE", min=0, help="Go to this cycle, and start the debugger there."),
]


def rerun(
    file: _Report,
    anyway: _Anyway = False,
    to: _To = None,
    script: Script = None,
    json: Json = None,
    quiet: Quiet = False,
) -> int:
    """Repeat the run of a report, and show what differs.

    Uses the same command, parameters and operands. Refused if the digest of the sources or operands differs
    from the report. Paths are relative to the current folder. With --to the run stops in a cycle, and takes
    commands of the debugger.

    \b
    Examples:
      fiberscope rerun out.json
      fiberscope rerun out.json --anyway --json again.json
      fiberscope rerun out.json --to 5000
    """
    from fiberscope.commands.diff import show_difference
    from fiberscope.commands.progress import progress_display
    from fiberscope.results.report.difference import compare
    from fiberscope.run.rerun import debug_again
    from fiberscope.run.rerun import rerun as run_again

    check_outputs({"the report": json}, {"the report FILE": file})
    if to is not None:
        lines = script_lines(script)
        with debug_again(file, to, anyway=anyway) as session:
            print(session.info())
            return hold(session, json, script, lines)
    if script is not None:
        raise InputError("--script needs --to CYCLE: its commands are of the debugger")
    with report_delivery(json, quiet) as deliver, progress_display(quiet) as tell:
        before, after = run_again(file, tell, anyway=anyway)
    deliver(after)
    if not quiet and json != STANDARD_OUTPUT:
        print()
        show_difference(compare(before, after), before, after)
    return exit_code(after)
