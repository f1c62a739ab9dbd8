"""Runs a machine while looking at it now and then: what it did over time, and how full its channels were.

It is looked at in fixed cycles of the first clock, first every ``FIRST_INTERVAL``; whenever there would be
more than ``MOST_INTERVALS``, every two become one, twice as long. So the outcome is the same for every way of
running, has a bounded size, and a longer run is looked at less often.
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

__all__ = ["Drive", "Observer", "Watch", "halve_samples", "run"]

FIRST_INTERVAL = 512  # cycles
MOST_INTERVALS = 256

Sample = tuple[int, int, int]  # bytes read, bytes written, work done; since the start
Seen = TypeVar("Seen")


class Observer(Protocol):
    """Interface of an object that looks at a running machine from time to time."""

    def next_look(self) -> int:
        """The cycle of the first clock in which to look next."""

    def look(self, cycle: int) -> None:
        """Look at the machine; the run has come to the requested cycle."""


def run(
    machine: Machine, lookers: Sequence[Observer], cycle_limit: int | None, progress: Callable[[int], None]
) -> Run:
    """Run the machine as ``kernel.run`` does, watched.

    Raises:
        DeadlockError: as ``kernel.run`` does; all up to then has been seen.
    """
    kernel = machine.kernel
    with on_interrupt(kernel.interrupt):  # between two looks too
        while True:
            cycle = min(looker.next_look() for looker in lookers)
            limit = cycle if cycle_limit is None else min(cycle, cycle_limit)
            ended = kernel.run(cycle_limit=limit, progress=progress)
            if ended.reason != "cycle limit" or ended.cycles == cycle_limit:
                return ended
            for looker in lookers:
                if looker.next_look() == cycle:
                    looker.look(cycle)


# Runs a machine in the place of ``run``, with the same arguments.
Drive: TypeAlias = Callable[[Machine, Sequence[Observer], int | None, Callable[[int], None]], Run]


class Watch:
    """Recorder of a running machine.

    Args:
        machine: with its kernel built.
        histograms: whether to look at the channels too.
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
        self._seen = 0  # cycles

    def next_look(self) -> int:
        """The cycle in which to look next."""
        samples, interval = halve_samples(self._samples, self._interval, MOST_INTERVALS)
        return interval * (len(samples) + 1)

    def look(self, cycle: int) -> None:
        """Record samples; the run has come to this cycle."""
        self._samples, self._interval = halve_samples(self._samples, self._interval, MOST_INTERVALS)
        self._samples.append(self._sample())
        self._look_at_channels(cycle)

    def _sample(self) -> Sample:
        traffic = self._machine.traffic().values()
        return (
            sum(part.read_bytes for part in traffic),
            sum(part.write_bytes for part in traffic),
            self._machine.operations().get(self._machine.work, 0),
        )

    def _look_at_channels(self, cycle: int) -> None:
        """Record the contents of channels for all cycles since the last look."""
        cycles = cycle - self._seen
        self._seen = cycle
        for family, channel in self._channels:
            counts = self._occupancies.setdefault(family, {})
            counts[channel.occupancy] = counts.get(channel.occupancy, 0) + cycles

    def timeline(self, cycles: int) -> Timeline:
        """Return the activity over time, of a run that lasted so many cycles.

        A machine may be looked at beyond these, while RTL in it is clocked on until it is surely empty.
        """
        samples, interval = self._samples[: -(-cycles // self._interval)], self._interval
        if cycles > interval * len(samples):
            samples, interval = halve_samples(samples, interval, MOST_INTERVALS)
            samples = [*samples, self._sample()]
        read, written, work = (_steps([sample[part] for sample in samples]) for part in range(3))
        counts: Any = {self._machine.work: work}
        return Timeline(interval=interval, read_bytes=read, write_bytes=written, **counts)

    def occupancies(self) -> dict[str, Occupancy]:
        """Return the occupancies of the channels of each family; empty unless they were requested."""
        families: dict[str, Occupancy] = {}
        for name, counts in self._occupancies.items():
            alike = [channel for family, channel in self._channels if family == name]
            capacity = max(channel.capacity for channel in alike)
            cycles = {occupancy: counts[occupancy] for occupancy in sorted(counts)}
            families[name] = Occupancy(channels=len(alike), capacity=capacity, cycles=cycles)
        return families


def halve_samples(samples: list[Seen], interval: int, most: int) -> tuple[list[Seen], int]:
    """Samples since the start and their interval: every two as one where there is no room for one more.

    That is not done before there is one more, which a run that has just ended may not have.
    """
    return (samples, interval) if len(samples) < most else (samples[1::2], 2 * interval)


def _steps(counts: list[int]) -> list[int]:
    """Return the difference of each number to the one before."""
    return [after - before for before, after in pairwise([0, *counts])]
