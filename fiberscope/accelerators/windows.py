"""Windows of a sampled run: their length, their bounds, and the choice of some of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import Integers

WINDOW_CYCLES = 4000  # smallest window; shorter windows differ by the bursts in which memory writes
FIRST_CYCLES = 6000  # smallest first and last window
# Length of the first window, in windows, where rows are dealt in turn: the elements begin at the same
# time, and are slower until they have drifted apart
DRIFT_WINDOWS = 10
TASKS_PER_WINDOW = 2  # number of successive tasks of the longest common length that a window has time for
COMMON_SHARE = 0.9  # share of the operations in tasks no longer than the longest common task
Numbers = npt.NDArray[np.float64]


def window_length(lengths: Integers) -> int:
    """Return the default length of a window in cycles.

    A window has time for ``TASKS_PER_WINDOW`` tasks of the longest common length. A share of ``COMMON_SHARE``
    of all operations is in tasks that are no longer than this task.

    Args:
        lengths: operations of each task, of which a processing element does at most one a cycle.
    """
    lengths = np.sort(lengths)
    cumulative = np.cumsum(lengths)
    if not len(lengths):
        return WINDOW_CYCLES
    longest_common = int(lengths[np.searchsorted(cumulative, COMMON_SHARE * cumulative[-1])])
    return max(WINDOW_CYCLES, TASKS_PER_WINDOW * longest_common)


def cut_windows(costs: Numbers, first: float, cost: float, last: float | None = None) -> list[range]:
    """Cut rows into a first window, windows of about equal cost, and a last window.

    A row that costs more than a window becomes a window of its own, or the last row of a window.

    Args:
        costs: predicted cost of each row.
        first: smallest cost of the first window.
        cost: cost of each window between them, in the unit of ``costs``.
        last: smallest cost of the last window; ``first`` by default.

    Returns:
        Consecutive ranges that contain every row; a single range if no row is left between the first and the
        last window.
    """
    cumulative = np.cumsum(costs)
    start = int(np.searchsorted(cumulative, first)) + 1
    end = int(np.searchsorted(cumulative, cumulative[-1] - (first if last is None else last)))
    if end - start < 1:
        return [range(len(costs))]
    middle = cumulative[end - 1] - cumulative[start - 1]
    count = max(1, round(middle / cost))
    steps = cumulative[start - 1] + middle * np.arange(1, count) / count
    bounds = np.unique([start, *(np.searchsorted(cumulative[:end], steps) + 1), end])
    edges = [0, *bounds.tolist(), len(costs)]
    return [range(first_row, end_row) for first_row, end_row in pairwise(edges) if end_row > first_row]


def windows_with_long_tasks(
    windows: list[range], costs: Numbers, lengths: Integers, limit: float
) -> list[int]:
    """Return the windows between the first and the last in which a long task is in flight.

    Args:
        windows: consecutive ranges of tasks.
        costs: predicted cycles of each task, as a part of the run.
        lengths: operations of each task, of which a processing element does at most one a cycle.
        limit: length above which a task is long. A long task may last for several windows.
    """
    ends = np.cumsum(costs)
    long = np.flatnonzero(lengths > limit)
    bounds = ends[[window.stop - 1 for window in windows]]
    first = np.searchsorted([window.stop for window in windows], long, side="right")
    last = np.searchsorted(bounds, (ends - costs + lengths)[long])
    numbers = {number for start, stop in zip(first, last, strict=True) for number in range(start, stop + 1)}
    return sorted(int(number) for number in numbers if 0 < number < len(windows) - 1)


def choose_windows(count: int, strata: int, seed: int) -> list[int]:
    """Choose one random window from each stratum; return their numbers, from 0, in ascending order.

    Args:
        count: number of windows to choose from.
        strata: number of strata, at most ``count``. A stratum is a range of consecutive windows.
        seed: seed of the random choice.
    """
    generator = np.random.default_rng([seed, strata])
    bounds = np.arange(strata + 1) * count // strata
    return [int(generator.integers(start, stop)) for start, stop in pairwise(bounds)]
