"""Progress bars for terminals: a description, a bar, the completed share, and further text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def progress_display(console: Console, *, auto_refresh: bool = True) -> Progress:
    """Return a progress display whose bars fill the space beside the text and disappear when finished.

    A task shows its description and its field ``rest`` beside the bar. Without a total, the bar only moves.

    Args:
        console: console of the display.
        auto_refresh: whether a thread redraws the bars.
    """
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415  (only terminals need it)
    from rich.table import Column  # noqa: PLC0415

    rest = TextColumn("{task.fields[rest]}", table_column=Column(no_wrap=True, overflow="ellipsis"))
    share = TextColumn("{task.percentage:>3.0f}%")
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), share, rest)
    return Progress(*columns, console=console, transient=True, expand=True, auto_refresh=auto_refresh)
