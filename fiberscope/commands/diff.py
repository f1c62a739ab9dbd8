"""``fiberscope diff``: comparison of two reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.commands.output import print_stacked
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_text
from fiberscope.results.report.surrogates import format_footnote
from fiberscope.results.report.table import ruled_table

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text

    from fiberscope.results.report.difference import Change, Difference, Setting
    from fiberscope.results.report.document import Report

MAX_CHANGES = MAX_PROVENANCE = 20  # rows of a table
MIN_EFFECT = 0.001  # smallest ``Change.effect`` that gets a row

_Before = Annotated[
    Path, typer.Argument(metavar="BEFORE", help="Report of the first run, written with --json.")
]
_After = Annotated[Path, typer.Argument(metavar="AFTER", help="Report of the second run.")]
_Json = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write all changes to this file; - prints them.")
]


def diff(before: _Before, after: _After, json: _Json = None) -> None:
    """Show what differs between two runs.

    Lists differences of sources, operands, environment and parameters, then the results that changed most.

    \b
    Examples:
      fiberscope diff before.json after.json
      fiberscope diff before.json after.json --json changes.json
    """
    from fiberscope.results.report.difference import compare
    from fiberscope.results.report.document import Report

    check_outputs({"--json": json}, {"the report BEFORE": before, "the report AFTER": after})
    reports = Report.read(before), Report.read(after)
    difference = compare(*reports)
    if json is not None:
        write_text(json, difference.to_json())
    if json != STANDARD_OUTPUT:
        show_difference(difference, *reports)


def show_difference(difference: Difference, before: Report, after: Report) -> None:
    """Print the differences between two reports, or that nothing changed.

    All settings that differ are printed, but at most ``MAX_PROVENANCE`` differences of sources, operands and
    environment, and at most ``MAX_CHANGES`` results.

    Args:
        difference: the differences.
        before, after: the reports.
    """
    if difference.provenance:
        print_stacked(_settings_table("What it was made of", difference.provenance, MAX_PROVENANCE), "")
    print_stacked(_headline(difference, before, after))
    if note := format_footnote([*before.workload.surrogates, *after.workload.surrogates]):
        print_stacked(note)
    if difference.settings:
        print_stacked("", _settings_table("Settings", difference.settings, len(difference.settings)))
    if difference.changes:
        print_stacked("", _changes_table(difference, before, after))
    if note := _estimate_note(before, after):
        print_stacked(note)
    if not difference.settings and not difference.changes:
        print_stacked("Nothing changed.")


def _headline(difference: Difference, before: Report, after: Report) -> Text:
    """Return the cycles of both runs, and the speed-up if the difference is significant.

    The difference of two exact runs is significant if their cycles differ. If a run is an estimate, a test
    decides, and its outcome has a line of its own.
    """
    from rich.text import Text

    from fiberscope.results.report.estimates import format_interval

    text = Text.assemble(
        *("Cycles: ", (f"{before.cycles:,}", "bold"), f"{format_interval(before)} before, "),
        *((f"{after.cycles:,}", "bold"), f"{format_interval(after)} after"),
    )
    tested = difference.cycles
    differs = tested.significant if tested else before.cycles != after.cycles
    # A run that ended at once has 0 cycles, and no ratio
    if differs and before.cycles and after.cycles:
        faster = after.cycles < before.cycles
        ratio = max(before.cycles, after.cycles) / min(before.cycles, after.cycles)
        text.append(f", {ratio:,.2f} times {'faster' if faster else 'slower'}", "green" if faster else "red")
    return text.append(f"\nDifference: {tested}") if tested else text


def _estimate_note(before: Report, after: Report) -> str:
    """Return the estimated parts of the reports in a line; empty for two full runs."""
    fields = [report.sampling.estimated if report.sampling else () for report in (before, after)]
    names = ", ".join(dict.fromkeys([*fields[0], *fields[1]]))
    return f"Estimates from samples: {names}" if names else ""


def _settings_table(title: str, settings: Sequence[Setting], limit: int) -> RichTable:
    table = ruled_table(title, "before", "after", numbers=["before", "after"])
    for setting in settings[:limit]:
        texts = ("" if value is None else str(value) for value in (setting.before, setting.after))
        table.add_row(setting.name, *texts)
    if len(settings) > limit:
        table.caption = f"and {len(settings) - limit} more; --json FILE has them all"
        table.caption_justify = "left"
    return table


def _changes_table(difference: Difference, before: Report, after: Report) -> RichTable:
    from fiberscope.results.report.estimates import format_interval

    intervals = format_interval(before), format_interval(after)
    numbers = ("before", "after", "change")
    table = ruled_table("What changed, by effect", *numbers, numbers=numbers)
    largest = list(_largest_changes(difference.changes))[:MAX_CHANGES]
    for change in largest:
        old, new, growth = _format_change(change)
        suffixes = intervals if change.name == "cycles" else ("", "")
        table.add_row(change.name, old + suffixes[0], new + suffixes[1], growth)
    if len(largest) < len(difference.changes):
        table.caption = (
            f"and {len(difference.changes) - len(largest)} smaller changes; --json FILE has them all"
        )
        table.caption_justify = "left"
    return table


def _largest_changes(changes: Iterable[Change]) -> Iterator[Change]:
    """Yield the changes worth a line, of the states of a family of components only the largest change.

    The shares of all states of a family sum to 1, so that its other changes follow from the largest.

    Args:
        changes: the changes, the largest effect first.
    """
    families = set()
    for change in changes:
        # The name of a share is the family and a state, as in ``pe busy``
        family = change.name.rpartition(" ")[0]
        if change.effect >= MIN_EFFECT and not (change.unit == "share" and family in families):
            families.add(family)
            yield change


def _format_change(change: Change) -> tuple[str, str, str]:
    """Return the cells of a row: the values before and after, and the change."""
    if change.unit == "share":
        points = 100 * (change.after - change.before)
        return f"{change.before:.1%}", f"{change.after:.1%}", f"{points:+.1f} points"
    unit = " B" if change.unit == "bytes" else ""
    growth = f"{(change.after - change.before) / change.before:+.1%}" if change.before else "new"
    return f"{change.before:,.0f}{unit}", f"{change.after:,.0f}{unit}", growth
