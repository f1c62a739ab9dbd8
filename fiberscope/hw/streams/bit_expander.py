# cython: infer_types=True
"""The way back from words of bits to coordinates: a bit a cycle."""

from __future__ import annotations

from fiberscope.hw.streams import bits
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN
from fiberscope.hw.streams.tokens import BV, CRD, DATA, DONE, REF, written_head
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError


class BitExpander(StreamBlock):
    """Turns the words of a fiber into its coordinates and references, as a compressed scanner sends them.

    Interface: words on ``in_bv``, low bits of a fiber first, words of 0 too, as ``BitVectorScanner`` sends
    them; on ``in_ref``, in the same shape, the reference of the first one of each. For each bit leave its
    coordinate on ``out_crd``, 64 a word, and on ``out_ref`` the reference plus the ones below it. Where
    ``in_ref`` is not connected, as behind a ``WordIntersect``, references count on from 0. Stops pass.

    Timing: a word takes a cycle, in which its first bit leaves; each further bit takes one more. Stops and
    done take a cycle each.

    Counts: ``words``.

    Source: the loop header of Capstan (Rucker et al., MICRO 2021), which makes an index and addresses of
    words, in SAM's streams (ASPLOS 2023, Section 4.3), whose converter is the way there, ``BitVector``.

    Args:
        name: instance name.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: in the run, if the two streams differ in shape.
    """

    PORTS = (
        Input("in_bv", BV),
        Input("in_ref", REF, optional=True),
        output_stream("out_crd", CRD),
        output_stream("out_ref", REF),
    )
    COUNTERS = ("words",)

    in_bv: Channel
    in_ref: Channel | None
    out_crd: OutputStream
    out_ref: OutputStream

    def __init__(self, name: str, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.left = 0  # C: object; bits of the word that have not left
        self.first = -bits.PART  # C: long; coordinate of its lowest bit; in front of a fiber a word before
        self.reference = 0  # of the next one that leaves
        self.words = 0

    def update(self, now: int) -> int:
        """Send a bit, or take what is next."""
        if not self.left:
            if not self.in_bv.can_pop():
                return self.wait_input(self.in_bv)
            if self.in_ref is not None and not self.in_ref.can_pop():
                return self.wait_input(self.in_ref)
            kind = self._take(now)
            if kind == DONE:
                return self.finish(now)
        if self.left:
            self._send_bit()
        return self.busy(now + 1)

    def _take(self, now: int) -> int:
        """Take a word, or pass on what is none; gives its kind."""
        kind, payload = self.in_bv.control(), self.in_bv.coordinate()
        if self.in_ref is not None:
            self._take_reference(kind, payload, now)
        self.in_bv.pop()
        if kind == DATA:
            self.left = bits.from_payload(payload)
            self.first += bits.PART
            self.words += 1
        else:
            self.send_control(kind, payload)
            self.first = -bits.PART
        return kind

    def _take_reference(self, kind: int, payload: int, now: int) -> None:
        source = self.in_ref
        assert source is not None
        if source.control() != kind or (kind != DATA and source.coordinate() != payload):
            word, reference = written_head(self.in_bv, BV), written_head(source, REF)
            raise SimulationError(
                f"cycle {now}, {self.name}: {word} on in_bv and {reference} on in_ref do not fit each other"
            )
        self.reference = source.coordinate()
        source.pop()

    def _send_bit(self) -> None:
        """Send the lowest bit that is left."""
        self.out_crd.push(DATA, self.first + bits.lowest(self.left))
        self.out_ref.push(DATA, self.reference)
        self.left &= self.left - 1
        self.reference += 1
