"""Execution of batches of points on the workers of a Dask scheduler.

A point is a ``Task`` of the plan. A batch of points is one Dask task, which has no result: a worker reports
the end of each point by an event. Points that are unfinished when their worker dies are submitted again.
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

CHECK_SECONDS = 5.0  # longest wait for an event, and interval of counting the workers
MAX_DEATHS = 10  # a point during which this many workers died is considered the cause


def execute_batches(
    client: Client, batches: Iterator[Sequence[Task]], store: Store, limits: Limits, watcher: Watcher
) -> None:
    """Run batches of points on the workers, and store the row of each point when it ends.

    Args:
        client: the client of the scheduler.
        batches: batches of points, consumed as workers become idle.
        store: receives the rows.
        limits: the limits of a point.
        watcher: receives progress.

    Raises:
        InputError: the scheduler is gone, or a worker cannot start a process for points.
    """
    _Execution(client, batches, store, limits, watcher).run()


def count_threads(client: Client) -> int:
    """Return the number of threads of all workers; each thread runs one batch at a time."""
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
        self._events: queue.SimpleQueue[Future[Any] | tuple[str, TaskOutcome]] = queue.SimpleQueue()
        self._running: dict[Future[Any], Sequence[Task]] = {}
        self._unfinished: dict[str, Task] = {}  # submitted points without an outcome, by digest
        self._deaths: Counter[str] = Counter()  # deaths of workers by point

    def run(self) -> None:
        """Submit batches and process events until all points have ended."""
        # The scheduler deletes the events of a topic with the client's name when the client disconnects.
        topic = self._client.id
        self._client.subscribe_topic(topic, self._receive_event)
        try:
            self._update_capacity()
            self._submit_batches()
            while self._running:
                self._process_event()
                self._submit_batches()
        finally:
            self._client.unsubscribe_topic(topic)

    def _update_capacity(self) -> None:
        """Count the threads of the workers, and report their number to the watcher; at least one."""
        self._capacity, self._counted_at = max(1, count_threads(self._client)), time.monotonic()
        self._watcher.set_workers(self._capacity)

    def _submit_batches(self) -> None:
        """Submit a batch for each idle thread of a worker; count the threads anew every ``CHECK_SECONDS``."""
        if time.monotonic() - self._counted_at > CHECK_SECONDS:
            self._update_capacity()
        for batch in islice(self._batches, max(0, self._capacity - len(self._running))):
            self._submit(batch)

    def _submit(self, batch: Sequence[Task]) -> None:
        self._unfinished |= {task.digest: task for task in batch}
        points = list(map(asdict, batch))
        # Not pure: Dask would otherwise take a batch that is submitted again for the first submission
        future = self._client.submit(run_batch, points, self._limits, self._client.id, pure=False)
        self._running[future] = batch
        future.add_done_callback(self._events.put)

    def _receive_event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Queue the outcome of a point from an event of its worker."""
        message = event[1]
        if message.get("action") == ENDED:  # other actions belong to the scheduler
            self._events.put((message["digest"], TaskOutcome(*message["outcome"])))

    def _process_event(self) -> None:
        """Process an outcome or an ended batch; return after ``CHECK_SECONDS`` without one."""
        try:
            event = self._events.get(timeout=CHECK_SECONDS)
        except queue.Empty:
            return
        if isinstance(event, Future):
            self._resubmit_unfinished(event)
        else:
            self._store_outcome(*event)

    def _store_outcome(self, digest: str, outcome: TaskOutcome) -> None:
        """Store the outcome of a point; a second outcome of a resubmitted point is ignored."""
        task = self._unfinished.pop(digest, None)
        if task is not None:
            self._store.add(digest, outcome.content)
            self._watcher.record_end(task, outcome)

    def _resubmit_unfinished(self, future: Future[Any]) -> None:
        """Submit the unfinished points of an ended batch again.

        The event of a finished point may arrive after the end of its batch. The point then runs twice, and
        its second outcome is ignored.

        Raises:
            InputError: the batch was cancelled: the scheduler is gone.
        """
        batch = self._running.pop(future)
        if future.cancelled():
            raise InputError("the Dask scheduler is gone; what has finished is in the store")
        error = future.exception()
        if error is not None:
            self._handle_batch_error(
                next((task for task in batch if task.digest in self._unfinished), None), error
            )
        unfinished = [task for task in batch if task.digest in self._unfinished]
        if unfinished:
            self._submit(unfinished)

    def _handle_batch_error(self, task: Task | None, error: BaseException) -> None:
        """Attribute the error of a batch to its first unfinished point, which was running.

        If workers died, the point fails after ``MAX_DEATHS`` deaths. After any other error, it fails at once.

        Raises:
            ChildStartError: a worker cannot start a process, so that all points would fail.
        """
        if task is None:
            return
        if isinstance(error, ChildStartError):
            raise error
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, KilledWorker):
            # Dask gives up on a batch after this many deaths of its workers.
            self._deaths[task.digest] += 1 + error.allowed_failures
            if self._deaths[task.digest] < MAX_DEATHS:
                return
            reason = f"its worker died {self._deaths[task.digest]} times"
        self._store_outcome(task.digest, make_outcome(asdict(task), "crashed", reason))
