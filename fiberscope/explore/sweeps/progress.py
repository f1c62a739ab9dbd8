"""Progress of a sweep: a bar on a terminal, otherwise a line per minute, and failures at the end."""

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

LINE_SECONDS, REFRESH_SECONDS = 60.0, 0.5
DECAY = 0.9  # factor of the weight of earlier points when another point ends
BATCH_SECONDS = 1.0  # estimated duration of a batch
SHARES = 2  # a batch is at most 1/SHARES of a worker's remaining points, so that all workers end together


@dataclass
class _Duration:
    """Decayed sums of the seconds and sizes of points; early points, which also import, lose weight."""

    seconds: float = 0.0
    sizes: float = 0.0

    def add(self, seconds: float, size: float) -> None:
        """Add a point."""
        self.seconds = DECAY * self.seconds + seconds
        self.sizes = DECAY * self.sizes + size


class Progress:
    """Counts of a sweep, and the estimated remaining time.

    Args:
        tasks: the tasks to run.

    Attributes:
        workers: the number of concurrent points.
        statuses: the number of ended points by status.
        listeners: called with each ended task and its outcome.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.total, self.workers = len(tasks), 1
        self.statuses: Counter[str] = Counter()
        self.listeners: list[Callable[[Task, TaskOutcome], None]] = []
        self._remaining = Counter(task.point.workload for task in tasks)
        self._task_by_workload = {task.point.workload: task for task in tasks}
        self._durations: dict[str, _Duration] = defaultdict(_Duration)  # by workload
        self._total_duration = _Duration()

    def set_workers(self, workers: int) -> None:
        """See ``watcher.Watcher``."""
        self.workers = workers

    def record_end(self, task: Task, outcome: TaskOutcome) -> None:
        """See ``watcher.Watcher``."""
        self.statuses[outcome.status] += 1
        self._remaining[task.point.workload] -= 1
        for spent in (self._durations[task.point.workload], self._total_duration):
            spent.add(outcome.seconds, task.size)
        for listener in self.listeners:
            listener(task, outcome)

    @property
    def done(self) -> int:
        """Return the number of ended points."""
        return self.statuses.total()

    @property
    def failed(self) -> int:
        """Return the number of failed points."""
        return self.done - self.statuses[DONE]

    @property
    def running(self) -> int:
        """Return the number of running points."""
        return min(self.workers, self.total - self.done)

    def estimate_task_seconds(self, task: Task) -> float:
        """Return the estimated seconds of a task, from points of its workload, else from all points by size.

        The estimate is infinite before the first point has ended.
        """
        spent = self._durations.get(task.point.workload, self._total_duration)
        return task.size * spent.seconds / spent.sizes if spent.sizes else math.inf

    def estimate_remaining_seconds(self) -> float:
        """Return the estimated seconds to the end of the sweep; infinity at the beginning."""
        estimates = (
            count * self.estimate_task_seconds(self._task_by_workload[name])
            for name, count in self._remaining.items()
            if count
        )
        return sum(estimates) / self.workers

    def describe_remaining_time(self) -> str:
        """Return the estimated time to the end in words; empty at the beginning."""
        seconds = self.estimate_remaining_seconds()
        return f"about {timedelta(seconds=round(seconds))} left" if math.isfinite(seconds) else ""

    def line(self) -> str:
        """Return the counts and the remaining time in a line."""
        counts = (f"{self.done:,} of {self.total:,} runs", f"{self.running} running", f"{self.failed} failed")
        return ", ".join(filter(None, (self.describe_remaining_time(), *counts)))


# Type of a context manager that follows the progress of a sweep, such as a page.
Follow: TypeAlias = Callable[[Progress], AbstractContextManager[object]]


@contextmanager
def show_progress(progress: Progress, quiet: bool, follow: Follow | None = None) -> Iterator[None]:
    """Show the progress on stderr or in a notebook during the context, and pass it to ``follow``.

    Args:
        progress: the progress, which the sweep updates.
        quiet: whether to show nothing; ``follow`` is called all the same.
        follow: returns a context manager that follows the progress.
    """
    with nullcontext() if follow is None else follow(progress), _show_on_stderr(progress, quiet):
        yield


@contextmanager
def _show_on_stderr(progress: Progress, quiet: bool) -> Iterator[None]:
    from rich.console import Console  # noqa: PLC0415  (not needed if quiet)

    console = Console(stderr=True)
    if quiet:
        yield
    elif in_notebook():
        with _show_notebook_bar(progress):
            yield
    elif console.is_terminal:
        with _show_bar(progress, console):
            yield
    else:
        with call_repeatedly(partial(_print, progress), LINE_SECONDS):
            yield


def _print(progress: Progress) -> None:
    print(f"fiberscope: {progress.line()}", file=sys.stderr, flush=True)


@contextmanager
def _show_notebook_bar(progress: Progress) -> Iterator[None]:
    bar = NotebookBar()

    def show() -> None:
        bar.show("sweep", progress.done / max(progress.total, 1), progress.line())

    try:
        with call_repeatedly(show, REFRESH_SECONDS):
            yield
    finally:
        bar.close()


@contextmanager
def _show_bar(progress: Progress, console: Console) -> Iterator[None]:
    with progress_display(console, auto_refresh=False) as shown:
        bar = shown.add_task("running", total=progress.total, rest=progress.line())

        def show() -> None:
            shown.update(bar, completed=progress.done, rest=progress.line(), refresh=True)

        with call_repeatedly(show, REFRESH_SECONDS):
            yield


@contextmanager
def call_repeatedly(call: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call a function in another thread during the context, every ``seconds``, first after ``seconds``.

    The end of the context waits for a running call. An error of the function ends the calls.
    """
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(seconds):
            call()

    caller = threading.Thread(target=repeat, daemon=True)
    caller.start()
    try:
        yield
    finally:
        is_over.set()
        caller.join()


def group_tasks(tasks: Iterable[Task], progress: Progress) -> Iterator[Sequence[Task]]:
    """Yield batches of tasks that take about a second; batches shrink towards the end of the sweep.

    Args:
        progress: estimates the duration of tasks; before the first estimate, a batch has one task.
    """
    remaining = deque(tasks)
    while remaining:
        max_tasks = len(remaining) // (SHARES * progress.workers)
        batch = [remaining.popleft()]
        seconds = progress.estimate_task_seconds(batch[0])
        while len(batch) < max_tasks:
            seconds += progress.estimate_task_seconds(remaining[0])
            if seconds > BATCH_SECONDS:
                break
            batch.append(remaining.popleft())
        yield batch


def group_singly(tasks: Iterable[Task]) -> Iterator[Sequence[Task]]:
    """Yield each task as a batch."""
    return ([task] for task in tasks)
