"""Output of a run's report to a file, to the terminal, or both."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.results.errors import FailedRunError, UnwrittenFileError
from fiberscope.results.report.files import STANDARD_OUTPUT

if TYPE_CHECKING:
    from fiberscope.results.recording.files import StateFiles
    from fiberscope.results.report.document import Report


@contextmanager
def report_delivery(
    json: Path | None, quiet: bool, vcd: Path | None = None, states: StateFiles | None = None
) -> Iterator[Callable[[Report], None]]:
    """Yield the function that outputs a report; a run that fails in the context has its report output too.

    After a run that has not failed, the caller calls the function. Errors of the run are raised again. A run
    without a report, as after an invalid setting, outputs nothing.

    Args:
        json: the file of the report; ``-`` prints it, without a summary; None for no file.
        quiet: whether only warnings are printed, and no summary.
        vcd: the written waveform, to be named below the summary.
        states: the written files of component states, to be named below the summary.

    Raises:
        FailedRunError, UnwrittenFileError: the run in the context raised it; its report has been output.
        InputError: from the yielded function: the report cannot be written.
    """
    deliver = partial(_deliver, json=json, vcd=vcd, states=states, quiet=quiet)
    try:
        yield deliver
    except UnwrittenFileError as unwritten:
        deliver(unwritten.report, vcd=None, states=None)  # one of these files is the missing one
        raise
    except FailedRunError as failed:
        deliver(failed.report)
        raise


def _deliver(
    report: Report, json: Path | None, vcd: Path | None, states: StateFiles | None, quiet: bool
) -> None:
    """Write the report before the summary; print the summary even if the report cannot be written."""
    quiet = quiet or json == STANDARD_OUTPUT
    try:
        if json is not None:
            report.write(json)
    finally:
        _print_summary(report, quiet)
    if quiet:
        return
    if json is not None:
        print(f"Report: {json}")
    if vcd is not None:
        print(f"Waveform: {vcd} (open it: fiberscope wave {vcd})")
    if states is not None and states.timeline is not None:
        print(f"Timeline: {states.timeline}")
    if states is not None and states.perfetto is not None:
        print(f"Trace: {states.perfetto} (open it in ui.perfetto.dev)")


def _print_summary(report: Report, quiet: bool) -> None:
    """Print the summary, or only its warnings if quiet."""
    if quiet:
        _warn(report)
        return
    from rich.console import Console

    from fiberscope.results.report.summary import show

    show(report, Console(highlight=False, markup=False, emoji=False))  # emoji take time to load


def _warn(report: Report) -> None:
    """Print the surrogate notices of operands, and a warning for an incomplete run, to stderr."""
    for operand in report.workload.operands:
        if operand.notice:
            print(f"fiberscope: {operand.notice}", file=sys.stderr)
    if not report.complete:
        print(f"fiberscope: INCOMPLETE: {report.ending} at cycle {report.cycles:,}", file=sys.stderr)
