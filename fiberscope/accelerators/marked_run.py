"""Runs of a machine that stop when an amount of work is done, and the counts at these times."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fiberscope.accelerators.machine import Machine, MemoryUse, Traffic

MIN_STEP = 16  # smallest number of cycles between two checks of the progress


@dataclass(frozen=True)
class Counts:
    """The counts of a machine at a time: cycles, operations by name, traffic by tensor, and use of memory."""

    cycles: int
    operations: Mapping[str, int]
    traffic: Mapping[str, Traffic]
    memory: MemoryUse | None


class MarkedRun:
    """A run of a machine in steps that grow shorter before a mark, an amount of work.

    Args:
        machine: machine that has not run.
        progress: function that returns the work that the machine has done.
        rate: predicted work a cycle, above 0; by default all steps have the smallest length.
        step: smallest number of cycles between two checks of the progress.
    """

    def __init__(
        self, machine: Machine, progress: Callable[[], int], rate: float = math.inf, step: int = MIN_STEP
    ) -> None:
        self.machine, self.progress, self.rate, self.step = machine, progress, rate, step
        self.limit = 0
        self.cycles = 0

    def run_until(self, work: int) -> Counts:
        """Run until ``work`` is done, or to the end of the run.

        Args:
            work: total work since the start of the run, in the unit of ``progress``.

        Returns:
            The counts at the end of the last step. The machine may have done more than ``work`` by then.

        Raises:
            KeyboardInterrupt: if the run was interrupted.
        """
        while (remaining := work - self.progress()) > 0:
            # At most half the predicted remaining time, since the machine may be faster than predicted
            self.limit += max(self.step, int(remaining / (2 * self.rate)))
            outcome = self.machine.kernel.run(cycle_limit=self.limit)
            if not outcome.complete and outcome.reason != "cycle limit":
                raise KeyboardInterrupt
            self.cycles = outcome.cycles if outcome.complete else self.limit
            if outcome.complete:
                break
        return _count(self.machine, self.cycles)


def run_to_end(machine: Machine, progress: Callable[[int], None] | None = None) -> Counts:
    """Run a machine to its end, and return its counts.

    Args:
        machine: machine that may have run for some cycles.
        progress: function that the kernel calls with the cycle from time to time.

    Raises:
        KeyboardInterrupt: if the run was interrupted.
    """
    outcome = machine.kernel.run(progress=progress)
    if not outcome.complete:
        raise KeyboardInterrupt
    return _count(machine, outcome.cycles)


def _count(machine: Machine, cycles: int) -> Counts:
    """Return the present counts of a machine; copies, as the machine may change its own."""
    return Counts(cycles, dict(machine.operations()), dict(machine.traffic()), machine.memory())
