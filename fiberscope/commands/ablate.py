"""``fiberscope ablate``: the bottleneck study as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from fiberscope.commands.options import (
    Accelerator,
    Json,
    Markdown,
    Matrix,
    Parts,
    SecondMatrix,
    Settings,
)
from fiberscope.commands.output import show, tell
from fiberscope.report.files import STANDARD_OUTPUT, check_outputs, matrices, write_json
from fiberscope.report.table import Table, percent

if TYPE_CHECKING:
    from fiberscope.study.ablate import Outcome

__all__ = ["ablate", "table"]


def ablate(
    accelerator: Accelerator,
    matrix: Matrix,
    b: SecondMatrix = None,
    settings: Settings = None,
    part: Parts = None,
    markdown: Markdown = False,
    json: Json = None,
) -> None:
    """Find what holds an accelerator back: parts made ideal one at a time, then all; mechanisms taken away.

    \b
    Examples:
      fiberscope ablate gamma wiki-Vote
      fiberscope ablate gamma wiki-Vote --set reorder=affinity
    """
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.parts import parse_parts
    from fiberscope.study import ablate as study

    check_outputs({"--json": json}, matrices(matrix, b))
    given, parts = parse_settings(settings or []), parse_parts(part or [])
    outcomes = study.ablate(accelerator, matrix, b, settings=given, parts=parts, tell=tell)
    if json is not None:
        write_json(json, [asdict(outcome) for outcome in outcomes])
    if json != STANDARD_OUTPUT:
        show([table(f"{accelerator} on {matrix}", outcomes)], markdown=markdown)


def table(title: str, outcomes: Sequence[Outcome]) -> Table:
    """A line for each run."""
    made = Table(title, ("What it tells", "Changed", "Cycles", "Saved", "Share"), labels=2)
    for one in outcomes:
        saved = f"{one.saved:,}" if one.tells else ""
        made.add(one.tells, one.name, f"{one.cycles:,}", saved, percent(one.share) if one.tells else "")
    return made
