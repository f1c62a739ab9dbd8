"""``fiberscope plot`` and ``fiberscope diff``: reports as pictures, and two of them side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fiberscope.report import pictures as plot
from fiberscope.report.difference import Change, Difference, Setting, compare
from fiberscope.report.document import STANDARD_OUTPUT, Report, check_writable, write_text

__all__ = ["show_difference", "show_pictures"]

MOST_CHANGES = 20
LEAST_EFFECT = 0.001


def show_pictures(path: Path, output: Path | None) -> None:
    """Draw a report, beside it if not said otherwise, and say where.

    Raises:
        InputError: there is no such report, the picture cannot be written, or matplotlib is missing.
    """
    report = Report.read(path)
    target = output or path.with_suffix(".png")
    plot.save(report, target)
    print(f"Pictures: {target}")


def show_difference(first: Path, second: Path, json: Path | None) -> None:
    """Print what changed from the first report to the second, or all of it as JSON into a file (- for here).

    Raises:
        InputError: a report cannot be read, or the file cannot be written.
    """
    reports = Report.read(first), Report.read(second)
    difference = compare(*reports)
    if json is not None:
        check_writable(json)
        write_text(json, difference.to_json())
    if json == STANDARD_OUTPUT:
        return
    console = Console(highlight=False, markup=False)
    console.print(_headline(*reports))
    if difference.settings:
        console.print("", _settings(difference), sep="\n")
    if difference.changes:
        console.print("", _changes(difference), sep="\n")
    if not difference.settings and not difference.changes:
        console.print("Nothing changed.")


def _headline(before: Report, after: Report) -> Text:
    text = Text.assemble(
        "Cycles: ", (f"{before.cycles:,}", "bold"), " before, ", (f"{after.cycles:,}", "bold"), " after"
    )
    if before.cycles != after.cycles and before.cycles and after.cycles:
        faster = after.cycles < before.cycles
        ratio = max(before.cycles, after.cycles) / min(before.cycles, after.cycles)
        text.append(f", {ratio:,.2f} times {'faster' if faster else 'slower'}", "green" if faster else "red")
    return text


def _settings(difference: Difference) -> Table:
    table = _table("What was given", "before", "after")
    for setting in difference.settings:
        table.add_row(setting.name, *_given(setting))
    return table


def _given(setting: Setting) -> tuple[str, str]:
    return ("" if setting.before is None else str(setting.before)), (
        "" if setting.after is None else str(setting.after)
    )


def _changes(difference: Difference) -> Table:
    table = _table("What changed, by effect", "before", "after", "change")
    shown = list(_told(difference.changes))[:MOST_CHANGES]
    for change in shown:
        table.add_row(change.name, *_numbers(change))
    if len(shown) < len(difference.changes):
        table.caption = f"and {len(difference.changes) - len(shown)} lesser changes; --json FILE has them all"
        table.caption_justify = "left"
    return table


def _told(changes: Iterable[Change]) -> Iterator[Change]:
    """Those worth a line: of a family only what changed most, as one state's gain is another's loss."""
    families = set()
    for change in changes:
        family = change.name.rpartition(" ")[0]
        if change.effect >= LEAST_EFFECT and not (change.unit == "share" and family in families):
            families.add(family)
            yield change


def _numbers(change: Change) -> tuple[str, str, str]:
    if change.unit == "share":
        points = 100 * (change.after - change.before)
        return f"{change.before:.1%}", f"{change.after:.1%}", f"{points:+.1f} points"
    unit = " B" if change.unit == "bytes" else ""
    growth = f"{(change.after - change.before) / change.before:+.1%}" if change.before else "new"
    return f"{change.before:,.0f}{unit}", f"{change.after:,.0f}{unit}", growth


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(first, overflow="fold")
    for title in others:
        table.add_column(title, justify="right", overflow="fold")
    return table
