# cython: infer_types=True
"""A bitmap of the elements that a round of updates touched, with a scan that finds and clears set bits."""

from __future__ import annotations

from array import array

from fiberscope.hw.memory.atomic_update import TOUCHED
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim import raw_words
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

COUNT = Protocol("count", reference="count")
SCAN = Protocol("scan", control="kind")
FOUND = Protocol("found", control="kind", coordinate="bit")

# Kinds of a scan: FIND sends the set bits and clears them; CLEAR clears all bits and sends none.
FIND = 0
CLEAR = 1  # C: object; or drop them all at once

WIDTHS = (32, 64)  # bits of a word, the bits that a scan examines in a cycle
ONE = 1  # C: unsigned long; as wide as a word when compiled, where the literal is not

PHASES = ("collecting", "telling", "waiting", "scanning", "ending")
COLLECTING, TELLING, WAITING, SCANNING, ENDING = range(len(PHASES))


class TouchedBitmap(Component):
    """A bitmap that collects touched elements and then sends the set bits in ascending order.

    Interface: the bitmap works in rounds.

    1. A data token on ``sets[i]`` sets the bit of its coordinate, see ``block``. This step ends when each
       input ``sets[i]`` has received a stop. Later tokens of an input wait for the next round.
    2. The bitmap sends the number of data tokens of the round on ``ready``. Tokens that set the same bit all
       count.
    3. It waits for a token on ``scans``. A scan of the kind ``FIND`` sends all set bits on ``found``, the
       lowest first, and clears each bit that it sends. A scan of the kind ``CLEAR`` clears all bits and sends
       none. Every output of ``found`` receives the same tokens.
    4. The bitmap sends a stop on ``found``, and the next round begins.

    Timing: each input sets one bit a cycle. The count is sent in the cycle after the last stop. The scan
    examines one word a cycle, the first word in the cycle after the token on ``scans``. It sends the lowest
    set bit of the word when all outputs have a free slot. A word without set bits takes one cycle, a word
    with n set bits takes n cycles. The stop is sent after the last word. A scan of the kind ``CLEAR`` clears
    all words at once, and the stop is sent in the cycle after its token.

    Accounting: busy while bits are set or words are examined; waiting for output if ``ready`` or an output of
    ``found`` is full; idle while it waits for tokens on ``sets`` or ``scans``, also within a round.

    Counts: ``set_tokens``, the data tokens received on ``sets``; ``words_done``, the words that scans have
    finished; ``bits_found``, the bits that scans have sent.

    Source: Graphicionado's active lists by destination (MICRO 2016) and GraphDynS's ready-to-update bitmap
    (MICRO 2019). The rounds and the width of the words are choices of this model.

    Args:
        bits: number of bits, at least 1.
        width: bits of a word, 32 or 64.
        block: number of consecutive coordinates that share a bit; coordinate n sets bit ``n // block``.

    Raises:
        ValueError: if ``bits`` or ``block`` is below 1, or ``width`` is neither 32 nor 64.
        SimulationError: during the run, if a coordinate on ``sets`` has no bit.
    """

    PORTS = (
        Input("sets", TOUCHED, array=True),
        Output("ready", COUNT),
        Input("scans", SCAN),
        Output("found", FOUND, array=True),
    )
    COUNTERS = ("set_tokens", "words_done", "bits_found")
    SIGNALS = (Signal("phase", 3, "state", PHASES), Signal("word", 48, "integer"), Signal("set_tokens", 48))

    sets: list[Channel]
    ready: Channel
    scans: Channel
    found: list[Channel]

    def __init__(self, name: str, bits: int, *, width: int = 32, block: int = 1) -> None:
        super().__init__(name)
        if bits < 1 or block < 1:
            raise ValueError(f"{name}: bits and block must be at least 1, not {bits} and {block}")
        if width not in WIDTHS:
            raise ValueError(f"{name}: width must be one of {', '.join(map(str, WIDTHS))}, not {width}")
        self.bits = bits
        self.width = width
        self.block = block
        self.contents = array("Q", bytes(8 * ((bits + width - 1) // width)))
        self.word_count = len(self.contents)
        self.phase = COLLECTING
        self.stopped_writers = 0  # inputs that have received their stop in this round
        self.count = 0  # data tokens of this round
        self.word = 0  # number of the word that the scan examines
        self.scan_cycle = 0  # first cycle in which the scan examines this word
        self.set_tokens = self.words_done = self.bits_found = 0

    def elaborate(self) -> None:
        """Count the inputs and outputs, and allocate a flag for each input that has received its stop."""
        super().elaborate()
        self.writers = len(self.sets)
        self.readers = len(self.found)
        self.has_stopped = array("b", bytes(self.writers))

    def tick(self, now: int) -> int:
        """Advance the current phase by a cycle."""
        if self.phase == COLLECTING:
            return self._collect(now)
        if self.phase == TELLING:
            return self._send_count(now)
        if self.phase == WAITING:
            return self._await_scan(now)
        if now < self.scan_cycle:
            return self.busy(self.scan_cycle)
        if self.phase == SCANNING and not self.contents[self.word]:
            return self._finish_words(now, self._empty_words())
        full_reader = self._first_full()
        if full_reader >= 0:
            return self.wait_output(self.found[full_reader])
        return self._send_lowest_bit(now) if self.phase == SCANNING else self._end_round(now)

    def _collect(self, now: int) -> int:
        """Take a token of each input that has not received its stop in this round."""
        has_received = False
        for writer in range(self.writers):
            source = self.sets[writer]
            if not self.has_stopped[writer] and source.can_pop():
                self._receive(writer, source)
                has_received = True
        if self.stopped_writers == self.writers:
            self.phase = TELLING
        return self.busy(now + 1) if has_received else self.idle()

    def _receive(self, writer: int, source: Channel) -> None:
        """Pop a token of input ``writer``: set the bit of its coordinate, or note the stop of the input."""
        if source.control() == STOP:
            self.has_stopped[writer] = 1
            self.stopped_writers += 1
        else:
            number = source.coordinate()
            bit = number // self.block
            if number < 0 or bit >= self.bits:
                last_coordinate = self.bits * self.block - 1
                raise SimulationError(
                    f"{self.name}: there is no bit for {number}; they are for 0 to {last_coordinate}"
                )
            word = bit // self.width
            self.contents[word] |= ONE << (bit - word * self.width)
            self.count += 1
            self.set_tokens += 1
        source.pop()

    def _send_count(self, now: int) -> int:
        """Send the number of data tokens of the round."""
        if not self.ready.can_push():
            return self.wait_output(self.ready)
        self.ready.push(0, 0, self.count)
        self.phase = WAITING
        return self.busy(now + 1)

    def _await_scan(self, now: int) -> int:
        """Take a scan: clear all words, or examine the first word from the next cycle on."""
        if not self.scans.can_pop():
            return self.idle()
        self.word = 0
        if self.scans.control() == CLEAR:
            self._clear()
            self.phase = ENDING
        else:
            self.phase = SCANNING
        self.scans.pop()
        return self.busy(now + 1)

    def _clear(self) -> None:  # C: noexcept
        """Clear all bits; the hardware does it in one cycle."""
        for word in range(self.word_count):
            self.contents[word] = 0

    def _first_full(self) -> int:  # C: noexcept
        """Return the number of the first output without a free slot, -1 if every output has one."""
        for reader in range(self.readers):
            sink = self.found[reader]
            if not sink.can_push():
                return reader
        return -1

    def _empty_words(self) -> int:  # C: noexcept
        """Return the number of consecutive empty words, the current word (which is empty) included."""
        word = self.word + 1  # C: long
        while word < self.word_count and not self.contents[word]:
            word += 1
        return word - self.word

    def _finish_words(self, now: int, count: int) -> int:  # C: noexcept
        """Finish ``count`` words, one a cycle, and sleep until the word after them is examined."""
        self.word += count
        self.words_done += count
        if self.word == self.word_count:
            self.phase = ENDING
        self.scan_cycle = now + count
        return self.busy(self.scan_cycle)

    def _send_lowest_bit(self, now: int) -> int:
        """Send the lowest set bit of the word and clear it."""
        word_bits = self.contents[self.word]
        self.contents[self.word] = word_bits & (word_bits - 1)
        self._send(DATA, self.word * self.width + raw_words.lowest_bit(word_bits))
        self.bits_found += 1
        return self.busy(now + 1) if word_bits & (word_bits - 1) else self._finish_words(now, 1)

    def _send(self, kind: int, bit: int) -> None:
        """Send a token on all outputs, each of which has a free slot."""
        for reader in range(self.readers):
            sink = self.found[reader]
            sink.push(kind, bit)

    def _end_round(self, now: int) -> int:
        """Send the stop of the round, and begin the next round."""
        self._send(STOP, 0)
        self.phase = COLLECTING
        self.stopped_writers = self.count = 0
        for writer in range(self.writers):
            self.has_stopped[writer] = 0
        return self.busy(now + 1)
