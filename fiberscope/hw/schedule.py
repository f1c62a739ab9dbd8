# cython: infer_types=True
"""The base class of schedule policies, which choose the next task and its worker."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from fiberscope.hw.policy import Policy, wrong_choice

__all__ = ["SchedulePolicy", "Task", "Worker", "least_loaded"]


class Task:  # C: final
    """A piece of work that a scheduler may dispatch now.

    Args:
        number: number of the task, in the order of the machine.
        size: estimated length of the task, in a unit that each scheduler defines.
    """

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size


class Worker:  # C: final
    """A component that can accept a task now.

    Args:
        number: number of the component.
        waiting: number of tasks that the scheduler has dispatched to the worker and that have not ended.
    """

    def __init__(self, number: int, waiting: int) -> None:
        self.number = number
        self.waiting = waiting


def least_loaded(turn: int, waiting: Sequence[int], is_open: Sequence[bool]) -> list[Worker]:
    """Return the workers that can accept a task, in ascending order of their waiting tasks.

    Args:
        turn: the worker that comes first among workers with equally many tasks.
        waiting: for each worker, the number of its waiting tasks.
        is_open: for each worker, whether it can accept a task.
    """
    numbers = [*range(turn, len(waiting)), *range(min(turn, len(waiting)))]
    workers = [Worker(number, waiting[number]) for number in numbers if is_open[number]]
    return sorted(workers, key=attrgetter("waiting"))


class SchedulePolicy(Policy):
    """A policy of a scheduler, which chooses a task and a worker for it.

    Each list begins with the choice of a machine without a policy. This class chooses the first of each list.
    """

    def task(self, tasks: Sequence[Task], now: int) -> Task:  # C: def
        """Return the task to dispatch next; called in each cycle until a worker accepts the task.

        Args:
            tasks: the tasks that can be dispatched, at least one.
            now: current cycle of the scheduler.
        """
        return tasks[0]

    def worker(self, task: Task, workers: Sequence[Worker], now: int) -> Worker:  # C: def
        """Return the worker for a task; called once for each task.

        Args:
            workers: the workers that can accept the task, at least one.
            now: current cycle of the scheduler.
        """
        return workers[0]

    def choose_task(self, tasks: Sequence[Task], now: int) -> Task:
        """Return the task that ``task`` chooses.

        Raises:
            SimulationError: if the policy chooses a task that is not one of ``tasks``.
        """
        selected = self.task(tasks, now)
        if selected not in tasks:
            raise wrong_choice(self, "task", selected, "tasks")
        return selected

    def choose_worker(self, task: Task, workers: Sequence[Worker], now: int) -> int:
        """Return the number of the worker that ``worker`` chooses; -1 without workers.

        Raises:
            SimulationError: if the policy chooses a worker that is not one of ``workers``.
        """
        if not workers:
            return -1
        selected = self.worker(task, workers, now)
        if selected not in workers:
            raise wrong_choice(self, "worker", selected, "workers")
        return selected.number
