"""Sampled runs: the request, the choice of windows, and the estimate with its confidence interval.

A *window* is a part of a run: the work on a range of consecutive tasks, such as rows of the first operand, or
an iteration of a graph algorithm. A sampled run simulates the first window, the last window, and some windows
between them, cycle by cycle. A *functional pass* counts the work of every window without simulating time. The
cycles of the other windows are estimated from their work. Graphicionado simulates its first iterations only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from fiberscope.accelerators.machine import MemoryUse
from fiberscope.accelerators.windows import FloatArray, choose_windows
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.verification import Comparison

if TYPE_CHECKING:
    from fiberscope.accelerators.configuration import Configuration
    from fiberscope.accelerators.machine import Traffic
    from fiberscope.accelerators.marked_run import Counts

CONFIDENCE = 0.95
SIMULATED_ROWS = "scipy, in the rows that were simulated"  # the reference of a product
GROUP = 5  # number of neighbouring chosen windows that share a ratio of cycles to work
ROUNDS = (20, 40, 80, 160, 320)  # number of chosen windows in each round
# Predicted cycles below which a run is simulated in full, unless the request gives windows or their length
MIN_CYCLES = 300_000
MAX_SHARE = 0.5  # largest fraction of the windows that may be chosen
Measured = TypeVar("Measured")


@dataclass(frozen=True)
class Sample:
    """Parameters of a sampled run.

    Args:
        half_width: half-width of the interval to reach by adding windows, as a fraction of the cycles.
        windows: number of windows to choose between the first and the last; None to reach ``half_width``.
        window_cycles: predicted cycles of a window; None for a length that depends on the tasks.
        seed: seed of the random choice of windows.
        window: number of a single window to simulate, from 1; None for an estimate.
    """

    half_width: float = 0.03
    windows: int | None = None
    window_cycles: int | None = None
    seed: int = 0
    window: int | None = None

    def __str__(self) -> str:
        """Return the request as a text such as ``3%, seed 0`` or ``10 windows of 1,000 cycles, seed 1``."""
        width = f"{100 * self.half_width:.3g}%"
        size = width if self.windows is None else f"{self.windows} windows"
        length = "" if self.window_cycles is None else f" of {self.window_cycles:,} cycles"
        return f"{size}{length}, seed {self.seed}"


@dataclass(frozen=True)
class Estimated:
    """An estimate with its interval, in cycles.

    Args:
        cycles: the estimate.
        half_width: half-width of the interval at ``CONFIDENCE``.
        deviations: error of each chosen window; the sum of the squares is the variance of the estimate. Empty
            if the errors are not known.
        degrees: degrees of freedom of the variance.
    """

    cycles: float
    half_width: float
    deviations: tuple[float, ...] = ()
    degrees: int = 1


@dataclass(frozen=True)
class Sampled:
    """Result of a sampled run.

    Args:
        cycles: the estimate of the cycles of the whole run, with its interval.
        windows: number of simulated windows.
        window_cycles: cycles of a window, predicted or on average.
        strata: number of strata from which the windows were chosen.
        cycles_simulated: sum of the cycles of the simulated windows.
        operations, traffic, memory: operations by name, traffic by tensor, use of memory of the whole run.
        traffic_minimum_bytes: as of a ``Model``.
        traffic_ratio: bytes that the windows moved, divided by the bytes that the functional pass counted
            for the same windows; None if the functional pass counts no bytes.
        exact, estimated: names of the exact and of the estimated parts of a report.
        reference: name of the reference with which the simulated part of the answer is compared.
        check: function that compares an answer with the reference.
        rows: first row and end (exclusive) of each window with a deviation; empty if windows are not rows.
        parameters: parameters with the values that the machine chose; None if the machine chooses none.
    """

    cycles: Estimated
    windows: int
    window_cycles: int
    strata: int
    cycles_simulated: int
    operations: Mapping[str, int]
    traffic: Mapping[str, Traffic]
    memory: MemoryUse | None
    traffic_minimum_bytes: int
    traffic_ratio: float | None
    exact: tuple[str, ...]
    estimated: tuple[str, ...]
    reference: str
    check: Callable[[Any], Comparison]
    rows: tuple[tuple[int, int], ...] = ()
    parameters: Configuration | None = None


@dataclass(frozen=True)
class SingleWindow:
    """A window of a run that is simulated alone, with its two neighbours before and after it.

    Because of the neighbours, the window begins and ends with work in flight, as in the whole run.

    Args:
        build: constructor of the machine, with the arguments of a model of an ``Accelerator``.
        rows: rows of the first operand that the machine multiplies: the window and its neighbours.
        first_row: number of the first of these rows in the whole operand.
        window: row numbers of the window itself, in the whole operand.
        cycles: cycle in which the window begins, and cycle in which the next window begins.
        count: number of windows of the run.
    """

    build: Callable[..., Any]
    rows: CsrArray
    first_row: int
    window: range
    cycles: tuple[int, int]
    count: int


class Sampler(Protocol):
    """A machine whose run is estimated from windows."""

    def full_run_reason(self) -> str:
        """Return the reason to simulate the run in full, in one line; empty if the run can be sampled."""

    def sampled(self) -> Sampled:
        """Simulate windows until the interval is as narrow as requested, and return the estimate.

        Call this method only if ``full_run_reason`` is empty. The interval may stay wider: at most half of
        the windows are chosen, or the number in the request.
        """


class WindowSampler(Sampler, Protocol):
    """A sampler that can also simulate one window alone."""

    def single_window(self, number: int) -> SingleWindow:
        """Return the window with a number, counted from 1."""


def too_few_cycles(predicted: float) -> str:
    """Return the message for a run that is simulated in full because it is shorter than ``MIN_CYCLES``."""
    return f"simulated in full, as about {predicted:,.0f} cycles are fewer than {MIN_CYCLES:,}"


class Rounds:
    """The rounds of a sampled run; each round chooses more windows than the previous round.

    Args:
        request: parameters of the sampled run.
        windows: number of windows of the whole run.
        cycles: predicted cycles of a window.
        predicted: predicted cycles of the whole run.
        certain: numbers of windows between the first and the last that every round simulates, from 0.

    Attributes:
        windows: number of windows to choose from, plus 2 for the first and the last window.
        numbers: for each round, the numbers of its windows from 0, including the first and the last window
            of the run. Rounds that would choose more than ``MAX_SHARE`` of the windows are left out; empty if
            no round is left.
    """

    def __init__(
        self, request: Sample, windows: int, cycles: int, predicted: float, certain: Sequence[int] = ()
    ) -> None:
        self.request, self.cycles, self.predicted = request, cycles, predicted
        others = sorted(set(range(1, windows - 1)) - set(certain))
        self.windows = len(others) + 2
        counts = [request.windows] if request.windows else ROUNDS
        chosen = [
            choose_windows(len(others), count, request.seed)
            for count in counts
            if count <= len(others) * MAX_SHARE
        ]
        ends = {0, windows - 1, *certain}
        self.numbers = [sorted(ends | {others[number] for number in numbers}) for numbers in chosen]

    def full_run_reason(self) -> str:
        """Return the reason to simulate the run in full, in one line; empty if the run can be sampled."""
        has_defaults = self.request.windows is None and self.request.window_cycles is None
        if has_defaults and self.predicted < MIN_CYCLES:
            return too_few_cycles(self.predicted)
        if self.numbers:
            return ""
        return (
            f"simulated in full, as it has only {self.windows} windows of about {self.cycles:,} cycles to "
            "choose from"
        )

    def run(
        self, measure: Callable[[Sequence[int]], Measured], estimate: Callable[[Measured], Estimated]
    ) -> tuple[Measured, Estimated]:
        """Simulate windows until the interval is as narrow as requested, or the last round is done.

        Args:
            measure: function that simulates the windows with these numbers, and returns the measurements.
            estimate: function that returns the estimate for the whole run from the measurements.

        Returns:
            The measurements and the estimate of the last round; ``numbers`` must not be empty.
        """
        number, last = 0, len(self.numbers) - 1
        while True:
            measured = measure(self.numbers[number])
            estimated = estimate(measured)
            excess = estimated.half_width / estimated.cycles / self.request.half_width
            if excess <= 1 or number == last:
                return measured, estimated
            # The width falls with the root of the number of chosen windows. Skip rounds that are too small.
            needed = (len(self.numbers[number]) - 2) * excess**2
            while number < last and len(self.numbers[number]) - 2 < needed:
                number += 1


@dataclass(frozen=True)
class Correction:
    """Difference between the work that a functional pass counted and the work of the windows.

    Args:
        ratio: work that the simulated windows did, divided by the work that the functional pass counted.
        residuals: for each simulated window between the first and the last: the work done, minus ``ratio``
            times the counted work, minus the work that the window exchanged with its neighbours.
    """

    ratio: float
    residuals: FloatArray


def correct(done: FloatArray, counted: FloatArray, lag: FloatArray) -> Correction:
    """Correct a kind of work that a functional pass does not count exactly, such as cache misses.

    A window begins when its first task is dispatched, while tasks of the previous window are in flight. A
    window therefore does some work of the previous window, and leaves some work to the next window. This
    difference is the *lag*. For work that is counted exactly, the lag is measured work minus counted work.
    For other work, the lag is taken to be proportional to that lag. A whole run begins and ends without
    tasks in flight, so that the lags of all its windows add up to 0.

    Args:
        done: measured work of each simulated window, including the first and the last.
        counted: work that the functional pass counted for the same windows; the sum is not 0.
        lag: lag of the same windows, from work that is counted exactly.
    """
    ratio = float(done.sum() / counted.sum())
    differences, lag = (done - ratio * counted)[1:-1], lag[1:-1]
    slope = float(lag @ differences) / max(1.0, float(lag @ lag))  # least squares through the origin
    return Correction(ratio, differences - slope * lag)


def estimate_run(
    cycles: FloatArray,
    work: FloatArray,
    windows: Sequence[int],
    totals: FloatArray,
    residuals: FloatArray | None = None,
) -> Estimated:
    """Estimate the cycles of a whole run from measurements that include its first and its last window.

    The measured cycles of these two windows are added to the estimate for the windows between them.

    Args:
        cycles: cycles of each simulated window.
        work: work of each simulated window by kind, an array of windows x kinds.
        windows: number of each simulated window, from 0, in ascending order.
        totals: work of every window of the run by kind, including the first and the last window.
        residuals: as of ``estimate_cycles``.
    """
    chosen = [number - 1 for number in windows[1:-1]]
    inner = estimate_cycles(cycles[1:-1], work[1:-1], chosen, totals[1:-1], residuals)
    return replace(inner, cycles=inner.cycles + float(cycles[0] + cycles[-1]))


def estimate_cycles(
    cycles: FloatArray,
    work: FloatArray,
    chosen: Sequence[int],
    totals: FloatArray,
    residuals: FloatArray | None = None,
) -> Estimated:
    """Estimate the cycles of all windows from the cycles of the chosen windows.

    The work of a window is a weighted sum of its kinds of work. The weights are the nonnegative weights that
    fit the cycles of the chosen windows best. Groups of ``GROUP`` neighbouring chosen windows each have a
    ratio of cycles to work, which also holds for the unmeasured windows near them.

    Args:
        cycles: cycles of each chosen window.
        work: work of each chosen window by kind, an array of chosen windows x kinds.
        chosen: number of each chosen window, from 0, in ascending order.
        totals: work of every window by kind, an array of windows x kinds.
        residuals: as of ``Correction``, by chosen window and kind of work; 0 for work counted exactly.
    """
    from scipy.optimize import nnls  # noqa: PLC0415  (takes time to load, and few runs are sampled)

    # The fit gets kinds of work with equal sums, whatever their magnitudes.
    scale = np.maximum(work.sum(axis=0), 1)
    weights = nnls(work / scale, cycles)[0] / scale
    weighted, all_weighted = work @ weights, totals @ weights
    corrected = np.zeros(len(cycles)) if residuals is None else residuals @ weights
    count = len(cycles)
    groups = np.array_split(np.arange(count), max(1, count // GROUP))
    bounds = _group_bounds(chosen, groups, len(totals))
    value, deviations = 0.0, list[float]()
    # Each weight that was fitted, but one, makes the deviations smaller, and takes a degree of freedom.
    fitted = max(0, int(np.count_nonzero(weights)) - 1)
    degrees = max(1, count - len(groups) - fitted)
    widening = (max(1, count - len(groups)) / degrees) ** 0.5
    for group, start, stop in zip(groups, bounds, bounds[1:], strict=False):
        total, sampled = all_weighted[start:stop].sum(), weighted[group].sum()
        ratio = cycles[group].sum() / sampled
        deviation = cycles[group] - ratio * (weighted[group] - corrected[group])
        # Variance of a ratio estimate with n of N windows, drawn without replacement:
        # (1 - n / N) * n / (n - 1) * (total / sampled)**2 * sum(deviation**2).
        unsampled = max(0.0, 1 - len(group) / (stop - start))
        factor = (unsampled * len(group) / max(1, len(group) - 1)) ** 0.5 * total / sampled
        value += ratio * total
        deviations += (widening * factor * deviation).tolist()
    if residuals is not None:  # a degree of freedom for the ratio, and one for the slope of ``correct``
        degrees = max(1, degrees - 2)
    return Estimated(value, half_width(deviations, degrees), tuple(deviations), degrees)


def moved_bytes(traffic: Mapping[str, Traffic]) -> int:
    """Return the sum of the bytes read and written over all tensors."""
    return sum(part.read_bytes + part.write_bytes for part in traffic.values())


def scale_memory(
    traffic: Mapping[str, Traffic], end: Counts, begin: Counts | None = None
) -> MemoryUse | None:
    """Scale DRAM row hits, misses and conflicts of a simulated part to a whole run, without ``counters``.

    These events are taken to be proportional to the bytes that are moved.

    Args:
        traffic: traffic of the whole run by tensor.
        end: counts at the end of the simulated part.
        begin: counts at its begin; None for the begin of the simulation.

    Returns:
        The use of the memory by the whole run; None for a machine without memory.
    """
    if end.memory is None:
        return None
    start = begin and begin.memory
    simulated = moved_bytes(end.traffic) - (moved_bytes(begin.traffic) if begin else 0)
    names = ("row_hits", "row_misses", "row_conflicts")
    counts = (getattr(end.memory, name) - getattr(start, name, 0) for name in names)
    hits, misses, conflicts = (round(count * moved_bytes(traffic) / max(1, simulated)) for count in counts)
    return MemoryUse(hits, misses, conflicts, end.memory.peak_bytes_per_second)


def half_width(deviations: Sequence[float], degrees: int) -> float:
    """Return the half-width of the interval at ``CONFIDENCE``, from Student's t distribution.

    Args:
        deviations: deviations whose squares add up to the variance.
        degrees: degrees of freedom of the variance.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  (takes time to load, and few runs are sampled)

    return float(stdtrit(degrees, 0.5 + CONFIDENCE / 2)) * math.hypot(*deviations)


def _group_bounds(chosen: Sequence[int], groups: Sequence[Integers], count: int) -> list[int]:
    """Return the bounds of the windows that each group stands for, halfway between neighbouring groups."""
    ends = [(chosen[group[-1]] + chosen[group[-1] + 1]) // 2 + 1 for group in groups[:-1]]
    return [0, *ends, count]
