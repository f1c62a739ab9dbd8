# cython: infer_types=True
"""Schedule policies: which task goes next, and which worker gets it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from fiberscope.hw.policy import Policy, wrong_choice

__all__ = ["SchedulePolicy", "Task", "Worker", "least_loaded"]


class Task:  # C: final
    """Piece of work that a scheduler may give to a worker now.

    Args:
        number: of the task, in the order of the machine.
        size: what the machine knows of its length; each scheduler says in which unit.
    """

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size


class Worker:  # C: final
    """Component that can take a task now.

    Args:
        number: of the component.
        waiting: tasks that the worker has, as far as the scheduler knows.
    """

    def __init__(self, number: int, waiting: int) -> None:
        self.number = number
        self.waiting = waiting


def least_loaded(turn: int, waiting: Sequence[int], is_open: Sequence[bool]) -> list[Worker]:
    """Return the workers that are open, the one with the fewest tasks first.

    Args:
        turn: the first of those with equally many.
        waiting: by worker, the tasks that it has.
        is_open: by worker, whether it can take a task.
    """
    numbers = [*range(turn, len(waiting)), *range(min(turn, len(waiting)))]
    workers = [Worker(number, waiting[number]) for number in numbers if is_open[number]]
    return sorted(workers, key=attrgetter("waiting"))


class SchedulePolicy(Policy):
    """Policy of a scheduler: chooses a task, and a worker for the task.

    The first of a list is what the machine would choose by itself. This class chooses the first.
    """

    def task(self, tasks: Sequence[Task], now: int) -> Task:  # C: def
        """Return the task that goes next, of those that can; asked until a worker takes the task.

        Args:
            tasks: at least one.
            now: the cycle of the scheduler.
        """
        return tasks[0]

    def worker(self, task: Task, workers: Sequence[Worker], now: int) -> Worker:  # C: def
        """Return the worker that gets the task; asked once a task.

        Args:
            task: the task.
            workers: those that can take the task, at least one.
            now: the cycle of the scheduler.
        """
        return workers[0]

    def chosen_task(self, tasks: Sequence[Task], now: int) -> Task:
        """Return the task that ``task`` chooses.

        Raises:
            SimulationError: the policy chose a task that is none of those.
        """
        chosen = self.task(tasks, now)
        if chosen not in tasks:
            raise wrong_choice(self, "task", chosen, "tasks")
        return chosen

    def number_of_worker(self, task: Task, workers: Sequence[Worker], now: int) -> int:
        """Return the number of the worker that ``worker`` chooses; -1 if there is none to choose from.

        Raises:
            SimulationError: the policy chose a worker that is none of those.
        """
        if not workers:
            return -1
        chosen = self.worker(task, workers, now)
        if chosen not in workers:
            raise wrong_choice(self, "worker", chosen, "workers")
        return chosen.number
