"""Sampling of a running machine: activity over time, and occupancy of channels.

Samples are taken at fixed cycles of the first clock, first every ``FIRST_INTERVAL`` cycles. At
``MAX_INTERVALS`` intervals, pairs of intervals are joined. The result therefore does not depend on the mode
of execution and has a bounded size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeAlias, TypeVar

from fiberscope.accelerators.machine import Machine
from fiberscope.results.report.parts import Occupancy, Timeline
from fiberscope.sim import Run
from fiberscope.sim.interrupt import on_interrupt
from fiberscope.sim.names import family_name

FIRST_INTERVAL = 512  # cycles
MAX_INTERVALS = 256  # maximum number of intervals

Sample = tuple[int, int, int]  # bytes read, bytes written and operations since the start
SampleType = TypeVar("SampleType")


class Observer(Protocol):
    """Interface of an object that samples a running machine.

    ``run`` calls ``find_next_sample_cycle``, runs the machine to that cycle, and then calls ``take_sample``.
    If the machine ends earlier, ``take_sample`` is not called.
    """

    def find_next_sample_cycle(self) -> int:
        """Return the cycle of the first clock of the next sample."""

    def take_sample(self, cycle: int) -> None:
        """Sample the machine at the requested cycle."""


def run(
    machine: Machine, observers: Sequence[Observer], cycle_limit: int | None, progress: Callable[[int], None]
) -> Run:
    """Run a machine as ``kernel.run`` does, with observers; a later call continues a run that met its limit.

    Args:
        machine: the machine, with a built kernel.
        observers: at least one observer.
        cycle_limit: cycle of the first clock at which the run ends incomplete; None for no limit.
        progress: called with the current cycle.

    Raises:
        DeadlockError: as ``kernel.run`` does; all earlier samples have been taken.
    """
    kernel = machine.kernel
    with on_interrupt(kernel.interrupt):  # also between samples
        while True:
            cycle = min(observer.find_next_sample_cycle() for observer in observers)
            limit = cycle if cycle_limit is None else min(cycle, cycle_limit)
            result = kernel.run(cycle_limit=limit, progress=progress)
            # a sample that is due at the limit is taken by the call that continues the run
            if result.reason != "cycle limit" or result.cycles == cycle_limit:
                return result
            for observer in observers:
                if observer.find_next_sample_cycle() == cycle:
                    observer.take_sample(cycle)


# Type of a function that replaces ``run``.
Drive: TypeAlias = Callable[[Machine, Sequence[Observer], int | None, Callable[[int], None]], Run]


class Watch:
    """Recorder of the activity of a running machine: bytes moved and operations over time.

    Args:
        machine: a machine with a built kernel.
        histograms: whether to record the occupancy of channels too.
    """

    def __init__(self, machine: Machine, *, histograms: bool = False) -> None:
        self._machine = machine
        self._interval = FIRST_INTERVAL
        self._samples: list[Sample] = []  # at the end of each interval
        self._channels = [
            (family_name(channel.name.partition("[")[0]), channel)
            for channel in (machine.kernel.channels() if histograms else ())
        ]
        self._occupancies: dict[str, dict[int, int]] = {}
        self._last_cycle = 0  # cycle of the last sample of channels

    def find_next_sample_cycle(self) -> int:
        """Return the cycle of the next sample; the intervals may be joined at that sample."""
        samples, interval = halve_samples(self._samples, self._interval, MAX_INTERVALS)
        return interval * (len(samples) + 1)

    def take_sample(self, cycle: int) -> None:
        """Take the sample of a cycle."""
        self._samples, self._interval = halve_samples(self._samples, self._interval, MAX_INTERVALS)
        self._samples.append(self._sample())
        self._count_occupancies(cycle)

    def _sample(self) -> Sample:
        traffic = self._machine.traffic().values()
        return (
            sum(tensor.read_bytes for tensor in traffic),
            sum(tensor.write_bytes for tensor in traffic),
            self._machine.operations().get(self._machine.work, 0),
        )

    def _count_occupancies(self, cycle: int) -> None:
        """Count the present occupancy of each channel for all cycles since the last sample."""
        cycles = cycle - self._last_cycle
        self._last_cycle = cycle
        for family, channel in self._channels:
            counts = self._occupancies.setdefault(family, {})
            counts[channel.occupancy] = counts.get(channel.occupancy, 0) + cycles

    def timeline(self, cycles: int) -> Timeline:
        """Return the activity over time of a run of ``cycles`` cycles.

        Samples after the end of the run are ignored; RTL is clocked beyond the end until it is empty. The
        last interval, which may be shorter, is sampled now: call this method after the run.
        """
        samples, interval = self._samples[: -(-cycles // self._interval)], self._interval
        if cycles > interval * len(samples):
            samples, interval = halve_samples(samples, interval, MAX_INTERVALS)
            samples = [*samples, self._sample()]
        read, written, work = (
            _compute_differences([sample[column] for sample in samples]) for column in range(3)
        )
        counts: Any = {self._machine.work: work}
        return Timeline(interval=interval, read_bytes=read, write_bytes=written, **counts)

    def occupancies(self) -> dict[str, Occupancy]:
        """Return the occupancies of the channels of each family; empty without histograms.

        The cycles are estimates: between two samples, a channel counts with its occupancy at the later one.
        """
        families: dict[str, Occupancy] = {}
        for name, counts in self._occupancies.items():
            channels = [channel for family, channel in self._channels if family == name]
            capacity = max(channel.capacity for channel in channels)
            cycles = {occupancy: counts[occupancy] for occupancy in sorted(counts)}
            families[name] = Occupancy(channels=len(channels), capacity=capacity, cycles=cycles)
        return families


def halve_samples(samples: list[SampleType], interval: int, limit: int) -> tuple[list[SampleType], int]:
    """Return samples and their interval, with pairs of intervals joined if there are too many.

    The function is called before a sample is added, because a run that has ended adds no further sample.

    Args:
        samples: cumulative samples, one at the end of each interval.
        interval: cycles of an interval.
        limit: number of samples at which intervals are joined; even, as the last of an odd number is lost.
    """
    # samples are cumulative: the second of each pair is the sample at the end of both intervals
    return (samples, interval) if len(samples) < limit else (samples[1::2], 2 * interval)


def _compute_differences(counts: list[int]) -> list[int]:
    """Return the difference of each number to its predecessor."""
    return [current - previous for previous, current in pairwise([0, *counts])]
