"""Sampled runs of Graphicionado: the machine simulates the first iterations of the algorithm.

The other iterations are taken to have the mean length of the simulated iterations after the first. This is
possible only for algorithms whose vertices are all active in every iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.graphicionado.configuration import GraphicionadoConfiguration
from fiberscope.accelerators.graphicionado.machine import Graphicionado
from fiberscope.accelerators.machine import Iteration, MemoryUse, Traffic
from fiberscope.accelerators.marked_run import run_to_end
from fiberscope.accelerators.sampling import (
    MAX_SHARE,
    MIN_CYCLES,
    Estimated,
    Sample,
    Sampled,
    half_width,
    too_few_cycles,
)
from fiberscope.accelerators.windows import FloatArray
from fiberscope.hw.value_type import TYPES
from fiberscope.workloads import GraphAlgorithm, synchronous
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.synchronous import GraphTask
from fiberscope.workloads.verification import Comparison

LEAST_ITERATIONS = (
    5  # least number of simulated iterations: one that begins with an idle memory, and four others
)
DIFFERING = ("changed", "stalls")  # operations whose number differs between iterations


def estimate_iterations(lengths: FloatArray, count: int) -> Estimated:
    """Estimate the cycles of all iterations from the cycles of the first iterations.

    The lengths of all iterations after the first are taken to have the same distribution. The variance is the
    sum of two parts: the error of the mean, times the number of other iterations, and their own variance.

    Args:
        lengths: cycles of each simulated iteration, at least three.
        count: number of all iterations.
    """
    later_lengths, remaining = lengths[1:], count - len(lengths)
    degrees = len(later_lengths) - 1
    # The squares of the deviations add up to the variance of the estimate: those of the lengths alone add up
    # to ``degrees`` times the variance of a length.
    deviations = (later_lengths - later_lengths.mean()) * (
        (remaining**2 / len(later_lengths) + remaining) / degrees
    ) ** 0.5
    return Estimated(
        float(lengths.sum() + remaining * later_lengths.mean()), half_width(deviations.tolist(), degrees)
    )


class GraphicionadoSampler:
    """A Graphicionado whose run is estimated from its first iterations.

    Args:
        parameters: parameters of the machine.
        graph: adjacency matrix in CSR; the rows are the sources of edges.
        task: vertex program, and the number of iterations.
        request: parameters of the sampled run; a window is an iteration.
        tell: function that is called with the stage, the work done and the total work.

    Raises:
        ConfigurationError: if not all vertices are active in every iteration, or the request has a length of
            windows.
    """

    def __init__(
        self,
        parameters: GraphicionadoConfiguration,
        graph: CsrArray,
        task: GraphTask,
        request: Sample,
        tell: Callable[[str, int, int], None],
    ) -> None:
        if not task.program.all_active:
            raise ConfigurationError(
                f"graphicionado: the iterations of {task.program.name} differ, so that no iteration stands "
                "for the others; leave out the sample, or give an algorithm whose vertices are all active, "
                "such as pagerank"
            )
        if request.window_cycles is not None:
            raise ConfigurationError("graphicionado: a window is an iteration; leave out its cycles")
        self.parameters, self.graph, self.task = parameters, graph, task
        self.request, self.tell = request, tell

    def full_run_reason(self) -> str:
        """Return the reason to simulate the run in full, in one line; empty if the run can be sampled."""
        count, needed = self.task.iterations, self.request.windows or LEAST_ITERATIONS
        if needed > MAX_SHARE * count:
            return f"simulated in full, as {needed} of {count} iterations are more than half of them"
        predicted = count * self._shortest_iteration()
        if self.request.windows is None and predicted < MIN_CYCLES:
            return too_few_cycles(predicted)
        return ""

    def _shortest_iteration(self) -> float:
        """Return a lower bound of an iteration's cycles, from traffic and from the fullest stream."""
        parameters = self.parameters
        rate = parameters.memory.peak_bytes_per_second / float(parameters.clock)  # bytes a cycle
        moved_bytes = self.graph.nnz * parameters.edge_bytes(self.task.program.uses_weights)
        moved_bytes += (
            3 * self.graph.shape[0] * parameters.property.bytes
        )  # read as sources, read and written
        updates = np.bincount(self.graph.indices % parameters.streams)  # by stream of the destination
        return max(moved_bytes / rate, int(updates.max(initial=0)))

    def sampled(self) -> Sampled:
        """Simulate iterations until the interval is as narrow as requested, and return the estimate.

        Call this method only if ``full_run_reason`` is empty. The interval may stay wider: at most half of
        the iterations are simulated, or the number in the request.

        Raises:
            KeyboardInterrupt: if the user interrupts the simulation.
        """
        self.tell("functional pass", 0, 0)
        outcome = synchronous.run(self.graph, self.task)
        self.changed = np.array([iteration.changed for iteration in outcome.iterations])
        machine = Graphicionado(self.parameters, self.graph, self.task)
        # The control asks after each iteration, and ends the run if the answer is true.
        machine.control.is_enough = self._is_enough
        end = run_to_end(machine, lambda _cycle: self.tell("simulating", *machine.progress()))
        records = machine.iterations()
        # From the last cycle of the last iteration to the end of the run
        drained = end.cycles - records[-1].ended - 1
        return self._sampled(machine, records, end.cycles, drained)

    def _is_enough(self, records: Sequence[Iteration]) -> bool:
        """Return whether to end the run after the iterations in ``records``.

        This is after the requested number of iterations. Without a requested number, it is when the interval
        is narrow enough, after at least ``LEAST_ITERATIONS`` and at most half of all iterations.
        """
        count = len(records)
        if self.request.windows or count < LEAST_ITERATIONS:
            # Without a requested number, ``windows`` is None, and the answer is no.
            return count == self.request.windows
        estimate = self._estimate(records)
        is_narrow = estimate.half_width <= self.request.half_width * estimate.cycles
        return is_narrow or count + 1 > MAX_SHARE * self.task.iterations

    def _estimate(self, records: Sequence[Iteration]) -> Estimated:
        """Estimate the cycles up to the end of the last iteration; each has one more cycle of the control."""
        lengths = np.array([record.ended - record.began + 1 for record in records], np.float64)
        estimate = estimate_iterations(lengths, self.task.iterations)
        return Estimated(estimate.cycles, estimate.half_width + self._bound_of_writes(records))

    def _bound_of_writes(self, records: Sequence[Iteration]) -> float:
        """Return the most cycles by which the writes of other iterations may differ from the simulated ones.

        The functional pass gives the number of changed properties with doubles. With types that round, a
        property may stop changing in any iteration, so that none need be written.
        """
        if self.parameters.writes_all:
            return 0.0
        count = len(records)
        later = self.changed[count:] * (not TYPES[self.parameters.value].floats)
        share = np.abs(later - self.changed[1:count].mean()) / self.graph.shape[0]
        applying = np.mean([record.ended - record.applied for record in records[1:]])
        return float(applying * share.sum())

    def _sampled(
        self, machine: Graphicionado, records: Sequence[Iteration], simulated: int, drained: int
    ) -> Sampled:
        """Return the result of a run that has simulated the iterations in ``records``."""
        estimate, count = self._estimate(records), len(records)
        operations = self._operations(machine, count)
        traffic = {name: self._scale_traffic(measured, count) for name, measured in machine.traffic().items()}
        written = () if self.parameters.writes_all else ("traffic.properties",)
        differing = {f"operations.{name}" for name in DIFFERING}
        counts = [*(f"operations.{name}" for name in operations), *(f"traffic.{name}" for name in traffic)]
        answer = machine.result()

        def check(problem: GraphAlgorithm) -> Comparison:
            first = problem.cut_to(count)
            first.precision = machine.value_type
            return first.check(answer)

        return Sampled(
            cycles=Estimated(estimate.cycles + drained, estimate.half_width),
            windows=count,
            window_cycles=round(simulated / count),
            strata=1,
            cycles_simulated=simulated,
            operations=operations,
            traffic=traffic,
            memory=self._memory(machine, count),
            traffic_minimum_bytes=machine.minimum_bytes(operations),
            traffic_ratio=None,
            exact=tuple(name for name in counts if name not in {*differing, *written}),
            estimated=("cycles", *sorted(differing), *written, "memory"),
            reference=f"a synchronous loop of {count} iterations",
            check=check,
        )

    def _scale(self, amount: int, count: int) -> int:
        """Scale a count of the first ``count`` iterations to all iterations."""
        return round(amount * self.task.iterations / count)

    def _operations(self, machine: Graphicionado, count: int) -> dict[str, int]:
        scaled = {name: self._scale(amount, count) for name, amount in machine.operations().items()}
        return {**scaled, "changed": int(self.changed.sum())}

    def _scale_traffic(self, measured: Traffic, count: int) -> Traffic:
        """Scale traffic of the first iterations to all iterations."""
        sizes = {name: size for name, size in asdict(measured).items() if size is not None}
        return Traffic(**{name: self._scale(size, count) for name, size in sizes.items()})

    def _memory(self, machine: Graphicionado, count: int) -> MemoryUse | None:
        use = machine.memory()
        if use is None:
            return None
        hits, misses, conflicts = (
            self._scale(number, count) for number in (use.row_hits, use.row_misses, use.row_conflicts)
        )
        counters = {name: self._scale(number, count) for name, number in use.counters.items()}
        return MemoryUse(hits, misses, conflicts, use.peak_bytes_per_second, counters)
