"""Dispatch of batches of points: to one local process, or to Dask workers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from fiberscope.explore.sweeps.executors import ExecutorChoice
from fiberscope.explore.sweeps.plan import Task
from fiberscope.explore.sweeps.point_process import ChildStartError, Limits, end_child, run_task
from fiberscope.explore.sweeps.task_status import TaskOutcome
from fiberscope.explore.sweeps.watcher import Watcher
from fiberscope.results.store import Store


def run_batches(
    executors: ExecutorChoice,
    batches: Iterator[Sequence[Task]],
    store: Store,
    limits: Limits,
    watcher: Watcher,
) -> None:
    """Run batches of tasks, and store each row when its point ends.

    Args:
        executors: the workers; a single local worker needs no Dask.
        batches: batches of tasks, taken one by one as workers become idle, so that a batch may depend on the
            results of earlier batches.
        store: receives the rows.
        limits: the limits of a point.
        watcher: receives progress.

    Raises:
        InputError: no worker can be started or reached, or the store cannot be written to.
    """
    workers = executors.count_local_workers(len(os.sched_getaffinity(0)))
    if workers == 1:
        _run_alone(batches, store, limits, watcher)
        return
    from fiberscope.explore.sweeps.clusters import connect_workers  # noqa: PLC0415  (Dask takes seconds to load)
    from fiberscope.explore.sweeps.dask_execution import execute_batches  # noqa: PLC0415  (as above)

    with connect_workers(executors) as client:
        execute_batches(client, batches, store, limits, watcher)


def _run_alone(batches: Iterator[Sequence[Task]], store: Store, limits: Limits, watcher: Watcher) -> None:
    """Run tasks one after the other.

    Raises:
        ChildStartError: as ``_outcome``.
    """
    watcher.set_workers(1)
    try:
        for batch in batches:
            for task in batch:
                outcome = _run_task(task, limits)
                store.add(task.digest, outcome.content)
                watcher.record_end(task, outcome)
    finally:
        end_child()  # also after Ctrl-C, or a point would go on in the child


def _run_task(task: Task, limits: Limits) -> TaskOutcome:
    """Run a task in a child process, or in this process if no process can be started.

    Raises:
        ChildStartError: no process can be started, and a time limit needs one.
    """
    fields = asdict(task)
    try:
        return run_task(fields, limits)
    except ChildStartError:
        if limits.seconds is not None:  # this process cannot end a point
            raise
    from fiberscope.explore.sweeps.outcome import execute_task  # noqa: PLC0415  (imports the simulator)

    return execute_task(fields, limits.memory_bytes)
