# cython: infer_types=True
"""Base of scanners: references to fibers in, their elements out, a stop behind each fiber."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fiber_states import IN_FIBER, MODES, OWES_STOP, WANTS_FIBER
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN, Q0, Q5
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port, Signal


class Scanner(StreamBlock):
    """Turns references to fibers into their elements, one element a cycle.

    Interface: a reference on ``in_ref`` names a fiber of the level. Its elements leave on ``out_crd`` (their
    coordinates) and ``out_ref`` (references to their children), and a stop behind them. A stop of level n
    where a reference is due ends lists above, and leaves one level higher; an N names no fiber, and gives the
    stop of an empty one.

    Timing: the first element leaves in the cycle in which its reference is seen. The stop of a fiber takes a
    cycle of its own, behind that of the reference if the fiber is empty. It waits until the next token is
    seen: a stop there is taken in the same cycle and raises the level (look-ahead), so that closing any
    number of lists costs one cycle. Done takes a cycle.

    Quirks: Q0, the stop of an empty fiber takes no cycle behind that of the reference; Q5, an N leaves as N
    before the stop.

    Subclasses say by ``begin`` what a reference names, and by ``advance`` what follows within a fiber.

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

    def __init__(self, name: str, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.mode = WANTS_FIBER  # C: public

    def update(self, now: int) -> int:
        """Send the next token."""
        if self.mode == IN_FIBER:
            return self.advance(now)
        if not self.in_ref.can_pop():
            return self.wait_input(self.in_ref)
        if self.mode == OWES_STOP:
            return self.end_fiber(now)
        return self._take(now)

    def begin(self, reference: int, now: int) -> int:
        """A reference has been taken: send the fiber's first token."""
        raise NotImplementedError(f"{type(self).__name__} does not define begin")

    def advance(self, now: int) -> int:
        """Send the next token of the fiber."""
        raise NotImplementedError(f"{type(self).__name__} does not define advance")

    def send(self, kind: int, coordinate: int, reference: int) -> None:
        """Send one token."""
        self.out_crd.push(kind, coordinate)
        self.out_ref.push(kind, reference)

    def end_fiber(self, now: int) -> int:
        """Send the stop of the fiber if the next token is seen, which may raise its level; else owe it."""
        if not self.in_ref.can_pop():
            self.mode = OWES_STOP
            return self.wait_input(self.in_ref)
        level = 0
        if self.in_ref.control() == STOP:
            level = self.in_ref.coordinate() + 1
            self.in_ref.pop()
        self.send(STOP, level, level)
        self.mode = WANTS_FIBER
        return self.busy(now + 1)

    def end_empty_fiber(self, now: int) -> int:
        """End an empty fiber: send the stop if the next token may be looked at; else owe it."""
        if self.quirks & Q0:
            return self.end_fiber(now)
        self.mode = OWES_STOP
        return self.busy(now + 1)

    def _take(self, now: int) -> int:
        """Take the token that stands where a reference is due."""
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
        """A stop has been taken where a reference is due: a list above ends."""
        self.send(STOP, level + 1, level + 1)
        return self.busy(now + 1)

    def take_empty(self, now: int) -> int:
        """An N has been taken: there is no fiber, and only a stop is sent."""
        if not self.quirks & Q5:
            return self.end_empty_fiber(now)
        self.send(EMPTY, 0, 0)
        self.mode = OWES_STOP
        return self.busy(now + 1)
