# cython: infer_types=True
"""The counter of a loop, for loops whose coordinates no tensor provides."""

from __future__ import annotations

from fiberscope.hw.streams.fiber_states import IN_FIBER
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.scanner import Scanner
from fiberscope.hw.streams.tokens import CRD, DATA, REF
from fiberscope.sim.component import Input, Signal
from fiberscope.sim.protocol import ANY


class Counter(Scanner):
    """Counts the coordinates of a loop.

    Interface: that of ``Scanner``, with any stream on ``in_ref``. For each element of ``in_ref``, the
    coordinates from 0 to ``size`` - 1, in steps of ``step``, leave on ``out_crd``. With a ``piece``, an
    element e gives the coordinates from e to e + ``piece`` - 1 that are below ``size``, also in steps of
    ``step``: those of a loop within a partition. The same numbers leave on ``out_ref``.

    Timing: that of ``Scanner``: m coordinates take m + 1 cycles, no coordinate 2.

    Source: the uncompressed scanner of SAM (ASPLOS 2023), Section 3; pieces are the partitions of TeAAL
    (MICRO 2023).

    Args:
        size: upper bound of the coordinates, not included.
        step: difference between two successive coordinates.
        piece: size of a partition; 0 for a loop over all coordinates.

    Raises:
        ValueError: if the step is below 1.
    """

    PORTS = (Input("in_ref", ANY), output_stream("out_crd", CRD), output_stream("out_ref", REF))
    SIGNALS = (*Scanner.SIGNALS, Signal("coordinate", 48))

    def __init__(self, name: str, size: int, step: int = 1, piece: int = 0) -> None:
        super().__init__(name)
        if step < 1:
            raise ValueError(f"{name}: the step must be at least 1, not {step}")
        self.size, self.step, self.piece = size, step, piece
        self.coordinate = 0  # the coordinate that was sent last
        self.end = 0  # coordinate after the last one of the current fiber

    def begin(self, reference: int, now: int) -> int:
        """Send the first coordinate, or the stop if there is none."""
        first = reference if self.piece else 0
        self.end = min(self.size, first + self.piece) if self.piece else self.size
        if first >= self.end:
            return self.end_empty_fiber(now)
        self.mode = IN_FIBER
        return self._send_element(first, now)

    def advance(self, now: int) -> int:
        """Send the next coordinate, or the stop."""
        if self.coordinate + self.step >= self.end:
            return self.end_fiber(now)
        return self._send_element(self.coordinate + self.step, now)

    def _send_element(self, coordinate: int, now: int) -> int:
        self.coordinate = coordinate
        self.send(DATA, coordinate, coordinate)
        return self.busy(now + 1)
