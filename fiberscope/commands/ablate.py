"""``fiberscope ablate``: the bottleneck study as a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from accelerators.configuration import parse_settings
from fiberscope.ablate import Outcome, ablate
from fiberscope.compare_table import Table, percent
from fiberscope.report.document import STANDARD_OUTPUT, check_writable, write_text

__all__ = ["Request", "run", "table"]


@dataclass(frozen=True)
class Request:
    """The command line of ``fiberscope ablate``."""

    accelerator: str
    a: str
    b: str | None
    settings: Sequence[str]
    markdown: bool
    json: Path | None


def run(request: Request) -> int:
    """Run, print, write; returns the exit code.

    Raises:
        FailedRunError: the machine went wrong.
        InputError, ConfigurationError, WorkloadError: for what the user can put right.
    """
    if request.json is not None:
        check_writable(request.json)
    outcomes = ablate(
        request.accelerator,
        request.a,
        request.b,
        settings=parse_settings(request.settings),
        tell=lambda line: print(line, file=sys.stderr),
    )
    if request.json is not None:
        write_text(request.json, json.dumps([one.document() for one in outcomes], indent=2) + "\n")
    if request.json == STANDARD_OUTPUT:
        return 0
    found = table(f"{request.accelerator} on {request.a}", outcomes)
    if request.markdown:
        print(found.markdown())
    else:
        Console(highlight=False).print(found.rich())
    return 0


def table(title: str, outcomes: Sequence[Outcome]) -> Table:
    """A line for each run."""
    made = Table(title, ("What it tells", "Changed", "Cycles", "Saved", "Share"), labels=2)
    for one in outcomes:
        saved = f"{one.saved:,}" if one.tells else ""
        made.add(one.tells, one.name, f"{one.cycles:,}", saved, percent(one.share) if one.tells else "")
    return made
