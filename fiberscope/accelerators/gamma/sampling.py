"""Sampled runs of Gamma: a functional pass over all rows of A, and simulated windows of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.gamma.configuration import GammaConfiguration
from fiberscope.accelerators.gamma.functional_pass import FunctionalPass
from fiberscope.accelerators.gamma.machine import Gamma
from fiberscope.accelerators.gamma.splice import cycles_of_rows, join_windows, run_windows, set_state
from fiberscope.accelerators.machine import Traffic
from fiberscope.accelerators.marked_run import Counts
from fiberscope.accelerators.sampling import (
    SIMULATED_ROWS,
    Correction,
    Estimated,
    Rounds,
    Sample,
    Sampled,
    SingleWindow,
    correct,
    estimate_run,
    moved_bytes,
    scale_memory,
)
from fiberscope.accelerators.windows import FIRST_CYCLES, FloatArray, choose_window_length, cut_windows
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.verification import compare


class Windows:
    """A partition of the rows of A into windows of about equal predicted cost.

    The bounds are shifted by a random part of a window.

    Args:
        work: the functional pass.
        request: sampling options: the seed, and the length of a window in cycles, or None for a length that
            depends on the tasks.

    Attributes:
        ranges: the rows of each window.
        cycles: predicted length of a window in cycles.
        predicted: predicted cycles of the whole run.
        bytes: for each row, the bytes of A and Z.
    """

    def __init__(self, work: FunctionalPass, request: Sample) -> None:
        self.work = work
        self.bytes = _stream_bytes(work)
        costs = self._predict_cycles(self.bytes)
        self.predicted = float(costs.sum())
        longest = int(work.task_lengths.max(initial=0))
        self.cycles = request.window_cycles or choose_window_length(work.task_lengths)
        shift = float(np.random.default_rng(request.seed).random()) * self.cycles
        self.ranges = cut_windows(costs, max(FIRST_CYCLES, longest) + shift, self.cycles)

    def _predict_cycles(self, row_bytes: FloatArray) -> FloatArray:
        """Return the predicted cycles of each row: the larger of merge time and time to move these bytes."""
        parameters = self.work.parameters
        rate = parameters.memory.peak_bytes_per_second / float(parameters.clock)  # bytes per cycle
        return np.maximum(self.work.merged / parameters.pe.count, row_bytes / rate)

    def divide(self, row_bytes: FloatArray) -> Integers:
        """Divide windows that are longer than predicted because they also move rows of B.

        Args:
            row_bytes: bytes of each row, those of B included.

        Returns:
            The number of the first part of each window.
        """
        # Not the first and the last window: their measured cycles count in the estimate as they are
        costs, parts = self._predict_cycles(row_bytes), list[list[range]]()
        for number, window in enumerate(self.ranges):
            is_inner = 0 < number < len(self.ranges) - 1
            parts.append(_divide_window(window, costs, self.cycles) if is_inner else [window])
        self.ranges = [part for window_parts in parts for part in window_parts]
        return np.cumsum([0, *map(len, parts)])[:-1]


def _divide_window(window: range, costs: FloatArray, cycles: int) -> list[range]:
    """Return parts of a window of about equal cost, each about ``cycles`` cycles long."""
    cumulative = np.cumsum(costs[window.start : window.stop])
    count = max(1, round(cumulative[-1] / cycles))
    steps = cumulative[-1] * np.arange(1, count) / count
    # ``unique`` drops empty parts: a long row may reach several steps
    edges = np.unique([0, *(np.searchsorted(cumulative, steps) + 1), len(window)])
    return [range(window.start + start, window.start + stop) for start, stop in pairwise(edges.tolist())]


def _stream_bytes(work: FunctionalPass) -> FloatArray:
    """Return the bytes of A and Z for each row of A, not rounded up to whole lines."""
    sizes, a_sizes = work.parameters.sizes, work.a_sizes
    lengths = np.diff(np.asarray(work.a.pointers))
    a_bytes = lengths * a_sizes.element_bytes + a_sizes.pointer_bytes
    return (a_bytes + work.outputs * sizes.element_bytes + sizes.pointer_bytes).astype(np.float64)


class GammaSampler:
    """A sampler that estimates the run of a Gamma from simulated windows of A's rows.

    Args:
        parameters: the parameters of the machine.
        a, b: the operands.
        request: sampling options.
        tell: progress callback, called with the stage, the work done and the total work.

    Raises:
        ConfigurationError: if this configuration cannot be sampled.
    """

    def __init__(
        self,
        parameters: GammaConfiguration,
        a: CsrArray,
        b: CsrArray,
        request: Sample,
        tell: Callable[[str, int, int], None],
    ) -> None:
        if parameters.tiling != "none":
            raise ConfigurationError("gamma: a sampled run needs tiling=none; subrows lie in several windows")
        if parameters.scheduler.output != "memory":
            raise ConfigurationError("gamma: a sampled run needs scheduler.output=memory")
        self.parameters, self.b, self.request, self.tell = parameters, b, request, tell
        tell("functional pass", 0, 0)
        self.work = FunctionalPass(parameters, a, b)
        self.windows = Windows(self.work, request)
        windows = self.windows
        self.rounds = Rounds(request, len(windows.ranges), windows.cycles, windows.predicted)

    def full_run_reason(self) -> str:
        """Return the reason to simulate the run in full, in one line; empty if the run can be sampled."""
        return self.rounds.full_run_reason()

    def sampled(self) -> Sampled:
        """Simulate windows until the interval is as narrow as requested, and return the estimate."""
        self._run_cache()
        return self._sampled(*self.rounds.run(self._measure, self._estimate))

    def single_window(self, number: int) -> SingleWindow:
        """Return window ``number``, counted from 1, with the window before it and the window after it.

        The machine is run up to the end of the window, to find the window's cycles.

        Raises:
            ConfigurationError: if there is no such window.
        """
        ranges = self.windows.ranges
        if number > len(ranges):
            raise ConfigurationError(f"gamma: sample.window={number}: this run has {len(ranges)} windows")
        neighbourhood = ranges[max(0, number - 2) : number + 1]
        start = neighbourhood[0].start
        _, states = self.work.run_cache([start])
        rows = join_windows(self.work.a, self.work.b.rows, neighbourhood)

        def build(parameters: GammaConfiguration, a: CsrArray, b: CsrArray) -> Gamma:
            # The functional pass has ordered the rows already
            machine = Gamma(parameters.model_copy(update={"reorder": "none"}), a, b)
            if start > 0:
                set_state(machine, states[start])
            return machine

        window = ranges[number - 1]
        bounds = [window.start - start, window.stop - start]
        start_cycle, end_cycle = cycles_of_rows(build(self.parameters, rows, self.b), bounds)
        return SingleWindow(build, rows, start, window, (start_cycle, end_cycle), len(ranges))

    def _run_cache(self) -> None:
        """Run the functional cache, and save its states before all windows that may be simulated.

        A window that is longer than predicted is divided; its first part is simulated instead.
        """
        # Without the first number: the first window begins with an empty cache
        numbers = {number for numbers in self.rounds.numbers for number in numbers[1:]}
        starts = [self.windows.ranges[number].start for number in numbers]
        self.run, self.states = self.work.run_cache(starts)
        row_bytes = self.windows.bytes + np.asarray(self.run.lines) * self.parameters.fibercache.line
        self.first_parts = self.windows.divide(row_bytes)
        starts = [window.start for window in self.windows.ranges]
        merged = self.work.merged.astype(np.float64)
        # Merged elements and bytes of each window; shape (windows, 2)
        self.totals = np.stack([np.add.reduceat(amounts, starts) for amounts in (merged, row_bytes)], axis=1)

    def _measure(self, numbers: Sequence[int]) -> SplicedRun:
        """Simulate the first parts of these windows, one after another."""
        numbers = self.first_parts[list(numbers)].tolist()
        ranges = [self.windows.ranges[number] for number in numbers]
        ordered = self.parameters.model_copy(update={"reorder": "none"})
        rows = join_windows(self.work.a, self.work.b.rows, ranges)
        machine = Gamma(ordered, rows, self.b)
        states = [self.states[window.start] for window in ranges[1:]]
        marks = run_windows(
            machine, [len(window) for window in ranges], states, partial(self.tell, "simulating")
        )
        return SplicedRun(machine, rows, numbers, marks)

    def _correction(self, measured: SplicedRun) -> Correction:
        """Compare the bytes that the windows moved with the bytes that the functional pass counted.

        The lag of the windows follows from the merged elements, which the functional pass counts exactly.
        """
        work, counted = self._work(measured), self.totals[measured.windows]
        return correct(work[:, 1], counted[:, 1], work[:, 0] - counted[:, 0])

    def _work(self, measured: SplicedRun) -> FloatArray:
        """Return the merged elements and the bytes of each window; shape (windows, 2)."""
        marks = [[mark.operations["merge"], moved_bytes(mark.traffic)] for mark in measured.marks]
        return np.diff(marks, axis=0, prepend=[[0, 0]]).astype(np.float64)

    def _estimate(self, measured: SplicedRun) -> Estimated:
        """Estimate the cycles of the whole run from the simulated windows."""
        work, correction = self._work(measured), self._correction(measured)
        cycles = np.diff([0, *(mark.cycles for mark in measured.marks)]).astype(np.float64)
        totals = self.totals * [1.0, correction.ratio]
        totals[1] += totals[0] - work[0]  # work of the first window that is in flight when it ends
        totals[-2] += totals[-1] - work[-1]  # minus work that the last window takes over from this window
        residuals = np.stack([np.zeros(len(correction.residuals)), correction.residuals], axis=1)
        return estimate_run(cycles, work, measured.windows, totals, residuals)

    def _sampled(self, measured: SplicedRun, estimate: Estimated) -> Sampled:
        """Return the result of the sampled run, from the measurements and the estimate of its last round."""
        ratio = self._correction(measured).ratio
        traffic = self._traffic(ratio)
        answer, precision = measured.machine.result(), measured.machine.value_type
        ranges = [self.windows.ranges[number] for number in measured.windows[1:-1]]
        return Sampled(
            cycles=estimate,
            windows=len(measured.windows),
            window_cycles=self.windows.cycles,
            strata=len(measured.windows) - 2,
            cycles_simulated=measured.marks[-1].cycles,
            operations=self._operations(),
            traffic=traffic,
            # From the begin of the second window to the begin of the last window
            memory=scale_memory(traffic, measured.marks[-2], measured.marks[0]),
            traffic_minimum_bytes=self._minimum_bytes(),
            traffic_ratio=ratio,
            rows=tuple((window.start, window.stop) for window in ranges),
            exact=("operations", "traffic.A"),
            estimated=("cycles", "traffic.B", "traffic.partial", "traffic.Z", "memory"),
            reference=SIMULATED_ROWS,
            check=lambda _problem: compare(measured.rows, self.b, answer, precision),
        )

    def _operations(self) -> dict[str, int]:
        """Return the operations of the whole run, which the functional pass counts exactly."""
        merged, outputs = int(self.work.merged.sum()), int(self.work.outputs.sum())
        lengths = np.diff(np.asarray(self.work.b.pointers))
        multiplies = int(lengths[np.asarray(self.work.a.coordinates)].sum())
        return {
            "multiply": multiplies,
            "add": multiplies - outputs,  # the first product of an output is not added
            "merge": merged,
            "partial_merge": merged - multiplies,
            "tasks": self.run.tasks,
        }

    def _traffic(self, ratio: float) -> dict[str, Traffic]:
        """Return the traffic of each tensor; that of B and of partial fibers is corrected.

        Args:
            ratio: bytes that the windows moved, divided by the bytes that the functional pass counted.
        """
        counted = self.work.traffic(self.run)
        streamed = counted["A"].read_bytes + counted["Z"].write_bytes
        # The ratio corrects all bytes together. A and Z stay as counted, so that the cache moves the rest.
        cached = max(0.0, ratio * self.totals[:, 1].sum() - streamed)
        return self.work.traffic(self.run, cached / max(1, self.run.cache.traffic_lines()))

    def _minimum_bytes(self) -> int:
        """Return the bytes of A, of the selected rows of B, and of Z, each once."""
        work, sizes = self.work, self.parameters.sizes
        selected = np.flatnonzero(np.bincount(np.asarray(work.a.coordinates)))
        selected_nonzeros = int(np.diff(np.asarray(work.b.pointers))[selected].sum())
        tensors = (
            (int(work.a.pointers[work.a.rows]), work.a.rows, work.a_sizes),
            (selected_nonzeros, len(selected), work.b_sizes),
            (int(work.outputs.sum()), work.a.rows, sizes),
        )
        return sum(
            count * size.element_bytes + fibers * size.pointer_bytes for count, fibers, size in tensors
        )


@dataclass(frozen=True)
class SplicedRun:
    """A run of selected windows, one after another.

    Args:
        machine: the machine after the run.
        rows: the rows of A that the machine multiplied.
        windows: numbers of the windows that were run, after the division of windows.
        marks: counts at the beginning of each window but the first, and at the end of the run.
    """

    machine: Gamma
    rows: CsrArray
    windows: Sequence[int]
    marks: Sequence[Counts]
