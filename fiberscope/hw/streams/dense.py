# cython: infer_types=True
"""The scanner of a dense level."""

from __future__ import annotations

from fiberscope.hw.streams.fiber_states import IN_FIBER
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q6
from fiberscope.hw.streams.scanner import Scanner
from fiberscope.hw.streams.tokens import CRD, DATA, REF
from fiberscope.sim.component import Input, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY


class DenseScanner(Scanner):
    """Scans the fibers of a dense level, each of which has all coordinates.

    Interface: that of ``Scanner``. A stream of coordinates can be connected to ``in_ref``, since in a dense
    level the position is the coordinate. A reference r gives the coordinates from 0 to ``size`` - 1, with
    the references from ``r * size`` on.

    Timing: that of ``Scanner``: a fiber takes ``size`` + 1 cycles, and with ``size`` 0 it takes 2.

    Quirks: Q0, see ``Scanner``; Q5 has no effect. Q6: a stop or an N in place of a reference is an error, and
    a level of size 0 has a coordinate 0.

    Source: the public simulator's uncompressed scanner (weiya711/sam at 6e477d1).

    Args:
        size: number of coordinates of the level.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if the size is negative.
        SimulationError: during the run, with Q6, if a stop or an N comes in place of a reference.
    """

    PORTS = (Input("in_ref", ANY), output_stream("out_crd", CRD), output_stream("out_ref", REF))
    SIGNALS = (*Scanner.SIGNALS, Signal("coordinate", 48))

    def __init__(self, name: str, size: int, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        if size < 0:
            raise ValueError(f"{name}: the size of a dense level must not be negative, as {size} is")
        self.size = size
        self.base = 0  # reference of the fiber's first element
        self.coordinate = 0  # the coordinate that was sent last

    def begin(self, reference: int, now: int) -> int:
        """Send the first element, or the stop if the level has no coordinate."""
        if self.size == 0 and not self.quirks & Q6:
            return self.end_empty_fiber(now)
        self.mode = IN_FIBER
        self.base = reference * self.size
        return self._send_element(0, now)

    def advance(self, now: int) -> int:
        """Send the next element, or the stop."""
        if self.coordinate >= self.size - 1:
            return self.end_fiber(now)
        return self._send_element(self.coordinate + 1, now)

    def _send_element(self, coordinate: int, now: int) -> int:
        self.coordinate = coordinate
        self.send(DATA, coordinate, self.base + coordinate)
        return self.busy(now + 1)

    def take_stop(self, level: int, now: int) -> int:
        """Handle a stop that was popped in place of a reference."""
        return self._die("a stop") if self.quirks & Q6 else Scanner.take_stop(self, level, now)

    def take_empty(self, now: int) -> int:
        """Handle an N that was popped in place of a reference."""
        return self._die("N") if self.quirks & Q6 else self.end_empty_fiber(now)

    def _die(self, token_text: str) -> int:  # C: token_text=str
        raise SimulationError(
            f"{self.name}: {token_text} where a reference is due: the public simulator's dense scanner "
            "cannot take it (Q6)"
        )
