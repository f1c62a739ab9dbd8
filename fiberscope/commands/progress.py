"""Progress of a run: a bar on a terminal, otherwise a line per minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fiberscope.base.progress import Stage, StageWatcher

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from fiberscope.run.api import Progress

LINE_SECONDS = 60  # minimum time between two printed lines


@contextmanager
def progress_display(quiet: bool, clock: Callable[[], float] = time.monotonic) -> Iterator[Progress | None]:
    """Yield the progress callback of a run, or None if quiet; all output goes to stderr.

    On a terminal, the context removes its bars when it ends. Print results only after the context.

    Args:
        quiet: whether to show nothing.
        clock: returns the time in seconds.
    """
    if quiet:
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with _show_progress_bars(console, clock) as show:
            yield StageWatcher(show, clock)
    else:
        yield StageWatcher(_LinePrinter(clock), clock)


class _LinePrinter:
    """Prints the stage of a run to stderr, at most once in ``LINE_SECONDS``.

    The first line appears ``LINE_SECONDS`` after the start, so that a short run prints none. Between two
    calls nothing is printed, even if more time passes.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._last = clock, clock()

    def __call__(self, stage: Stage) -> None:
        now = self._clock()
        if now - self._last < LINE_SECONDS:
            return
        self._last = now
        share = "" if stage.share is None else f" {stage.share:.0%}"
        estimate = stage.text(now)
        comma = ", " if estimate else ""
        print(f"fiberscope: {stage.name}{share}{comma}{estimate}", file=sys.stderr, flush=True)


@contextmanager
def _show_progress_bars(console: Console, clock: Callable[[], float]) -> Iterator[Callable[[Stage], None]]:
    """Yield a function that shows a bar for each stage; all bars go when the context ends."""
    from fiberscope.base.progress_bar import progress_display

    with progress_display(console) as bar:
        tasks: dict[str, TaskID] = {}

        def show(stage: Stage) -> None:
            if stage.name not in tasks:
                tasks[stage.name] = bar.add_task(stage.name, total=None, rest="")
            # Without a total, the bar only moves
            total = None if stage.share is None else 1.0
            estimate = stage.text(clock())
            bar.update(tasks[stage.name], completed=stage.share or 0.0, total=total, rest=estimate)

        yield show
