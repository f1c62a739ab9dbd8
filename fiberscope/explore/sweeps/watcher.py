"""The interface by which a sweep reports its progress."""

from __future__ import annotations

from typing import Protocol

from fiberscope.explore.sweeps.plan import Task
from fiberscope.explore.sweeps.task_status import TaskOutcome

__all__ = ["Watcher"]


class Watcher(Protocol):
    """Interface that is told the progress of a sweep."""

    def working(self, workers: int) -> None:
        """Note the number of points that run at a time."""

    def ended(self, task: Task, outcome: TaskOutcome) -> None:
        """Note that a task's row is in the store."""
