"""Runs tasks on the workers of a Dask scheduler, and keeps each row as it comes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any, Protocol

from distributed import Client, as_completed
from distributed.client import Future
from distributed.scheduler import KilledWorker

from fiberscope.store import Store
from fiberscope.sweeps.ending import Outcome, ended
from fiberscope.sweeps.plan import Task
from fiberscope.sweeps.runner import Limits, run_task

__all__ = ["Watcher", "execute", "threads"]


LOOK_SECONDS = 5.0  # workers come and go


class Watcher(Protocol):
    """Who is told how far it is."""

    def began(self, task: Task) -> None:
        """A task was given to the workers."""

    def ended(self, task: Task, outcome: Outcome) -> None:
        """Its row is in the store."""


def execute(client: Client, tasks: Iterator[Task], store: Store, limits: Limits, watcher: Watcher) -> None:
    """Run tasks to their ends, whatever these are; a row is in the store before the next task is given out.

    Args:
        client: of the scheduler.
        tasks: asked for one by one, a few more than there are threads of workers to begin with.
        store: that gets the rows.
        limits: what a point may take.
        watcher: is told.
    """
    at_work: dict[Future[Any], Task] = {}
    completed = as_completed()

    def give(task: Task) -> None:
        future = client.submit(run_task, asdict(task), limits, key=f"point-{task.digest}", pure=False)
        at_work[future] = task
        completed.add(future)
        watcher.began(task)

    ahead, looked = _ahead(client), time.monotonic()
    for task in islice(tasks, ahead):
        give(task)
    for future in completed:
        task = at_work.pop(future)
        outcome = _outcome(future, task)
        store.add(task.digest, outcome.content)
        watcher.ended(task, outcome)
        if time.monotonic() - looked > LOOK_SECONDS:
            ahead, looked = _ahead(client), time.monotonic()
        for following in islice(tasks, max(1, ahead - len(at_work))):
            give(following)


def threads(client: Client) -> int:
    """Of all workers: how many points are run at a time."""
    return sum(map(int, client.nthreads().values()))


def _ahead(client: Client) -> int:
    """Twice the threads, so that no worker waits for the next task; workers may be still to come."""
    return max(2, 2 * threads(client))


def _outcome(future: Future[Any], task: Task) -> Outcome:
    error = future.exception()
    if error is None:
        return Outcome(*future.result())
    if isinstance(error, KilledWorker):
        return ended(asdict(task), "crashed", "the workers that it ran on died again and again")
    return ended(asdict(task), "crashed", f"{type(error).__name__}: {error}")
