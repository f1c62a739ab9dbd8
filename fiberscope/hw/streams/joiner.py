# cython: infer_types=True
"""Base of joiners: pairs of streams, coordinate and reference, compared pair by pair."""

from __future__ import annotations

from array import array
from typing import NoReturn

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.heads import DONE_KEY, EMPTY_KEY, NOTHING, STOP_KEY
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN, Q2, Q11
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError


class Joiner(StreamBlock):  # C: open; as many outputs as there are operands
    """Compares the heads of several pairs of streams, one comparison a cycle.

    Interface: operand i comes as a pair, coordinates on ``in_crd[i]`` and its references on ``in_ref[i]``,
    which are taken together. What is joined leaves on ``out_crd``, with the operands' references on
    ``out_ref0``, ``out_ref1`` and so on. Coordinates lie below 2**60.

    Timing: a comparison takes place in a cycle in which all heads are seen; those that it is done with are
    taken. Subclasses say by ``join`` what a comparison gives.

    Quirks: Q2, what is compared stands in registers, which are loaded from the heads of before, and a
    comparison waits until all next heads are seen too; done leaves without them. The first heads take a cycle
    to load. Q11, stops that differ are dropped one by one instead of refused.

    Args:
        name: instance name.
        ways: operands, at least 2.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if there are too few operands.
        SimulationError: in the run, if the streams do not fit each other, naming the cycle and the heads.
    """

    in_crd: list[Channel]
    in_ref: list[Channel]
    out_crd: OutputStream

    def __init__(self, name: str, ways: int = 2, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        if ways < 2:
            raise ValueError(f"{name}: a joiner has at least 2 operands, not {ways}")
        self.ways = ways
        self.looks_ahead = bool(quirks & Q2)
        self.keys = array("q", [NOTHING] * ways)  # the heads that are compared
        self.kinds = array("q", [DATA] * ways)  # of their references
        self.references = array("q", bytes(8 * ways))
        self.ports = self.own_ports()
        self.out_refs: list[OutputStream] = []

    def own_ports(self) -> tuple[Port, ...]:  # C: def
        """The ports for so many operands."""
        references = (output_stream(f"out_ref{way}", REF) for way in range(self.ways))
        inputs = (Input("in_crd", CRD, array=True), Input("in_ref", REF, array=True))
        return (*inputs, output_stream("out_crd", CRD), *references)

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports, as many as there are operands."""
        return self.ports

    def elaborate(self) -> None:
        """Fetch the streams.

        Raises:
            SimulationError: if operands are missing.
        """
        super().elaborate()
        for channels, port in ((self.in_crd, "in_crd"), (self.in_ref, "in_ref")):
            if len(channels) != self.ways:
                raise SimulationError(f"{self.name} has {self.ways} operands, but {len(channels)} {port}")
        self.out_refs = self.streams[1 : 1 + self.ways]

    def update(self, now: int) -> int:
        """Compare the heads, if all are seen."""
        missing = self._missing()
        if missing is not None:
            if self.looks_ahead and self.ends_alone():
                return self.send_done(now)
            return self.wait_input(missing)
        if not self.looks_ahead:
            for way in range(self.ways):
                self._read(way, now)
        return self.join(now)

    def join(self, now: int) -> int:
        """Make one comparison."""
        raise NotImplementedError(f"{type(self).__name__} does not define join")

    def ends_alone(self) -> bool:
        """Return whether what stands in the registers is the end, so that no next heads are waited for."""
        raise NotImplementedError(f"{type(self).__name__} does not define ends_alone")

    def accepts_empty(self) -> bool:
        """Return whether N may stand among coordinates."""
        return False

    def _missing(self) -> Channel | None:
        """The first input that shows no head, None if all do."""
        for way in range(self.ways):
            crd, ref = inline.channel(self.in_crd[way]), inline.channel(self.in_ref[way])
            if not crd.can_pop():
                return crd
            if not ref.can_pop():
                return ref
        return None

    def _read(self, way: int, now: int) -> None:
        """Have the head of this operand compared."""
        crd, ref = inline.channel(self.in_crd[way]), inline.channel(self.in_ref[way])
        kind, payload = crd.control(), crd.coordinate()
        if kind == DATA:
            self.keys[way] = payload
        elif kind == STOP:
            self.keys[way] = STOP_KEY + payload
        elif kind == DONE:
            self.keys[way] = DONE_KEY
        else:
            self.keys[way] = EMPTY_KEY
            if not self.accepts_empty():
                self.refuse(now, f"in_crd[{way}] brings N, which is no coordinate")
        self.kinds[way] = ref.control()
        self.references[way] = ref.coordinate()

    def advance(self, way: int, now: int) -> None:  # C: cdef
        """Take the head of this operand: with the quirk of looking ahead, what it showed is compared next."""
        if self.looks_ahead:
            self._read(way, now)
        inline.channel(self.in_crd[way]).pop()
        inline.channel(self.in_ref[way]).pop()

    def advance_all(self, now: int) -> None:  # C: cdef
        """Take all heads."""
        for way in range(self.ways):
            self.advance(way, now)

    def highest(self) -> int:  # C: cdef, noexcept
        """The largest of the heads."""
        highest = NOTHING  # C: long
        for way in range(self.ways):
            highest = max(highest, self.keys[way])
        return highest

    def lowest(self) -> int:  # C: cdef, noexcept
        """The smallest of the heads."""
        lowest = DONE_KEY  # C: long
        for way in range(self.ways):
            lowest = min(lowest, self.keys[way])
        return lowest

    def push_head(self, stream: OutputStream, key: int) -> None:  # C: cdef
        """Send a head: its coordinate, an N, a stop or done."""
        if key < EMPTY_KEY:
            stream.push(DATA, key)
        elif key < STOP_KEY:
            stream.push(EMPTY)
        elif key < DONE_KEY:
            stream.push(STOP, key - STOP_KEY)
        else:
            stream.push(DONE)

    def send_reference(self, way: int) -> None:  # C: cdef
        """Send this operand's reference, as it came."""
        stream: OutputStream = self.out_refs[way]
        stream.push(self.kinds[way], self.references[way])

    def send_equal(self, key: int) -> None:  # C: cdef
        """Send a head that all operands have."""
        self.push_head(self.out_crd, key)
        for way in range(self.ways):
            self.send_reference(way)

    def send_done(self, now: int) -> int:  # C: cdef
        """Send done on all outputs; where the heads are compared themselves, take them."""
        self.send_control(DONE, 0)
        if not self.looks_ahead:
            self.advance_all(now)
        return self.finish(now)

    def check_stops(self, lowest: int, now: int) -> None:  # C: cdef
        """Refuse heads that differ and are all at an end."""
        if lowest >= STOP_KEY and not self.quirks & Q11:
            self.refuse(now, "the operands' fibers end at different levels")

    def refuse(self, now: int, fault: str) -> NoReturn:
        """Refuse what is compared.

        Raises:
            SimulationError: always.
        """
        heads = ", ".join(f"{self.written(key)} on in_crd[{way}]" for way, key in enumerate(self.keys))
        raise SimulationError(f"cycle {now}, {self.name}: {fault} ({heads})")

    def written(self, key: int) -> str:
        """A head as text."""
        if key < EMPTY_KEY:
            return "nothing" if key == NOTHING else f"{key}"
        if key < STOP_KEY:
            return "N"
        return f"S{key - STOP_KEY}" if key < DONE_KEY else "D"
