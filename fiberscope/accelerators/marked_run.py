"""Runs of a machine that stop when a number of operations is done, and the counts at these times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fiberscope.accelerators.machine import Machine

MIN_STEP = 16  # smallest number of cycles between two checks whether a window has begun


@dataclass(frozen=True)
class Counts:
    """The counts of a machine at a time: cycles, operations by name, and bytes read and written by tensor."""

    cycles: int
    operations: Mapping[str, int]
    traffic: Mapping[str, tuple[int, int]]


class MarkedRun:
    """A run of a machine in steps that grow shorter before a mark.

    Args:
        machine: machine that has not run.
        operation: operation by which progress is measured.
        rate: predicted operations a cycle.
    """

    def __init__(self, machine: Machine, operation: str, rate: float) -> None:
        self.machine, self.operation, self.rate = machine, operation, rate
        self.limit = 0

    def run_until(self, count: int) -> Counts:
        """Run until ``count`` operations are done, or to the end; raise ``KeyboardInterrupt`` if stopped."""
        while (remaining := count - self.machine.operations()[self.operation]) > 0:
            self.limit += max(MIN_STEP, int(remaining / (2 * self.rate)))
            outcome = self.machine.kernel.run(cycle_limit=self.limit)
            if outcome.complete:
                return self._mark(outcome.cycles)
            if outcome.reason != "cycle limit":
                raise KeyboardInterrupt
        return self._mark(self.limit)

    def run_to_end(self) -> Counts:
        """Run to the end; raise ``KeyboardInterrupt`` if stopped."""
        outcome = self.machine.kernel.run()
        if not outcome.complete:
            raise KeyboardInterrupt
        return self._mark(outcome.cycles)

    def _mark(self, cycles: int) -> Counts:
        traffic = {name: (part.read_bytes, part.write_bytes) for name, part in self.machine.traffic().items()}
        return Counts(cycles, dict(self.machine.operations()), traffic)
