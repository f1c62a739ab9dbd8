"""Tables of every published figure beside ours, for ``fiberscope compare validation``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.results.report.table import Table, percent
from published.validation import HERE, Held

if TYPE_CHECKING:
    from published.sam_experiments import Claim
    from published.validation import Row

__all__ = ["validation_tables"]

TOTALS = ("Of", "Figure", "Settings", "Known", "Figures", "Mean error", "Largest", "TeAAL's mean")
FIGURES = ("Figure", "Run", "Settings", "Known", "Published", "Ours", "Error", "TeAAL's error")
NAMED = 4  # runs that are named, in one cell


def validation_tables(rows: Sequence[Row], claims: Sequence[Claim]) -> list[Table]:
    """Means first, then all figures of each machine, what was settled after which, and what was claimed."""
    by_machine: dict[str, list[Row]] = {}
    for row in rows:
        by_machine.setdefault(row.machine, []).append(row)
    tables = [_totals(Held.of(rows)), *(_figures(name, group) for name, group in by_machine.items())]
    return [table for table in (*tables, _settled(rows), _claims(claims)) if table.rows]


def _totals(groups: Sequence[Held]) -> Table:
    table = Table("Means of errors without their signs", TOTALS, labels=4)
    for one in groups:
        errors = percent(one.error, signed=False), percent(one.largest, signed=False)
        theirs = "" if one.public is None else percent(one.public, signed=False)
        table.add(one.machine, one.figure, one.settings, one.known, str(one.count), *errors, theirs)
    return table


def _figures(machine: str, rows: Sequence[Row]) -> Table:
    table = Table(machine, FIGURES, labels=4)
    for row in rows:
        run = row.run if row.ran == HERE else f"{row.run}, run elsewhere by {row.ran}"
        ours = "" if row.ours is None else _number(row.ours)
        public = "" if row.public is None else percent(row.public)
        numbers = _number(row.published), ours, percent(row.error), public
        table.add(row.figure, run, row.settings, row.known, *numbers)
    return table


def _settled(rows: Sequence[Row]) -> Table:
    """What was chosen after runs had been held to figures, each choice once."""
    seen: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.settled:
            seen.setdefault((row.machine, row.settled), []).append(row.run)
    table = Table("Settled after", ("Of", "What", "After"), labels=3)
    for (machine, what), runs in seen.items():
        named = list(dict.fromkeys(runs))
        table.add(machine, what, "; ".join(named) if len(named) <= NAMED else f"{len(named)} runs")
    return table


def _claims(claims: Sequence[Claim]) -> Table:
    table = Table("SAM, what is said of its figures", ("Figure", "Said", "Measured", "Holds"), labels=4)
    for claim in claims:
        table.add(claim.figure, claim.text, claim.measured, "yes" if claim.holds else "no")
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
