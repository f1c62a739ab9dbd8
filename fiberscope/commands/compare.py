"""``fiberscope compare``: runs the published matrices and prints how far off the machine is."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from accelerators.configuration import parse_settings
from fiberscope.compare import Run, compare
from fiberscope.compare_table import Table, percent, replace_between
from fiberscope.report.document import STANDARD_OUTPUT, check_writable, write_text

__all__ = ["Request", "run", "tables"]


@dataclass(frozen=True)
class Request:
    """The command line of ``fiberscope compare``."""

    accelerator: str
    matrices: Sequence[str]
    settings: Sequence[str]
    surrogates: bool
    markdown: bool
    json: Path | None
    write: Path | None


def run(request: Request) -> int:
    """Run, print, write; returns the exit code.

    Raises:
        FailedRunError: the machine went wrong.
        InputError, ConfigurationError, WorkloadError: for what the user can put right.
    """
    marker = f"compare {request.accelerator}"
    for path in (request.json, request.write):
        if path is not None:
            check_writable(path)
    if request.write is not None:
        replace_between(request.write, marker, "")  # finds a fault before the runs, not after
    runs = compare(
        request.accelerator,
        request.matrices,
        settings=parse_settings(request.settings),
        surrogates=request.surrogates,
        tell=lambda line: print(line, file=sys.stderr),
    )
    found = tables(runs)
    text = "\n" + "\n".join(table.markdown() for table in found)
    if request.json is not None:
        write_text(request.json, json.dumps([one.document() for one in runs], indent=2) + "\n")
    if request.write is not None:
        write_text(request.write, replace_between(request.write, marker, text + "\n"))
    if request.json != STANDARD_OUTPUT:
        _show(found, text if request.markdown else None)
    return 0


def _show(found: Sequence[Table], markdown: str | None) -> None:
    if markdown is not None:
        print(markdown)
        return
    console = Console(highlight=False)
    for table in found:
        console.print(table.rich())
        console.print()


def tables(runs: Sequence[Run]) -> list[Table]:
    """Cycles with mean errors, and traffic."""
    return [_cycles(runs), _traffic(runs)]


def _cycles(runs: Sequence[Run]) -> Table:
    columns = ("Matrix", "Memory", "Cycles", "Reported", "Error", "TeAAL", "TeAAL's error")
    table = Table("Cycles", columns, labels=2)
    for run in runs:
        table.add(
            _name(run),
            run.model,
            f"{run.cycles:,}",
            _number(run.reported),
            _share(run.error),
            _number(run.teaal),
            _share(run.teaal_error),
        )
    for model in dict.fromkeys(run.model for run in runs):
        ours = [abs(run.error) for run in runs if run.model == model and run.error is not None]
        theirs = [abs(run.teaal_error) for run in runs if run.model == model and run.teaal_error is not None]
        table.add("mean, absolute", model, "", "", _mean(ours), "", _mean(theirs))
    return table


def _traffic(runs: Sequence[Run]) -> Table:
    columns = ("Matrix", "Memory", "Tensor", "Traffic", "Reported", "TeAAL", "Error, of all")
    table = Table("Traffic in bytes; errors are parts of all reported traffic", columns, labels=3)
    for run in runs:
        for one in run.traffic:
            table.add(
                _name(run),
                run.model,
                one.tensor,
                f"{one.ours:,}",
                _number(one.reported),
                _number(one.teaal),
                _share(one.difference),
            )
    return table


def _name(run: Run) -> str:
    return run.matrix if run.source == "real" else f"{run.matrix} ({run.source.upper()})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def _mean(values: Sequence[float]) -> str:
    return percent(sum(values) / len(values), signed=False) if values else ""
