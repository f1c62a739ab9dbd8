# cython: infer_types=True
"""Base of scanners: blocks that read the elements of fibers by reference."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fiber_states import IN_FIBER, MODES, OWES_STOP, WANTS_FIBER
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q0, Q5
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port, Signal


class Scanner(StreamBlock):
    """Reads the elements of fibers by reference, one element a cycle.

    Interface: a reference on ``in_ref`` selects a fiber of the level. The coordinates of its elements leave
    on ``out_crd``, the references to their children on ``out_ref``, and then a stop on both. A stop of level
    n instead of a reference ends outer lists, and leaves with level n + 1. An N instead of a reference counts
    as an empty fiber.

    Timing: the first element leaves in the cycle in which its reference is seen. The stop of a fiber takes a
    cycle of its own; for an empty fiber, the earliest is the cycle after that of the reference. The stop
    waits until the next token is visible. If that token is a stop, it is popped in the same cycle and raises
    the level (look-ahead). Ending any number of lists therefore takes one cycle. Done takes a cycle.

    Quirks: Q0, the stop of an empty fiber leaves in the cycle of the reference. Q5, an N leaves as N before
    the stop.

    Subclasses define ``begin``, which is called once for each reference, and ``advance``, which is called in
    each later cycle while ``mode`` is ``IN_FIBER`` and no output is full. Both send a token with ``send``,
    and set ``mode`` to ``IN_FIBER`` if elements remain. At the end of a fiber they call ``end_fiber`` or
    ``end_empty_fiber``, or set ``mode`` to ``OWES_STOP``. ``take_stop`` and ``take_empty`` can be overridden.

    Source: SAM (ASPLOS 2023), Definition 3.1; the public simulator's scanners (weiya711/sam at 6e477d1).
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        Input("in_ref", REF),
        output_stream("out_crd", CRD),
        output_stream("out_ref", REF),
    )
    SIGNALS: ClassVar[tuple[Signal, ...]] = (*StreamBlock.SIGNALS, Signal("mode", 2, "state", MODES))

    in_ref: Channel
    out_crd: OutputStream
    out_ref: OutputStream

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.mode = WANTS_FIBER  # C: public

    def update(self, now: int) -> int:
        """Send the next token."""
        if self.mode == IN_FIBER:
            return self.advance(now)
        if not self.in_ref.can_pop():
            return self.wait_input(self.in_ref)
        # A stop that is owed needs the next token too: a stop there raises its level.
        if self.mode == OWES_STOP:
            return self.end_fiber(now)
        return self._take(now)

    def begin(self, reference: int, now: int) -> int:
        """Start the fiber of a reference that was popped, and send its first token.

        Args:
            reference: number of the fiber.
            now: current cycle.

        Returns:
            The state of the block, as for ``StreamBlock.update``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define begin")

    def advance(self, now: int) -> int:
        """Send the next element of the fiber, or its stop; return the state of the block."""
        raise NotImplementedError(f"{type(self).__name__} does not define advance")

    def send(self, kind: int, coordinate: int, reference: int) -> None:
        """Send a token on both outputs.

        Args:
            kind: kind of the token.
            coordinate: coordinate of an element, or level of a stop.
            reference: reference of an element, or level of a stop.
        """
        self.out_crd.push(kind, coordinate)
        self.out_ref.push(kind, reference)

    def end_fiber(self, now: int) -> int:
        """Send the stop of the fiber if the next token, which can raise its level, is visible; else later."""
        if not self.in_ref.can_pop():
            self.mode = OWES_STOP
            return self.wait_input(self.in_ref)
        # One stop with a higher level ends the fiber and the lists around it.
        level = 0
        if self.in_ref.control() == STOP:
            level = self.in_ref.coordinate() + 1
            self.in_ref.pop()
        self.send(STOP, level, level)
        self.mode = WANTS_FIBER
        return self.busy(now + 1)

    def end_empty_fiber(self, now: int) -> int:
        """End an empty fiber: send its stop in this cycle with Q0, else in a later one."""
        if self.quirks & Q0:
            return self.end_fiber(now)
        # The cycle of the reference is busy, although no token leaves.
        self.mode = OWES_STOP
        return self.busy(now + 1)

    def _take(self, now: int) -> int:
        """Pop the next token between fibers: a reference, N, a stop or done."""
        kind, payload = self.in_ref.control(), self.in_ref.coordinate()
        self.in_ref.pop()
        if kind == DATA:
            return self.begin(payload, now)
        if kind == DONE:
            self.send(DONE, 0, 0)
            return self.finish(now)
        if kind == EMPTY:
            return self.take_empty(now)
        return self.take_stop(payload, now)

    def take_stop(self, level: int, now: int) -> int:
        """Pass on a stop of this level, raised by one, that was popped instead of a reference."""
        self.send(STOP, level + 1, level + 1)
        return self.busy(now + 1)

    def take_empty(self, now: int) -> int:
        """Process an N that was popped: end an empty fiber, with Q5 after an N."""
        if not self.quirks & Q5:
            return self.end_empty_fiber(now)
        self.send(EMPTY, 0, 0)
        self.mode = OWES_STOP
        return self.busy(now + 1)
