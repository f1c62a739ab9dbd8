# cython: infer_types=True
"""The scanner of a bit-vector level. Two such scanners in series scan a bit tree."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from fiberscope.hw.streams.fiber_states import IN_FIBER, OWES_STOP
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q10
from fiberscope.hw.streams.scanner import Scanner
from fiberscope.hw.streams.tokens import BV, DATA, REF, STOP, word
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError


class BitVectorScanner(Scanner):
    """Scans the fibers of a bit-vector level. Each fiber is a fixed number of words.

    Interface: a reference on ``in_ref`` names a fiber. The words of the fiber, words of 0 included, leave
    on ``out_bv``, the word with the lowest coordinates first. With each word, ``out_ref`` carries the
    number of ones in all words before it, which is the reference of its lowest set bit. A stop follows the
    last word.

    Timing: one cycle for each word, and one for the stop, as in ``Scanner``.

    Quirks: Q10: a stop in place of a reference passes with its level unchanged. Q5 has no effect.

    Source: the public simulator's bit-vector scanner (weiya711/sam at 6e477d1).

    Args:
        words: the words of the level, fiber by fiber; each is unsigned and has up to 64 bits.
        quirks: see ``StreamBlock``.
        per_fiber: number of words in a fiber.

    Raises:
        ValueError: if a word has more than 64 bits, ``per_fiber`` is below 1, or the last fiber has too few
            words.
        SimulationError: during the run, if a reference names no fiber.
    """

    PORTS = (Input("in_ref", REF), output_stream("out_bv", BV), output_stream("out_ref", REF))

    out_bv: OutputStream

    def __init__(self, name: str, words: Sequence[int], quirks: int = NO_QUIRKS, per_fiber: int = 1) -> None:
        super().__init__(name, quirks)
        if per_fiber < 1 or len(words) % per_fiber:
            raise ValueError(f"{name}: {len(words)} words are no fibers of {per_fiber}")
        self.words = array("q", [word(bits) for bits in words])
        ones = accumulate((int(bits).bit_count() for bits in words), initial=0)
        self.ones = array("q", ones)  # number of ones in all words before each word
        self.per_fiber = per_fiber
        self.fibers = len(self.words) // per_fiber
        self.position = 0  # position of the word that was sent last
        self.last_position = 0  # position of the last word of the current fiber

    def begin(self, reference: int, now: int) -> int:
        """Send the first word of the fiber that the reference names."""
        if reference < 0 or reference >= self.fibers:
            raise SimulationError(
                f"{self.name}: reference {reference} names no fiber; the level has {self.fibers}, from 0 on"
            )
        self.last_position = (reference + 1) * self.per_fiber - 1
        return self._send_word(reference * self.per_fiber, now)

    def advance(self, now: int) -> int:
        """Send the next word of the current fiber."""
        return self._send_word(self.position + 1, now)

    def _send_word(self, position: int, now: int) -> int:
        """Send the word at this position; after the last word of the fiber, its stop is due."""
        self.position = position
        self.send(DATA, self.words[position], self.ones[position])
        self.mode = OWES_STOP if position == self.last_position else IN_FIBER
        return self.busy(now + 1)

    def send(self, kind: int, coordinate: int, reference: int) -> None:
        """Send a token of this kind to both outputs; ``coordinate`` is the word."""
        self.out_bv.push(kind, coordinate)
        self.out_ref.push(kind, reference)

    def take_stop(self, level: int, now: int) -> int:
        """Handle a stop that was popped in place of a reference."""
        if not self.quirks & Q10:
            return Scanner.take_stop(self, level, now)
        self.send(STOP, level, level)
        return self.busy(now + 1)

    def take_empty(self, now: int) -> int:
        """Handle an N that was popped in place of a reference: send only a stop."""
        return self.end_empty_fiber(now)
