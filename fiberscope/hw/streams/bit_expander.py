# cython: infer_types=True
"""The bit expander, which turns words of bits into coordinates, one bit per cycle."""

from __future__ import annotations

from fiberscope.hw.streams import bits
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import BV, CRD, DATA, DONE, REF
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input


class BitExpander(StreamBlock):
    """Turns the words of a fiber into its coordinates and references, as a compressed scanner sends them.

    Interface: the words of a fiber arrive on ``in_bv``, the word with the lowest coordinates first, words
    of 0 included, as ``BitVectorScanner`` sends them. Each word covers 64 coordinates. For each word,
    ``in_ref`` carries the reference of its lowest set bit; both streams have the same shape. For each set
    bit, its coordinate leaves on ``out_crd``, and on ``out_ref`` the reference of the word plus the number
    of lower set bits in it. If ``in_ref`` is not connected, as after a ``WordIntersect``, references count
    from 0 over the whole stream. Stops pass. An N passes too, and the next word is taken for the first of a
    fiber.

    Timing: a word takes one cycle, in which its lowest set bit leaves, and one cycle for each further set
    bit. A word of 0 takes one cycle, in which nothing leaves. Stops and done take one cycle each.

    Counts: ``words``.

    Source: the loop header of Capstan (Rucker et al., MICRO 2021), which generates an index and addresses
    from words of bits, here with the streams of SAM (ASPLOS 2023, Section 4.3). SAM's converter,
    ``BitVector``, does the inverse.

    Raises:
        SimulationError: during the run, if the two streams differ in shape.
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

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.remaining_bits = 0  # C: object; bits of the word that have not left
        self.first_coordinate = (
            -bits.PART
        )  # C: long; coordinate of its lowest bit; in front of a fiber a word before
        self.reference = 0  # reference of the next bit to send
        self.words = 0

    def update(self, now: int) -> int:
        """Send a bit of the current word, or pop the next token."""
        if not self.remaining_bits:
            if not self.in_bv.can_pop():
                return self.wait_input(self.in_bv)
            if self.in_ref is not None and not self.in_ref.can_pop():
                return self.wait_input(self.in_ref)
            kind = self._take(now)
            if kind == DONE:
                return self.finish(now)
        if self.remaining_bits:
            self._send_bit()
        return self.busy(now + 1)

    def _take(self, now: int) -> int:
        """Pop a word, or pass on a stop or done; return the kind of the token."""
        kind, payload = self.in_bv.control(), self.in_bv.coordinate()
        if self.in_ref is not None:
            self._take_reference(kind, payload, now)
        self.in_bv.pop()
        if kind == DATA:
            self.remaining_bits = bits.from_payload(payload)
            self.first_coordinate += bits.PART
            self.words += 1
        else:
            self.send_control(kind, payload)
            self.first_coordinate = -bits.PART
        return kind

    def _take_reference(self, kind: int, payload: int, now: int) -> None:
        """Pop the token of ``in_ref`` that belongs to this token of ``in_bv``; check that the two fit."""
        source = self.in_ref
        assert source is not None
        if source.control() != kind or (kind != DATA and source.coordinate() != payload):
            self.refuse_heads([self.in_bv, source], now)
        self.reference = source.coordinate()
        source.pop()

    def _send_bit(self) -> None:
        """Send the lowest set bit that has not been sent."""
        self.out_crd.push(DATA, self.first_coordinate + bits.lowest(self.remaining_bits))
        self.out_ref.push(DATA, self.reference)
        self.remaining_bits &= self.remaining_bits - 1
        self.reference += 1
