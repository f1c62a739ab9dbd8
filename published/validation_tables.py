"""Tables of every published figure beside ours, for ``fiberscope compare validation``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.results.report.table import Table, percent
from published.validation import ALL, HERE, KNOWN, MeanError

if TYPE_CHECKING:
    from published.sam_experiments import Claim
    from published.validation import Row

__all__ = ["validation_tables"]

TOTALS = (
    "Of",
    "Figure",
    "Settings",
    *(known.capitalize() for known in KNOWN),
    "All",
    "Largest",
    "TeAAL's mean",
)
FIGURES = ("Figure", "Run", "Settings", "Known", "Published", "Ours", "Error", "TeAAL's error")
NAMED = 4  # runs that are named, in one cell


def validation_tables(rows: Sequence[Row], claims: Sequence[Claim]) -> list[Table]:
    """Return the tables: mean errors, what was tuned on which run, claims, the figures of each machine."""
    by_machine: dict[str, list[Row]] = {}
    for row in rows:
        by_machine.setdefault(row.machine, []).append(row)
    tables = [_totals(MeanError.of(rows)), _settled(rows), _claims(claims)]
    tables += [_figures(name, group) for name, group in by_machine.items()]
    return [table for table in tables if table.rows]


def _totals(means: Sequence[MeanError]) -> Table:
    """Return a row for each machine, figure and settings; cells have mean error and count."""
    table = Table("Mean absolute errors", TOTALS, labels=3)
    groups: dict[tuple[str, str, str], dict[str, MeanError]] = {}
    for mean in means:
        groups.setdefault((mean.machine, mean.figure, mean.settings), {})[mean.known] = mean
    for common, group in groups.items():
        cells = [_mean(group.get(known)) for known in (*KNOWN, ALL)]
        public = group[ALL].public
        theirs = "" if public is None else percent(public, signed=False)
        table.add(*common, *cells, percent(group[ALL].largest, signed=False), theirs)
    return table


def _mean(mean: MeanError | None) -> str:
    return "" if mean is None else f"{percent(mean.error, signed=False)} of {mean.count}"


def _figures(machine: str, rows: Sequence[Row]) -> Table:
    table = Table(machine, FIGURES, labels=4)
    for row in rows:
        run = row.run if row.ran == HERE else f"{row.run}, run elsewhere by {row.ran}"
        ours = _number(row.ours) if row.ours is not None else _about(row.published * (1 + row.error))
        public = "" if row.public is None else percent(row.public)
        numbers = _number(row.published), ours, percent(row.error), public
        table.add(row.figure, run, row.settings, row.known, *numbers)
    return table


def _settled(rows: Sequence[Row]) -> Table:
    """Return what was tuned on which runs, a row for each choice."""
    seen: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.settled:
            seen.setdefault((row.machine, row.settled), []).append(row.run)
    table = Table("Tuned on", ("Of", "What was tuned", "On"), labels=3)
    for (machine, what), runs in seen.items():
        named = list(dict.fromkeys(runs))
        table.add(machine, what, "; ".join(named) if len(named) <= NAMED else f"{len(named)} runs")
    return table


def _claims(claims: Sequence[Claim]) -> Table:
    table = Table("Claims of the SAM paper", ("Figure", "Claim", "Measured", "Criterion", "Holds"), labels=5)
    for claim in claims:
        table.add(claim.figure, claim.text, claim.measured, claim.criterion, "yes" if claim.holds else "no")
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _about(value: float) -> str:
    """Format a number that is known to three digits, as it follows from a rounded error."""
    return f"about {float(f'{value:.3g}'):,.0f}"
