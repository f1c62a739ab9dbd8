"""Windows of a sampled run: their length, their bounds, and the choice of some of them.

A window is a range of consecutive tasks, such as rows of the first operand. For the use of windows see
``fiberscope.accelerators.sampling``.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import Integers

# Smallest default length of a window in cycles; shorter windows differ by the bursts in which memory writes.
# A request may ask for shorter windows.
WINDOW_CYCLES = 4000
FIRST_CYCLES = 6000  # smallest length of the first and of the last window, in predicted cycles
# Smallest length of the first window, in windows, where rows are dealt to the processing elements in turn:
# the elements begin at the same time, and are slower until they have drifted apart
DRIFT_WINDOWS = 10
TASKS_PER_WINDOW = 2  # number of successive tasks of the longest common length that a window has time for
COMMON_SHARE = 0.9  # smallest share of the operations in tasks no longer than the longest common task
FloatArray = npt.NDArray[np.float64]


def choose_window_length(task_operations: Integers) -> int:
    """Return the default length of a window in cycles.

    A window has time for ``TASKS_PER_WINDOW`` tasks of the longest common length, but at least
    ``WINDOW_CYCLES``. The longest common length is the smallest length such that a share of ``COMMON_SHARE``
    of all operations is in tasks that are no longer. Without tasks, the length is ``WINDOW_CYCLES``.

    Args:
        task_operations: operations of each task, of which a processing element does at most one a cycle.
    """
    task_operations = np.sort(task_operations)
    cumulative = np.cumsum(task_operations)
    if not len(task_operations):
        return WINDOW_CYCLES
    longest_common = int(task_operations[np.searchsorted(cumulative, COMMON_SHARE * cumulative[-1])])
    return max(WINDOW_CYCLES, TASKS_PER_WINDOW * longest_common)


def cut_windows(
    costs: FloatArray, first_cost: float, window_cost: float, last_cost: float | None = None
) -> list[range]:
    """Cut rows into a first window, windows of about equal cost, and a last window.

    The first window has the fewest rows that cost at least ``first_cost``, the last window the fewest rows
    that cost more than ``last_cost``. The rows between them are cut into windows of equal cost, as close to
    ``window_cost`` as a whole number of windows allows, each rounded up to whole rows. A row between the
    first and the last window that costs more than a window becomes a window of its own, or the last row of a
    window. Within the first and the last window, such a row may be anywhere.

    Args:
        costs: predicted cost of each row, at least one row.
        first_cost: smallest cost of the first window, in the unit of ``costs``.
        window_cost: approximate cost, above 0, of each window between the first and the last, in the same
            unit.
        last_cost: cost that the last window exceeds, in the same unit; ``first_cost`` by default.

    Returns:
        Consecutive ranges that contain every row; a single range if no row is left between the first and the
        last window.
    """
    cumulative = np.cumsum(costs)
    # The row in which the cost reaches ``first`` belongs to the first window, hence + 1
    start = int(np.searchsorted(cumulative, first_cost)) + 1
    end = int(np.searchsorted(cumulative, cumulative[-1] - (first_cost if last_cost is None else last_cost)))
    if end - start < 1:
        return [range(len(costs))]
    middle = cumulative[end - 1] - cumulative[start - 1]
    window_count = max(1, round(middle / window_cost))
    steps = cumulative[start - 1] + middle * np.arange(1, window_count) / window_count
    # A row that costs more than a window reaches several steps, whose equal bounds ``unique`` merges
    bounds = np.unique([start, *(np.searchsorted(cumulative[:end], steps) + 1), end])
    edges = [0, *bounds.tolist(), len(costs)]
    return [range(first_row, end_row) for first_row, end_row in pairwise(edges) if end_row > first_row]


def find_windows_with_long_tasks(
    windows: list[range], costs: FloatArray, task_operations: Integers, limit: float
) -> list[int]:
    """Return the numbers of the windows between the first and the last in which a long task is in flight.

    A task is taken to begin when the predicted cycles of all tasks before it have passed, and to last one
    cycle for each of its operations. A long task may therefore be in flight in several windows.

    Args:
        windows: consecutive ranges that contain all tasks from the first on.
        costs: predicted cycles of each task, as a part of the run: tasks of several processing elements that
            overlap share the cycles.
        task_operations: operations of each task, of which a processing element does at most one a cycle.
        limit: length above which a task is long, in operations.

    Returns:
        Numbers of windows from 0, in ascending order, without the first and the last window.
    """
    ends = np.cumsum(costs)  # predicted cycle in which the next task begins
    long_tasks = np.flatnonzero(task_operations > limit)
    end_costs = ends[[window.stop - 1 for window in windows]]
    # Window in which each of these tasks begins
    first = np.searchsorted([window.stop for window in windows], long_tasks, side="right")
    # Window in which begin + length falls
    last = np.searchsorted(end_costs, (ends - costs + task_operations)[long_tasks])
    window_numbers = {
        number for start, stop in zip(first, last, strict=True) for number in range(start, stop + 1)
    }
    return sorted(int(number) for number in window_numbers if 0 < number < len(windows) - 1)


def choose_windows(window_count: int, stratum_count: int, seed: int) -> list[int]:
    """Choose one random window from each stratum; return their numbers, from 0, in ascending order.

    Args:
        window_count: number of windows to choose from.
        stratum_count: number of strata and of chosen windows, 1 to ``window_count``. A stratum is a range of
            consecutive windows; the sizes of strata differ by at most 1.
        seed: seed of the random choice.
    """
    # The number of strata is a part of the seed, so that rounds with different numbers choose independently
    generator = np.random.default_rng([seed, stratum_count])
    edges = np.arange(stratum_count + 1) * window_count // stratum_count
    return [int(generator.integers(start, stop)) for start, stop in pairwise(edges)]
