"""Intersection of two fibers that are bitmaps: a word of each a cycle, all matches in it at once."""

from __future__ import annotations

from fiberscope.hw.stream import DATA, EMPTY, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output
from fiberscope.sim.errors import SimulationError

WIDTHS = (2, 4, 8, 16, 32)  # bits of a word, and lanes


class BitmapIntersector(Component):
    """ANDs two bitmaps word by word, and says where their nonzeros lie.

    Interface: a fiber comes in on ``a`` and on ``b`` as the words of its bitmap, each a coordinate of
    ``width`` bits, the first coordinate lowest, and a stop. A row leaves on ``matches_a`` and on
    ``matches_b`` for each pair of words. Lane n has, where bit n is set in both, an element: the coordinate,
    and as reference the position of its value among the nonzeros of that fiber, which is the number of ones
    before it. The other lanes are ``EMPTY``. Behind a fiber a row of stops leaves.

    Timing: a pair of words a cycle; its row leaves in the cycle in which both show, when all lanes of both
    outputs have space. The stop takes a cycle of its own.

    Accounting: busy while a row moves; waiting for the side that is missing where the other shows or a fiber
    is under way; waiting for the first lane without space.

    Source: SparTen (MICRO 2019) ANDs bit masks and finds positions by prefix sums of their ones. That all
    matches of a word leave at once is a choice of this model.

    Args:
        name: instance name.
        width: bits of a word, one of ``WIDTHS``.

    Raises:
        ValueError: for another width.
        SimulationError: when built, unless each output has as many lanes; in the run, if a word has more
            bits, or the two fibers of a pair are not of as many words.
    """

    PORTS = (
        Input("a", STREAM),
        Input("b", STREAM),
        Output("matches_a", STREAM, array=True),
        Output("matches_b", STREAM, array=True),
    )

    a: Channel
    b: Channel
    matches_a: list[Channel]
    matches_b: list[Channel]

    def __init__(self, name: str, width: int = 16) -> None:
        if width not in WIDTHS:
            raise ValueError(f"{name}: width must be one of {', '.join(map(str, WIDTHS))}, not {width}")
        super().__init__(name)
        self.width = width
        self.first = 0  # coordinate of the next word's lowest bit
        self.positions = [0, 0]  # ones before it, by side
        self.words = self.matches = self.fibers = 0

    def elaborate(self) -> None:
        """Check the lanes."""
        super().elaborate()
        for port in ("matches_a", "matches_b"):
            found = len(self.channels(port))
            if found != self.width:
                raise SimulationError(f"{self.name}: connect {self.width} {port}, one a lane, not {found}")

    def tick(self, now: int) -> int:
        """Move a row, if both sides show a word and all lanes have space."""
        sides = self.a, self.b
        missing = [side for side in sides if not side.can_pop()]
        if missing:
            return self.wait_input(missing[0]) if len(missing) == 1 or self.first else self.idle()
        for lane in (*self.matches_a, *self.matches_b):
            if not lane.can_push():
                return self.wait_output(lane)
        if self.a.control() != self.b.control():
            raise SimulationError(
                f"{self.name}: one fiber ends at coordinate {self.first}, the other goes on"
            )
        if self.a.control() == STOP:
            self._stop()
        else:
            self._send([self._word(side) for side in sides])
        for side in sides:
            side.pop()
        return self.busy(now + 1)

    def _word(self, side: Channel) -> int:
        word = side.coordinate()
        if not 0 <= word < 1 << self.width:
            raise SimulationError(f"{self.name}: {word} is no word of {self.width} bits")
        return word

    def _stop(self) -> None:
        for lane in (*self.matches_a, *self.matches_b):
            lane.push(STOP)
        self.first, self.positions = 0, [0, 0]
        self.fibers += 1

    def _send(self, words: list[int]) -> None:
        both = words[0] & words[1]
        for side, lanes in enumerate((self.matches_a, self.matches_b)):
            for bit, lane in enumerate(lanes):
                if both >> bit & 1:
                    before = (words[side] & (1 << bit) - 1).bit_count()
                    lane.push(DATA, self.first + bit, self.positions[side] + before)
                else:
                    lane.push(EMPTY)
            self.positions[side] += words[side].bit_count()
        self.first += self.width
        self.words += 1
        self.matches += both.bit_count()

    def counters(self) -> dict[str, int]:
        """Pairs of words, matches, and pairs of fibers."""
        return {"intersect": self.words, "matches": self.matches, "fibers": self.fibers}
