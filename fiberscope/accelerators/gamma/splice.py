"""Windows of a product, multiplied one behind another by one machine: what a sampled run simulates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fiberscope.accelerators.gamma.functional_cache import CacheState
from fiberscope.accelerators.gamma.layout import B_BASE, PARTIAL_BASE
from fiberscope.accelerators.gamma.machine import Gamma
from fiberscope.accelerators.sampling import moved_bytes
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.sparse import sparse

__all__ = ["Mark", "cycles_of_rows", "rows_of", "run_windows", "set_state"]

STEP = 32  # cycles between two looks for the begin of a window


@dataclass(frozen=True)
class Mark:
    """Counts of a machine at one moment: since its start.

    Args:
        cycles: cycles of the core's clock.
        merged: elements that left the mergers.
        traffic: bytes that crossed the pins.
        row_hits, row_misses, row_conflicts: accesses of memory by the state of their row.
    """

    cycles: int
    merged: int
    traffic: int
    row_hits: int
    row_misses: int
    row_conflicts: int


def rows_of(a: CompressedRows, columns: int, windows: Sequence[range]) -> CsrArray:
    """The rows of A of these windows, one behind another."""
    pointers = np.asarray(a.pointers)
    lengths = np.concatenate([np.diff(pointers[window.start : window.stop + 1]) for window in windows])
    parts = [slice(pointers[window.start], pointers[window.stop]) for window in windows]
    coordinates = np.concatenate([np.asarray(a.coordinates)[part] for part in parts])
    values = np.concatenate([np.asarray(a.values)[part] for part in parts])
    return sparse.csr_array(
        (values, coordinates, np.concatenate([[0], np.cumsum(lengths)])), shape=(len(lengths), columns)
    )


def run_windows(
    machine: Gamma,
    lengths: Sequence[int],
    states: Sequence[CacheState | None],
    tell: Callable[[int, int], None],
) -> list[Mark]:
    """Run a machine over windows of rows.

    When the first task of a window is dispatched, the lines of the FiberCache that nobody waits for become
    those of the functional state before that window. Lines of B that the FiberCache lacks and that tasks in
    flight may fetch stay absent, as these tasks belong to the window before.

    Args:
        machine: built, with the rows of the windows as A.
        lengths: rows of each window.
        states: of the cache before each window but the first; None leaves the cache as it is.
        tell: called with tasks done and tasks in all.

    Returns:
        A mark for the begin of each window but the first, and for the end of the run.
    """
    marks = list[Mark]()
    run = _Steps(machine)
    for task, state in zip(_first_tasks(machine, np.cumsum(lengths)[:-1]), states, strict=True):
        marks.append(_mark(machine, run.until_dispatched(task)))
        if state is not None:
            set_state(machine, state, _lines_in_flight(machine, task))
        tell(*machine.progress())
    ended = machine.kernel.run()
    if not ended.complete:
        raise KeyboardInterrupt
    return [*marks, _mark(machine, ended.cycles)]


def cycles_of_rows(machine: Gamma, rows: Sequence[int]) -> tuple[int, ...]:
    """Return the cycles in which a machine dispatches the first tasks of these rows, up to ``STEP`` later.

    Args:
        machine: built; it runs up to the last of the cycles.
        rows: in increasing order; the number behind the last row stands for the end of the run.
    """
    run = _Steps(machine)
    return tuple(run.until_dispatched(task) for task in _first_tasks(machine, rows))


def _first_tasks(machine: Gamma, rows: Sequence[int] | Integers) -> list[int]:
    firsts: list[int] = np.searchsorted(np.asarray(machine.table.rows), rows).tolist()
    return firsts


class _Steps:
    """Runs a machine in steps of a few cycles.

    Args:
        machine: built, and not run so far.
    """

    def __init__(self, machine: Gamma) -> None:
        self.machine = machine
        self.limit = 0

    def until_dispatched(self, task: int) -> int:
        """Run until a task is dispatched, all if there is no such task; returns the cycle."""
        scheduler: Any = self.machine.scheduler
        count = self.machine.table.count
        while scheduler.next_task <= task and (scheduler.next_task < count or task == count):
            self.limit += STEP
            ended = self.machine.kernel.run(cycle_limit=self.limit)
            if ended.complete and task == count:
                return ended.cycles
            if ended.reason != "cycle limit":
                raise KeyboardInterrupt
        return self.limit


def _mark(machine: Gamma, cycles: int) -> Mark:
    moved = moved_bytes(machine.traffic())
    use = machine.memory()
    assert use is not None
    rows = (use.row_hits, use.row_misses, use.row_conflicts)
    return Mark(cycles, machine.operations()["merge"], moved, *rows)


def _lines_in_flight(machine: Gamma, before: int) -> Integers:
    """Lines of B of the tasks that were dispatched last before a task, as many as may be in flight."""
    pe, table = machine.parameters.pe, machine.table
    first = max(0, before - pe.count * (1 + pe.task_queue))
    inputs = np.asarray(table.inputs)[table.first_inputs[first] : table.first_inputs[before]]
    rows = np.asarray(machine.a.coordinates)[inputs[inputs >= 0]]
    pointers, line = np.asarray(machine.b.pointers), machine.parameters.fibercache.line
    begins = pointers[rows] * machine.b_sizes.element_bytes // line
    ends = -(-pointers[rows + 1] * machine.b_sizes.element_bytes // line)
    lengths = ends - begins
    places = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.unique(B_BASE // line + np.repeat(begins, lengths) + places)


def set_state(machine: Gamma, state: CacheState, absent_lines: Integers | Sequence[int] = ()) -> None:
    """Set the lines of all banks, without partial fibers, and without absent lines that a bank lacks."""
    partial = PARTIAL_BASE // machine.parameters.fibercache.line
    banks: Any = machine.banks
    for bank, lines, reuse in zip(banks, state.lines, state.reuse, strict=True):
        absent = np.isin(lines, absent_lines) & np.isin(lines, np.asarray(bank.tags.lines), invert=True)
        bank.preload(np.where((lines < partial) & ~absent, lines, -1).ravel(), reuse.ravel())
