# cython: infer_types=True
"""The intersection of two streams of bit-vector words."""

from __future__ import annotations

from typing import NoReturn

from fiberscope.hw.streams import bits
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import BV, DATA, DONE, REF, format_token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError


class WordIntersect(StreamBlock):
    """Intersects two streams of words, bit by bit.

    Interface: operand i sends words on ``in_bv[i]``, and with each word, on ``in_ref[i]``, the reference of
    its lowest set bit. The reference of a bit is that reference plus the number of set bits below the bit.
    A word of the common bits leaves on ``out_bv``, unless it is 0. For each common bit, the references of the
    two operands leave on ``out_ref0`` and ``out_ref1``. An operand whose fiber has ended counts as 0 until
    the fiber of the other operand ends. The block does not check the kinds of the tokens on ``in_ref``.

    Timing: a pair of words takes a cycle, in which the references of the first common bit leave. Each further
    common bit takes another cycle. A stop and done take a cycle each.

    Counts: ``words``, the number of pairs; ``matches``, the number of common bits.

    Source: SAM (ASPLOS 2023), Section 4.3; the public simulator (weiya711/sam at 6e477d1), which has no union
    of words.

    Args:
        emit_zeros: whether words of 0 are sent as well.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: when built, if there are not two operands; during the run, if the streams do not
            match, or a word has more than 64 bits; then the message has the cycle and both tokens.
    """

    PORTS = (
        Input("in_bv", BV, array=True),
        Input("in_ref", REF, array=True),
        output_stream("out_bv", BV),
        output_stream("out_ref0", REF),
        output_stream("out_ref1", REF),
    )
    COUNTERS = ("words", "matches")

    in_bv: list[Channel]
    in_ref: list[Channel]
    out_bv: OutputStream
    out_ref0: OutputStream
    out_ref1: OutputStream

    def __init__(self, name: str, emit_zeros: bool = False, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.emits_zeros = emit_zeros
        self.remaining_bits = 0  # C: object; the word joined, without the bits whose references have left
        self.word_a = self.word_b = 0  # C: word_a=object, word_b=object
        self.reference_a = self.reference_b = 0
        self.words = 0
        self.matches = 0

    def elaborate(self) -> None:
        """Fetch the streams.

        Raises:
            SimulationError: if there are not two operands.
        """
        super().elaborate()
        for channels, port in ((self.in_bv, "in_bv"), (self.in_ref, "in_ref")):
            if len(channels) != 2:
                raise SimulationError(f"{self.name} has 2 operands, but {len(channels)} {port}")
        self.bv_a, self.bv_b = self.in_bv
        self.ref_a, self.ref_b = self.in_ref

    def update(self, now: int) -> int:
        """Send the references of the next common bit, or take the next pair of words or stops."""
        if self.remaining_bits:
            self._send_references()
            return self.busy(now + 1)
        for channel in (*self.in_bv, *self.in_ref):  # C: Channel
            if not channel.can_pop():
                return self.wait_input(channel)
        kind_a, kind_b = self.bv_a.control(), self.bv_b.control()
        # If only one operand has a word, the fiber of the other has ended: its stop stays at the head.
        if DATA in (kind_a, kind_b):
            self._join(kind_a, kind_b, now)
            return self.busy(now + 1)
        # The coordinate word of done is 0 on both sides.
        level = self.bv_a.coordinate()
        if kind_a != kind_b or level != self.bv_b.coordinate():
            self.refuse(now, "do not fit each other")
        self.send_control(kind_a, level)
        self._take_a()
        self._take_b()
        return self.finish(now) if kind_a == DONE else self.busy(now + 1)

    def _join(self, kind_a: int, kind_b: int, now: int) -> None:
        """Intersect the next words; an operand whose fiber has ended keeps its stop and counts as 0."""
        # The value word of a token is the number of further parts of its word, which must be 0.
        if DONE in (kind_a, kind_b) or self.bv_a.value() or self.bv_b.value():
            self.refuse(now, f"do not fit each other, or a word has more than {bits.PART} bits")
        self.word_a = self.word_b = 0
        if kind_a == DATA:
            self.word_a, self.reference_a = bits.from_payload(self.bv_a.coordinate()), self.ref_a.coordinate()
            self._take_a()
        if kind_b == DATA:
            self.word_b, self.reference_b = bits.from_payload(self.bv_b.coordinate()), self.ref_b.coordinate()
            self._take_b()
        self.remaining_bits = self.word_a & self.word_b
        self.words += 1
        if self.remaining_bits or self.emits_zeros:
            self.out_bv.push(DATA, bits.payload(self.remaining_bits))
        if self.remaining_bits:
            self._send_references()

    def _take_a(self) -> None:
        self.bv_a.pop()
        self.ref_a.pop()

    def _take_b(self) -> None:
        self.bv_b.pop()
        self.ref_b.pop()

    def _send_references(self) -> None:
        """Send the references of the lowest common bit that is left."""
        bit = bits.lowest(self.remaining_bits)
        # Clear the lowest set bit.
        self.remaining_bits &= self.remaining_bits - 1
        self.matches += 1
        self.out_ref0.push(DATA, self.reference_a + bits.rank(self.word_a, bit))
        self.out_ref1.push(DATA, self.reference_b + bits.rank(self.word_b, bit))

    def refuse(self, now: int, fault: str) -> NoReturn:
        """Raise an error about the heads of the two operands, which do not match.

        Args:
            now: current cycle.
            fault: end of the message.

        Raises:
            SimulationError: always.
        """
        heads = [format_token(bv.control(), bv.coordinate(), 0.0, BV) for bv in self.in_bv]
        raise SimulationError(
            f"cycle {now}, {self.name}: {heads[0]} on in_bv[0] and {heads[1]} on in_bv[1] {fault}"
        )
