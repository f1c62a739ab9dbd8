"""Sampled runs of products whose tasks are the rows of A, for machines without a sampler of their own.

One machine multiplies the rows of the chosen windows, one window behind another. Before each window it
multiplies some rows that do not count, the *warm-up*, so that the window begins with work in flight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.machine import Machine, Traffic
from fiberscope.accelerators.marked_run import Counts, MarkedRun, run_to_end
from fiberscope.accelerators.row_work import Work, deal_rows, order_rows, share_disagreement
from fiberscope.accelerators.sampling import (
    SIMULATED_ROWS,
    Estimated,
    Rounds,
    Sample,
    Sampled,
    estimate_run,
    scale_memory,
)
from fiberscope.accelerators.windows import (
    DRIFT_WINDOWS,
    FIRST_CYCLES,
    TASKS_PER_WINDOW,
    FloatArray,
    choose_window_length,
    cut_windows,
    find_windows_with_long_tasks,
)
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.verification import Comparison, compare

WARM_UP = 0.5  # length of a warm-up, in windows


class Warmer(Protocol):
    """A functional model of the caches of a machine, which multiplies the rows of A in order."""

    @property
    def missed_bytes(self) -> int:
        """Return the bytes that the model has fetched from memory."""

    def advance(self, row: int) -> None:
        """Multiply the rows of A before ``row`` in the model; rows ascend."""

    def warm(self) -> None:
        """Set the caches of the machine to the contents of the model."""


@dataclass(frozen=True)
class RowTasks:
    """A product A times B on a machine whose tasks are the rows of A.

    Args:
        a: the operand A, CSR.
        work: the work of its rows.
        build: returns the machine that multiplies some rows of A.
        check: compares the answer of such a machine with the reference.
        reference: name of the reference.
        operation: operation of the machine, by which the progress of a run is measured.
        kinds: work of each row by kind. The first kind is the number of these operations.
        warmer: returns the ``Warmer`` of a machine; None for a machine without caches.
        shares: number of processing elements among which rows are dealt in turn; 1 if a row goes to any.
    """

    a: CsrArray
    work: Work
    build: Callable[[CsrArray], Machine]
    check: Callable[[CsrArray, Machine], Comparison]
    reference: str
    operation: str
    kinds: Sequence[Integers]
    warmer: Callable[[Any], Warmer] | None = None
    shares: int = 1

    @property
    def counts(self) -> Integers:
        """The number of operations of each row."""
        return self.kinds[0]


def multiplies_rows(
    build: Callable[..., Machine], dealt: Callable[[Any], int] = lambda _parameters: 1
) -> Callable[..., RowSampler]:
    """Return the ``sampler`` of a machine that multiplies A and B, and whose tasks are the rows of A.

    The machine takes the rows of A in order, and counts its multiplications as ``multiply``. It has no cache
    that many rows share.

    Args:
        build: the machine, as in ``models``.
        dealt: returns for the parameters the ``shares`` of ``RowTasks``.
    """

    def sampler(
        parameters: object,
        a: CsrArray,
        b: CsrArray,
        request: Sample,
        progress: Callable[[str, int, int], None],
    ) -> RowSampler:
        progress("functional pass", 0, 0)
        work = Work(a, b)

        def check(rows: CsrArray, machine: Machine) -> Comparison:
            answer: Any = machine.result()
            return compare(rows, b, answer, getattr(machine, "value_type", None))

        def build_part(rows: CsrArray) -> Machine:
            return build(parameters, rows, b)

        kinds = (work.products, work.outputs, work.nonzeros)
        shares = dealt(parameters)
        tasks = RowTasks(a, work, build_part, check, SIMULATED_ROWS, "multiply", kinds, None, shares)
        return RowSampler(tasks, build_part(a), request, progress)

    return sampler


@dataclass(frozen=True)
class SplicedRun:
    """A run of the rows of some windows, one window behind another.

    Args:
        machine: the machine after the run.
        minimum_bytes: its minimum traffic, as far as it was known before the run.
        row_numbers: numbers of the rows of A that the machine multiplied, those of the warm-ups included.
        rows: these rows as the machine takes them, with empty rows where ``deal_rows`` adds them.
        windows: numbers of the windows.
        marks: for each window, the counts where it begins and where it ends.
    """

    machine: Machine
    minimum_bytes: int
    row_numbers: Integers
    rows: CsrArray
    windows: Sequence[int]
    marks: Sequence[tuple[Counts, Counts]]

    def differences(self, count: Callable[[Counts], int]) -> FloatArray:
        """Return how much a count grows in each window."""
        return np.array([count(end) - count(begin) for begin, end in self.marks], np.float64)


class RowSampler:
    """A sampler that estimates a run from simulated windows of A's rows.

    Args:
        tasks: the product and its machine.
        machine: the machine that multiplies all rows; the sampler runs its first cycles.
        request: parameters of the sampled run.
        progress: progress callback, called with the stage, the work done and the total work.

    Raises:
        ConfigurationError: the machine does not count the operation of ``tasks``.
    """

    def __init__(
        self, tasks: RowTasks, machine: Machine, request: Sample, progress: Callable[[str, int, int], None]
    ) -> None:
        self.tasks, self.progress = tasks, progress
        self.minimum_bytes, self.rate = self._pilot(machine)
        kinds = np.stack(tasks.kinds, axis=1).astype(np.float64)  # rows x kinds
        efforts = kinds.sum(axis=1)
        self.order, times, tail = order_rows(efforts, tasks.shares)
        counts, efforts = tasks.counts[self.order], efforts[self.order]
        self.counts = counts
        # Where some elements have no rows left, a row takes longer; its work counts in proportion
        self.kinds = kinds[self.order] * (times / np.maximum(1, efforts))[:, np.newaxis]
        # If the run ends before its rate is measured, all costs are 0 and a single window holds all rows
        predicted = float(counts.sum()) / self.rate if self.rate else 0.0
        scale = predicted / max(1.0, float(efforts.sum()))  # from efforts to cycles
        self.costs = times * scale
        cycles = request.window_cycles or choose_window_length(counts)
        shift = float(np.random.default_rng(request.seed).random()) * cycles
        last = max(FIRST_CYCLES, int(counts.max(initial=0))) + shift
        first = max(last, DRIFT_WINDOWS * cycles + shift) if tasks.shares > 1 else last
        self.ranges = cut_windows(self.costs, first, cycles, max(last, tail * scale))
        limit = choose_window_length(counts) / TASKS_PER_WINDOW
        self.certain = find_windows_with_long_tasks(self.ranges, self.costs, counts, limit)
        self.rounds = Rounds(request, len(self.ranges), cycles, float(self.costs.sum()), self.certain)
        self.totals = self._total_work(machine)

    def _pilot(self, machine: Machine) -> tuple[int, float]:
        """Run the start of the whole product; return the known minimum traffic, and operations per cycle."""
        minimum = machine.traffic_minimum_bytes()
        if self.tasks.operation not in machine.operations():
            raise ConfigurationError(
                f"a sampled run needs a machine that counts {self.tasks.operation}, which this one does not"
            )
        # The rate is measured after the start of the run, which is not typical
        machine.kernel.run(cycle_limit=FIRST_CYCLES)
        operations_before = machine.operations()[self.tasks.operation]
        machine.kernel.run(cycle_limit=2 * FIRST_CYCLES)
        return minimum, (machine.operations()[self.tasks.operation] - operations_before) / FIRST_CYCLES

    def _total_work(self, machine: Machine) -> FloatArray:
        """Return the work of all windows by kind, an array of windows x kinds.

        The misses of shared caches are a kind of work, because caches are empty when a run begins.
        """
        totals = np.add.reduceat(self.kinds, [window.start for window in self.ranges], axis=0)
        if self.tasks.warmer is None or self.full_run_reason():
            return totals
        warmer, missed = self.tasks.warmer(machine), [0]
        for window in self.ranges:
            warmer.advance(window.stop)
            missed.append(warmer.missed_bytes)
        return np.column_stack([totals, np.diff(missed)])

    def full_run_reason(self) -> str:
        """Return the reason to simulate the run in full, in one line; empty if the run can be sampled."""
        return self.rounds.full_run_reason()

    def sampled(self) -> Sampled:
        """Simulate windows until the interval is as narrow as requested, and return the estimate."""
        return self._sampled(*self.rounds.run(self.measure, self.estimate))

    def _with_warm_ups(self, windows: Sequence[int]) -> list[tuple[range, range]]:
        """Return the rows of the warm-up of each window, and the rows of the window.

        The first window has no warm-up, as the whole run begins with it too. A warm-up is shorter if the
        window before is close, and empty if it is adjacent.
        """
        costs_before = np.concatenate([[0], np.cumsum(self.costs)])
        pieces, end = list[tuple[range, range]](), 0
        for window in (self.ranges[number] for number in windows):
            cost = costs_before[window.start] - WARM_UP * self.rounds.cycles
            first = max(end, int(np.searchsorted(costs_before, cost)))
            start = min(first, window.start) if pieces else window.start
            pieces.append((range(start, window.start), window))
            end = window.stop
        return pieces

    def measure(self, windows: Sequence[int]) -> SplicedRun:
        """Simulate windows and their warm-ups, one behind another.

        Args:
            windows: numbers of the windows from 0, in ascending order.

        Raises:
            KeyboardInterrupt: the run was interrupted.
            ConfigurationError: the machine does not do the operations that the operands ask for.
        """
        tasks, pieces = self.tasks, self._with_warm_ups(windows)
        places = np.concatenate([np.arange(warm.start, window.stop) for warm, window in pieces])
        row_numbers = self.order[places]
        rows = deal_rows(tasks.a, row_numbers, tasks.shares)
        machine = tasks.build(rows)
        minimum = machine.traffic_minimum_bytes()
        run = MarkedRun(machine, lambda: machine.operations()[tasks.operation], self.rate)
        warmer = tasks.warmer(machine) if tasks.warmer else None
        marks, expected, end = list[tuple[Counts, Counts]](), 0, 0
        for warm, window in pieces:
            # The machine skips the rows between two windows; its caches would lack what these rows fetch
            if warmer is not None and warm.start > end:
                warmer.advance(warm.start)
                warmer.warm()
            expected += int(self.counts[warm.start : warm.stop].sum())
            start = run.run_until(expected)
            expected += int(self.counts[window.start : window.stop].sum())
            # The last window ends with the run, after its last operations
            is_last = window is pieces[-1][1]
            marks.append((start, run_to_end(machine) if is_last else run.run_until(expected)))
            end = window.stop
            self.progress("simulating", len(marks), len(pieces))
        done = machine.operations()[tasks.operation]
        if done != expected:
            raise ConfigurationError(
                f"a sampled run needs a machine whose {tasks.operation} follows from the operands; it did "
                f"{done} of {expected} in the windows"
            )
        return SplicedRun(machine, minimum, row_numbers, rows, windows, marks)

    def _work(self, measured: SplicedRun) -> FloatArray:
        """Return the work of the simulated windows by kind; operations as they were counted."""
        windows = [self.ranges[number] for number in measured.windows]
        counted = np.array([self.counts[window.start : window.stop].sum() for window in windows])
        done = measured.differences(lambda mark: mark.operations[self.tasks.operation])
        work = self.totals[list(measured.windows)]  # a copy, as the index is a list
        # A mark is set some cycles after its work is done: operations of later rows are counted too
        work[:, 0] *= done / np.maximum(1, counted)
        return work

    def estimate(self, measured: SplicedRun) -> Estimated:
        """Estimate the cycles of the whole run from the simulated windows.

        Windows with a long row in flight are all simulated, and their cycles count as they are.
        The longest share ends the run. Kinds of work that disagree about its length widen the interval, by
        their disagreement times the cycles that are not simulated.
        """
        cycles, work = measured.differences(lambda mark: mark.cycles), self._work(measured)
        totals = self.totals.copy()
        totals[1] += totals[0] - work[0]  # work that the next window does for the first one
        totals[-2] += totals[-1] - work[-1]
        others = np.setdiff1d(np.arange(len(self.ranges)), self.certain)
        is_other = np.isin(measured.windows, others)
        places = np.searchsorted(others, np.array(measured.windows)[is_other]).tolist()
        part = estimate_run(cycles[is_other], work[is_other], places, totals[others])
        unsimulated = part.cycles - float(cycles[is_other].sum())
        disagreement = share_disagreement(self.tasks.kinds, self.tasks.shares)
        return replace(
            part,
            cycles=part.cycles + float(cycles[~is_other].sum()),
            half_width=math.hypot(part.half_width, disagreement * unsimulated),
        )

    def _sampled(self, measured: SplicedRun, estimate: Estimated) -> Sampled:
        machine, last = measured.machine, measured.marks[-1][1]
        operations, exact = self._operations(measured)
        traffic = self._traffic(measured)
        comparison = self.tasks.check(measured.rows, machine)  # also completes the counts of the result
        # Every run simulates the first and the last window, and windows with long rows in flight
        sampled = [number for number in measured.windows[1:-1] if number not in self.certain]
        ranges = [self.ranges[number] for number in sampled]
        return Sampled(
            cycles=estimate,
            windows=len(measured.windows),
            window_cycles=self.rounds.cycles,
            strata=len(ranges),
            cycles_simulated=last.cycles,
            operations=operations,
            traffic=traffic,
            memory=scale_memory(traffic, last),
            traffic_minimum_bytes=self._minimum_bytes(measured),
            traffic_ratio=None,
            rows=tuple((window.start, window.stop) for window in ranges),
            exact=tuple(f"operations.{name}" for name in exact),
            estimated=("cycles", "other operations", "traffic", "memory"),
            reference=self.tasks.reference,
            check=lambda _problem: comparison,
        )

    def _operations(self, measured: SplicedRun) -> tuple[dict[str, int], list[str]]:
        """Return the operations of the whole run, and the names of those that are exact.

        Multiplications and additions are exact if those of the simulated rows follow from the operands.
        """
        work, done = self.tasks.work, measured.machine.operations()
        counted = {"multiply": work.products, "add": work.products - work.outputs}
        counted[self.tasks.operation] = self.tasks.counts
        exact = [name for name in counted if done.get(name) == counted[name][measured.row_numbers].sum()]
        operations = {name: self._scale_to_run(measured, _operation_count(name)) for name in done}
        return operations | {name: int(counted[name].sum()) for name in exact}, exact

    def _traffic(self, measured: SplicedRun) -> dict[str, Traffic]:
        """Return the estimated traffic by tensor; reads of A, which may run ahead, scale with nonzeros."""
        nonzeros = self.tasks.work.nonzeros
        factor = nonzeros.sum() / max(1, nonzeros[measured.row_numbers].sum())
        traffic = {}
        for name, part in measured.machine.traffic().items():
            directions = ("read_bytes", "write_bytes")
            scaled = (self._scale_to_run(measured, _traffic_count(name, field)) for field in directions)
            a_traffic = Traffic(round(factor * part.read_bytes), part.write_bytes)
            traffic[name] = a_traffic if name == "A" else Traffic(*scaled)
        return traffic

    def _scale_to_run(self, measured: SplicedRun, count: Callable[[Counts], int]) -> int:
        """Return a count of the whole run: the first window's, plus the others' scaled by operations."""
        counts = self.tasks.counts
        first, end = count(measured.marks[0][1]), count(measured.marks[-1][1])
        done = int(self.counts[: self.ranges[0].stop].sum())
        simulated = int(counts[measured.row_numbers].sum()) - done
        return round(first + (end - first) * (int(counts.sum()) - done) / max(1, simulated))

    def _minimum_bytes(self, measured: SplicedRun) -> int:
        """Return what was known before the run, and the rest in proportion to the nonzeros of A and Z."""
        work, machine = self.tasks.work, measured.machine
        elements: Integers = work.nonzeros + work.outputs
        ratio = float(elements.sum()) / max(1, int(elements[measured.row_numbers].sum()))
        return round(self.minimum_bytes + ratio * (machine.traffic_minimum_bytes() - measured.minimum_bytes))


def _operation_count(name: str) -> Callable[[Counts], int]:
    return lambda mark: mark.operations.get(name, 0)


def _traffic_count(tensor: str, field: str) -> Callable[[Counts], int]:
    """Return a field of ``Traffic`` at a mark; 0 before the tensor has traffic."""
    return lambda mark: getattr(mark.traffic.get(tensor), field, 0)
