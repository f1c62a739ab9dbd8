"""How many points a worker gets at a time: of short ones a second, as each task costs Dask 10 ms."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from fiberscope.sweeps.plan import Task
from fiberscope.sweeps.progress import Progress

__all__ = ["batches", "single"]

BATCH_SECONDS = 1.0
SHARES = 2  # a batch is at most this part of what a worker's share of the rest is: all end together


def batches(tasks: Iterable[Task], progress: Progress) -> Iterator[Sequence[Task]]:
    """Tasks in their order, as many together as take a second; at the end ever fewer, at last one by one.

    Args:
        tasks: each once.
        progress: knows better and better what they take; before anything has ended they go one by one.
    """
    left = deque(tasks)
    while left:
        most = len(left) // (SHARES * progress.workers)
        batch = [left.popleft()]
        seconds = progress.expected(batch[0])
        while len(batch) < most and (seconds := seconds + progress.expected(left[0])) <= BATCH_SECONDS:
            batch.append(left.popleft())
        yield batch


def single(tasks: Iterable[Task]) -> Iterator[Sequence[Task]]:
    """Tasks one by one."""
    return ([task] for task in tasks)
