# cython: infer_types=True
"""Words of bits: a fiber as a bit vector, and a bit vector in chunks."""

from __future__ import annotations

from fiberscope.hw.streams import bits
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN, Q20
from fiberscope.hw.streams.tokens import BV, CRD, DATA, DONE, REF
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input


class BitVector(StreamBlock):
    """Makes of each fiber of coordinates a word in which their bits are set.

    Interface: coordinates on ``in_crd``; words leave on ``out_bv``, none for an empty fiber. A word of more
    than 64 bits leaves as several tokens, low bits first; the value word of each says how many are to come.

    Timing: a coordinate takes a cycle. At the end of a fiber the word leaves, then, in the cycle behind it,
    the stop. The parts of a long word leave in the same cycle; where a channel is bounded, one a cycle.

    Source: SAM (ASPLOS 2023), Definition 4.2; the public simulator (weiya711/sam at 6e477d1), whose words are
    of any width.

    Args:
        name: instance name.
        quirks: see ``StreamBlock``.
    """

    PORTS = (Input("in_crd", CRD), output_stream("out_bv", BV))

    in_crd: Channel
    out_bv: OutputStream

    def __init__(self, name: str, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.word = 0  # C: object; its parts that have not left

    def update(self, now: int) -> int:
        """Take a coordinate, or send the word or what is behind it."""
        source = self.in_crd
        if not source.can_pop():
            return self.wait_input(source)
        kind = source.control()
        if kind == DATA:
            self.word = bits.with_bit(self.word, source.coordinate())
            source.pop()
        elif self.word:
            self._send_word()
        else:
            self.out_bv.push(kind, source.coordinate())
            source.pop()
            if kind == DONE:
                return self.finish(now)
        return self.busy(now + 1)

    def _send_word(self) -> None:
        """Send the word, or where a channel is bounded the lowest part of it."""
        while self.word:
            self.out_bv.push_part(bits.payload(self.word), bits.parts(self.word) - 1)
            self.word >>= bits.PART
            if self.bounded:
                break


class Chunker(StreamBlock):
    """Cuts words into chunks.

    Interface: words on ``in_bv``, of any number of parts, see ``BitVector``; of each leave all chunks, low
    bits first, on ``out_bv``, and with each on ``out_ref`` the ones of its word before it. Stops pass.

    Timing: a chunk a cycle, the first in the cycle in which the word, or the last part of it, is seen.

    Quirks: Q20, chunks are counted through all words: when those of one word have left, each later word gives
    one chunk.

    Source: the public simulator (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
        width: bits of a chunk, 1 to 64.
        size: bits of a word.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if a number is out of its range.
    """

    PORTS = (Input("in_bv", BV), output_stream("out_bv", BV), output_stream("out_ref", REF))

    in_bv: Channel
    out_bv: OutputStream
    out_ref: OutputStream

    def __init__(self, name: str, width: int, size: int, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        if not 1 <= width <= bits.PART:
            raise ValueError(f"{name}: a chunk has 1 to {bits.PART} bits, not {width}")
        if size < 1:
            raise ValueError(f"{name}: a word has at least one bit, not {size}")
        self.width = width
        self.chunks = -(-size // width)
        self.word = 0  # C: object
        self.parts = 0  # of the word that have come
        self.sending = False
        self.place = 0  # of the next chunk in the word
        self.ones = 0  # of the word before it
        self.count = 0  # chunks so far: of the word, or with the quirk of all words

    def update(self, now: int) -> int:
        """Send a chunk, or take what is next."""
        source = self.in_bv
        if not self.sending:
            if not source.can_pop():
                return self.wait_input(source)
            kind = source.control()
            if kind != DATA:
                self.send_control(kind, source.coordinate())
                source.pop()
                return self.finish(now) if kind == DONE else self.busy(now + 1)
            self._take_parts()
        if self.sending:
            self._send_chunk()
        return self.busy(now + 1)

    def _take_parts(self) -> None:
        """Take a part of a word, or where no channel is bounded all that are seen."""
        source = self.in_bv
        while not self.sending and source.can_pop():
            self.word += bits.from_payload(source.coordinate(), self.parts)
            self.parts += 1
            self.sending = source.value() == 0.0
            source.pop()
            if source.bounded:
                break
        if self.sending:
            self.place = self.ones = 0
            if not self.quirks & Q20:
                self.count = 0

    def _send_chunk(self) -> None:
        chunk = bits.chunk(self.word, self.width, self.place)
        self.out_bv.push(DATA, bits.payload(chunk))
        self.out_ref.push(DATA, self.ones)
        self.ones += bits.ones(chunk)
        self.place += 1
        self.count += 1
        self.sending = self.count < self.chunks
        if not self.sending:
            self.word = self.parts = 0
