"""Output functions of several commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.results.report.table import Table, print_trimmed

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fiberscope.workloads import Entry

PIPE_WIDTH = 10_000  # columns outside of a terminal, where no row wraps


def show(tables: Sequence[Table], *, markdown: bool) -> None:
    """Print tables, for the terminal or as Markdown; a table that is wider than the terminal is split."""
    if markdown:
        print("\n".join(table.markdown() for table in tables))
        return
    for table in tables:
        for block in table.blocks(find_terminal_width()):
            print_stacked(block.rich(), "")


def print_progress(line: str) -> None:
    """Print a line about the progress of a study to stderr, so that stdout has results only."""
    print(line, file=sys.stderr)


def print_stacked(*parts: RenderableType, pipe_width: int = PIPE_WIDTH) -> None:
    """Print parts one below the other, without trailing blanks.

    Args:
        parts: renderables of ``rich``.
        pipe_width: number of columns outside of a terminal; by default each row is a single line.
    """
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    print(print_trimmed(Console(width=pipe_width, highlight=False, markup=False), *parts))


def find_terminal_width(pipe_width: int = PIPE_WIDTH) -> int:
    """Return the number of columns of the terminal, or ``pipe_width`` outside of a terminal."""
    from rich.console import Console

    console = Console()
    return console.width if console.is_terminal else pipe_width


def format_shape(entry: Entry) -> str:
    """Format the shape of a matrix or tensor of the registry."""
    return " x ".join(f"{size:,}" for size in entry.shape)


def format_nonzeros(entry: Entry) -> str:
    """Format the number of nonzeros, marked if approximate."""
    return f"{'about ' if entry.approximate else ''}{entry.nonzeros:,}"
