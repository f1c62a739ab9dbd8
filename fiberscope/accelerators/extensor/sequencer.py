"""Sequencer of ExTensor: walks the tiles in memory (N2, K2, M2) and intersects their K2 coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fiberscope.accelerators.extensor.layout import PAIR
from fiberscope.accelerators.extensor.operand import TILES
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.fibers.intersection import FiberIntersection
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Output, Signal
from fiberscope.workloads.fibertree import FiberTree


class Sequencer(Component):
    """A component that sends the pairs of tiles with a common K2 coordinate, one per cycle.

    Interface: pairs leave on ``pairs``. For each N2 of B, the K2 coordinates of A and of B's fiber are
    intersected. At each common coordinate, every M2 of A's fiber makes a pair with B's tile.

    Timing: one step of the intersection a cycle. In a step, either the heads are equal, or the head with the
    smaller coordinate skips to the first coordinate not below that of the other head. One pair a cycle.

    Args:
        a, b: trees of the operands, from ``tiled_a`` and ``tiled_b``.
        skip: whether the head with the smaller coordinate skips; if not, it advances by one coordinate.
        pairs: pairs to send without any intersection step; None for the pairs that the intersection finds.
    """

    PORTS = (Output("pairs", PAIR),)
    COUNTERS = ("intersect_k2",)  # steps
    SIGNALS = (Signal("intersect_k2", 32), Signal("given", 32))

    pairs: Channel

    def __init__(
        self,
        name: str,
        a: FiberTree,
        b: FiberTree,
        *,
        skip: bool = True,
        pairs: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        super().__init__(name)
        self.walk = walk(a, b, skip=skip) if pairs is None else iter(pairs)
        self.pair: tuple[int, int] | None = None  # pair that was found and is not sent yet
        self.has_ended = False
        self.intersect_k2 = 0
        self.given = 0  # pairs sent

    def tick(self, now: int) -> int:
        """Send the pair that was found, and find the next one or make one step."""
        if self.pair is not None:
            if not self.pairs.can_push():
                return self.wait_output(self.pairs)
            self.pairs.push(0, *self.pair)
            self.given += 1
        elif self.has_ended:
            return self.idle()
        self._advance()
        return self.busy(now + 1)

    def _advance(self) -> None:
        """Find the next pair, or make one step of the intersection that finds no pair."""
        self.pair = None
        for pair in self.walk:
            if pair is None:
                self.intersect_k2 += 1
            else:
                self.pair = pair
            return
        self.has_ended = True

    def counters(self) -> dict[str, int]:
        """Return the intersection steps over K2 and the number of pairs sent."""
        return {**super().counters(), "pairs": self.given}


def walk(a: FiberTree, b: FiberTree, *, skip: bool = True) -> Iterator[tuple[int, int] | None]:
    """Yield None after each step of the intersection, then the pairs of tiles if the step found a match."""
    fibers_of_a, fibers_of_b = a.segments[TILES].tolist(), b.segments[TILES].tolist()
    intersection = FiberIntersection(
        integers_of(a.coordinates[0]), integers_of(b.coordinates[TILES]), skip=skip
    )
    for n2 in range(len(b.coordinates[0])):
        intersection.begin(0, len(a.coordinates[0]), fibers_of_b[n2], fibers_of_b[n2 + 1])
        while not intersection.has_ended():
            has_match = intersection.advance(1)
            yield None
            if has_match:
                tiles_of_a = range(fibers_of_a[intersection.a], fibers_of_a[intersection.a + 1])
                yield from ((tile, intersection.b) for tile in tiles_of_a)
                intersection.pass_match()


def pairs_of(a: FiberTree, b: FiberTree) -> list[tuple[int, int]]:
    """Return the pairs of tiles that have a common K2 coordinate, in the sequencer's order."""
    return [pair for pair in walk(a, b) if pair is not None]
