# cython: infer_types=True
"""Split and flatten: one level of coordinates into two, chunks of a fixed size, and back."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN, Q21, Q22
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, STOP, text
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError

NO_CHUNK = -1


def check_factor(name: str, factor: int) -> int:
    """The size of a chunk.

    Raises:
        ValueError: if it is none.
    """
    if factor < 1:
        raise ValueError(f"{name}: a chunk has at least one coordinate, not {factor}")
    return factor


class Split(StreamBlock):
    """Splits coordinates into those of chunks and those within their chunk.

    Interface: coordinates c of depth d on ``in_crd``. For each chunk that has any, its number leaves on
    ``out_outer``, c divided by the factor, of depth d, and on ``out_inner`` a fiber of the remainders, of
    depth d + 1.

    Timing: a coordinate takes a cycle; the first of a chunk takes its number along, and if the fiber had a
    chunk before, a cycle in front of it sends the inner stop of that one. A stop takes a cycle and leaves on
    both, one level higher on the inner. Done takes one, and one more for a stop if none came before it.

    Quirks: Q21, where a fiber begins in the chunk in which the last one ended, its number does not leave.

    Counts: ``chunks``.

    Source: the public simulator (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
        factor: coordinates of a chunk.
        original: whether the inner coordinates are the whole ones, not remainders.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if the factor is less than 1.
    """

    PORTS = (Input("in_crd", CRD), output_stream("out_outer", CRD), output_stream("out_inner", CRD))
    COUNTERS = ("chunks",)

    in_crd: Channel
    out_outer: OutputStream
    out_inner: OutputStream

    def __init__(self, name: str, factor: int, original: bool = False, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.factor = check_factor(name, factor)
        self.original = original
        self.chunk = NO_CHUNK
        self.open = False  # a chunk has begun, and its stop has not left
        self.after_stop = True  # a stop came last, or nothing
        self.chunks = 0

    def update(self, now: int) -> int:
        """Send a coordinate, a stop or done."""
        source = self.in_crd
        if not source.can_pop():
            return self.wait_input(source)
        kind, payload = source.control(), source.coordinate()
        if kind == DATA:
            self._place(payload)
        elif kind == STOP:
            self._end_fiber(payload)
            source.pop()
        elif not self.after_stop:
            self._end_fiber(0)
        else:
            self.send_control(kind, payload)
            source.pop()
            if kind == DONE:
                return self.finish(now)
        return self.busy(now + 1)

    def _place(self, coordinate: int) -> None:
        """Send the coordinate, or in front of it the stop of the last chunk."""
        chunk = coordinate // self.factor
        if chunk != self.chunk and self.open:
            self.open = False
            self.out_inner.push(STOP, 0)
            return
        if chunk != self.chunk:
            self.chunk = chunk
            self.chunks += 1
            self.out_outer.push(DATA, chunk)
        self.open, self.after_stop = True, False
        self.out_inner.push(DATA, coordinate if self.original else coordinate % self.factor)
        self.in_crd.pop()

    def _end_fiber(self, level: int) -> None:
        self.out_outer.push(STOP, level)
        self.out_inner.push(STOP, level + 1)
        self.open, self.after_stop = False, True
        if not self.quirks & Q21:
            self.chunk = NO_CHUNK


class Flatten(StreamBlock):
    """Makes coordinates of chunk numbers and remainders: the inverse of ``Split``.

    Interface: chunk numbers of depth d on ``in_outer``, remainders of depth d + 1 on ``in_inner``;
    coordinates of depth d leave on ``out_crd``.

    Timing: a remainder takes a cycle, and takes its chunk's number along if it is the first. The stop of a
    chunk takes a cycle in which nothing leaves; if it ends lists above, the outer stop is taken and leaves,
    and a number before it whose chunk is empty takes a cycle of its own.

    Quirks: Q22, the next outer token is taken with the stop of a chunk. Where it is not seen yet, the inner
    token is lost, and so are some behind it; chunks that are empty are not known as such.

    Source: the public simulator (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
        factor: coordinates of a chunk.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if the factor is less than 1.
        SimulationError: in the run, if the streams do not fit each other, naming the cycle and both tokens.
    """

    PORTS = (Input("in_outer", CRD), Input("in_inner", CRD), output_stream("out_crd", CRD))

    in_outer: Channel
    in_inner: Channel
    out_crd: OutputStream

    def __init__(self, name: str, factor: int, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.factor = check_factor(name, factor)
        self.kind = DATA  # of the outer token that is held
        self.outer = 0
        self.holds = False
        self.wants_outer = True  # with the quirk

    def update(self, now: int) -> int:
        """Take an inner token, an outer one, or both."""
        inner = self.in_inner
        if not inner.can_pop():
            return self.wait_input(inner)
        kind, payload = inner.control(), inner.coordinate()
        if self.quirks & Q22:
            inner.pop()
            return self._pair_blindly(kind, payload, now)
        ends = kind == DONE or (kind == STOP and payload > 0)
        if not self.holds or ends:
            if not self.in_outer.can_pop():
                return self.wait_input(self.in_outer)
            self._take_outer()
            if ends:
                return self._end(kind, payload, now)
            if self.kind != DATA:
                self._refuse(kind, payload, now)
        if kind == DATA:
            self.out_crd.push(DATA, self.outer * self.factor + payload)
        else:
            self.holds = False
        inner.pop()
        return self.busy(now + 1)

    def _take_outer(self) -> None:
        self.kind, self.outer = self.in_outer.control(), self.in_outer.coordinate()
        self.in_outer.pop()
        self.holds = True

    def _end(self, kind: int, payload: int, now: int) -> int:
        """Send the outer token that an inner one ends lists with; of an empty chunk its number goes first."""
        if self.kind != DATA:
            if kind != self.kind or (kind == STOP and payload != self.outer + 1):
                self._refuse(kind, payload, now)
            self.out_crd.push(self.kind, self.outer)
            self.in_inner.pop()
            self.holds = False
        return self.finish(now) if self.kind == DONE else self.busy(now + 1)

    def _pair_blindly(self, kind: int, payload: int, now: int) -> int:
        """With the quirk: take an outer token behind every inner one that is no data, if one is there."""
        self.wants_outer = self.wants_outer or kind != DATA
        if self.wants_outer:
            if not self.in_outer.can_pop():
                return self.busy(now + 1)
            self._take_outer()
            self.wants_outer = False
        if kind == DATA and self.kind == DATA:
            self.out_crd.push(DATA, self.outer * self.factor + payload)
        elif kind == STOP and self.kind == STOP:
            self.out_crd.push(STOP, self.outer)
            self.wants_outer = True
        elif kind == DONE:
            self.out_crd.push(DONE)
            return self.finish(now)
        return self.busy(now + 1)

    def _refuse(self, kind: int, payload: int, now: int) -> None:
        inner, outer = text(kind, payload, 0.0, CRD), text(self.kind, self.outer, 0.0, CRD)
        raise SimulationError(
            f"cycle {now}, {self.name}: {inner} on in_inner does not fit {outer} on in_outer: a fiber of "
            "remainders belongs to each chunk"
        )
