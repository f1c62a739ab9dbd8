"""How far a sweep is: a bar where a person is watching, else a line a minute; at the end what failed."""

from __future__ import annotations

import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from fiberscope.sweeps.ending import DONE, Outcome
from fiberscope.sweeps.plan import Task

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Progress", "repeated", "shown"]

LINE_SECONDS, REFRESH_SECONDS = 60.0, 0.5


class Progress:
    """The counts of a sweep, and the time that is left.

    Args:
        tasks: that are to be run.

    Attributes:
        workers: how many are run at a time.
        statuses: how those ended that did, and how often.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.total, self.workers = len(tasks), 1
        self.statuses: Counter[str] = Counter()
        self._given = 0
        self._left = Counter(task.point.workload for task in tasks)
        self._sizes = {task.point.workload: task.size for task in tasks}
        self._spent: dict[str, list[float]] = defaultdict(list)  # seconds by workload

    def began(self, task: Task) -> None:
        """It was given to the workers."""
        self._given += 1

    def ended(self, task: Task, outcome: Outcome) -> None:
        """Its row is in the store."""
        self.statuses[outcome.status] += 1
        self._left[task.point.workload] -= 1
        self._spent[task.point.workload].append(outcome.seconds)

    @property
    def done(self) -> int:
        """Points that came to an end, whatever it was."""
        return self.statuses.total()

    @property
    def failed(self) -> int:
        """Those of them that were not done."""
        return self.done - self.statuses[DONE]

    @property
    def running(self) -> int:
        """Points that are being run."""
        return max(0, min(self.workers, self._given - self.done))

    def seconds_left(self) -> float | None:
        """From what points of a workload took, of others by their sizes; None at the beginning."""
        sizes = sum(self._sizes[name] * len(spent) for name, spent in self._spent.items())
        seconds = sum(map(sum, self._spent.values()))
        if not sizes:
            return None
        left = sum(
            count
            * (_mean(self._spent[name]) if self._spent.get(name) else self._sizes[name] * seconds / sizes)
            for name, count in self._left.items()
        )
        return left / self.workers

    def line(self) -> str:
        """All of it in a line."""
        left = self.seconds_left()
        parts = [
            f"{self.done:,} of {self.total:,} points",
            f"{self.running} running",
            f"{self.failed} failed",
        ]
        if left is not None:
            parts.append(f"about {timedelta(seconds=round(left))} left")
        return ", ".join(parts)


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


@contextmanager
def shown(progress: Progress, quiet: bool) -> Iterator[None]:
    """Show it on stderr while it goes on."""
    from rich.console import Console  # noqa: PLC0415  (not for those who want quiet)

    console = Console(stderr=True)
    if quiet:
        yield
    elif console.is_terminal:
        with _bar(progress, console):
            yield
    else:
        with repeated(partial(_print, progress), LINE_SECONDS):
            yield


def _print(progress: Progress) -> None:
    print(f"fiberscope: {progress.line()}", file=sys.stderr, flush=True)


@contextmanager
def _bar(progress: Progress, console: Console) -> Iterator[None]:
    from rich.progress import BarColumn, TextColumn  # noqa: PLC0415
    from rich.progress import Progress as Bars  # noqa: PLC0415

    columns = (BarColumn(), TextColumn("{task.fields[line]}"))
    with Bars(*columns, console=console, transient=True, auto_refresh=False) as bars:
        bar = bars.add_task("", total=progress.total, line=progress.line())

        def show() -> None:
            bars.update(bar, completed=progress.done, line=progress.line(), refresh=True)

        with repeated(show, REFRESH_SECONDS):
            yield


@contextmanager
def repeated(call: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call it every so many seconds meanwhile, whether a point ends or not."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            call()

    caller = threading.Thread(target=repeat, daemon=True)
    caller.start()
    try:
        yield
    finally:
        over.set()
        caller.join()
