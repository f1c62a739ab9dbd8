# cython: infer_types=True
"""Probes read the variables of a waveform after each time step: the part of tracing that must be fast."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.errors import SimulationError


class Probe:  # C: final
    """A probe of all variables that one component can change when it ticks.

    Args:
        component: its state and signals are at the positions ``own``; empty if the component is not shown.
        own: positions of consecutive variables.
        channels: the shown channels at its ports, each with the position of its occupancy.
    """

    def __init__(self, component: Component, own: range, channels: Sequence[tuple[int, Channel]]) -> None:
        self.component = component
        self.first = own.start  # C: long
        self.own = len(own)
        self.positions = array("q", [position for position, _channel in channels])
        self.channels = [channel for _position, channel in channels]

    def collect(self, values: array[int], changed: list[int]) -> None:  # C: cdef, values=long[::1]
        """Update ``values`` and append the positions of new values to ``changed``.

        Raises:
            SimulationError: if the component does not sample exactly one 64-bit integer for each signal.
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
    """The values of all variables of a waveform, and the probes that update them.

    Args:
        variables: number of variables.
        probes: by component index; None for a component whose ticks change no shown variable.
    """

    def __init__(self, variables: int, probes: Sequence[Probe | None]) -> None:
        self.values = array("q", bytes(8 * variables))
        self.probes = list(probes)

    def collect_all(self) -> None:
        """Update every value."""
        for index in range(len(self.probes)):
            self._collect_from(index, [])

    def collect(self, ticked: list[Component]) -> list[int]:
        """Update the values that these components changed; return the changed positions in order."""
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
