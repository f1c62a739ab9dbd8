"""Simulation of selected windows of a product, one after another on one machine, for sampled runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fiberscope.accelerators.gamma.layout import B_BASE, PARTIAL_BASE
from fiberscope.accelerators.gamma.machine import Gamma
from fiberscope.accelerators.marked_run import Counts, MarkedRun, run_to_end
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.memory.functional_cache import CacheState
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.sparse import sparse

STEP = 32  # cycles between two checks whether a window has begun


def join_windows(a: CompressedRows, columns: int, windows: Sequence[range]) -> CsrArray:
    """Return the rows of A of these windows, one window after another; A has ``columns`` columns."""
    pointers = np.asarray(a.pointers)
    lengths = np.concatenate([np.diff(pointers[window.start : window.stop + 1]) for window in windows])
    ranges = [slice(pointers[window.start], pointers[window.stop]) for window in windows]
    coordinates = np.concatenate([np.asarray(a.coordinates)[nonzeros] for nonzeros in ranges])
    values = np.concatenate([np.asarray(a.values)[nonzeros] for nonzeros in ranges])
    return sparse.csr_array(
        (values, coordinates, np.concatenate([[0], np.cumsum(lengths)])), shape=(len(lengths), columns)
    )


def run_windows(
    machine: Gamma,
    lengths: Sequence[int],
    states: Sequence[CacheState | None],
    tell: Callable[[int, int], None],
) -> list[Counts]:
    """Run a machine over windows of rows.

    When the first task of a window is dispatched, the FiberCache takes the lines of the functional state
    before that window, except in entries with outstanding requests. Lines of B that the FiberCache lacks and
    that tasks in flight may fetch stay absent, because these tasks belong to the previous window.

    Args:
        machine: machine that was built with the rows of the windows as A, and has not run.
        lengths: number of rows of each window.
        states: state of the cache before each window but the first; None leaves the cache as it is.
        tell: progress callback, called with the completed tasks and the number of all tasks.

    Returns:
        The counts at the beginning of each window but the first, and at the end of the run.

    Raises:
        KeyboardInterrupt: if the run was interrupted.
    """
    marks, run = list[Counts](), _dispatch(machine)
    # The progress is the next task in order, so that task t is dispatched once the progress is t + 1.
    for task, state in zip(_first_tasks(machine, np.cumsum(lengths)[:-1]), states, strict=True):
        marks.append(run.run_until(task + 1))
        if state is not None:
            set_state(machine, state, _lines_in_flight(machine, task))
        tell(*machine.progress())
    return [*marks, run_to_end(machine)]


def cycles_of_rows(machine: Gamma, rows: Sequence[int]) -> tuple[int, ...]:
    """Return the cycles in which a machine dispatches the first tasks of these rows.

    The cycles are rounded up to a multiple of ``STEP``, except for the end of the run.

    Args:
        machine: machine that has not run; it runs up to the last of the cycles.
        rows: rows of A in increasing order; the number of rows stands for the end of the run.
    """
    run = _dispatch(machine)
    return tuple(run.run_until(task + 1).cycles for task in _first_tasks(machine, rows))


def _first_tasks(machine: Gamma, rows: Sequence[int] | Integers) -> list[int]:
    # The rows of the tasks ascend, because a sampled run has neither subrows nor another order of rows.
    tasks: list[int] = np.searchsorted(np.asarray(machine.table.rows), rows).tolist()
    return tasks


def _dispatch(machine: Gamma) -> MarkedRun:
    """Return a run whose work is the number of the next task in order, merge tasks excluded."""
    scheduler: Any = machine.scheduler
    return MarkedRun(machine, lambda: scheduler.next_task, step=STEP)


def _lines_in_flight(machine: Gamma, next_task: int) -> Integers:
    """Return the lines of B that tasks in flight can need when ``next_task`` is dispatched.

    These are the tasks dispatched last, as many as the processing elements can hold.
    """
    pe, table = machine.parameters.pe, machine.table
    # A processing element holds one task in progress, and the tasks in its queue.
    first = max(0, next_task - pe.count * (1 + pe.task_queue))
    inputs = np.asarray(table.inputs)[table.first_inputs[first] : table.first_inputs[next_task]]
    # Negative inputs are partial fibers, which are not in B.
    rows = np.asarray(machine.a.coordinates)[inputs[inputs >= 0]]
    pointers, line = np.asarray(machine.b.pointers), machine.parameters.fibercache.line
    starts = pointers[rows] * machine.b_sizes.element_bytes // line
    ends = -(-pointers[rows + 1] * machine.b_sizes.element_bytes // line)
    lengths = ends - starts
    # For each row, the numbers from 0 to its lines - 1, one row after another.
    offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.unique(B_BASE // line + np.repeat(starts, lengths) + offsets)


def set_state(machine: Gamma, state: CacheState, absent_lines: Integers | Sequence[int] = ()) -> None:
    """Set the lines of all banks to those of a functional state, without its partial fibers.

    Args:
        machine: machine whose banks are set.
        state: lines and reuse predictions.
        absent_lines: lines that are not loaded into a bank that lacks them.
    """
    # Lines of B are below this line; lines of partial fibers and of Z are not.
    partial = PARTIAL_BASE // machine.parameters.fibercache.line
    banks: Any = machine.banks
    for bank, lines, reuse in zip(banks, state.lines, state.reuse, strict=True):
        absent = np.isin(lines, absent_lines) & np.isin(lines, np.asarray(bank.tags.lines), invert=True)
        # Line -1 stands for no line.
        bank.preload(np.where((lines < partial) & ~absent, lines, -1).ravel(), reuse.ravel())
