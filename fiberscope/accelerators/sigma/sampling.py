"""Sampled runs of SIGMA: exact work of all passes, and simulated cycles of windows.

A *pass* streams columns of one operand past a part of the other operand, see ``plan``. A window is a range of
consecutive passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.machine import Traffic
from fiberscope.accelerators.marked_run import Counts, run_to_end
from fiberscope.accelerators.sampling import Estimated, Rounds, Sample, Sampled, estimate_run, scale_memory
from fiberscope.accelerators.sigma.configuration import SigmaConfiguration
from fiberscope.accelerators.sigma.distributor import Distributor
from fiberscope.accelerators.sigma.machine import Sigma, stationary_and_streamed, typed_operands
from fiberscope.accelerators.sigma.plan import Pass, Plan
from fiberscope.accelerators.windows import FloatArray, cut_windows
from fiberscope.hw.value_type import TYPES
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.gemm import SlicedMatrix
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.verification import Comparison, Rounding, compare_values

MIN_WINDOW_CYCLES = 4000  # smallest default length of a window, in predicted cycles
MIN_WINDOW_DEPTHS = 2  # the same, in units of the passes that are in flight at the same time
# Smallest half-width of an interval, as a fraction of the cycles: windows often take exactly the predicted
# cycles, except at their ends.
MIN_HALF_WIDTH = 0.001
OPERATIONS = ("multiply", "useful_multiply", "add", "add_outside", "accumulate")
REFERENCE = "scipy, in the passes that were simulated"


class PassWork:
    """The exact work of every pass of a plan.

    Args:
        plan: a new plan. The constructor takes all its passes, so that the plan is finished afterwards.

    Attributes:
        distributor: cycles in which the distributor flushes, loads lines and sends columns, by pass.
        scan: cycles in which the controller scans bitmaps, by pass.
        moved_bytes: bytes by pass, an array of passes x 4: stationary operand, streamed operand, sums read,
            and sums written.
        awaited_distances: for each pass, the distance back to the last pass whose writes must be done before
            it reads partial sums; 0 if there is none.
        end: number of the first pass with values of the last slice, which writes results to Z.
        operations: number of operations, an array of passes x ``OPERATIONS``.
    """

    def __init__(self, plan: Plan) -> None:
        self.parameters = plan.parameters
        cycles: list[tuple[int, int]] = []
        pass_bytes: list[tuple[int, ...]] = []
        operations: list[tuple[int, ...]] = []
        distances: list[int] = []
        self.end = 0
        while not plan.finished:
            pass_ = plan.take()
            del plan.passes[pass_.number]
            cycles.append(self._cycles(pass_))
            pass_bytes.append((*pass_.fetched, pass_.written))
            operations.append(_operations(pass_))
            # The slices come in order: these are the passes before the first pass of the last slice.
            self.end += not any(segment.slice.is_last for segment in pass_.table.chunk.segments)
            distances.append(pass_.number + 1 - pass_.awaited_writes if pass_.awaited_writes > 0 else 0)
        self.distributor, self.scan = np.array(cycles, dtype=np.int64).reshape(-1, 2).T
        self.moved_bytes = np.array(pass_bytes, dtype=np.int64).reshape(-1, 4)
        self.operations = np.array(operations, dtype=np.int64).reshape(-1, len(OPERATIONS))
        if plan.without_memory:
            self.moved_bytes[:] = 0
        self.awaited_distances = np.array(distances, dtype=np.int64)

    def edges(self, passes: Integers) -> FloatArray:
        """Predict the starts of passes that run one after another, and the end of the last.

        The prediction assumes that memory serves one transfer after another at its peak bandwidth. Passes
        wait for one another as in the machine.

        Args:
            passes: numbers of the passes.

        Returns:
            The cycle in which each pass begins, and the cycle in which all passes have ended.
        """
        parameters, max_passes = self.parameters, self.parameters.stream.passes
        rate = parameters.memory.peak_bytes_per_second / float(parameters.clock)  # bytes a cycle
        fetching = (self.moved_bytes[passes, :3].sum(axis=1) / rate).tolist()
        writing = (self.moved_bytes[passes, 3] / rate).tolist()
        sending, scan = self.distributor[passes].tolist(), self.scan[passes].tolist()
        distances = self.awaited_distances[passes].tolist()
        starts, retired = list[float](), list[float]()
        transfers: list[tuple[float, bool, int]] = []  # heap of (time of the request, whether a write, pass)
        requested = scanned = ended = memory_free = 0.0  # latest times
        count = 0  # number of requested passes
        while len(retired) < len(passes):
            # As the controller does, request each pass when a slot is free and its awaited writes are done.
            while count < min(
                len(passes), len(retired) + max_passes, _next_limit(distances, count, len(retired))
            ):
                # The later of the two retirements that allow this request
                awaited = max(count - max_passes, count - distances[count] if distances[count] else -1)
                requested = max(requested, retired[awaited] if awaited >= 0 else 0.0)
                heappush(transfers, (requested, False, count))
                count += 1
            # Memory serves the earliest request; at the same time, fetches precede writes.
            time, is_write, number = heappop(transfers)
            memory_free = max(memory_free, time) + (writing if is_write else fetching)[number]
            if is_write:
                # A pass that writes nothing retires at once.
                retired.append(memory_free if writing[number] else time)
                continue
            scanned = max(scanned, memory_free) + scan[number]
            starts.append(max(ended, scanned))
            ended = starts[-1] + sending[number]
            heappush(transfers, (ended, True, number))
        return np.array([*starts, max([ended, *retired[-1:]])])

    def _cycles(self, pass_: Pass) -> tuple[int, int]:
        """Return the cycles of the distributor, and of the controller's scan, for a pass."""
        parameters, table = self.parameters, pass_.table
        sending = pass_.columns * table.interval
        if not pass_.is_chunk_start:
            return sending, 0
        loading = len(table.lines) * parameters.line_cycles
        cycles = max(sending, loading) if parameters.load.double_buffer else sending + loading
        scan = -(-table.bits // parameters.controller.bits_per_cycle)
        return cycles + parameters.reduce.flush * table.flush, scan


def _windows(end: int, passes: int, size: int) -> list[range]:
    """Cut passes into windows.

    Args:
        end: number of the first pass of the last slice. If it is not 0, all passes from there are one window,
            as they differ from the others: they write Z.
        passes: number of passes.
        size: passes of a window.
    """
    if end == 0:
        return cut_windows(np.ones(passes), size, size) if passes else []
    return [*cut_windows(np.ones(end), size, size), range(end, passes)]


def _next_limit(distances: Sequence[int], number: int, retired: int) -> int:
    """Return ``number`` + 1 if the writes that a pass awaits are done, else ``number``."""
    if number == len(distances):
        return number
    return number + 1 if not distances[number] or number - distances[number] < retired else number


def _operations(pass_: Pass) -> tuple[int, ...]:
    """Return the number of operations of a pass, in the order of ``OPERATIONS``."""
    table, columns = pass_.table, pass_.columns
    chunk, neurons = table.chunk, sum(table.chunk.neuron_counts)
    return (
        columns * chunk.length,
        table.useful_products if pass_.is_chunk_end else 0,
        columns * (chunk.length - neurons),
        columns * (neurons - chunk.sum_count),
        columns * (chunk.sum_count - table.first_sums),
    )


class MarkingDistributor(Distributor):
    """A distributor that records the cycle in which it begins each pass.

    Args:
        arguments, options: arguments of ``Distributor``.
        tell: function that is called with the number of passes begun.

    Attributes:
        starts: cycles in which passes began.
    """

    def __init__(self, *arguments: Any, tell: Callable[[int], None], **options: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **options)
        self.tell = tell
        self.starts: list[int] = []

    def _begin(self, now: int) -> None:
        self.starts.append(now)
        self.tell(len(self.starts))
        super()._begin(now)


@dataclass(frozen=True)
class SplicedRun:
    """A run of the passes of some windows, one after another.

    Args:
        machine: the machine after the run.
        windows: numbers of the windows.
        passes: numbers of the passes.
        cycles, predicted: for each window, the simulated cycles, and the cycles that ``PassWork.edges``
            predicts for this run.
        end: counts of the machine after the run.
    """

    machine: Sigma
    windows: Sequence[int]
    passes: Integers
    cycles: FloatArray
    predicted: FloatArray
    end: Counts


class SigmaSampler:
    """A SIGMA whose run is estimated from windows of passes.

    Args:
        parameters: parameters of the machine.
        a, b: the operands.
        request: parameters of the sampled run.
        tell: function that is called with the stage, the work done and the total work.

    Raises:
        ConfigurationError: if ``step`` is ``unit``, which cannot be sampled, or as of ``Sigma``.
    """

    def __init__(
        self,
        parameters: SigmaConfiguration,
        a: SlicedMatrix,
        b: SlicedMatrix,
        request: Sample,
        tell: Callable[[str, int, int], None],
    ) -> None:
        if parameters.step == "unit":
            raise ConfigurationError("sigma: a sampled run needs a step other than unit")
        self.parameters, self.a, self.b, self.tell = parameters, a, b, tell
        tell("functional pass", 0, 0)
        self.work = PassWork(self._plan())
        passes = len(self.work.scan)
        self.edges = self.work.edges(np.arange(passes))
        mean = float(self.edges[-1]) / max(1, passes)
        cycles = request.window_cycles or max(
            MIN_WINDOW_CYCLES, round(MIN_WINDOW_DEPTHS * parameters.stream.passes * mean)
        )
        size = max(1, round(cycles / max(1.0, mean)))
        self.ranges = _windows(self.work.end, passes, size)
        self.rounds = Rounds(request, len(self.ranges), cycles, float(self.edges[-1]))

    def _plan(self, chosen: Sequence[int] | None = None) -> Plan:
        operands = typed_operands(TYPES[self.parameters.value.type], self.a, self.b)
        return Plan(*stationary_and_streamed(self.parameters, *operands), self.parameters, chosen)

    def full_run_reason(self) -> str:
        """Return the reason to simulate the run in full, in one line; empty if the run can be sampled."""
        return self.rounds.full_run_reason()

    def sampled(self) -> Sampled:
        """Simulate windows until the interval is as narrow as requested, and return the estimate.

        Call this method only if ``full_run_reason`` is empty.

        Raises:
            KeyboardInterrupt: if the user interrupts the simulation.
        """
        return self._sampled(*self.rounds.run(self._measure, self._estimate))

    def _measure(self, numbers: Sequence[int]) -> SplicedRun:
        """Simulate the passes of windows, one window after another, in one machine."""
        ranges = [self.ranges[number] for number in numbers]
        passes = np.concatenate([np.arange(window.start, window.stop) for window in ranges])
        # The last window is always simulated, so that the last pass is chosen, as ``Plan`` requires.
        chosen = passes.tolist()
        marking = partial(MarkingDistributor, tell=lambda begun: self.tell("simulating", begun, len(chosen)))
        machine = Sigma(self.parameters, self.a, self.b, parts={"distributor": marking}, chosen=chosen)
        end = run_to_end(machine)
        distributor: Any = machine.distributor
        starts = np.cumsum([0, *(len(window) for window in ranges[:-1])])
        # The first window begins in cycle 0, before its first pass begins.
        edges = [0, *np.array(distributor.starts)[starts[1:]].tolist(), end.cycles]
        predicted = np.diff(self.work.edges(passes)[[*starts, len(passes)]])
        return SplicedRun(machine, numbers, passes, np.diff(edges).astype(np.float64), predicted, end)

    def _estimate(self, measured: SplicedRun) -> Estimated:
        """Estimate the cycles of the whole run; the work of a window is its predicted number of cycles."""
        totals = np.diff(self.edges[[*(window.start for window in self.ranges), len(self.edges) - 1]])
        predicted = measured.predicted[:, np.newaxis]
        estimate = estimate_run(measured.cycles, predicted, measured.windows, totals[:, np.newaxis])
        return replace(estimate, half_width=max(estimate.half_width, MIN_HALF_WIDTH * estimate.cycles))

    def _sampled(self, measured: SplicedRun, estimate: Estimated) -> Sampled:
        """Return the result: exact counts of all passes, and estimated cycles."""
        machine = measured.machine
        operations = self.work.operations.sum(axis=0)
        traffic = self._traffic()
        answer = machine.product
        return Sampled(
            cycles=estimate,
            windows=len(measured.windows),
            window_cycles=self.rounds.cycles,
            strata=len(measured.windows) - 2,
            cycles_simulated=round(measured.cycles.sum()),
            operations={name: int(count) for name, count in zip(OPERATIONS, operations, strict=True)},
            traffic=traffic,
            memory=scale_memory(traffic, measured.end),
            traffic_minimum_bytes=machine.traffic_minimum_bytes(),
            traffic_ratio=None,
            exact=("operations", "traffic"),
            estimated=("cycles", "memory"),
            reference=REFERENCE,
            check=lambda _problem: self._check(measured.passes, answer),
        )

    def _traffic(self) -> dict[str, Traffic]:
        """Return the bytes of the whole run by tensor, in whole lines; empty without memory."""
        if self.parameters.memory.model == "none":
            return {}
        line = self.parameters.stream.line
        stationary, streamed, read, written = (
            int(-(-size // line) * line) for size in self.work.moved_bytes.sum(axis=0)
        )
        a, b = (streamed, stationary) if self.parameters.stationary == "B" else (stationary, streamed)
        return {"A": Traffic(a, 0), "B": Traffic(b, 0), "Z": Traffic(read, written)}

    def _check(self, passes: Integers, answer: npt.NDArray[Any]) -> Comparison:
        """Compare the sums of the simulated passes with products by scipy of the same segments."""
        plan = self._plan(passes.tolist())
        expected, sizes = np.zeros(answer.shape), np.zeros(answer.shape)
        terms = np.zeros(len(answer), np.int64)
        while not plan.finished:
            pass_ = plan.take()
            del plan.passes[pass_.number]
            for segment in pass_.table.chunk.segments:
                rows = slice(int(segment.rows[0]), int(segment.rows[-1]) + 1)
                left = sparse.csr_array(
                    (segment.values, (segment.rows - rows.start, segment.inner)),
                    shape=(rows.stop - rows.start, segment.slice.width),
                )
                columns = slice(pass_.first, pass_.end)
                right = segment.slice.dense[:, columns]
                expected[rows, columns] += left @ right
                sizes[rows, columns] += abs(left) @ abs(right)
                # The first pass of a chunk counts the terms of the chunk for all columns.
                if pass_.is_chunk_start:
                    terms[rows] += np.diff(left.indptr)
        rounding = Rounding.estimate(plan.value_type, int(terms.max(initial=0)), 2)
        error, overflows = compare_values(expected, sizes + rounding.floor, answer.astype(float), rounding)
        return Comparison(error, 0, 0, rounding.tolerance, overflows)
