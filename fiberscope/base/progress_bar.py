"""A bar of how far something is, wherever one is shown: what, the bar, its share, the rest in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

__all__ = ["progress_display"]


def progress_display(console: Console, *, auto_refresh: bool = True) -> Progress:
    """Bars that take what room the words leave, and go when they are done.

    Of a task its description and the field ``rest`` are shown beside the bar; without a total it only moves.

    Args:
        console: where to.
        auto_refresh: whether they are drawn anew by themselves.
    """
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415  (where somebody watches)
    from rich.table import Column  # noqa: PLC0415

    rest = TextColumn("{task.fields[rest]}", table_column=Column(no_wrap=True, overflow="ellipsis"))
    share = TextColumn("{task.percentage:>3.0f}%")
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), share, rest)
    return Progress(*columns, console=console, transient=True, expand=True, auto_refresh=auto_refresh)
