# cython: infer_types=True
"""Words of bits: a fiber as a bit vector, and a bit vector in chunks."""

from __future__ import annotations

from fiberscope.hw.streams import bits
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q20
from fiberscope.hw.streams.tokens import BV, CRD, DATA, DONE, REF
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input


class BitVector(StreamBlock):
    """Converts each fiber of coordinates into a word in which the bits of its coordinates are set.

    Interface: coordinates arrive on ``in_crd``. Words leave on ``out_bv``; an empty fiber gives no word. A
    word of more than 64 bits leaves as several tokens, the lowest 64 bits first. The value field of each
    token is the number of tokens of the word that follow.

    Timing: a coordinate takes one cycle. After the last coordinate of a fiber, the word leaves in one
    cycle, and the stop in the next. The tokens of a long word leave in the same cycle, or, if a channel is
    bounded, one per cycle.

    Source: SAM (ASPLOS 2023), Definition 4.2; the public simulator (weiya711/sam at 6e477d1), whose words
    have any width.
    """

    PORTS = (Input("in_crd", CRD), output_stream("out_bv", BV))

    in_crd: Channel
    out_bv: OutputStream

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.word = 0  # C: object; its parts that have not left

    def update(self, now: int) -> int:
        """Pop a coordinate, send the word of a finished fiber, or pass on a stop or done."""
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
        """Send all tokens of the word, or, if a channel is bounded, only the lowest one."""
        while self.word:
            self.out_bv.push_part(bits.payload(self.word), bits.part_count(self.word) - 1)
            self.word >>= bits.PART
            if self.bounded:
                break


class Chunker(StreamBlock):
    """Divides words into chunks of a fixed width.

    Interface: words arrive on ``in_bv``, each in one or more tokens, see ``BitVector``. All chunks of a
    word leave on ``out_bv``, the lowest bits first. With each chunk, ``out_ref`` carries the number of ones
    in the lower chunks of the same word. Stops pass.

    Timing: one chunk per cycle. The first chunk leaves in the cycle in which the last token of the word is
    popped.

    Quirks: Q20: the number of chunks sent is not reset between words. After the first word, each word gives
    only one chunk.

    Source: the public simulator (weiya711/sam at 6e477d1).

    Args:
        width: bits of a chunk, 1 to 64.
        size: bits of a word.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if ``width`` or ``size`` is out of range.
    """

    PORTS = (Input("in_bv", BV), output_stream("out_bv", BV), output_stream("out_ref", REF))

    in_bv: Channel
    out_bv: OutputStream
    out_ref: OutputStream

    def __init__(self, name: str, width: int, size: int, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        if not 1 <= width <= bits.PART:
            raise ValueError(f"{name}: a chunk has 1 to {bits.PART} bits, not {width}")
        if size < 1:
            raise ValueError(f"{name}: a word has at least one bit, not {size}")
        self.width = width
        self.chunks = -(-size // width)
        self.word = 0  # C: object
        self.received_parts = 0  # parts of the current word received so far
        self.sending = False
        self.chunk_number = 0  # number of the next chunk in the word, from the low end
        self.ones = 0  # number of ones in the chunks of the word before the next chunk
        self.count = 0  # chunks sent of the current word; with Q20, of all words

    def update(self, now: int) -> int:
        """Send a chunk of the current word, or pop the next token."""
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
        """Pop one token of a word, or, if the channel is unbounded, all visible tokens of the word."""
        source = self.in_bv
        while not self.sending and source.can_pop():
            self.word += bits.from_payload(source.coordinate(), self.received_parts)
            self.received_parts += 1
            self.sending = source.value() == 0.0
            source.pop()
            if source.bounded:
                break
        if self.sending:
            self.chunk_number = self.ones = 0
            if not self.quirks & Q20:
                self.count = 0

    def _send_chunk(self) -> None:
        """Send the next chunk of the word, with the number of ones below it."""
        chunk = bits.chunk(self.word, self.width, self.chunk_number)
        self.out_bv.push(DATA, bits.payload(chunk))
        self.out_ref.push(DATA, self.ones)
        self.ones += bits.ones(chunk)
        self.chunk_number += 1
        self.count += 1
        self.sending = self.count < self.chunks
        if not self.sending:
            self.word = self.received_parts = 0
