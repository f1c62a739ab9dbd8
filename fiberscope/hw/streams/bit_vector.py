# cython: infer_types=True
"""The scanner of a level whose fibers are words of bits, and of two such levels as a bit tree."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from fiberscope.hw.streams.fiber_states import IN_FIBER, OWES_STOP
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN, Q10
from fiberscope.hw.streams.scanner import Scanner
from fiberscope.hw.streams.tokens import BV, DATA, REF, STOP, word
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError


class BitVectorScanner(Scanner):
    """Scans the fibers of a bit-vector level, of which each is one word, or as many as its coordinates need.

    Interface: a reference on ``in_ref`` names a fiber. Its words leave on ``out_bv``, low bits first, also
    those of 0, and with each on ``out_ref`` the number of ones in all words before it, which is the reference
    of its first one; then a stop.

    Timing: a cycle for each word, and one for the stop, which is as that of ``Scanner``.

    Quirks: Q10, a stop where a reference is due passes unchanged.

    A bit tree is two of these, one behind the other.

    Source: the public simulator's bit-vector scanner (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
        words: of the level, fiber by fiber, each up to 64 bits, unsigned.
        quirks: see ``StreamBlock``.
        per_fiber: words of a fiber.

    Raises:
        ValueError: if a word has more bits, or the last fiber fewer words.
        SimulationError: in the run, if a reference names no fiber.
    """

    PORTS = (Input("in_ref", REF), output_stream("out_bv", BV), output_stream("out_ref", REF))

    out_bv: OutputStream

    def __init__(self, name: str, words: Sequence[int], quirks: int = CLEAN, per_fiber: int = 1) -> None:
        super().__init__(name, quirks)
        if per_fiber < 1 or len(words) % per_fiber:
            raise ValueError(f"{name}: {len(words)} words are no fibers of {per_fiber}")
        self.words = array("q", [word(bits) for bits in words])
        ones = accumulate((int(bits).bit_count() for bits in words), initial=0)
        self.ones = array("q", ones)  # in all words before each
        self.per_fiber = per_fiber
        self.fibers = len(self.words) // per_fiber
        self.position = 0  # of the word sent last
        self.last = 0  # of the fiber in flight

    def begin(self, reference: int, now: int) -> int:
        """Send the fiber's first word."""
        if reference < 0 or reference >= self.fibers:
            raise SimulationError(
                f"{self.name}: reference {reference} names no fiber; the level has {self.fibers}, from 0 on"
            )
        self.last = (reference + 1) * self.per_fiber - 1
        return self._send_word(reference * self.per_fiber, now)

    def advance(self, now: int) -> int:
        """Send the next word."""
        return self._send_word(self.position + 1, now)

    def _send_word(self, position: int, now: int) -> int:
        """Send the word at this position, and behind the last owe the stop."""
        self.position = position
        self.send(DATA, self.words[position], self.ones[position])
        self.mode = OWES_STOP if position == self.last else IN_FIBER
        return self.busy(now + 1)

    def send(self, kind: int, coordinate: int, reference: int) -> None:
        """Send one token; the coordinate is the word."""
        self.out_bv.push(kind, coordinate)
        self.out_ref.push(kind, reference)

    def take_stop(self, level: int, now: int) -> int:
        """A stop has been taken where a reference is due."""
        if not self.quirks & Q10:
            return Scanner.take_stop(self, level, now)
        self.send(STOP, level, level)
        return self.busy(now + 1)

    def take_empty(self, now: int) -> int:
        """An N has been taken: only a stop is sent."""
        return self.end_empty_fiber(now)
