"""Runs batches of points on the workers of a Dask scheduler, and keeps each row as it comes.

A batch is a task of Dask's. A worker tells of each point of it as it ends, by an event that the scheduler
passes on; of the task itself comes nothing but that it is over. What is unfinished then, as its worker died,
is given again.
"""

from __future__ import annotations

import queue
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from distributed import Client
from distributed.client import Future
from distributed.scheduler import KilledWorker

from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.plan import Task
from fiberscope.explore.sweeps.point_process import ENDED, ChildStartError, Limits, run_batch
from fiberscope.explore.sweeps.task_status import TaskOutcome, make_outcome
from fiberscope.explore.sweeps.watcher import Watcher
from fiberscope.results.store import Store

__all__ = ["DEATHS", "count_threads", "execute_batches"]


LOOK_SECONDS = 5.0  # workers come and go
DEATHS = 10  # workers that a point may be on when they die, before it is taken for the cause


def execute_batches(
    client: Client, batches: Iterator[Sequence[Task]], store: Store, limits: Limits, watcher: Watcher
) -> None:
    """Run tasks to their ends, whatever these are; each row is in the store as soon as it has come.

    Args:
        client: the client of the scheduler.
        batches: tasks that a worker gets together; asked for one by one, as a worker has nothing to do.
        store: that gets the rows.
        limits: what a point may take.
        watcher: is told.

    Raises:
        InputError: the scheduler is gone, or a worker can start no process for points.
    """
    _Execution(client, batches, store, limits, watcher).run()


def count_threads(client: Client) -> int:
    """Return the number of points that all workers run at a time."""
    return sum(map(int, client.nthreads().values()))


class _Execution:
    """Batches in progress, and the outcomes that have arrived."""

    def __init__(
        self,
        client: Client,
        batches: Iterator[Sequence[Task]],
        store: Store,
        limits: Limits,
        watcher: Watcher,
    ) -> None:
        self._client, self._batches, self._store = client, batches, store
        self._limits, self._watcher = limits, watcher
        self._news: queue.SimpleQueue[Future[Any] | tuple[str, TaskOutcome]] = queue.SimpleQueue()
        self._at_work: dict[Future[Any], Sequence[Task]] = {}
        self._unfinished: dict[str, Task] = {}
        self._deaths: Counter[str] = Counter()  # of workers, by point

    def run(self) -> None:
        """Give and hear, until there is nothing to hear of."""
        topic = self._client.id  # a scheduler forgets such events some time after their client has gone
        self._client.subscribe_topic(topic, self._heard)
        try:
            self._look()
            self._fill()
            while self._at_work:
                self._hear()
                self._fill()
        finally:
            self._client.unsubscribe_topic(topic)

    def _look(self) -> None:
        self._ahead, self._looked = max(1, count_threads(self._client)), time.monotonic()
        self._watcher.working(self._ahead)

    def _fill(self) -> None:
        """Have every worker at work."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()
        for batch in islice(self._batches, max(0, self._ahead - len(self._at_work))):
            self._give(batch)

    def _give(self, batch: Sequence[Task]) -> None:
        self._unfinished |= {task.digest: task for task in batch}
        points = list(map(asdict, batch))
        future = self._client.submit(run_batch, points, self._limits, self._client.id, pure=False)
        self._at_work[future] = batch
        future.add_done_callback(self._news.put)

    def _heard(self, event: tuple[float, Mapping[str, Any]]) -> None:
        message = event[1]
        if message.get("action") == ENDED:  # others are of the scheduler itself
            self._news.put((message["digest"], TaskOutcome(*message["outcome"])))

    def _hear(self) -> None:
        try:
            came = self._news.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            return
        if isinstance(came, Future):
            self._over(came)
        else:
            self._keep(*came)

    def _keep(self, digest: str, outcome: TaskOutcome) -> None:
        """Keep what a point has come to; one that was run again as its worker seemed dead counts once."""
        task = self._unfinished.pop(digest, None)
        if task is not None:
            self._store.add(digest, outcome.content)
            self._watcher.ended(task, outcome)

    def _over(self, future: Future[Any]) -> None:
        """Give again what a batch has left undone."""
        batch = self._at_work.pop(future)
        if future.cancelled():
            raise InputError("the Dask scheduler is gone; what has finished is in the store")
        error = future.exception()
        if error is not None:
            self._blame(next((task for task in batch if task.digest in self._unfinished), None), error)
        left = [task for task in batch if task.digest in self._unfinished]
        if left:
            self._give(left)

    def _blame(self, task: Task | None, error: BaseException) -> None:
        """The first point that is unfinished is the one that was running."""
        if task is None:
            return
        if isinstance(error, ChildStartError):  # no other point would fare better
            raise error
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, KilledWorker):
            self._deaths[task.digest] += 1 + error.allowed_failures
            if self._deaths[task.digest] < DEATHS:
                return
            reason = "the workers that it ran on died again and again"
        self._keep(task.digest, make_outcome(asdict(task), "crashed", reason))
