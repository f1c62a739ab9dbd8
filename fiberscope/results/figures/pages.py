"""Layout of figures and tables with captions on the pages of a PDF file."""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.results.figures.style import (
    INK,
    SMALL,
    TEXT,
    convert_to_points,
    measure_text_points,
    wrap_text,
)
from fiberscope.results.report.files import check_writable, write_bytes
from fiberscope.results.report.pictures import METADATA, create_figure

if TYPE_CHECKING:
    from matplotlib.backend_bases import RendererBase
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 8.5, 11.0  # inches, letter paper
SIDE_MARGIN, TOP_MARGIN = 0.67, 0.75  # inches, margins
TEXT_WIDTH: Final = WIDTH - 2 * SIDE_MARGIN
COLUMN_GAP, ITEM_GAP = 0.16, 0.3  # inches, between columns and between items
COLUMN_WIDTH: Final = (TEXT_WIDTH - COLUMN_GAP) / 2 + 0.01  # inches, at least the width of an IEEE figure
DOTS_PER_INCH = 150  # resolution of a page as a picture
LINE_HEIGHT = TEXT * 1.35 / 72  # inches, line height of a caption
ROW_HEIGHT = SMALL * 1.4 / 72  # inches, row height of a table
CELL_GAP = 0.11  # inches, between columns of a table
TITLE_SIZE = 14.0  # points
_POWER = re.compile(r"(-?\d\.\d+)e([+-])0?(\d+)")
TIMES = "\N{MULTIPLICATION SIGN}"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Item(Protocol):
    """A figure or table on a page."""

    @property
    def width(self) -> float:
        """Return the width in inches."""

    @property
    def height(self) -> float:
        """Return the height in inches, with the caption."""

    def draw(self, page: Figure, left: float, top: float) -> None:
        """Draw the item with its upper left corner at ``left`` and ``top``.

        Both are inches from the lower left corner of the page.
        """


@dataclass(frozen=True)
class FigureItem:
    """A figure with a caption below.

    Args:
        figure: a figure of ``open_paper_figure``.
        caption: plain text, wrapped at the width of the figure.
    """

    figure: Figure
    caption: str

    @property
    def width(self) -> float:
        """Return the width in inches."""
        return float(self.figure.get_figwidth())

    @property
    def height(self) -> float:
        """Return the height in inches, with the caption."""
        return (
            float(self.figure.get_figheight())
            + 0.08
            + LINE_HEIGHT * len(_wrap_lines(self.caption, self.width))
        )

    def draw(self, page: Figure, left: float, top: float) -> None:
        """Draw the figure and its caption on a page."""
        height = float(self.figure.get_figheight())
        _insert(page, self.figure, left, top - height)
        _write_paragraph(page, _wrap_lines(self.caption, self.width), left, top - height - 0.08)


def _insert(page: Figure, figure: Figure, left: float, bottom: float) -> None:
    """Draw a figure on a page, with its lower left corner at ``left`` and ``bottom`` in inches."""
    from matplotlib.artist import Artist  # noqa: PLC0415  (heavy, and an extra)

    width, height = figure.get_size_inches()
    figure.set_layout_engine("none")  # the layout is final

    class Inserted(Artist):
        """A figure in another figure."""

        def draw(self, renderer: RendererBase) -> None:
            # a figure draws in its own box of inches, which is moved to its place on the page
            figure.set_dpi(page.get_dpi())
            figure.bbox_inches.set_points(np.array([[left, bottom], [left + width, bottom + height]]))
            figure.draw(renderer)

    page.add_artist(Inserted())


@dataclass(frozen=True)
class TableItem:
    """A table with a caption above and notes below.

    Args:
        headings: the headings of the columns.
        blocks: titles with rows of text; a title is in a row of its own, and an empty title is not drawn.
        groups: headings over several columns, from the second column on, with their numbers of columns.
        caption: plain text.
        notes: lines of plain text.
        max_width: the width of the page in inches, at which caption and notes are wrapped.
    """

    headings: Sequence[str]
    blocks: Sequence[tuple[str, Sequence[Sequence[str]]]]
    groups: Sequence[tuple[str, int]]
    caption: str
    notes: Sequence[str] = ()
    max_width: float = TEXT_WIDTH

    @cached_property
    def _rows(self) -> list[Sequence[str]]:
        return [row for _, rows in self.blocks for row in rows]

    @cached_property
    def _widths(self) -> list[float]:
        """Return the widths of the columns in inches."""
        columns = zip(self.headings, *self._rows, strict=True)
        widths = [
            measure_text_points([_format_cell(cell) for cell in column], SMALL) / 72 + CELL_GAP
            for column in columns
        ]
        column = 1
        for name, count in self.groups:
            missing_width = (
                measure_text_points([name], SMALL) / 72 + CELL_GAP - sum(widths[column : column + count])
            )
            widths[column : column + count] = [
                width + max(0.0, missing_width) / count for width in widths[column : column + count]
            ]
            column += count
        return widths

    @property
    def width(self) -> float:
        """Return the width in inches."""
        return sum(self._widths)

    @cached_property
    def _caption_lines(self) -> list[str]:
        return _wrap_lines(self.caption, min(self.max_width, max(self.width, 3.0)))

    @cached_property
    def _note_lines(self) -> list[str]:
        return [
            line
            for note in self.notes
            for line in _wrap_lines(note, min(self.max_width, max(self.width, 3.0)))
        ]

    @property
    def height(self) -> float:
        """Return the height in inches, with the caption and the notes."""
        # half a row for each rule: above each block, above the headings, and at the bottom
        titles = sum(1 for title, _ in self.blocks if title)
        rows = len(self._rows) + titles + (2 if self.groups else 1) + 0.5 * (len(self.blocks) + 2)
        return LINE_HEIGHT * (len(self._caption_lines) + len(self._note_lines)) + ROW_HEIGHT * rows + 0.06

    def split(self, height: float) -> Iterator[TableItem]:
        """Yield the table in tables of at most ``height`` inches, or of one row if a row is higher.

        The first keeps the caption, and the last keeps the notes. The others repeat the caption up to its
        first dot. Neighbouring blocks with the same title are joined.
        """
        if self.height <= height:
            yield self
            return
        titled_rows = [(title, row) for title, rows in self.blocks for row in rows]
        start, max_rows = 0, max(1, int(height / ROW_HEIGHT))  # without titles, rules and caption
        while start < len(titled_rows):
            stops = range(start + 1, min(start + max_rows, len(titled_rows)) + 1)
            count = bisect_right(stops, height, key=lambda stop: self._cut(titled_rows, start, stop).height)
            yield self._cut(titled_rows, start, start + max(1, count))
            start += max(1, count)

    def _cut(self, titled_rows: Sequence[tuple[str, Sequence[str]]], start: int, stop: int) -> TableItem:
        """Return a table of the rows from ``start`` to ``stop`` - 1, each with the title of its block."""
        blocks: list[tuple[str, Sequence[Sequence[str]]]] = []
        for title, row in titled_rows[start:stop]:
            if blocks and blocks[-1][0] == title:
                blocks[-1] = title, [*blocks[-1][1], row]
            else:
                blocks.append((title, [row]))
        is_last = stop == len(titled_rows)
        caption = self.caption if start == 0 else f"{self.caption.partition('.')[0]}, continued."
        return replace(self, blocks=blocks, caption=caption, notes=self.notes if is_last else ())

    def draw(self, page: Figure, left: float, top: float) -> None:
        """Draw the table on a page."""
        top = _write_paragraph(page, self._caption_lines, left, top) - 0.02
        widths = self._widths
        ends = [left + sum(widths[: column + 1]) for column in range(len(widths))]
        top = _draw_rule(page, left, ends[-1], top, 0.9)
        if self.groups:
            top = self._draw_groups(page, left, ends, top)
        top = self._draw_row(page, self.headings, left, ends, top)
        for title, rows in self.blocks:
            top = _draw_rule(page, left, ends[-1], top, 0.5)
            if title:
                _write(page, _format_cell(title), left, top, style="italic")
                top -= ROW_HEIGHT
            for row in rows:
                top = self._draw_row(page, row, left, ends, top)
        top = _draw_rule(page, left, ends[-1], top, 0.9)
        _write_paragraph(page, self._note_lines, left, top)

    def _draw_groups(self, page: Figure, left: float, ends: Sequence[float], top: float) -> float:
        column = 0
        for name, count in self.groups:
            start, end = ends[column] + CELL_GAP, ends[column + count]
            _write(page, name, (start + end) / 2, top, ha="center")
            _draw_line(page, start, end, top - ROW_HEIGHT, 0.4)
            column += count
        return top - 1.15 * ROW_HEIGHT

    def _draw_row(
        self, page: Figure, cells: Sequence[str], left: float, ends: Sequence[float], top: float
    ) -> float:
        _write(page, _format_cell(cells[0]), left, top)
        for cell, end in zip(cells[1:], ends[1:], strict=True):
            _write(page, _format_cell(cell), end, top, ha="right")
        return top - ROW_HEIGHT


def _format_cell(cell: str) -> str:
    """Format a cell with superscript exponents and symbols of units."""
    power = _POWER.fullmatch(cell)
    if power:
        exponent = f"{power[2].replace('+', '')}{power[3]}".translate(_SUPERSCRIPTS)
        return f"{power[1]}{TIMES}10{exponent}"
    return cell.replace("mm2]", "mm²]").replace("[us]", "[µs]").replace("[uJ]", "[µJ]")


def _draw_rule(page: Figure, left: float, right: float, top: float, weight: float) -> float:
    _draw_line(page, left, right, top - 0.2 * ROW_HEIGHT, weight)
    return top - 0.5 * ROW_HEIGHT


def _draw_line(page: Figure, left: float, right: float, height: float, weight: float) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415  (heavy, and an extra)

    ends = [left / WIDTH, right / WIDTH], [height / HEIGHT] * 2
    page.add_artist(Line2D(*ends, color=INK, linewidth=weight))


def _write(page: Figure, text: str, left: float, top: float, size: float = SMALL, **style: Any) -> None:  # noqa: ANN401
    page.text(left / WIDTH, top / HEIGHT, text, size=size, color=INK, va="top", parse_math=False, **style)


def _write_paragraph(page: Figure, lines: Sequence[str], left: float, top: float) -> float:
    """Write lines downwards, and return the position of the next line."""
    for line in lines:
        _write(page, line, left, top, TEXT)
        top -= LINE_HEIGHT
    return top


def _wrap_lines(text: str, width: float) -> list[str]:
    return wrap_text(text, convert_to_points(width)) if text else []


def draw_pages(items: Sequence[FigureItem | TableItem], title: str) -> list[Figure]:
    """Lay out items on letter pages, and return a figure for each page, with its number.

    If any figure is at most ``COLUMN_WIDTH`` wide, all items that are no wider are placed in two columns.
    Other items are centred. A table that is too high is split; a figure that is too high is cut off.

    Args:
        items: figures and tables in their order.
        title: the title on the first page; empty for no title.

    Raises:
        InputError: matplotlib is missing.
    """
    figures = [item for item in items if isinstance(item, FigureItem)]
    layout = _Layout(title, two_columns=any(figure.width <= COLUMN_WIDTH for figure in figures))
    for item in items:
        height = HEIGHT - 2 * TOP_MARGIN
        for part in item.split(height) if isinstance(item, TableItem) else [item]:
            layout.add(part)
    for number, page in enumerate(layout.pages, start=1):
        foot = f"{number} / {len(layout.pages)}"
        _write(page, foot, WIDTH / 2, 0.45, ha="center")
    return layout.pages


class _Layout:
    """Fills pages from top to bottom.

    Args:
        title: the title on the first page.
        two_columns: whether narrow items are placed in two columns.
    """

    def __init__(self, title: str, *, two_columns: bool) -> None:
        self.two_columns = two_columns
        self.pages: list[Figure] = []
        self._tops: list[float] = []
        self._column = 0
        self._add_page()
        if title:
            _write(self.pages[0], title, WIDTH / 2, HEIGHT - TOP_MARGIN, TITLE_SIZE, ha="center")
            self._tops = [top - 0.45 for top in self._tops]

    def _add_page(self) -> None:
        page = create_figure(WIDTH, HEIGHT, DOTS_PER_INCH)
        page.set_layout_engine("none")
        self.pages.append(page)
        self._column, self._tops = 0, [HEIGHT - TOP_MARGIN] * 2

    def add(self, item: Item) -> None:
        """Draw an item below the previous items, in the other column, or on the next page."""
        is_narrow = self.two_columns and item.width <= COLUMN_WIDTH
        if not is_narrow:  # a wide item starts below both columns
            self._tops = [min(self._tops)] * 2
            self._column = 0
        # a column that was left for the next column is not used again
        free_columns = [
            column for column in range(self._column, 2) if self._tops[column] - item.height >= TOP_MARGIN
        ]
        if not free_columns:
            self._add_page()
            free_columns = [0]
        self._column = free_columns[0]
        left = (
            SIDE_MARGIN + self._column * (COLUMN_WIDTH + COLUMN_GAP)
            if is_narrow
            else SIDE_MARGIN + (TEXT_WIDTH - item.width) / 2
        )
        # 0.2: an item wider than the page begins on the page, and is cut off on the right only
        item.draw(self.pages[-1], max(left, 0.2), self._tops[self._column])
        next_top = self._tops[self._column] - item.height - ITEM_GAP
        self._tops = [
            next_top if column == self._column or not is_narrow else top
            for column, top in enumerate(self._tops)
        ]


def check_paper(path: Path) -> None:
    """Check that a file for pages can be written.

    Raises:
        InputError: the file cannot be written, or its name does not end in ``.pdf``.
    """
    if path.suffix != ".pdf":
        raise InputError(f"{path}: a paper is a .pdf file")
    check_writable(path)


def write_pages(pages: Sequence[Figure], path: Path) -> None:
    """Write pages into one PDF file, deterministically.

    Raises:
        InputError: the file cannot be written.
    """
    from matplotlib import rc_context  # noqa: PLC0415  (heavy, and an extra)
    from matplotlib.backends.backend_pdf import PdfPages  # noqa: PLC0415

    content = io.BytesIO()
    # type 42 embeds TrueType fonts, where the default converts them to Type 3
    with rc_context({"pdf.fonttype": 42}), PdfPages(content, metadata=METADATA[".pdf"]) as pdf:
        for page in pages:
            pdf.savefig(page)
    write_bytes(path, content.getvalue())
