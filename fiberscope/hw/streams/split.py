# cython: infer_types=True
"""Split and flatten: blocks that divide a level of coordinates into chunks of a fixed size, and undo it."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q21, Q22
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, STOP, format_token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError

NO_CHUNK = -1  # chunk number before the first chunk of a fiber; with Q21, of the stream


def validate_factor(name: str, factor: int) -> int:
    """Return the chunk size ``factor`` if it is valid.

    Args:
        name: instance name, for the message.
        factor: number of coordinates in a chunk, at least 1.

    Raises:
        ValueError: if ``factor`` is less than 1.
    """
    if factor < 1:
        raise ValueError(f"{name}: a chunk has at least one coordinate, not {factor}")
    return factor


class Split(StreamBlock):
    """Splits each coordinate into the number of its chunk and the coordinate within the chunk.

    Interface: ``in_crd`` carries coordinates c of depth d, which ascend within a fiber; the block does not
    check this. For each chunk with at least one coordinate, ``out_outer`` carries the number of the chunk,
    c // factor, at depth d. ``out_inner`` carries a fiber of the remainders, c % factor, at depth d + 1. An N
    outside a fiber leaves on both outputs. After a coordinate, N first ends the fiber, as S0 would.

    Timing: a coordinate takes a cycle. The number of a chunk leaves in the cycle of its first coordinate. If
    the fiber has an earlier chunk, the inner stop of that chunk leaves in the cycle before. A stop takes a
    cycle and leaves on both outputs, one level higher on the inner one. Done and N take a cycle and leave on
    both outputs. If done or N follows a coordinate, the block first sends the stops, which takes another
    cycle.

    Quirks: Q21, if a fiber starts in the chunk in which the last fiber ended, the chunk number is not sent.

    Counts: ``chunks``, the numbers of chunks sent.

    Source: the public simulator (weiya711/sam at 6e477d1).

    Args:
        factor: number of coordinates in a chunk, at least 1.
        original: whether the inner coordinates are c itself instead of the remainders.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if the factor is less than 1.
    """

    PORTS = (Input("in_crd", CRD), output_stream("out_outer", CRD), output_stream("out_inner", CRD))
    COUNTERS = ("chunks",)

    in_crd: Channel
    out_outer: OutputStream
    out_inner: OutputStream

    def __init__(self, name: str, factor: int, original: bool = False, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.factor = validate_factor(name, factor)
        self.keeps_coordinates = original
        self.chunk = NO_CHUNK
        self.in_chunk = False  # whether a chunk has started and its inner stop has not been sent
        self.fiber_is_closed = True  # whether the last token was a stop, or there was none
        self.chunks = 0

    def update(self, now: int) -> int:
        """Send a coordinate, a stop, N or done."""
        source = self.in_crd
        if not source.can_pop():
            return self.wait_input(source)
        kind, payload = source.control(), source.coordinate()
        if kind == DATA:
            self._send_coordinate(payload)
        elif kind == STOP:
            self._end_fiber(payload)
            source.pop()
        elif not self.fiber_is_closed:  # N or done within a fiber: it is popped in the next update
            self._end_fiber(0)
        else:
            self.send_control(kind, payload)
            source.pop()
            if kind == DONE:
                return self.finish(now)
        return self.busy(now + 1)

    def _send_coordinate(self, coordinate: int) -> None:
        """Send the coordinate and pop it, or send only the stop of the last chunk.

        If the coordinate starts a new chunk within a fiber, this update sends the stop, and the next update
        sends the coordinate.
        """
        chunk = coordinate // self.factor
        if chunk != self.chunk and self.in_chunk:
            self.in_chunk = False
            self.out_inner.push(STOP, 0)
            return
        if chunk != self.chunk:
            self.chunk = chunk
            self.chunks += 1
            self.out_outer.push(DATA, chunk)
        self.in_chunk, self.fiber_is_closed = True, False
        self.out_inner.push(DATA, coordinate if self.keeps_coordinates else coordinate % self.factor)
        self.in_crd.pop()

    def _end_fiber(self, level: int) -> None:
        """Send the stop of a fiber, one level higher on the inner output, where it also ends the chunk."""
        self.out_outer.push(STOP, level)
        self.out_inner.push(STOP, level + 1)
        self.in_chunk, self.fiber_is_closed = False, True
        if not self.quirks & Q21:  # with Q21, the next fiber seems to continue the chunk
            self.chunk = NO_CHUNK


class Flatten(StreamBlock):
    """Combines chunk numbers and remainders to coordinates: the inverse of ``Split``.

    Interface: ``in_outer`` carries chunk numbers of depth d, ``in_inner`` the remainders of each chunk, of
    depth d + 1. ``out_crd`` carries the coordinates, of depth d. An N on ``in_inner`` in place of a remainder
    acts as the stop of a chunk: it leaves no token, and the block drops the chunk number.

    Timing: a remainder takes a cycle; the number of its chunk is popped with the first remainder. The stop of
    a chunk takes a cycle in which no token leaves. If the stop also ends lists of chunks, the outer stop is
    popped in this cycle and leaves. The number of an empty chunk before that stop takes another cycle.

    Quirks: Q22, the block pops an inner token in every update. It pops the next outer token with the first
    inner token, with each inner token that is no remainder, and with the inner token after an outer stop that
    has left. If that outer token is not visible yet, the inner token is lost, and so are the inner tokens
    until it arrives. Tokens that do not match are dropped. Empty chunks are not recognized.

    Source: the public simulator (weiya711/sam at 6e477d1).

    Args:
        factor: number of coordinates in a chunk, at least 1.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if the factor is less than 1.
        SimulationError: during the run without Q22, if an inner token does not fit the outer token in its
            place; the message has the cycle and both tokens. A surplus chunk number before the end of a list
            counts as the number of an empty chunk and is no error.
    """

    PORTS = (Input("in_outer", CRD), Input("in_inner", CRD), output_stream("out_crd", CRD))

    in_outer: Channel
    in_inner: Channel
    out_crd: OutputStream

    def __init__(self, name: str, factor: int, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.factor = validate_factor(name, factor)
        self.outer_kind = DATA  # kind of the outer token that the block holds
        self.outer_payload = 0  # chunk number or stop level of this token
        self.holds_outer = False  # whether the block holds an outer token
        self.wants_outer = True  # with Q22: whether the next update pops an outer token

    def update(self, now: int) -> int:
        """Take an inner token, an outer one, or both."""
        inner = self.in_inner
        if not inner.can_pop():
            return self.wait_input(inner)
        kind, payload = inner.control(), inner.coordinate()
        if self.quirks & Q22:
            inner.pop()
            return self._pair_blindly(kind, payload, now)
        # These tokens end more than a chunk, so that in_outer has a token of the same kind in this place.
        ends_list = kind == DONE or (kind == STOP and payload > 0)
        if not self.holds_outer or ends_list:
            if not self.in_outer.can_pop():
                return self.wait_input(self.in_outer)
            self._take_outer()
            if ends_list:
                return self._end_list(kind, payload, now)
            if self.outer_kind != DATA:  # an inner token of a chunk, but no chunk number
                self._raise_mismatch(kind, payload, now)
        if kind == DATA:
            self.out_crd.push(DATA, self.outer_payload * self.factor + payload)
        else:
            self.holds_outer = False
        inner.pop()
        return self.busy(now + 1)

    def _take_outer(self) -> None:
        """Pop the next outer token, and hold it."""
        self.outer_kind, self.outer_payload = self.in_outer.control(), self.in_outer.coordinate()
        self.in_outer.pop()
        self.holds_outer = True

    def _end_list(self, kind: int, payload: int, now: int) -> int:
        """Send the outer stop or done that matches an inner token; skip the number of an empty chunk.

        Such a number is dropped, and the inner token stays for the next update.

        Args:
            kind, payload: kind of the inner token, done or a stop above level 0, and the level of the stop.
            now: current cycle.

        Returns:
            The result of ``update``.

        Raises:
            SimulationError: if the outer token is neither a chunk number nor the matching stop or done.
        """
        if self.outer_kind != DATA:
            if kind != self.outer_kind or (kind == STOP and payload != self.outer_payload + 1):
                self._raise_mismatch(kind, payload, now)
            self.out_crd.push(self.outer_kind, self.outer_payload)
            self.in_inner.pop()
            self.holds_outer = False
        return self.finish(now) if self.outer_kind == DONE else self.busy(now + 1)

    def _pair_blindly(self, kind: int, payload: int, now: int) -> int:
        """With Q22: pair an inner token, already popped, with the held outer token or the next one.

        The class docstring says when the next outer token is popped. While this token is not visible, inner
        tokens are lost. A remainder with a chunk number sends a coordinate, an inner stop with an outer stop
        sends the outer stop, and an inner done sends done. All other pairs send nothing.
        """
        self.wants_outer = self.wants_outer or kind != DATA
        if self.wants_outer:
            if not self.in_outer.can_pop():
                return self.busy(now + 1)
            self._take_outer()
            self.wants_outer = False
        if kind == DATA and self.outer_kind == DATA:
            self.out_crd.push(DATA, self.outer_payload * self.factor + payload)
        elif kind == STOP and self.outer_kind == STOP:
            self.out_crd.push(STOP, self.outer_payload)
            self.wants_outer = True
        elif kind == DONE:
            self.out_crd.push(DONE)
            return self.finish(now)
        return self.busy(now + 1)

    def _raise_mismatch(self, kind: int, payload: int, now: int) -> None:
        """Raise ``SimulationError``: this inner token does not fit the held outer token."""
        inner, outer = (
            format_token(kind, payload, 0.0, CRD),
            format_token(self.outer_kind, self.outer_payload, 0.0, CRD),
        )
        raise SimulationError(
            f"cycle {now}, {self.name}: {inner} on in_inner does not fit {outer} on in_outer: a fiber of "
            "remainders belongs to each chunk"
        )
