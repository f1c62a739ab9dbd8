# cython: infer_types=True
"""Coordinate droppers: blocks that remove coordinates whose fibers are empty or whose values are 0."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q19
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, STOP, VAL, format_token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

NOTHING_HELD = -1  # kind of the held inner token if no token is held


class CoordinateDropper(StreamBlock):
    """Drops the outer coordinates whose inner fibers are empty, and the stops of these fibers.

    Interface: coordinates of depth d arrive on ``in_outer``, coordinates of depth d + 1, or values, on
    ``in_inner``. The remaining tokens leave on ``out_outer`` and ``out_inner``. An N on ``in_inner`` is an
    element of its fiber.

    Timing of outer tokens: in the cycle in which an outer coordinate is popped, the first inner token is
    popped too, if it is visible. Further inner tokens take one cycle each. If its fiber has an element, the
    coordinate leaves in the cycle in which the stop of the fiber is popped. An outer stop or done after a
    coordinate takes a cycle of its own and leaves in it. An outer stop or done after another stop ends an
    empty outer fiber, and waits for the inner stop or done that belongs to it.

    Timing of inner tokens: an inner token leaves in the cycle in which the next one is popped. The stop of
    an empty inner fiber is dropped if its level is 0. With a higher level it replaces a held stop of level
    0. The inner done leaves one cycle later.

    Quirks: Q19: all inner tokens leave, in the cycle in which they are popped.

    Counts: ``dropped`` outer coordinates.

    Source: SAM (ASPLOS 2023), Definition 3.9; the public simulator (weiya711/sam at 6e477d1).

    Args:
        inner: protocol of the inner stream.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: during the run, if the inner stream does not fit the outer one; the message names
            the cycle and both tokens.
    """

    COUNTERS = ("dropped",)

    in_outer: Channel
    in_inner: Channel
    out_outer: OutputStream
    out_inner: OutputStream

    def __init__(self, name: str, inner: Protocol = CRD, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.ports = (  # C: tuple
            Input("in_outer", CRD),
            Input("in_inner", inner),
            output_stream("out_outer", CRD),
            output_stream("out_inner", inner),
        )
        self.carries = inner
        self.outer_kind = DONE  # kind of the outer token that was popped last
        self.outer = 0  # its coordinate or stop level
        self.wants_outer = True  # whether the next token to pop is an outer one
        self.wants_inner = False  # whether inner tokens of the outer token remain
        self.after_stop = True  # whether the outer token popped last is a stop, or none has been popped
        self.pairs = False  # whether the outer stop or done waits for an inner token of its kind
        self.has_element = False  # whether the current inner fiber has an element
        self.held_kind = NOTHING_HELD  # kind of the inner token that leaves next
        self.held_payload = 0  # its coordinate or stop level
        self.held_reference, self.held_value = 0, 0.0  # its reference word and its value
        self.dropped = 0

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports of the two streams."""
        return self.ports

    def update(self, now: int) -> int:
        """Pop an outer token, an inner token, or both."""
        if self.held_kind == DONE:
            self.out_inner.push(DONE)
            return self.finish(now)
        fired = self.wants_outer and self.in_outer.can_pop()
        stops = fired and self._take_outer()
        if self.wants_inner:
            if self.in_inner.can_pop():
                return self._take_inner(now)
        elif stops:
            self.out_outer.push(self.outer_kind, self.outer)
        if fired:
            return self.busy(now + 1)
        return self.wait_input(self.in_outer if self.wants_outer else self.in_inner)

    def _take_outer(self) -> bool:
        """Pop an outer token; return whether it is a stop or done."""
        self.outer_kind, self.outer = self.in_outer.control(), self.in_outer.coordinate()
        self.in_outer.pop()
        self.has_element = False
        if self.outer_kind == DATA:
            self.wants_outer, self.wants_inner = False, True
            self.pairs = self.after_stop = False
            return False
        if self.after_stop:
            self.wants_outer, self.wants_inner, self.pairs = False, True, True
        self.after_stop = True
        return True

    def _take_inner(self, now: int) -> int:
        """Pop an inner token; at the end of its fiber, send or drop the outer coordinate."""
        kind, payload = self.in_inner.control(), self.in_inner.coordinate()
        self._check(kind, payload, now)
        self._forward(kind, payload)
        self.in_inner.pop()
        if kind in (STOP, DONE):
            self.wants_outer, self.wants_inner = True, False
            if self.pairs or self.has_element:
                self.out_outer.push(self.outer_kind, self.outer)
            else:
                self.dropped += 1
        else:
            self.has_element = True
        if kind == DONE and self.quirks & Q19:
            return self.finish(now)
        return self.busy(now + 1)

    def _check(self, kind: int, payload: int, now: int) -> None:
        """Check that the kinds fit: stop with stop, done with done, a coordinate with anything but done."""
        if kind != self.outer_kind and (self.outer_kind != DATA or kind == DONE):
            self._refuse(kind, payload, now)

    def _refuse(self, kind: int, payload: int, now: int) -> None:
        """Raise ``SimulationError``: this inner token does not fit the outer token."""
        outer = format_token(self.outer_kind, self.outer, 0.0, CRD)
        inner = format_token(kind, payload, self.in_inner.value(), self.carries)
        raise SimulationError(
            f"cycle {now}, {self.name}: {inner} on in_inner does not fit {outer} on in_outer: an inner fiber "
            "belongs to each outer coordinate, and to each empty outer fiber a bare inner stop"
        )

    def _forward(self, kind: int, payload: int) -> None:
        """Pass on an inner token: at once with Q19, otherwise when the next inner token is known."""
        is_empty = kind == STOP and not self.has_element and not self.pairs
        if self.quirks & Q19:
            self.out_inner.forward(self.in_inner)
        elif is_empty and payload > 0 and self.held_kind == STOP and self.held_payload == 0:
            self.held_payload = payload
        elif not is_empty or payload > 0:
            if self.held_kind != NOTHING_HELD:
                self.out_inner.push_words(
                    self.held_kind, self.held_payload, self.held_reference, self.held_value
                )
            self.held_kind, self.held_payload = kind, payload
            self.held_reference, self.held_value = self.in_inner.reference(), self.in_inner.value()


class ValueDropper(StreamBlock):
    """Drops the values that are 0, and their coordinates.

    Interface: coordinates arrive on ``in_outer`` and values on ``in_inner``, in the same shape. The
    remaining pairs leave on ``out_outer`` and ``out_inner``, with all stops. The values may have additional
    stops of empty fibers, if an earlier dropper has removed the stops of these fibers from the coordinates.
    The additional stops are dropped. N must not occur among the values.

    Timing: one pair per cycle, and one cycle for each additional stop.

    Counts: ``dropped`` pairs.

    Source: the dropper of zeros in branches of the public simulator (weiya711/sam); SAM (ASPLOS 2023),
    Definition 3.9.

    Args:
        quirks: see ``StreamBlock``; no quirk has an effect.

    Raises:
        SimulationError: during the run, if the streams differ in shape; the message names the cycle and
            both tokens.
    """

    PORTS = (
        Input("in_outer", CRD),
        Input("in_inner", VAL),
        output_stream("out_outer", CRD),
        output_stream("out_inner", VAL),
    )
    COUNTERS = ("dropped",)

    in_outer: Channel
    in_inner: Channel
    out_outer: OutputStream
    out_inner: OutputStream

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.dropped = 0
        self.after_stop = True  # whether the value token popped last is a stop, or none has been popped

    def update(self, now: int) -> int:
        """Pass on or drop a pair, or drop an additional stop of the values."""
        crd, val = self.in_outer, self.in_inner
        if not crd.can_pop():
            return self.wait_input(crd)
        if not val.can_pop():
            return self.wait_input(val)
        kind = val.control()
        if kind == STOP and self._ends_nothing():
            self.after_stop = True
            val.pop()
            return self.busy(now + 1)
        if crd.control() != kind or (kind == STOP and crd.coordinate() != val.coordinate()):
            self.refuse_heads(self.inputs, now)
        self.after_stop = kind == STOP
        if kind == DATA and val.value() == 0.0:
            self.dropped += 1
        else:
            self.out_outer.push(kind, crd.coordinate())
            self.out_inner.forward(val)
        crd.pop()
        val.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _ends_nothing(self) -> bool:
        """Return whether the stop at the head of the values ends a fiber that the coordinates lack."""
        if self.in_outer.control() == STOP:
            return self.in_inner.coordinate() < self.in_outer.coordinate()
        return self.after_stop
