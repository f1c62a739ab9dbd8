"""Figures and tables with captions on the pages of one PDF file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.results.figures.style import INK, SMALL, TEXT, points_of, text_points, wrap_text
from fiberscope.results.report.files import check_writable, write_bytes
from fiberscope.results.report.pictures import UNDATED, new_figure

if TYPE_CHECKING:
    from matplotlib.backend_bases import RendererBase
    from matplotlib.figure import Figure

__all__ = ["FigureItem", "TableItem", "check_paper", "draw_pages", "write_pages"]

WIDTH, HEIGHT = 8.5, 11.0  # inches: letter paper
SIDE, TOP = 0.67, 0.75  # inches: margins
INNER: Final = WIDTH - 2 * SIDE
BETWEEN, BELOW = 0.16, 0.3  # inches: from column to column, and from item to item
HALF: Final = (INNER - BETWEEN) / 2 + 0.01  # inches: a column, which a figure of IEEE just fits
DOTS_PER_INCH = 150  # of a page as a picture
LINE = TEXT * 1.35 / 72  # inches: from a line of a caption to the next
ROW = SMALL * 1.4 / 72  # inches: from a row of a table to the next
GAP = 0.11  # inches: from a column of a table to the next
TITLE = 14.0  # points
_POWER = re.compile(r"(-?\d\.\d+)e([+-])0?(\d+)")
TIMES = "\N{MULTIPLICATION SIGN}"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Item(Protocol):
    """Figure or table on a page."""

    @property
    def width(self) -> float:
        """Its width in inches."""

    @property
    def height(self) -> float:
        """Its height in inches, with the caption."""

    def draw(self, page: Figure, left: float, top: float) -> None:
        """Draw it with its upper left corner so many inches from the left and from the bottom."""


@dataclass(frozen=True)
class FigureItem:
    """A figure, with a caption below.

    Args:
        figure: as ``paper_figure`` lays it out.
        caption: plain text; lines are broken at the width of the figure.
    """

    figure: Figure
    caption: str

    @property
    def width(self) -> float:
        """Its width in inches."""
        return float(self.figure.get_figwidth())

    @property
    def height(self) -> float:
        """Its height in inches, with the caption."""
        return float(self.figure.get_figheight()) + 0.08 + LINE * len(_lines(self.caption, self.width))

    def draw(self, page: Figure, left: float, top: float) -> None:
        """Draw the figure and its caption on a page."""
        height = float(self.figure.get_figheight())
        _insert(page, self.figure, left, top - height)
        _write_lines(page, _lines(self.caption, self.width), left, top - height - 0.08)


def _insert(page: Figure, figure: Figure, left: float, bottom: float) -> None:
    """Let a page draw a figure whose lower left corner is so many inches from its own."""
    from matplotlib.artist import Artist  # noqa: PLC0415  (heavy, and an extra)

    width, height = figure.get_size_inches()
    figure.set_layout_engine("none")  # it has been laid out

    class Inserted(Artist):
        """A figure in another figure."""

        def draw(self, renderer: RendererBase) -> None:
            figure.set_dpi(page.get_dpi())
            figure.bbox_inches.set_points(np.array([[left, bottom], [left + width, bottom + height]]))
            figure.draw(renderer)

    page.add_artist(Inserted())


@dataclass(frozen=True)
class TableItem:
    """A table, with a caption above and notes below.

    Args:
        heads: the heads of the columns.
        blocks: rows of text, each with a title that has a row of its own; empty for none.
        groups: names above the columns behind the first, and over how many columns each goes.
        caption: plain text.
        notes: lines of plain text.
        room: the width of the page in inches, to which caption and notes are broken.
    """

    heads: Sequence[str]
    blocks: Sequence[tuple[str, Sequence[Sequence[str]]]]
    groups: Sequence[tuple[str, int]]
    caption: str
    notes: Sequence[str] = ()
    room: float = INNER

    @cached_property
    def _rows(self) -> list[Sequence[str]]:
        return [row for _, rows in self.blocks for row in rows]

    @cached_property
    def _widths(self) -> list[float]:
        """The widths of the columns in inches."""
        columns = zip(self.heads, *self._rows, strict=True)
        widths = [text_points([_set(cell) for cell in column], SMALL) / 72 + GAP for column in columns]
        first = 1
        for name, count in self.groups:
            more = text_points([name], SMALL) / 72 + GAP - sum(widths[first : first + count])
            widths[first : first + count] = [
                width + max(0.0, more) / count for width in widths[first : first + count]
            ]
            first += count
        return widths

    @property
    def width(self) -> float:
        """Its width in inches."""
        return sum(self._widths)

    @cached_property
    def _lines_above(self) -> list[str]:
        return _lines(self.caption, min(self.room, max(self.width, 3.0)))

    @cached_property
    def _lines_below(self) -> list[str]:
        return [line for note in self.notes for line in _lines(note, min(self.room, max(self.width, 3.0)))]

    @property
    def height(self) -> float:
        """Its height in inches, with the caption and the notes."""
        titles = sum(1 for title, _ in self.blocks if title)
        rows = len(self._rows) + titles + (2 if self.groups else 1) + 0.5 * (len(self.blocks) + 2)
        return LINE * (len(self._lines_above) + len(self._lines_below)) + ROW * rows + 0.06

    def pieces(self, height: float) -> Iterator[TableItem]:
        """Yield the table in pieces, none of them higher than so many inches."""
        most = max(1, int((height - self.height) / ROW) + len(self._rows))
        if len(self._rows) <= most:
            yield self
            return
        rest = [(title, row) for title, rows in self.blocks for row in rows]
        most = max(1, most - 2 * len(self.blocks))
        for start in range(0, len(rest), most):
            last: list[tuple[str, Sequence[Sequence[str]]]] = []
            for title, row in rest[start : start + most]:
                if last and last[-1][0] == title:
                    last[-1] = title, [*last[-1][1], row]
                else:
                    last.append((title, [row]))
            end = start + most >= len(rest)
            caption = self.caption if start == 0 else f"{self.caption.partition('.')[0]}, continued."
            yield replace(self, blocks=last, caption=caption, notes=self.notes if end else ())

    def draw(self, page: Figure, left: float, top: float) -> None:
        """Draw the table on a page."""
        top = _write_lines(page, self._lines_above, left, top) - 0.02
        widths = self._widths
        ends = [left + sum(widths[: at + 1]) for at in range(len(widths))]
        top = _rule(page, left, ends[-1], top, 0.9)
        if self.groups:
            top = self._draw_groups(page, left, ends, top)
        top = self._draw_row(page, self.heads, left, ends, top)
        for title, rows in self.blocks:
            top = _rule(page, left, ends[-1], top, 0.5)
            if title:
                _write(page, _set(title), left, top, style="italic")
                top -= ROW
            for row in rows:
                top = self._draw_row(page, row, left, ends, top)
        top = _rule(page, left, ends[-1], top, 0.9)
        _write_lines(page, self._lines_below, left, top)

    def _draw_groups(self, page: Figure, left: float, ends: Sequence[float], top: float) -> float:
        at = 0
        for name, count in self.groups:
            begin, end = ends[at] + GAP, ends[at + count]
            _write(page, name, (begin + end) / 2, top, ha="center")
            _line(page, begin, end, top - ROW, 0.4)
            at += count
        return top - 1.15 * ROW

    def _draw_row(
        self, page: Figure, cells: Sequence[str], left: float, ends: Sequence[float], top: float
    ) -> float:
        _write(page, _set(cells[0]), left, top)
        for cell, end in zip(cells[1:], ends[1:], strict=True):
            _write(page, _set(cell), end, top, ha="right")
        return top - ROW


def _set(cell: str) -> str:
    """Return the text of a cell with raised exponents and units."""
    power = _POWER.fullmatch(cell)
    if power:
        exponent = f"{power[2].replace('+', '')}{power[3]}".translate(_RAISED)
        return f"{power[1]}{TIMES}10{exponent}"
    return cell.replace("mm2]", "mm²]").replace("[us]", "[µs]").replace("[uJ]", "[µJ]")


def _rule(page: Figure, left: float, right: float, top: float, weight: float) -> float:
    _line(page, left, right, top - 0.2 * ROW, weight)
    return top - 0.5 * ROW


def _line(page: Figure, left: float, right: float, height: float, weight: float) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415  (heavy, and an extra)

    ends = [left / WIDTH, right / WIDTH], [height / HEIGHT] * 2
    page.add_artist(Line2D(*ends, color=INK, linewidth=weight))


def _write(page: Figure, text: str, left: float, top: float, size: float = SMALL, **style: Any) -> None:  # noqa: ANN401
    page.text(left / WIDTH, top / HEIGHT, text, size=size, color=INK, va="top", parse_math=False, **style)


def _write_lines(page: Figure, lines: Sequence[str], left: float, top: float) -> float:
    """Write lines one below the other, and return where the next one would begin."""
    for line in lines:
        _write(page, line, left, top, TEXT)
        top -= LINE
    return top


def _lines(text: str, width: float) -> list[str]:
    return wrap_text(text, TEXT, points_of(width)) if text else []


def draw_pages(items: Sequence[FigureItem | TableItem], title: str) -> list[Figure]:
    """Lay items out on letter pages, narrow ones in two columns, and return a figure for each page.

    Args:
        items: figures and tables in their order.
        title: the title on the first page.

    Raises:
        InputError: matplotlib is missing.
    """
    figures = [item for item in items if isinstance(item, FigureItem)]
    layout = _Layout(title, two_columns=any(figure.width <= HALF for figure in figures))
    for item in items:
        room = HEIGHT - 2 * TOP
        for piece in item.pieces(room) if isinstance(item, TableItem) else [item]:
            layout.add(piece)
    for number, page in enumerate(layout.pages, start=1):
        foot = f"{number} / {len(layout.pages)}"
        _write(page, foot, WIDTH / 2, 0.45, ha="center")
    return layout.pages


class _Layout:
    """Fills pages from the top.

    Args:
        title: the title on the first page.
        two_columns: whether items that are narrow enough stand in two columns.
    """

    def __init__(self, title: str, *, two_columns: bool) -> None:
        self.two_columns = two_columns
        self.pages: list[Figure] = []
        self._tops: list[float] = []
        self._column = 0
        self._turn()
        if title:
            _write(self.pages[0], title, WIDTH / 2, HEIGHT - TOP, TITLE, ha="center")
            self._tops = [top - 0.45 for top in self._tops]

    def _turn(self) -> None:
        """Begin a page."""
        page = new_figure(WIDTH, HEIGHT, DOTS_PER_INCH)
        page.set_layout_engine("none")
        self.pages.append(page)
        self._column, self._tops = 0, [HEIGHT - TOP] * 2

    def add(self, item: Item) -> None:
        """Draw an item below those before it, or on the next page."""
        narrow = self.two_columns and item.width <= HALF
        if not narrow:
            self._tops = [min(self._tops)] * 2
            self._column = 0
        fits = [at for at in range(self._column, 2) if self._tops[at] - item.height >= TOP]
        if not fits:
            self._turn()
            fits = [0]
        self._column = fits[0]
        left = SIDE + self._column * (HALF + BETWEEN) if narrow else SIDE + (INNER - item.width) / 2
        item.draw(self.pages[-1], max(left, 0.2), self._tops[self._column])
        below = self._tops[self._column] - item.height - BELOW
        self._tops = [below if at == self._column or not narrow else top for at, top in enumerate(self._tops)]


def check_paper(path: Path) -> None:
    """Find out before a long run whether the pages could be written.

    Raises:
        InputError: the file cannot be written, or its name does not end in ``.pdf``.
    """
    if path.suffix != ".pdf":
        raise InputError(f"{path}: a paper is a .pdf file")
    check_writable(path)


def write_pages(pages: Sequence[Figure], path: Path) -> None:
    """Write pages into one PDF file, the same bytes for the same pages.

    Raises:
        InputError: the file cannot be written.
    """
    from matplotlib import rc_context  # noqa: PLC0415  (heavy, and an extra)
    from matplotlib.backends.backend_pdf import PdfPages  # noqa: PLC0415

    content = io.BytesIO()
    with rc_context({"pdf.fonttype": 42}), PdfPages(content, metadata=UNDATED[".pdf"]) as written:
        for page in pages:
            written.savefig(page)
    write_bytes(path, content.getvalue())
