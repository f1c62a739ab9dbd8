# cython: infer_types=True
"""Reads, after each time step, the numbers that a waveform shows; the part of tracing that must be fast."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.errors import SimulationError


class Probe:  # C: final
    """Reads all variables that one component may change when it ticks.

    Args:
        component: its state and the signals it samples stand at the positions ``own``; empty if not shown.
        own: positions of consecutive variables.
        channels: the shown channels at its ports, with the position of each one's occupancy.
    """

    def __init__(self, component: Component, own: range, channels: Sequence[tuple[int, Channel]]) -> None:
        self.component = component
        self.first = own.start  # C: long
        self.own = len(own)
        self.positions = array("q", [position for position, _channel in channels])
        self.channels = [channel for _position, channel in channels]

    def collect(self, values: array[int], changed: list[int]) -> None:  # C: cdef, values=long[::1]
        """Update ``values``, and list the positions whose value is new.

        Raises:
            SimulationError: if the component samples other than one 64-bit integer a signal.
        """
        if self.own:
            _update(values, changed, self.first, self.component._state)
        if self.own > 1:
            self._collect_samples(values, changed)
        for i in range(len(self.channels)):
            _update(values, changed, self.positions[i], inline.channel(self.channels[i]).occupancy)

    def _collect_samples(self, values: array[int], changed: list[int]) -> None:  # C: values=long[::1]
        position = self.first + 1
        samples = self.component.sample()
        if len(samples) != self.own - 1:
            raise SimulationError(
                f"{self.component.name}: sample() gives {len(samples)} numbers for {self.own - 1} signals"
            )
        try:
            for value in samples:
                _update(values, changed, position, value)
                position += 1
        except (TypeError, OverflowError):
            raise SimulationError(
                f"{self.component.name}: sample() must give 64-bit integers, not {samples!r}"
            ) from None


class Probes:  # C: final
    """The value of every variable of a waveform, and the probes that keep them up to date.

    Args:
        variables: how many there are.
        probes: by component index; None for a component whose ticks change nothing that is shown.
    """

    def __init__(self, variables: int, probes: Sequence[Probe | None]) -> None:
        self.values = array("q", bytes(8 * variables))
        self.probes = list(probes)

    def collect_all(self) -> None:
        """Bring every value up to date."""
        for index in range(len(self.probes)):
            self._collect_from(index, [])

    def collect(self, ticked: list[Component]) -> list[int]:
        """Take over what these components changed: the changed positions, in increasing order.

        So the order does not depend on the order in which the components ticked.
        """
        changed: list[int] = []
        for component in ticked:
            self._collect_from(component._index, changed)
        changed.sort()
        return changed

    def _collect_from(self, index: int, changed: list[int]) -> None:
        probe = self._probe(index)
        if probe is not None:
            probe.collect(self.values, changed)

    def _probe(self, index: int) -> Probe | None:
        return self.probes[index]


def _update(  # C: cdef
    values: array[int],  # C: values=long[::1]
    changed: list[int],
    position: int,
    value: int,
) -> None:
    if values[position] != value:
        values[position] = value
        changed.append(position)
