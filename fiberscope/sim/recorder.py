# cython: infer_types=True
"""The recorder of a waveform: it samples the components that ticked, and appends the changes to the file."""

from __future__ import annotations

from collections.abc import Callable

from fiberscope.sim.change_lines import ChangeLines
from fiberscope.sim.component import Component
from fiberscope.sim.landmark import Landmark
from fiberscope.sim.probe import Probes

BUFFER_BYTES = 1 << 20


class Recorder:  # C: final
    """A recorder of the changes of each time step, from the step after the initial values on.

    Args:
        probes: the variables, with their initial values.
        lines: the buffer of the file.
        landmark: the landmark, which looks at each change until it is final.
        write: writes the lines of a full buffer to the file, and empties the buffer.

    ``changes`` is the number of changes.
    """

    def __init__(
        self, probes: Probes, lines: ChangeLines, landmark: Landmark, write: Callable[[], None]
    ) -> None:
        self.probes = probes
        self.lines = lines
        self.landmark: Landmark = landmark
        self.write: Callable[[], None] = write
        self.seeks: bool = landmark.is_sought
        self.changes = 0

    def record(self, time: int, ticked: list[Component]) -> None:  # C: cpdef
        """Append the changes of a time step, given the components that ticked.

        Raises:
            SimulationError: if a value does not fit its variable.
        """
        changes = self.probes.changes
        count = self.probes.collect(ticked)
        if count:
            self.lines.append(changes, count, time)
            self.changes += count
        if count and self.seeks:
            self.landmark.observe(time, changes, count)
            self.seeks = self.landmark.is_sought
        if self.lines.size >= BUFFER_BYTES:
            self.write()
