"""Sampled runs: what is asked for, how windows are chosen, and the interval of an estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.verification import Comparison

if TYPE_CHECKING:
    from fiberscope.accelerators.configuration import Configuration
    from fiberscope.accelerators.machine import MemoryUse, Traffic

CONFIDENCE = 0.95
SIMULATED_ROWS = "scipy, in the rows that were simulated"  # the reference of a product
GROUP = 5  # windows that share a ratio of cycles to work
ROUNDS = (20, 40, 80, 160, 320)  # windows
SHORTEST = 300_000  # cycles, predicted, of a run that is sampled unless the windows are given
DENSEST = 0.5  # of the windows, at the most
Numbers = npt.NDArray[np.float64]
Measured = TypeVar("Measured")


@dataclass(frozen=True)
class Sample:
    """Parameters of a sampled run.

    Args:
        half_width: of the interval, as a fraction of the cycles; windows are added until it is reached.
        windows: number of windows between the first and the last; None for as many as the width needs.
        window_cycles: length of a window; None for a length that the tasks decide.
        seed: chooses the windows.
        window: number of a single window to simulate, from 1 on, in the place of an estimate.
    """

    half_width: float = 0.03
    windows: int | None = None
    window_cycles: int | None = None
    seed: int = 0
    window: int | None = None

    def __str__(self) -> str:
        """Return the request in a few words."""
        width = f"{100 * self.half_width:.3g}%"
        size = width if self.windows is None else f"{self.windows} windows"
        length = "" if self.window_cycles is None else f" of {self.window_cycles:,} cycles"
        return f"{size}{length}, seed {self.seed}"


@dataclass(frozen=True)
class Estimated:
    """An estimate with its interval, in cycles.

    Args:
        cycles: the estimate.
        half_width: the half width of the interval.
        deviations: the deviations by chosen window; the sum of their squares is the variance of the estimate.
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
        cycles: the estimate, with its interval.
        windows, window_cycles, strata: how many windows were simulated, how long, of how many strata.
        cycles_simulated: cycles of the windows.
        operations, traffic, memory: the operations, traffic and memory of the whole run, exact or estimated.
        traffic_minimum_bytes: as of a ``Model``.
        traffic_ratio: simulated bytes over those of the functional pass, in the windows; None without such.
        exact, estimated: names of the parts of a report that are so.
        reference, check: what the simulated part of the answer is compared with, and the comparison, of the
            ``Problem``.
        rows: first row and the row behind the last, of each window that has a deviation; empty where
            windows are not of rows.
        parameters: with what the machine chose for the operands; None where it chooses nothing.
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
    """A window of a run, to be simulated alone between the windows beside it.

    Args:
        build: makes the machine from parameters and operands, as a model of an ``Accelerator`` does.
        rows: the rows of the first operand that the machine multiplies.
        first_row: number of their first in the whole operand.
        window: the rows of the window itself.
        cycles: the cycle in which the window begins and the one in which the next window begins.
        count: windows in all.
    """

    build: Callable[..., Any]
    rows: CsrArray
    first_row: int
    window: range
    cycles: tuple[int, int]
    count: int


class Sampler(Protocol):
    """A machine whose run is estimated from windows."""

    def too_short(self) -> str:
        """Why the run is to be simulated in full, in a line; empty if it can be sampled."""

    def sampled(self) -> Sampled:
        """Simulate windows until the interval is as narrow as it should be."""


class WindowSampler(Sampler, Protocol):
    """A sampler that can also simulate one window alone."""

    def single_window(self, number: int) -> SingleWindow:
        """Return the window of a number, from 1 on."""


def cut_windows(costs: Numbers, first: float, cost: float) -> list[range]:
    """Cut rows into windows of about equal cost: the first, those of equal cost, and the last.

    A row that costs more than a window is a window, or the end of one.

    Args:
        costs: the costs by row.
        first: least cost of the first window, and of the last.
        cost: the cost of each other window.
    """
    behind = np.cumsum(costs)
    begin = int(np.searchsorted(behind, first)) + 1
    end = int(np.searchsorted(behind, behind[-1] - first))
    if end - begin < 1:
        return [range(len(costs))]
    middle = behind[end - 1] - behind[begin - 1]
    count = max(1, round(middle / cost))
    steps = behind[begin - 1] + middle * np.arange(1, count) / count
    bounds = np.unique([begin, *(np.searchsorted(behind[:end], steps) + 1), end])
    edges = [0, *bounds.tolist(), len(costs)]
    return [range(start, stop) for start, stop in pairwise(edges) if stop > start]


def choose_windows(count: int, strata: int, seed: int) -> list[int]:
    """A random window of each of so many contiguous strata, in order.

    Args:
        count: windows to choose from.
        strata: not more than there are windows.
        seed: the seed of the choice.
    """
    generator = np.random.default_rng([seed, strata])
    bounds = np.arange(strata + 1) * count // strata
    return [int(generator.integers(start, stop)) for start, stop in pairwise(bounds)]


def too_few_cycles(predicted: float) -> str:
    """Say that a run of so many cycles, fewer than ``SHORTEST``, is simulated in full."""
    return f"simulated in full, as about {predicted:,.0f} cycles are fewer than {SHORTEST:,}"


class Rounds:
    """The windows of each round of a sampled run, the first and the last window among them.

    Args:
        request: how to sample.
        windows: in all.
        cycles: the cycles of a window.
        predicted: cycles of the whole run.
    """

    def __init__(self, request: Sample, windows: int, cycles: int, predicted: float) -> None:
        self.request, self.windows, self.cycles, self.predicted = request, windows, cycles, predicted
        middle = windows - 2
        counts = [request.windows] if request.windows else ROUNDS
        chosen = [
            choose_windows(middle, count, request.seed) for count in counts if count <= middle * DENSEST
        ]
        self.numbers = [[0, *(1 + number for number in each), middle + 1] for each in chosen]

    def too_short(self) -> str:
        """See ``Sampler``."""
        free = self.request.windows is None and self.request.window_cycles is None
        if free and self.predicted < SHORTEST:
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
        """Simulate windows until the interval is as narrow as requested, or no more may be chosen.

        Args:
            measure: simulates the windows of these numbers.
            estimate: the cycles of the whole run from them.
        """
        number, last = 0, len(self.numbers) - 1
        while True:
            measured = measure(self.numbers[number])
            estimated = estimate(measured)
            excess = estimated.half_width / estimated.cycles / self.request.half_width
            if excess <= 1 or number == last:
                return measured, estimated
            needed = (len(self.numbers[number]) - 2) * excess**2
            while number < last and len(self.numbers[number]) - 2 < needed:
                number += 1


@dataclass(frozen=True)
class Correction:
    """Difference between the work that a functional pass counted and the work of the windows.

    Args:
        ratio: work done per work counted.
        residuals: by window between the first and the last: work done, without what the ratio explains and
            without what it did for the windows beside it.
    """

    ratio: float
    residuals: Numbers


def correct(done: Numbers, counted: Numbers, lag: Numbers) -> Correction:
    """Correct a kind of work that a functional pass does not count exactly.

    A window begins when its first task is dispatched, while tasks of the window before it are in flight. It
    therefore does work of its neighbour, and leaves work to the next one. Exactly counted work shows how
    much, and inexactly counted work is taken to be in proportion. In the sum over all windows of a run, which
    begins and ends empty, this lag is 0.

    Args:
        done: work by window, the first and the last included, measured.
        counted: the same, of the functional pass.
        lag: exact work by window: measured, less counted.
    """
    ratio = float(done.sum() / counted.sum())
    differences, lag = (done - ratio * counted)[1:-1], lag[1:-1]
    slope = float(lag @ differences) / max(1.0, float(lag @ lag))
    return Correction(ratio, differences - slope * lag)


def estimate_run(
    cycles: Numbers, work: Numbers, windows: Sequence[int], totals: Numbers, residuals: Numbers | None = None
) -> Estimated:
    """Estimate the cycles of a run: those of its first window and its last, and of all between.

    Args:
        cycles, work: the cycles, and the work by kind, of each simulated window.
        windows: number of each simulated window, the first and the last of the run among them.
        totals, residuals: as of ``estimate_cycles``, the totals of all windows of the run.
    """
    chosen = [number - 1 for number in windows[1:-1]]
    inner = estimate_cycles(cycles[1:-1], work[1:-1], chosen, totals[1:-1], residuals)
    return replace(inner, cycles=inner.cycles + float(cycles[0] + cycles[-1]))


def estimate_cycles(
    cycles: Numbers,
    work: Numbers,
    chosen: Sequence[int],
    totals: Numbers,
    residuals: Numbers | None = None,
) -> Estimated:
    """Estimate the cycles of all windows from those of the chosen ones.

    Windows are pooled in groups of neighbours. Each group has a ratio of cycles to work, which is a weighted
    sum of the kinds of work. The weights are those that fit all windows best and are not negative.

    Args:
        cycles: the cycles by chosen window.
        work: the work by chosen window and kind of work.
        chosen: number of each window, in increasing order.
        totals: by window and kind of work, of all windows.
        residuals: by chosen window and kind of work, where totals are corrected; 0 for work counted exactly.
    """
    from scipy.optimize import nnls  # noqa: PLC0415  (takes time to load, and few runs are sampled)

    scale = np.maximum(work.sum(axis=0), 1)
    weights = nnls(work / scale, cycles)[0] / scale
    weighted, all_weighted = work @ weights, totals @ weights
    corrected = np.zeros(len(cycles)) if residuals is None else residuals @ weights
    count = len(cycles)
    groups = np.array_split(np.arange(count), max(1, count // GROUP))
    bounds = _group_bounds(chosen, groups, len(totals))
    value, deviations = 0.0, list[float]()
    for group, start, stop in zip(groups, bounds, bounds[1:], strict=False):
        total, sampled = all_weighted[start:stop].sum(), weighted[group].sum()
        ratio = cycles[group].sum() / sampled
        deviation = cycles[group] - ratio * (weighted[group] - corrected[group])
        left = max(0.0, 1 - len(group) / (stop - start))
        factor = (left * len(group) / max(1, len(group) - 1)) ** 0.5 * total / sampled
        value += ratio * total
        deviations += (factor * deviation).tolist()
    degrees = max(1, count - len(groups) - (0 if residuals is None else 2))
    return Estimated(value, half_width(deviations, degrees), tuple(deviations), degrees)


def moved_bytes(traffic: Mapping[str, Traffic]) -> int:
    """Return the bytes of all tensors, read and written."""
    return sum(part.read_bytes + part.write_bytes for part in traffic.values())


def scale_memory(use: MemoryUse, simulated: int, moved: int) -> MemoryUse:
    """Return the use of the memory by a whole run, from that of a part of it.

    Args:
        use: the use of the memory by the part; its events beside rows are not known of the whole run.
        simulated: bytes that the part moved.
        moved: bytes that the whole run moves.
    """
    hits, misses, conflicts = (
        round(count * moved / max(1, simulated))
        for count in (use.row_hits, use.row_misses, use.row_conflicts)
    )
    return replace(use, row_hits=hits, row_misses=misses, row_conflicts=conflicts, counters={})


def half_width(deviations: Sequence[float], degrees: int) -> float:
    """Return the half-width of an interval at ``CONFIDENCE`` by Student's t.

    Args:
        deviations: whose squares add up to the variance.
        degrees: degrees of freedom of the variance.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  (takes time to load, and few runs are sampled)

    return float(stdtrit(degrees, 0.5 + CONFIDENCE / 2)) * math.hypot(*deviations)


def _group_bounds(chosen: Sequence[int], groups: Sequence[Integers], count: int) -> list[int]:
    """The windows that each group stands for: up to the middle between two groups."""
    ends = [(chosen[group[-1]] + chosen[group[-1] + 1]) // 2 + 1 for group in groups[:-1]]
    return [0, *ends, count]
