"""``fiberscope sim``: one run, its progress, its report and its summary."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from accelerators.configuration import parse_settings
from fiberscope import api
from fiberscope.errors import FailedRunError, InputError
from fiberscope.report import summary
from fiberscope.report.document import STANDARD_OUTPUT, Report, check_writable

__all__ = ["Request", "run"]

INTERRUPTED = 130


@dataclass(frozen=True)
class Request:
    """The command line of ``fiberscope sim``."""

    accelerator: str
    a: str
    b: str | None
    settings: Sequence[str]
    config: Path | None
    json: Path | None
    vcd: Path | None
    vcd_window: str | None
    vcd_scopes: Sequence[str]
    vcd_trigger: str | None
    vcd_cycles: int | None
    vcd_plain: bool
    exact: bool
    histograms: bool
    cycle_limit: int | None
    quiet: bool


def run(request: Request) -> int:
    """Run, report, and return the exit code.

    Raises:
        FailedRunError: the machine went wrong, after its report is written.
        InputError, ConfigurationError, WorkloadError: for what the user can put right.
    """
    if request.json is not None:
        check_writable(request.json)
        _check_distinct(request)
    try:
        report = _simulate(request)
    except FailedRunError as failed:
        _deliver(failed.report, request)
        raise
    _deliver(report, request)
    return INTERRUPTED if report.ending == "interrupted" else 0


def _simulate(request: Request) -> Report:
    with _progress(request.quiet) as progress:
        return api.simulate(
            request.accelerator,
            request.a,
            request.b,
            settings=parse_settings(request.settings),
            config=request.config,
            exact=request.exact,
            cycle_limit=request.cycle_limit,
            waveform=_waveform(request),
            histograms=request.histograms,
            progress=progress,
        )


def _deliver(report: Report, request: Request) -> None:
    """Write the report first, so that nothing that happens to the terminal can lose it."""
    if request.json is not None:
        report.write(request.json)
    if request.quiet or request.json == STANDARD_OUTPUT:
        _warn(report)
        return
    console = Console(highlight=False, markup=False)
    summary.show(report, console)
    if request.json is not None:
        console.print(f"Report: {request.json}", soft_wrap=True)
    if request.vcd is not None:
        console.print(f"Waveform: {request.vcd} (open it: fiberscope wave {request.vcd})", soft_wrap=True)


def _warn(report: Report) -> None:
    """What must be said even to those who want quiet."""
    for operand in (report.workload, report.workload.b):
        if operand is not None and operand.notice:
            print(f"fiberscope: {operand.notice}", file=sys.stderr)
    if not report.complete:
        print(f"fiberscope: INCOMPLETE: {report.ending} at cycle {report.cycles:,}", file=sys.stderr)


def _waveform(request: Request) -> api.Waveform | None:
    if request.vcd is None:
        given = {
            "--vcd-window": request.vcd_window,
            "--vcd-scope": request.vcd_scopes,
            "--vcd-trigger": request.vcd_trigger,
            "--vcd-cycles": request.vcd_cycles,
            "--vcd-plain": request.vcd_plain,
        }
        for option in (option for option, value in given.items() if value):
            raise InputError(f"{option} needs --vcd FILE, the waveform to write")
        return None
    return api.Waveform(
        request.vcd,
        _window(request.vcd_window),
        tuple(request.vcd_scopes),
        request.vcd_trigger,
        request.vcd_cycles,
        colours=not request.vcd_plain,
    )


def _window(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    start, _, end = text.partition(":")
    if not (start.isdecimal() and end.isdecimal() and int(start) < int(end)):
        raise InputError(f"--vcd-window {text}: write it as START:END in cycles, for example 1000:5000")
    return int(start), int(end)


def _check_distinct(request: Request) -> None:
    if request.vcd is not None and request.json in (request.vcd, request.vcd.with_suffix(".gtkw")):
        raise InputError(f"{request.json}: cannot be both the report and the waveform; give two names")


@contextmanager
def _progress(quiet: bool) -> Iterator[api.Progress | None]:
    """A progress bar on stderr while a person is watching."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bars:
        tasks = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=None)
            bars.update(tasks[stage], completed=done, total=total or None)

        yield tell
