"""``fiberscope report``: the summary of a saved report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_Report = Annotated[Path, typer.Argument(metavar="REPORT", help="Report written with --json.")]


def report(file: _Report) -> None:
    """Print the summary of a saved report.

    \b
    Examples:
      fiberscope report out.json
    """
    from rich.console import Console

    from fiberscope.results.report.document import Report
    from fiberscope.results.report.summary import show

    show(Report.read(file), Console(highlight=False, markup=False))
