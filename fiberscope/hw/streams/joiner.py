# cython: infer_types=True
"""Base of joiners, which compare pairs of streams: coordinates and their references."""

from __future__ import annotations

from array import array
from typing import NoReturn

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.heads import DONE_KEY, EMPTY_KEY, NOTHING, STOP_KEY
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q2, Q11
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Port
from fiberscope.sim.errors import SimulationError


class Joiner(StreamBlock):
    """Compares the heads of several pairs of streams, one comparison per cycle.

    Interface: operand i is a pair of streams, coordinates on ``in_crd[i]`` and their references on
    ``in_ref[i]``, which are popped together. The joined coordinates leave on ``out_crd``, the operands'
    references on ``out_ref0``, ``out_ref1`` and so on. Coordinates must be below 2**60. The block does not
    check that the references have the shape of the coordinates.

    Timing: a comparison takes place in a cycle in which all heads are visible. The heads that are no longer
    needed are popped in the same cycle.

    Subclasses define ``join``, the comparison, and ``ends_alone``. They override ``accepts_empty`` if an N
    among coordinates is no error. ``update`` calls ``join`` with the keys of all heads in ``keys``
    (``fiberscope.hw.streams.heads``), all of them ``NOTHING`` in the first call with Q2.

    Quirks: Q2: the heads to compare are in registers, which are loaded when the heads are popped. A
    comparison waits until all next heads are visible too, except that done leaves without them. The first
    heads take one cycle to load. Q11: stops that differ are dropped one by one; without it they are an
    error.

    Args:
        ways: number of operands, at least 2.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if there are fewer than 2 operands.
        SimulationError: during the run, if the streams do not fit each other; the message names the cycle
            and the heads.
    """

    in_crd: list[Channel]
    in_ref: list[Channel]
    out_crd: OutputStream

    def __init__(self, name: str, ways: int = 2, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        if ways < 2:
            raise ValueError(f"{name}: a joiner has at least 2 operands, not {ways}")
        self.ways = ways
        self.looks_ahead = bool(quirks & Q2)
        self.keys = array("q", [NOTHING] * ways)  # keys of the heads to compare, by operand
        self.kinds = array("q", [DATA] * ways)  # kinds of the tokens with their references
        self.references = array("q", bytes(8 * ways))
        self.ports = self.own_ports()
        self.out_refs: list[OutputStream] = []

    def own_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports for this number of operands."""
        references = (output_stream(f"out_ref{operand}", REF) for operand in range(self.ways))
        inputs = (Input("in_crd", CRD, array=True), Input("in_ref", REF, array=True))
        return (*inputs, output_stream("out_crd", CRD), *references)

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports, whose number depends on the number of operands."""
        return self.ports

    def elaborate(self) -> None:
        """Look up the streams of the ports.

        Raises:
            SimulationError: if ``in_crd`` or ``in_ref`` does not have one channel for each operand.
        """
        super().elaborate()
        for channels, port in ((self.in_crd, "in_crd"), (self.in_ref, "in_ref")):
            if len(channels) != self.ways:
                raise SimulationError(f"{self.name} has {self.ways} operands, but {len(channels)} {port}")
        # The first stream is ``out_crd``. A subclass can declare further outputs after the references.
        self.out_refs = self.streams[1 : 1 + self.ways]

    def update(self, now: int) -> int:
        """Compare the heads, if all are visible."""
        missing = self._missing()
        if missing is not None:
            # No further heads follow done, so that with Q2 done cannot wait for the next heads.
            if self.looks_ahead and self.ends_alone():
                return self.send_done(now)
            return self.wait_input(missing)
        # With Q2, ``advance`` loaded the heads when it popped the heads before them.
        if not self.looks_ahead:
            for operand in range(self.ways):
                self._load_head(operand, now)
        return self.join(now)

    def join(self, now: int) -> int:
        """Make one comparison.

        The subclass sends the tokens that result, and calls ``advance`` for each operand whose head is no
        longer needed.

        Args:
            now: current cycle.

        Returns:
            The state of the block, as for ``StreamBlock.update``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define join")

    def ends_alone(self) -> bool:
        """Return whether done is due by the heads in the registers alone, without the next heads (Q2)."""
        raise NotImplementedError(f"{type(self).__name__} does not define ends_alone")

    def accepts_empty(self) -> bool:
        """Return whether an N may occur among coordinates; if not, it is an error."""
        return False

    def _missing(self) -> Channel | None:
        """Return the first input without a visible head, or None."""
        for operand in range(self.ways):
            crd, ref = inline.channel(self.in_crd[operand]), inline.channel(self.in_ref[operand])
            if not crd.can_pop():
                return crd
            if not ref.can_pop():
                return ref
        return None

    def _load_head(self, operand: int, now: int) -> None:
        """Load the head of this operand as the next one to compare; refuse an N that is not accepted."""
        crd, ref = inline.channel(self.in_crd[operand]), inline.channel(self.in_ref[operand])
        kind, payload = crd.control(), crd.coordinate()
        if kind == DATA:
            self.keys[operand] = payload
        elif kind == STOP:
            self.keys[operand] = STOP_KEY + payload
        elif kind == DONE:
            self.keys[operand] = DONE_KEY
        else:
            self.keys[operand] = EMPTY_KEY
            if not self.accepts_empty():
                self.refuse(now, f"in_crd[{operand}] brings N, which is no coordinate")
        self.kinds[operand] = ref.control()
        self.references[operand] = ref.coordinate()

    def advance(self, operand: int, now: int) -> None:  # C: cdef
        """Pop the head of this operand; with Q2, load it into the registers, to compare it next."""
        if self.looks_ahead:
            self._load_head(operand, now)
        inline.channel(self.in_crd[operand]).pop()
        inline.channel(self.in_ref[operand]).pop()

    def advance_all(self, now: int) -> None:  # C: cdef
        """Pop the heads of all operands."""
        for operand in range(self.ways):
            self.advance(operand, now)

    def highest(self) -> int:  # C: cdef, noexcept
        """Return the largest key of the heads."""
        highest = NOTHING  # C: long
        for operand in range(self.ways):
            highest = max(highest, self.keys[operand])
        return highest

    def lowest(self) -> int:  # C: cdef, noexcept
        """Return the smallest key of the heads."""
        lowest = DONE_KEY  # C: long
        for operand in range(self.ways):
            lowest = min(lowest, self.keys[operand])
        return lowest

    def push_head(self, stream: OutputStream, key: int) -> None:  # C: cdef
        """Send the token of a key.

        Args:
            stream: output to send on.
            key: key of a coordinate, an N, a stop or done, not ``NOTHING``.
        """
        if key < EMPTY_KEY:
            stream.push(DATA, key)
        elif key < STOP_KEY:
            stream.push(EMPTY)
        elif key < DONE_KEY:
            stream.push(STOP, key - STOP_KEY)
        else:
            stream.push(DONE)

    def send_reference(self, operand: int) -> None:  # C: cdef
        """Send this operand's reference unchanged."""
        stream: OutputStream = self.out_refs[operand]
        stream.push(self.kinds[operand], self.references[operand])

    def send_equal(self, key: int) -> None:  # C: cdef
        """Send a head that all operands have, and their references."""
        self.push_head(self.out_crd, key)
        for operand in range(self.ways):
            self.send_reference(operand)

    def send_done(self, now: int) -> int:  # C: cdef
        """Send done on all outputs except skips, and return the state; without Q2, also pop the heads.

        With Q2, done was popped when it was loaded into the registers.
        """
        self.send_control(DONE, 0)
        if not self.looks_ahead:
            self.advance_all(now)
        return self.finish(now)

    def check_stops(self, lowest: int, now: int) -> None:  # C: cdef
        """Raise an error if all heads are stops or done; with Q11, return instead.

        Args:
            lowest: smallest key of the heads, which must differ.
            now: current cycle.
        """
        if lowest >= STOP_KEY and not self.quirks & Q11:
            self.refuse(now, "the operands' fibers end at different levels")

    def refuse(self, now: int, fault: str) -> NoReturn:
        """Raise an error about the heads that are compared.

        Args:
            now: the current cycle.
            fault: what is wrong with the heads.

        Raises:
            SimulationError: always.
        """
        heads = ", ".join(
            f"{self.key_text(key)} on in_crd[{operand}]" for operand, key in enumerate(self.keys)
        )
        raise SimulationError(f"cycle {now}, {self.name}: {fault} ({heads})")

    def key_text(self, key: int) -> str:
        """Return the token of a key as text."""
        if key < EMPTY_KEY:
            return "nothing" if key == NOTHING else f"{key}"
        if key < STOP_KEY:
            return "N"
        return f"S{key - STOP_KEY}" if key < DONE_KEY else "D"
