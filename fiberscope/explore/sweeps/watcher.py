"""The interface by which a sweep reports its progress."""

from __future__ import annotations

from typing import Protocol

from fiberscope.explore.sweeps.plan import Task
from fiberscope.explore.sweeps.task_status import TaskOutcome

__all__ = ["Watcher"]


class Watcher(Protocol):
    """Who is told how far it is."""

    def working(self, workers: int) -> None:
        """So many points are run at a time."""

    def ended(self, task: Task, outcome: TaskOutcome) -> None:
        """Its row is in the store."""
