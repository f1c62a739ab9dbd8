"""Sampled runs of SIGMA: exact work of all passes, and simulated cycles of windows.

A *pass* streams columns of one operand past a part of the other operand, see ``plan``. A window is a range of
consecutive passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.machine import MemoryUse, Traffic
from fiberscope.accelerators.sampling import (
    Estimated,
    Numbers,
    Rounds,
    Sample,
    Sampled,
    cut_windows,
    estimate_run,
    moved_bytes,
    scale_memory,
)
from fiberscope.accelerators.sigma.configuration import SigmaConfiguration
from fiberscope.accelerators.sigma.distributor import Distributor
from fiberscope.accelerators.sigma.machine import Sigma, held_and_streamed, typed_operands
from fiberscope.accelerators.sigma.plan import Pass, Plan
from fiberscope.hw.value_type import TYPES
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.gemm import Sliced
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.verification import Comparison, Rounding, compare_values

WINDOW_CYCLES = 4000  # least predicted cycles of a window
DEPTHS = 2  # least length of a window, in units of the passes that are in flight at the same time
# Least half-width of an interval: windows often take exactly the predicted cycles, except at their ends.
LEAST_WIDTH = 0.001
OPERATIONS = ("multiply", "useful_multiply", "add", "add_outside", "accumulate")
REFERENCE = "scipy, in the passes that were simulated"


class PassWork:
    """The exact work of every pass of a plan.

    Args:
        plan: a new plan. The constructor takes all its passes, so that the plan is finished afterwards.

    Attributes:
        distributor: cycles in which the distributor flushes, loads lines and sends columns, by pass.
        scan: cycles in which the controller scans bitmaps, by pass.
        moved: bytes by pass, an array of passes x 4: stationary operand, streamed operand, sums read, and
            sums written.
        awaited: for each pass, the distance back to the last pass whose writes must be done before it reads
            partial sums; 0 if there is none.
        end: number of the first pass with values of the last slice, which writes results to Z.
        operations: number of operations, an array of passes x ``OPERATIONS``.
    """

    def __init__(self, plan: Plan) -> None:
        self.parameters = plan.parameters
        cycles: list[tuple[int, int]] = []
        moved: list[tuple[int, ...]] = []
        operations: list[tuple[int, ...]] = []
        awaited: list[int] = []
        self.end = 0
        while not plan.finished:
            pass_ = plan.take()
            del plan.passes[pass_.number]
            cycles.append(self._cycles(pass_))
            moved.append((*pass_.fetched, pass_.written))
            operations.append(_operations(pass_))
            self.end += not any(part.slice.last for part in pass_.table.chunk.parts)
            awaited.append(pass_.number + 1 - pass_.awaited_writes if pass_.awaited_writes > 0 else 0)
        self.distributor, self.scan = np.array(cycles, dtype=np.int64).reshape(-1, 2).T
        self.moved = np.array(moved, dtype=np.int64).reshape(-1, 4)
        self.operations = np.array(operations, dtype=np.int64).reshape(-1, len(OPERATIONS))
        if plan.without_memory:
            self.moved[:] = 0
        self.awaited = np.array(awaited, dtype=np.int64)

    def edges(self, chosen: Integers) -> Numbers:
        """Predict the begins of passes that run one after another, and the end of the last.

        The prediction assumes that memory serves one transfer after another at its peak bandwidth. Passes
        wait for one another as in the machine.

        Args:
            chosen: numbers of the passes.

        Returns:
            The cycle in which each pass begins, and the cycle in which all passes have ended.
        """
        parameters, most = self.parameters, self.parameters.stream.passes
        rate = parameters.memory.peak_bytes_per_second / float(parameters.clock)  # bytes a cycle
        fetching = (self.moved[chosen, :3].sum(axis=1) / rate).tolist()
        writing = (self.moved[chosen, 3] / rate).tolist()
        sending, scan = self.distributor[chosen].tolist(), self.scan[chosen].tolist()
        awaited = self.awaited[chosen].tolist()
        begins, retired = list[float](), list[float]()
        transfers: list[tuple[float, bool, int]] = []  # heap of (time of the request, whether a write, pass)
        asked = scanned = ended = free = 0.0
        count = 0  # number of requested passes
        while len(retired) < len(chosen):
            while count < min(len(chosen), len(retired) + most, _limit(awaited, count, len(retired))):
                before = max(count - most, count - awaited[count] if awaited[count] else -1)
                asked = max(asked, retired[before] if before >= 0 else 0.0)
                heappush(transfers, (asked, False, count))
                count += 1
            time, writes, number = heappop(transfers)
            free = max(free, time) + (writing if writes else fetching)[number]
            if writes:
                retired.append(free if writing[number] else time)
                continue
            scanned = max(scanned, free) + scan[number]
            begins.append(max(ended, scanned))
            ended = begins[-1] + sending[number]
            heappush(transfers, (ended, True, number))
        return np.array([*begins, max([ended, *retired[-1:]])])

    def _cycles(self, pass_: Pass) -> tuple[int, int]:
        """Return the cycles of the distributor, and of the controller's scan, for a pass."""
        parameters, table = self.parameters, pass_.table
        sending = pass_.columns * table.interval
        if not pass_.begins:
            return sending, 0
        loading = len(table.lines) * parameters.line_cycles
        behind = max(sending, loading) if parameters.load.double_buffer else sending + loading
        scan = -(-table.bits // parameters.controller.bits_per_cycle)
        return behind + parameters.reduce.flush * table.flush, scan


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


def _limit(awaited: Sequence[int], number: int, retired: int) -> int:
    """Return ``number`` + 1 if the writes that a pass awaits are done, else ``number``."""
    if number == len(awaited):
        return number
    return number + 1 if not awaited[number] or number - awaited[number] < retired else number


def _operations(pass_: Pass) -> tuple[int, ...]:
    """Return the number of operations of a pass, in the order of ``OPERATIONS``."""
    table, columns = pass_.table, pass_.columns
    chunk, neurons = table.chunk, sum(table.chunk.neurons)
    return (
        columns * chunk.length,
        table.useful if pass_.ends else 0,
        columns * (chunk.length - neurons),
        columns * (neurons - chunk.sums),
        columns * (chunk.sums - table.fresh),
    )


class MarkingDistributor(Distributor):
    """A distributor that records the cycle in which it begins each pass.

    Args:
        arguments, options: arguments of ``Distributor``.
        tell: function that is called with the number of passes begun.

    Attributes:
        begun: cycles in which passes began.
    """

    def __init__(self, *arguments: Any, tell: Callable[[int], None], **options: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **options)
        self.tell = tell
        self.begun: list[int] = []

    def _begin(self, now: int) -> None:
        self.begun.append(now)
        self.tell(len(self.begun))
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
    """

    machine: Sigma
    windows: Sequence[int]
    passes: Integers
    cycles: Numbers
    predicted: Numbers


class SigmaSampler:
    """A SIGMA whose run is estimated from windows of passes.

    Args:
        parameters: parameters of the machine.
        a, b: the operands.
        request: parameters of the sampled run.
        tell: function that is called with the stage, the work done and the total work.

    Raises:
        ConfigurationError: if ``step`` is ``unit``, which cannot be sampled.
    """

    def __init__(
        self,
        parameters: SigmaConfiguration,
        a: Sliced,
        b: Sliced,
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
        cycles = request.window_cycles or max(WINDOW_CYCLES, round(DEPTHS * parameters.stream.passes * mean))
        size = max(1, round(cycles / max(1.0, mean)))
        self.ranges = _windows(self.work.end, passes, size)
        self.rounds = Rounds(request, len(self.ranges), cycles, float(self.edges[-1]))

    def _plan(self, chosen: Sequence[int] | None = None) -> Plan:
        operands = typed_operands(TYPES[self.parameters.value.type], self.a, self.b)
        return Plan(*held_and_streamed(self.parameters, *operands), self.parameters, chosen)

    def too_short(self) -> str:
        """Return the reason to simulate the run in full, in one line; empty if the run can be sampled."""
        return self.rounds.too_short()

    def sampled(self) -> Sampled:
        """Simulate windows until the interval is as narrow as requested, and return the estimate."""
        return self._sampled(*self.rounds.run(self._measure, self._estimate))

    def _measure(self, numbers: Sequence[int]) -> SplicedRun:
        """Simulate the passes of windows, one window after another, in one machine."""
        ranges = [self.ranges[number] for number in numbers]
        passes = np.concatenate([np.arange(each.start, each.stop) for each in ranges])
        chosen = passes.tolist()
        marking = partial(MarkingDistributor, tell=lambda done: self.tell("simulating", done, len(chosen)))
        machine = Sigma(self.parameters, self.a, self.b, parts={"distributor": marking}, chosen=chosen)
        ended = machine.kernel.run()
        if not ended.complete:
            raise KeyboardInterrupt
        distributor: Any = machine.distributor
        starts = np.cumsum([0, *(len(each) for each in ranges[:-1])])
        edges = [0, *np.array(distributor.begun)[starts[1:]].tolist(), ended.cycles]
        predicted = np.diff(self.work.edges(passes)[[*starts, len(passes)]])
        return SplicedRun(machine, numbers, passes, np.diff(edges).astype(np.float64), predicted)

    def _estimate(self, measured: SplicedRun) -> Estimated:
        """Estimate the cycles of the whole run; the work of a window is its predicted number of cycles."""
        totals = np.diff(self.edges[[*(each.start for each in self.ranges), len(self.edges) - 1]])
        predicted = measured.predicted[:, np.newaxis]
        estimate = estimate_run(measured.cycles, predicted, measured.windows, totals[:, np.newaxis])
        return replace(estimate, half_width=max(estimate.half_width, LEAST_WIDTH * estimate.cycles))

    def _sampled(self, measured: SplicedRun, estimate: Estimated) -> Sampled:
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
            memory=self._memory(machine, traffic),
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
        held, streamed, read, written = (int(-(-each // line) * line) for each in self.work.moved.sum(axis=0))
        a, b = (streamed, held) if self.parameters.stationary == "B" else (held, streamed)
        return {"A": Traffic(a, 0), "B": Traffic(b, 0), "Z": Traffic(read, written)}

    def _memory(self, machine: Sigma, traffic: Mapping[str, Traffic]) -> MemoryUse | None:
        """Return the use of the memory by the windows, scaled to the bytes of the whole run."""
        use = machine.memory()
        return use and scale_memory(use, moved_bytes(machine.traffic()), moved_bytes(traffic))

    def _check(self, passes: Integers, answer: npt.NDArray[Any]) -> Comparison:
        """Compare the sums of the simulated passes with products by scipy of the same parts."""
        plan = self._plan(passes.tolist())
        expected, sizes = np.zeros(answer.shape), np.zeros(answer.shape)
        terms = np.zeros(len(answer), np.int64)
        while not plan.finished:
            pass_ = plan.take()
            del plan.passes[pass_.number]
            for part in pass_.table.chunk.parts:
                rows = slice(int(part.rows[0]), int(part.rows[-1]) + 1)
                left = sparse.csr_array(
                    (part.values, (part.rows - rows.start, part.inner)),
                    shape=(rows.stop - rows.start, part.slice.width),
                )
                columns = slice(pass_.first, pass_.last)
                right = part.slice.dense[:, columns]
                expected[rows, columns] += left @ right
                sizes[rows, columns] += abs(left) @ abs(right)
                if pass_.begins:
                    terms[rows] += np.diff(left.indptr)
        rounding = Rounding.estimate(plan.value_type, int(terms.max(initial=0)), 2)
        error, overflows = compare_values(expected, sizes + rounding.floor, answer.astype(float), rounding)
        return Comparison(error, 0, 0, rounding.tolerance, overflows)
