"""Interface of progress reports of a sweep."""

from __future__ import annotations

from typing import Protocol

from fiberscope.explore.sweeps.plan import Task
from fiberscope.explore.sweeps.task_status import TaskOutcome


class Watcher(Protocol):
    """Interface of an object that receives the progress of a sweep."""

    def set_workers(self, workers: int) -> None:
        """Record the number of workers, which is the number of concurrent points."""

    def record_end(self, task: Task, outcome: TaskOutcome) -> None:
        """Record that a task's row is in the store."""
