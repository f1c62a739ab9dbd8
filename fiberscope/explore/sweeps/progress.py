"""Display the progress of a sweep: a bar on a terminal, otherwise a line a minute; failures at the end."""

from __future__ import annotations

import math
import sys
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from fiberscope.base.notebook import NotebookBar, in_notebook
from fiberscope.base.progress_bar import progress_display
from fiberscope.explore.sweeps.plan import Task
from fiberscope.explore.sweeps.task_status import DONE, TaskOutcome

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Follow", "Progress", "call_repeatedly", "group_singly", "group_tasks", "show_progress"]

LINE_SECONDS, REFRESH_SECONDS = 60.0, 0.5
KEPT = 0.9  # of what is known, as another point ends
BATCH_SECONDS = 1.0
SHARES = 2  # a batch is at most this part of what a worker's share of the rest is: all end together


@dataclass
class _Spent:
    """Seconds that points took, and their sizes; early points, which also import, lose weight over time."""

    seconds: float = 0.0
    sizes: float = 0.0

    def add(self, seconds: float, size: float) -> None:
        self.seconds = KEPT * self.seconds + seconds
        self.sizes = KEPT * self.sizes + size


class Progress:
    """The counts of a sweep, and the time that is left.

    Args:
        tasks: that are to be run.

    Attributes:
        workers: how many are run at a time.
        statuses: how those ended that did, and how often.
        listeners: called with each task that has ended, and its outcome.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.total, self.workers = len(tasks), 1
        self.statuses: Counter[str] = Counter()
        self.listeners: list[Callable[[Task, TaskOutcome], None]] = []
        self._left = Counter(task.point.workload for task in tasks)
        self._task_by_workload = {task.point.workload: task for task in tasks}
        self._spent: dict[str, _Spent] = defaultdict(_Spent)  # by workload
        self._of_all = _Spent()

    def working(self, workers: int) -> None:
        """See ``watcher.Watcher``."""
        self.workers = workers

    def ended(self, task: Task, outcome: TaskOutcome) -> None:
        """See ``watcher.Watcher``."""
        self.statuses[outcome.status] += 1
        self._left[task.point.workload] -= 1
        for spent in (self._spent[task.point.workload], self._of_all):
            spent.add(outcome.seconds, task.size)
        for listener in self.listeners:
            listener(task, outcome)

    @property
    def done(self) -> int:
        """Points that came to an end, whatever it was."""
        return self.statuses.total()

    @property
    def failed(self) -> int:
        """Return the number of points that ended without a result."""
        return self.done - self.statuses[DONE]

    @property
    def running(self) -> int:
        """Points that are being run."""
        return min(self.workers, self.total - self.done)

    def expected(self, task: Task) -> float:
        """Seconds it may take, by what others of its workload took, or else any by their sizes.

        At the beginning nobody knows: infinity.
        """
        spent = self._spent.get(task.point.workload, self._of_all)
        return task.size * spent.seconds / spent.sizes if spent.sizes else math.inf

    def seconds_left(self) -> float:
        """Return the estimated seconds to the end of the sweep; infinity at the beginning."""
        left = (
            count * self.expected(self._task_by_workload[name]) for name, count in self._left.items() if count
        )
        return sum(left) / self.workers

    def time_left(self) -> str:
        """Return the estimated time to the end in words, empty at the beginning."""
        left = self.seconds_left()
        return f"about {timedelta(seconds=round(left))} left" if math.isfinite(left) else ""

    def line(self) -> str:
        """All of it in a line."""
        counts = (
            f"{self.done:,} of {self.total:,} runs",
            f"{self.running} running",
            f"{self.failed} failed",
        )
        return ", ".join(filter(None, (self.time_left(), *counts)))


# Follows the progress of a sweep while the context lasts, as a page does.
Follow: TypeAlias = Callable[[Progress], AbstractContextManager[object]]


@contextmanager
def show_progress(progress: Progress, quiet: bool, follow: Follow | None = None) -> Iterator[None]:
    """Show it on stderr while it goes on; ``follow`` follows it too."""
    with nullcontext() if follow is None else follow(progress), _show_on_stderr(progress, quiet):
        yield


@contextmanager
def _show_on_stderr(progress: Progress, quiet: bool) -> Iterator[None]:
    from rich.console import Console  # noqa: PLC0415  (not for those who want quiet)

    console = Console(stderr=True)
    if quiet:
        yield
    elif in_notebook():
        with _notebook_bar(progress):
            yield
    elif console.is_terminal:
        with _bar(progress, console):
            yield
    else:
        with call_repeatedly(partial(_print, progress), LINE_SECONDS):
            yield


def _print(progress: Progress) -> None:
    print(f"fiberscope: {progress.line()}", file=sys.stderr, flush=True)


@contextmanager
def _notebook_bar(progress: Progress) -> Iterator[None]:
    bar = NotebookBar()

    def show() -> None:
        bar.show("sweep", progress.done / max(progress.total, 1), progress.line())

    try:
        with call_repeatedly(show, REFRESH_SECONDS):
            yield
    finally:
        bar.close()


@contextmanager
def _bar(progress: Progress, console: Console) -> Iterator[None]:
    with progress_display(console, auto_refresh=False) as shown:
        bar = shown.add_task("running", total=progress.total, rest=progress.line())

        def show() -> None:
            shown.update(bar, completed=progress.done, rest=progress.line(), refresh=True)

        with call_repeatedly(show, REFRESH_SECONDS):
            yield


@contextmanager
def call_repeatedly(call: Callable[[], None], seconds: float) -> Iterator[None]:
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


def group_tasks(tasks: Iterable[Task], progress: Progress) -> Iterator[Sequence[Task]]:
    """Tasks in their order, as many together as take a second; at the end ever fewer, at last one by one.

    Args:
        tasks: each once.
        progress: knows better and better what they take; before anything has ended they go one by one.
    """
    left = deque(tasks)
    while left:
        most = len(left) // (SHARES * progress.workers)
        batch = [left.popleft()]
        seconds = progress.expected(batch[0])
        while len(batch) < most and (seconds := seconds + progress.expected(left[0])) <= BATCH_SECONDS:
            batch.append(left.popleft())
        yield batch


def group_singly(tasks: Iterable[Task]) -> Iterator[Sequence[Task]]:
    """Tasks one by one."""
    return ([task] for task in tasks)
