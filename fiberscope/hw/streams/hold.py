# cython: infer_types=True
"""Coordinate hold: a block that repeats outer coordinates, so that fibers become points."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.queue import Queue
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q0, Q12
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, STOP, format_token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError


class CoordinateHold(StreamBlock):
    """Repeats each outer coordinate for every coordinate of its fiber.

    Interface: coordinates of depth d arrive on ``in_outer``, of depth d + 1 on ``in_inner``. The inner
    stream leaves unchanged on ``out_inner``. For each inner coordinate or N, the outer coordinate or N of its
    fiber leaves on ``out_outer``, a stream of the same shape as the inner stream.

    Timing: that of a repeat-signal generator followed by a ``Repeater``. An inner token leaves in the cycle
    in which it is visible. It acts on the outer stream as a repeat signal from the next cycle on. If a
    channel is bounded, at most one signal waits, and the next inner token waits with it.

    Quirks: Q0, Q12, see ``Repeater``.

    Source: the public simulator (weiya711/sam at 6e477d1).

    Raises:
        SimulationError: during the run, if the streams do not fit each other; the message names the cycle
            and both tokens.
    """

    PORTS = (
        Input("in_outer", CRD),
        Input("in_inner", CRD),
        output_stream("out_outer", CRD),
        output_stream("out_inner", CRD),
    )

    in_outer: Channel
    in_inner: Channel
    out_outer: OutputStream
    out_inner: OutputStream

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.repeat_signals = Queue()  # kinds of inner tokens, oldest first
        self.kind = DATA  # kind of the outer token that is held
        self.held_payload = 0  # coordinate or stop level of that token
        self.holds_outer = False  # whether an outer token is held
        self.owes_stop = False  # whether the stop of an inner fiber is to be sent
        self.loses_signals = bool(quirks & Q12)  # whether signals are dropped: before the first outer token

    def update(self, now: int) -> int:
        """Send an outer token for an earlier inner token, and pass on the next inner token."""
        fired = self._end_fiber() if self.owes_stop else self._repeat(now)
        if self.in_inner.can_pop() and not (self.bounded and self.repeat_signals.count):
            self._pass_on()
            fired = True
        if self.done:
            return self.finish(now)
        if fired:
            return self.busy(now + 1)
        return self.wait_input(
            self.in_outer if self.repeat_signals.count or self.owes_stop else self.in_inner
        )

    def _pass_on(self) -> None:
        """Pass on an inner token, and queue its kind as a repeat signal."""
        inner = self.in_inner
        kind = inner.control()
        self.out_inner.push(kind, inner.coordinate())
        inner.pop()
        self.repeat_signals.put(DATA if kind == EMPTY else kind)

    def _repeat(self, now: int) -> bool:
        """Apply the oldest signal to the held outer token; return whether anything was done."""
        fresh = not self.holds_outer and self.in_outer.can_pop()
        if fresh:
            self.kind, self.held_payload = self.in_outer.control(), self.in_outer.coordinate()
            self.in_outer.pop()
            self.holds_outer, self.loses_signals = True, False
        if not self.repeat_signals.count or not (self.holds_outer or self.loses_signals):
            return fresh
        signal = self.repeat_signals.integer(0)
        self.repeat_signals.drop(1)
        if self.holds_outer:
            self._obey(signal, fresh, now)
        else:
            self._lose(signal, now)
        return True

    def _obey(self, signal: int, fresh: bool, now: int) -> None:
        """Apply a signal to the held outer token; ``fresh`` is whether the token was popped in this cycle."""
        repeats = self.kind in (DATA, EMPTY)
        if (signal == DONE) != (self.kind == DONE) or (signal == DATA and not repeats):
            self._refuse(signal, now)
        if signal == STOP:
            self._stop(repeats, fresh)
        else:
            self.out_outer.push(self.kind, self.held_payload)
            self.done = signal == DONE

    def _stop(self, repeats: bool, fresh: bool) -> None:
        """Handle the end of an inner fiber: the next outer token determines the level of its stop.

        Args:
            repeats: whether a coordinate or N is held; a held stop is the stop of an empty outer fiber.
            fresh: whether the held token was popped in this cycle.
        """
        self.holds_outer = False
        if not repeats:
            self.out_outer.push(STOP, self.held_payload + 1)
        elif self.in_outer.can_pop() and (self.quirks & Q0 or not fresh):
            self._end_fiber()
        else:
            self.owes_stop = True

    def _end_fiber(self) -> bool:
        """Send the stop of a fiber if the next outer token, which may raise its level, is visible."""
        outer = self.in_outer
        self.owes_stop = not outer.can_pop()
        if self.owes_stop:
            return False
        level = 0
        if outer.control() == STOP:
            level = outer.coordinate() + 1
            outer.pop()
        self.out_outer.push(STOP, level)
        return True

    def _lose(self, signal: int, now: int) -> None:
        """Drop a signal that comes before the first outer token.

        After a stop is dropped, later signals wait for the first outer token.
        """
        if signal == DONE:
            self._refuse(signal, now)
        self.loses_signals = signal == DATA

    def _refuse(self, signal: int, now: int) -> None:
        """Raise ``SimulationError``: the signal does not fit the held outer token, or none is held."""
        inner = "a coordinate" if signal == DATA else "D" if signal == DONE else "a stop"
        outer = format_token(self.kind, self.held_payload, 0.0, CRD) if self.holds_outer else "nothing"
        raise SimulationError(
            f"cycle {now}, {self.name}: {inner} on in_inner does not fit {outer} on in_outer"
        )
