# cython: infer_types=True
# C compiler: -O2
"""Probes read the variables of a waveform after each time step: the part of tracing that must be fast.

Components are read after their ticks. Channels mark their variables themselves when they push or pop, since a
component may have hundreds of channels and move few tokens.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from fiberscope.sim import inline, raw_words
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, signals_are_attributes
from fiberscope.sim.errors import SimulationError

MARKS = 8  # in a word, one for each byte
BLOCK = 8  # words whose marks are looked for at once


class Changes:  # C: final
    """The values of all variables of a waveform, and the positions of changed values.

    Args:
        variables: number of variables.
        channels: the channels whose occupancies are variables, by position.
    """

    def __init__(self, variables: int, channels: Mapping[int, Channel]) -> None:
        self.values = array("q", bytes(8 * variables))
        self.positions = array("q", bytes(8 * variables))  # written by ``all`` and ``gather``
        blocks = variables // (BLOCK * MARKS) + 1
        self._mark_memory = array("q", bytes(8 * BLOCK * blocks))
        self._words = raw_words.longs(self._mark_memory)  # C: long*
        # 1 for a variable that may have changed
        self._marks = raw_words.octets_from(self._mark_memory, 0)  # C: unsigned char*
        self._channels = [channels.get(position) for position in range(variables)]  # None for other variables

    def update(self, position: int, value: int) -> None:  # C: cdef, noexcept
        """Store a value, and mark the variable if the value is new."""
        if self.values[position] != value:
            self.values[position] = value
            self._marks[position] = 1

    def observe_channels(self) -> None:
        """Store all occupancies. The channels mark their variables from now on."""
        for position in range(len(self._channels)):
            if self._channels[position] is not None:
                channel = inline.channel(self._channels[position])
                channel.mark_in(self._mark_memory, position)
                self.update(position, channel.occupancy)

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
        for block in range(len(self._mark_memory) // BLOCK):  # a step of range would make objects of Python
            if self._has_marks(BLOCK * block):
                for i in range(BLOCK * block, BLOCK * (block + 1)):
                    if self._words[i]:
                        count = self._gather_word(i, count)
        return count

    def _has_marks(self, first: int) -> bool:  # C: noexcept
        """Return whether any variable is marked in a block of words."""
        words = self._words
        return (
            words[first]
            | words[first + 1]
            | words[first + 2]
            | words[first + 3]
            | words[first + 4]
            | words[first + 5]
            | words[first + 6]
            | words[first + 7]
        ) != 0

    def _gather_word(self, i: int, count: int) -> int:
        """Clear the marks of a word, and append its changed positions behind ``count`` positions."""
        marks = self._words[i]
        self._words[i] = 0
        while marks:
            position = MARKS * i + raw_words.lowest_bit(marks) // 8  # C: long
            marks &= marks - 1
            if self._channels[position] is None or self._update_occupancy(position):
                self.positions[count] = position
                count += 1
        return count

    def _update_occupancy(self, position: int) -> bool:  # C: noexcept
        """Store the occupancy of a channel; return whether the number is new."""
        before = self.values[position]
        self.values[position] = inline.channel(self._channels[position]).occupancy
        return self.values[position] != before


class Probe:  # C: final
    """A probe of the state and signals of a component, which its ticks can change.

    Args:
        positions: positions of the state and of the signals.
    """

    def __init__(self, component: Component, positions: range) -> None:
        self.component = component
        self.reads_attributes: bool = signals_are_attributes(type(component))
        self.samples = not self.reads_attributes and type(component).sample is not Component.sample  # C: bint
        self.first = positions.start  # C: long
        self.signals = len(positions) - 1
        self.values = array("q", bytes(8 * len(positions)))

    def collect(self, changes: Changes) -> None:  # C: cdef
        """Update the values of the component's variables.

        Raises:
            SimulationError: if the component does not sample exactly one 64-bit integer for each signal.
        """
        changes.update(self.first, self.component._state)
        if self.samples:
            self._take_samples()
        elif self.signals and self.reads_attributes:
            Component.write_signals(self.component, self.values)
        elif self.signals:
            self.component.write_signals(self.values)
        for i in range(self.signals):
            changes.update(self.first + 1 + i, self.values[i])

    def _take_samples(self) -> None:
        """Store the results of ``sample`` in ``values``, and check their number and type."""
        samples = tuple(self.component.sample())  # C: tuple
        if len(samples) != self.signals:
            raise SimulationError(
                f"{self.component.name}: sample() gives {len(samples)} numbers for {self.signals} signals"
            )
        try:
            for i in range(self.signals):
                self.values[i] = samples[i]
        except (TypeError, OverflowError):
            raise SimulationError(
                f"{self.component.name}: sample() must give 64-bit integers, not {samples!r}"
            ) from None


class Probes:  # C: final
    """The values of all variables of a waveform, and the probes that update them.

    Args:
        variables: number of variables.
        probes: by component index; None for a component that is not shown.
        channels: the shown channels by the positions of their occupancies.
    """

    def __init__(
        self, variables: int, probes: Sequence[Probe | None], channels: Mapping[int, Channel]
    ) -> None:
        self.changes = Changes(variables, channels)
        self.probes = list(probes)

    def collect_all(self) -> None:
        """Update every value, and forget which values have changed.

        From now on, the channels mark the variables of their occupancies at every push and pop.
        """
        for index in range(len(self.probes)):
            self._collect_from(index)
        self.changes.observe_channels()
        self.changes.gather()

    def collect(self, ticked: list[Component]) -> int:
        """Update the values that these components changed; return the number of positions in ``changes``."""
        for i in range(len(ticked)):
            self._collect_from(inline.component(ticked[i])._index)
        return self.changes.gather()

    def _collect_from(self, index: int) -> None:
        probe = self._probe(index)
        if probe is not None:
            probe.collect(self.changes)

    def _probe(self, index: int) -> Probe | None:
        return self.probes[index]
