"""Tables for the terminal, Markdown and HTML."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError
from fiberscope.results.report.files import read_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table as RichTable

GAP = 3  # characters between two columns


def ruled_table(*columns: str, numbers: Collection[str] = (), title: str | None = None) -> RichTable:
    """Return an empty terminal table with a ruled head.

    Args:
        columns: the heads of the columns.
        numbers: the heads of columns with numbers, which are right-aligned and not wrapped.
        title: a title above the table; None for no title.
    """
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, title=title)
    for column in columns:
        is_number = column in numbers
        table.add_column(
            Text(column), justify="right" if is_number else "left", overflow="fold", no_wrap=is_number
        )
    return table


def print_trimmed(console: Console, *parts: RenderableType) -> str:
    """Render parts one below the other, without trailing blanks."""
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


@dataclass
class Table:
    """Rows of text cells, each with as many cells as there are columns.

    The first ``labels`` and the last ``notes`` columns are left-aligned, the others right-aligned. Groups of
    ``together`` right-aligned columns are not separated, such as a machine's cycles and speed-up.
    """

    title: str
    columns: Sequence[str]
    labels: int = 1
    rows: list[Sequence[str]] = field(default_factory=list)
    together: int = 1
    notes: int = 0

    def add(self, *cells: str) -> None:
        """Append a row, a cell for each column. The number of cells is not checked here."""
        self.rows.append(cells)

    def blocks(self, width: int) -> list[Table]:
        """Split the table into tables of at most ``width`` characters, each with the label columns.

        Columns of numbers are not wrapped, because a wrapped number reads as two numbers. A table with notes
        is not split. Labels of more than half of ``width``, and a wider group of columns, exceed the width.
        Only the first of several tables has the title.
        """
        if self.notes:  # notes wrap
            return [self]
        widths = [max(map(len, cells)) + GAP for cells in zip(self.columns, *self.rows, strict=True)]
        free_width = max(width - sum(widths[: self.labels]), width // 2)
        blocks: list[list[int]] = [[]]
        for first in range(self.labels, len(self.columns), self.together):
            group = [*range(first, min(first + self.together, len(self.columns)))]
            if blocks[-1] and sum(widths[index] for index in (*blocks[-1], *group)) > free_width:
                blocks.append([])
            blocks[-1] += group
        return (
            [self]
            if len(blocks) == 1
            else [self._block(block, number) for number, block in enumerate(blocks)]
        )

    def _block(self, block: Sequence[int], number: int) -> Table:
        indices = [*range(self.labels), *block]
        rows = [[row[index] for index in indices] for row in self.rows]
        title = self.title if number == 0 else ""
        return Table(title, [self.columns[index] for index in indices], self.labels, [*rows], self.together)

    def rich(self) -> RichTable:
        """Return the table for the terminal. Columns with equal heads have the same alignment."""
        from rich.text import Text

        table = ruled_table(
            *self.columns,
            numbers=self.columns[self.labels : len(self.columns) - self.notes],
            title=self.title or None,
        )
        for row in self.rows:
            table.add_row(*(Text(cell) for cell in row))
        return table

    def html(self) -> str:
        """Return an HTML table, for a notebook."""
        from html import escape

        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        rows = "".join(f"<tr>{''.join(self._format_cells(map(escape, row)))}</tr>" for row in self.rows)
        return f"<table><caption>{escape(self.title)}</caption><tr>{head}</tr>{rows}</table>"

    def _format_cells(self, row: Iterable[str]) -> Iterator[str]:
        for column, cell in enumerate(row):
            yield f'<td style="text-align:{"left" if self._is_left(column) else "right"}">{cell}</td>'

    def _is_left(self, column: int) -> bool:
        return not self.labels <= column < len(self.columns) - self.notes

    def markdown(self) -> str:
        """Return Markdown, with the title as a line above; a ``|`` in a cell becomes ``/``."""
        rules = ["---" if self._is_left(column) else "---:" for column in range(len(self.columns))]
        lines = [_line(row) for row in (self.columns, rules, *self.rows)]
        return "\n".join([f"{self.title}:", "", *lines, ""])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def format_percent(share: float, *, signed: bool = True) -> str:
    """Format a share as a percentage with one decimal."""
    return f"{share:+.1%}" if signed else f"{share:.1%}"


def replace_between(path: Path, marker: str, text: str) -> str:
    """Return the text of a page with a replaced part; the page itself is not written.

    Args:
        path: the page.
        marker: name of the part, in the lines that begin and end the part. Only the first such part is
            replaced.
        text: the new text between these lines, with its final newline.

    Raises:
        InputError: the page cannot be read, or has no such part.
    """
    page = read_text(path)
    begin, end = f"<!-- {marker}: begin -->", f"<!-- {marker}: end -->"
    pattern = re.compile(f"({re.escape(begin)}\n).*?({re.escape(end)})", flags=re.DOTALL)
    if not pattern.search(page):
        raise InputError(f"{path}: has no lines '{begin}' and '{end}', between which to write")
    return pattern.sub(lambda match: match[1] + text + match[2], page, count=1)
