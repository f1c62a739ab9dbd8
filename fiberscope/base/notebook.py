"""Progress bars in notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from fiberscope.base.progress import Progress, Stage, StageWatcher, ignore_progress

DELAY, REFRESH = 1.0, 0.25  # seconds until a bar appears, and between two updates


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")  # a notebook has loaded it
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")  # IPython in a terminal has no kernel


class NotebookBar:
    """A progress bar below the running cell, from the first ``show`` after a second until ``close``.

    Args:
        clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._next_update = clock, clock() + DELAY
        self._handle: Any = None

    def show(self, name: str, share: float | None, rest: str) -> None:
        """Show the progress of a stage.

        Args:
            name: name of the stage.
            share: completed share of the work, from 0 to 1; None if unknown.
            rest: text after the bar.
        """
        now = self._clock()
        if now < self._next_update:
            return
        self._next_update = now + REFRESH
        value = "" if share is None else f' value="{share:.3f}"'
        percent = "" if share is None else f"{share:.0%} "
        self._display(f"{escape(name)} <progress{value}></progress> {escape(percent + rest)}")

    def close(self) -> None:
        """Remove the bar."""
        if self._handle is not None:
            self._display("")

    def _display(self, html: str) -> None:
        output = import_module("IPython.display")  # available in every notebook
        if self._handle is None:
            self._handle = output.display(output.HTML(html), display_id=True)
        else:
            self._handle.update(output.HTML(html))


@contextmanager
def open_progress_callback(progress: Progress | bool | None) -> Iterator[Progress]:
    """Yield the progress callback of a run.

    Args:
        progress: a callback; or False for no bar. Otherwise a notebook shows a bar, and any other process
            ignores the progress, even for True.
    """
    if callable(progress):
        yield progress
    elif progress is False or not in_notebook():
        yield ignore_progress
    else:
        bar = NotebookBar()

        def show(stage: Stage) -> None:
            bar.show(stage.name, stage.share, stage.text(time.monotonic()))

        try:
            yield StageWatcher(show, time.monotonic)
        finally:
            bar.close()
