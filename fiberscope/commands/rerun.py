"""``fiberscope rerun``: a run again, from its report, and what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fiberscope.commands.options import Json, Quiet
from fiberscope.commands.report_output import report_delivery
from fiberscope.commands.run_options import exit_code
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs

__all__ = ["rerun"]

_Report = Annotated[Path, typer.Argument(metavar="FILE", help="Report written with --json.")]
_Anyway = Annotated[bool, typer.Option("--anyway", help="Run even if the sources or operands have changed.")]


def rerun(file: _Report, anyway: _Anyway = False, json: Json = None, quiet: Quiet = False) -> int:
    """Repeat the run of a report, and show what differs.

    Uses the same command, parameters and operands. Refused if the digest of the sources or operands differs
    from the report. Paths are relative to the current folder.

    \b
    Examples:
      fiberscope rerun out.json
      fiberscope rerun out.json --anyway --json again.json
    """
    from fiberscope.commands.diff import show_difference
    from fiberscope.commands.progress import progress_display
    from fiberscope.results.report.difference import compare
    from fiberscope.run.rerun import rerun as run_again

    check_outputs({"the report": json}, {"the report FILE": file})
    with report_delivery(json, quiet) as deliver, progress_display(quiet) as tell:
        before, after = run_again(file, tell, anyway=anyway)
    deliver(after)
    if not quiet and json != STANDARD_OUTPUT:
        print()
        show_difference(compare(before, after), before, after)
    return exit_code(after)
