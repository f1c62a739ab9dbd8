"""``fiberscope report``: the summary of a saved report."""

from __future__ import annotations

from fiberscope.commands.options import ReportFile


def report(file: ReportFile) -> None:
    """Print the summary of a saved report.

    \b
    Examples:
      fiberscope report out.json
    """
    from rich.console import Console

    from fiberscope.results.report.document import Report
    from fiberscope.results.report.summary import show

    show(Report.read(file), Console(highlight=False, markup=False))
