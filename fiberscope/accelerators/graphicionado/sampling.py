"""Sampled runs of Graphicionado: the first iterations in the machine, the others at the mean of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.graphicionado.configuration import GraphicionadoConfiguration
from fiberscope.accelerators.graphicionado.machine import Graphicionado
from fiberscope.accelerators.machine import Iteration, MemoryUse, Traffic
from fiberscope.accelerators.sampling import (
    DENSEST,
    SHORTEST,
    Estimated,
    Numbers,
    Sample,
    Sampled,
    half_width,
    too_few_cycles,
)
from fiberscope.hw.value_type import TYPES
from fiberscope.workloads import GraphAlgorithm, synchronous
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.synchronous import GraphTask
from fiberscope.workloads.verification import Comparison

FEWEST = 5  # iterations that are simulated: four are alike, as the first begins with an idle memory
DIFFERING = ("changed", "stalls")  # operations that iterations do not do equally often


def estimate_iterations(lengths: Numbers, count: int) -> Estimated:
    """Estimate the cycles of all iterations from those of the first ones.

    The iterations behind the first are taken to be drawn from one distribution. The interval counts the
    spread of the simulated iterations, and that of those which are not simulated.

    Args:
        lengths: cycles of the iterations that were simulated, at least three of them.
        count: the count of iterations in all.
    """
    alike, left = lengths[1:], count - len(lengths)
    degrees = len(alike) - 1
    deviations = (alike - alike.mean()) * ((left**2 / len(alike) + left) / degrees) ** 0.5
    return Estimated(float(lengths.sum() + left * alike.mean()), half_width(deviations.tolist(), degrees))


class GraphicionadoSampler:
    """A Graphicionado whose run is estimated from its first iterations.

    Args:
        parameters: the parameters of the machine.
        graph: CSR, rows are sources.
        task: the program, and how many iterations.
        request: how to sample; a window is an iteration.
        tell: called with stage, work done and work in all.

    Raises:
        ConfigurationError: the program's iterations differ, or the request has a length of windows.
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
                f"graphicionado: the iterations of {task.program.name} differ, so that none stands for "
                "others; leave out the sample, or give an algorithm whose vertices are all active, such "
                "as pagerank"
            )
        if request.window_cycles is not None:
            raise ConfigurationError("graphicionado: a window is an iteration; leave out its cycles")
        self.parameters, self.graph, self.task = parameters, graph, task
        self.request, self.tell = request, tell

    def too_short(self) -> str:
        """See ``Sampler``."""
        count, needed = self.task.iterations, self.request.windows or FEWEST
        if needed > DENSEST * count:
            return f"simulated in full, as {needed} of {count} iterations are more than half of them"
        predicted = count * self._shortest_iteration()
        if self.request.windows is None and predicted < SHORTEST:
            return too_few_cycles(predicted)
        return ""

    def _shortest_iteration(self) -> float:
        """Cycles of an iteration that keeps the memory busy, or the stream with the most edges."""
        parameters = self.parameters
        rate = parameters.memory.peak_bytes_per_second / float(parameters.clock)  # bytes a cycle
        moved = self.graph.nnz * parameters.edge_bytes(self.task.program.uses_weights)
        moved += 3 * self.graph.shape[0] * parameters.property.bytes  # read as sources, read and written
        updates = np.bincount(self.graph.indices % parameters.streams)  # by stream of the destination
        return max(moved / rate, int(updates.max(initial=0)))

    def sampled(self) -> Sampled:
        """See ``Sampler``."""
        self.tell("functional pass", 0, 0)
        outcome = synchronous.run(self.graph, self.task)
        self.changed = np.array([iteration.changed for iteration in outcome.iterations])
        machine = Graphicionado(self.parameters, self.graph, self.task)
        machine.control.is_enough = self._is_enough
        ended = machine.kernel.run(progress=lambda _cycle: self.tell("simulating", *machine.progress()))
        if not ended.complete:
            raise KeyboardInterrupt
        records = machine.iterations()
        drained = ended.cycles - records[-1].ended - 1
        return self._sampled(machine, records, ended.cycles, drained)

    def _is_enough(self, records: Sequence[Iteration]) -> bool:
        """Return whether the interval is narrow enough, or half of the iterations are simulated."""
        count = len(records)
        if self.request.windows or count < FEWEST:
            return count == self.request.windows
        estimate = self._estimate(records)
        narrow = estimate.half_width <= self.request.half_width * estimate.cycles
        return narrow or count + 1 > DENSEST * self.task.iterations

    def _estimate(self, records: Sequence[Iteration]) -> Estimated:
        """Cycles up to the end of the last iteration; the control takes one between two of them."""
        lengths = np.array([record.ended - record.began + 1 for record in records], np.float64)
        estimate = estimate_iterations(lengths, self.task.iterations)
        return Estimated(estimate.cycles, estimate.half_width + self._writes_left_out(records))

    def _writes_left_out(self, records: Sequence[Iteration]) -> float:
        """The most cycles by which writes of changed properties may differ in iterations not simulated.

        Values of a type other than doubles may stay as they are at any time.
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
        estimate, count = self._estimate(records), len(records)
        operations = self._operations(machine, count)
        traffic = {name: self._scaled(part, count) for name, part in machine.traffic().items()}
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

    def _of_all(self, amount: int, count: int) -> int:
        """Estimate a count of all iterations from the counts of the first ones."""
        return round(amount * self.task.iterations / count)

    def _operations(self, machine: Graphicionado, count: int) -> dict[str, int]:
        done = {name: self._of_all(amount, count) for name, amount in machine.operations().items()}
        return {**done, "changed": int(self.changed.sum())}

    def _scaled(self, part: Traffic, count: int) -> Traffic:
        """Bytes of all iterations, which move the same but for properties that are written if changed."""
        sizes = {name: size for name, size in asdict(part).items() if size is not None}
        return Traffic(**{name: self._of_all(size, count) for name, size in sizes.items()})

    def _memory(self, machine: Graphicionado, count: int) -> MemoryUse | None:
        use = machine.memory()
        if use is None:
            return None
        hits, misses, conflicts = (
            self._of_all(number, count) for number in (use.row_hits, use.row_misses, use.row_conflicts)
        )
        counters = {name: self._of_all(number, count) for name, number in use.counters.items()}
        return MemoryUse(hits, misses, conflicts, use.peak_bytes_per_second, counters)
