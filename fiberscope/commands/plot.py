"""``fiberscope plot``: pictures of a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fiberscope.commands.options import ReportFile
from fiberscope.results.report.files import check_outputs

_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Picture to write, .png, .svg or .pdf.")
]


def plot(report: ReportFile, output: _Output = None) -> None:
    """Draw the states, the traffic and their course over time.

    Also draws the iterations of an algorithm on a graph, and how full the channels were if the run had
    --histograms. Needs matplotlib: pip install 'fiberscope[plots]'.

    \b
    Examples:
      fiberscope sim gamma wiki-Vote --histograms --json out.json
      fiberscope plot out.json
      fiberscope plot out.json -o out.svg
    """
    from fiberscope.results.report.document import Report
    from fiberscope.results.report.pictures import save

    target = output or report.with_suffix(".png")
    check_outputs({"--output": target}, {"the report": report})
    save(Report.read(report), target)
    print(f"Pictures: {target}")
