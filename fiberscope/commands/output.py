"""What several commands print alike."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.report.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from workloads import Entry

__all__ = ["nonzeros", "shape", "show", "tell", "wide_console"]

PIPE_WIDTH = 200


def show(tables: Sequence[Table], *, markdown: bool) -> None:
    """Print tables, for the terminal or as Markdown."""
    if markdown:
        print("\n".join(table.markdown() for table in tables))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for table in tables:
        console.print(table.rich())
        console.print()


def tell(line: str) -> None:
    """Say on stderr how far a study of several runs is."""
    print(line, file=sys.stderr)


def wide_console() -> Console:
    """As wide as the terminal; in a pipe wide enough for one line a row."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def shape(entry: Entry) -> str:
    """The shape of a matrix or tensor of the registry."""
    return " x ".join(f"{size:,}" for size in entry.shape)


def nonzeros(entry: Entry) -> str:
    """Its nonzeros, as exactly as the registry has them."""
    return f"{'about ' if entry.approximate else ''}{entry.nonzeros:,}"
