# cython: infer_types=True
"""Look-ups in fibers: the coordinate that is sought, computed from those of loops, and its element."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY, Protocol

FIELDS = 3  # numbers of a term


class Projection(StreamBlock):
    """Computes a coordinate of a tensor from the coordinates of loops.

    Interface: coordinates of one shape on ``in_crd[0]`` and so on. For each of them leaves on ``out_crd``
    ``constant`` plus the sum of ``factor * (coordinate // divisor % size)``: a part of a flattened
    coordinate, or an index such as q + s. A negative sum leaves as N. Stops pass.

    Timing: a token a cycle, when all inputs show one.

    Source: partitioned and flattened ranks, and computed indices, as of TeAAL (MICRO 2023), Section 3; that
    a unit computes one coordinate a cycle is a choice of this model.

    Args:
        name: instance name.
        terms: for each input the factor, the divisor and the size, which is 0 where there is no remainder.
        constant: what is added.

    Raises:
        ValueError: if there is no term, or a divisor below 1.
    """

    in_crd: list[Channel]
    out_crd: OutputStream
    PORTS = (Input("in_crd", CRD, array=True), output_stream("out_crd", CRD))

    def __init__(self, name: str, terms: Sequence[tuple[int, int, int]], constant: int = 0) -> None:
        super().__init__(name)
        if not terms or any(divisor < 1 for _factor, divisor, _size in terms):
            raise ValueError(f"{name}: a projection has terms, and their divisors are at least 1")
        self.terms = array("q", [number for term in terms for number in term])
        self.constant = constant

    def update(self, now: int) -> int:
        """Take a token of each input, and send the sum."""
        for place in range(len(self.in_crd)):
            if not inline.shows(self.in_crd, place):
                return self.wait_input(inline.channel(self.in_crd[place]))
        first: Channel = self.in_crd[0]
        kind, payload = first.control(), first.coordinate()
        computed = self._computed()
        for channel in self.in_crd:
            channel.pop()
        if kind in (STOP, DONE):
            self.out_crd.push(kind, payload)
        elif computed >= 0:
            self.out_crd.push(DATA, computed)
        else:
            self.out_crd.push(EMPTY)
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _computed(self) -> int:
        """The coordinate."""
        kind = inline.channel(self.in_crd[0]).control()
        total = self.constant
        for place in range(len(self.in_crd)):
            channel: Channel = self.in_crd[place]
            if (channel.control() in (STOP, DONE)) != (kind in (STOP, DONE)):
                raise SimulationError(f"{self.name}: all in_crd must have the same shape")
            part = channel.coordinate() // self.terms[FIELDS * place + 1]
            size = self.terms[FIELDS * place + 2]
            if size > 0:
                part %= size
            total += self.terms[FIELDS * place] * part
        return total


class Seek(StreamBlock):  # C: open; as many outputs as streams travel along
    """Looks a coordinate up in a fiber of a compressed level; what has none is dropped.

    Interface: the coordinates that are sought on ``in_crd``, for each of them the fiber to look in on
    ``in_base``, and any number of streams of their shape on ``in_carried0`` and so on. If the fiber has the
    coordinate, its position leaves on ``out_located``, and the other tokens on ``out_carried0`` and so on. If
    not, or if the fiber is N, nothing leaves. Stops pass.

    Timing: a token a cycle, when all inputs show one; the search itself takes no time beyond: the fiber lies
    in a memory that is addressed by coordinates, as in its twin.

    Counts: ``hits`` and ``misses``.

    Source: the locator of SAM (ASPLOS 2023), Definition 4.1, for a level that is not dense; that other
    streams travel along and are dropped is a choice of this model.

    Args:
        name: instance name.
        level: in which is looked.
        carries: what each of the streams carries that travel along.

    Raises:
        SimulationError: in the run, if a reference names no fiber, or the streams differ in shape.
    """

    COUNTERS = ("hits", "misses")
    SIGNALS = (*StreamBlock.SIGNALS, Signal("hits", 48), Signal("misses", 48))

    in_crd: Channel
    in_base: Channel
    out_located: OutputStream

    def __init__(self, name: str, level: Level, carries: Sequence[Protocol] = ()) -> None:
        super().__init__(name)
        self.level = level
        self.hits = self.misses = 0
        self.ports: tuple[Port, ...] = (
            Input("in_crd", CRD),
            Input("in_base", ANY),
            *(Input(f"in_carried{place}", carried) for place, carried in enumerate(carries)),
            output_stream("out_located", REF),
            *(output_stream(f"out_carried{place}", carried) for place, carried in enumerate(carries)),
        )

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports, as many as streams travel along."""
        return self.ports

    def update(self, now: int) -> int:
        """Take a token of each input."""
        for place in range(len(self.inputs)):
            if not inline.shows(self.inputs, place):
                return self.wait_input(inline.channel(self.inputs[place]))
        kind = self._kind()
        if kind in (STOP, DONE):
            self.send_control(kind, self.in_crd.coordinate())
        else:
            self._seek(kind)
        for channel in self.inputs:
            channel.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _kind(self) -> int:
        """Kind of the next tokens; N if the sought coordinate or the fiber is."""
        kind, base = self.in_crd.control(), self.in_base.control()
        for place in range(len(self.inputs)):
            other = inline.channel(self.inputs[place]).control()
            if (other in (STOP, DONE) or kind in (STOP, DONE)) and other != kind:
                raise SimulationError(f"{self.name}: all inputs must have the same shape")
        return EMPTY if EMPTY in (kind, base) else kind

    def _seek(self, kind: int) -> None:
        if kind == EMPTY:
            self.misses += 1
            return
        fiber, sought = self.in_base.coordinate(), self.in_crd.coordinate()
        self.level.check_fiber(fiber, self.name)
        place = self.level.find(fiber, sought)
        if place == self.level.end(fiber) or self.level.coordinate(place) != sought:
            self.misses += 1
            return
        self.hits += 1
        self.out_located.push(DATA, place)
        for along in range(1, len(self.streams)):
            stream: OutputStream = self.streams[along]
            channel: Channel = self.inputs[along + 1]
            stream.push(channel.control(), channel.coordinate())
