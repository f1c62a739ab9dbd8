# cython: infer_types=True
"""Probes read the variables of a waveform after each time step: the part of tracing that must be fast."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.errors import SimulationError

BLOCK_BITS = 4  # of a position within a block of variables


class Changes:  # C: final
    """The values of all variables of a waveform, and the positions of changed values.

    Args:
        variables: number of variables.
    """

    def __init__(self, variables: int) -> None:
        blocks = (variables >> BLOCK_BITS) + 1
        self.values = array("q", bytes(8 * variables))
        self.positions = array("q", bytes(8 * variables))  # written by ``gather``
        self._marks = array("B", bytes(blocks << BLOCK_BITS))  # 1 for a changed variable
        self._blocks = array("B", bytes(blocks))  # 1 for a block with a changed variable

    def update(self, position: int, value: int) -> None:  # C: cdef
        """Store a value, and mark the variable if the value is new."""
        if self.values[position] != value:
            self.values[position] = value
            self._marks[position] = 1
            self._blocks[position >> BLOCK_BITS] = 1

    def all(self) -> int:
        """Write all positions into ``positions``; return their number."""
        for position in range(len(self.values)):
            self.positions[position] = position
        return len(self.values)

    def gather(self) -> int:  # C: cdef
        """Write the positions that changed since the last call into ``positions``, in order.

        Returns:
            The number of these positions.
        """
        count = 0  # C: long
        for block in range(len(self._blocks)):  # C: long
            if self._blocks[block]:
                self._blocks[block] = 0
                first = block << BLOCK_BITS  # C: long
                for position in range(first, first + (1 << BLOCK_BITS)):  # C: long
                    if self._marks[position]:
                        self._marks[position] = 0
                        self.positions[count] = position
                        count += 1
        return count


class Probe:  # C: final
    """A probe of all variables that one component can change when it ticks.

    Args:
        component: its state and signals are at the positions ``own``; empty if the component is not shown.
        own: positions of consecutive variables.
        channels: the shown channels at its ports, each with the position of its occupancy.
    """

    def __init__(self, component: Component, own: range, channels: Sequence[tuple[int, Channel]]) -> None:
        self.component = component
        self.sample = component.sample
        self.first = own.start  # C: long
        self.own = len(own)
        self.positions = array("q", [position for position, _channel in channels])
        self.channels = [channel for _position, channel in channels]

    def collect(self, changes: Changes) -> None:  # C: cdef
        """Update the values of the component's variables.

        Raises:
            SimulationError: if the component does not sample exactly one 64-bit integer for each signal.
        """
        if self.own:
            changes.update(self.first, self.component._state)
        if self.own > 1:
            self._collect_samples(changes)
        for i in range(len(self.channels)):
            changes.update(self.positions[i], inline.channel(self.channels[i]).occupancy)

    def _collect_samples(self, changes: Changes) -> None:
        samples = tuple(self.sample())  # C: tuple
        if len(samples) != self.own - 1:
            raise SimulationError(
                f"{self.component.name}: sample() gives {len(samples)} numbers for {self.own - 1} signals"
            )
        try:
            for i in range(self.own - 1):
                changes.update(self.first + 1 + i, samples[i])
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
        self.changes = Changes(variables)
        self.probes = list(probes)

    def collect_all(self) -> None:
        """Update every value."""
        for index in range(len(self.probes)):
            self._collect_from(index)
        self.changes.gather()

    def collect(self, ticked: list[Component]) -> int:
        """Update the values that these components changed; return the number of positions in ``changes``."""
        for component in ticked:
            self._collect_from(component._index)
        return self.changes.gather()

    def _collect_from(self, index: int) -> None:
        probe = self._probe(index)
        if probe is not None:
            probe.collect(self.changes)

    def _probe(self, index: int) -> Probe | None:
        return self.probes[index]
