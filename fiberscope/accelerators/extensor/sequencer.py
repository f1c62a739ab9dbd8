"""Walks the tiles in memory, N2, K2, M2, and intersects their K2 coordinates."""

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
    """Gives the pairs of tiles that meet, one a cycle.

    Interface: pairs go out on ``pairs``. For each N2 of B, the K2 coordinates of A and of B's fiber are
    intersected; where they meet, every M2 of A's fiber makes a pair.

    Timing: one step of the intersection a cycle: the heads are equal, or the one behind skips to the first
    coordinate not below the other. One pair a cycle.

    Args:
        name: instance name.
        a, b: trees of the operands, from ``tiled_a`` and ``tiled_b``.
        skip: whether the head behind skips; else it goes on by one.
        pairs: to be given without any step of the intersection; None for those that meet.
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
        self.pair: tuple[int, int] | None = None  # found, and not yet sent
        self.ended = False
        self.intersect_k2 = 0
        self.given = 0  # pairs

    def tick(self, now: int) -> int:
        """Send the pair at hand, or make one step."""
        if self.pair is not None:
            if not self.pairs.can_push():
                return self.wait_output(self.pairs)
            self.pairs.push(0, *self.pair)
            self.given += 1
        elif self.ended:
            return self.idle()
        self._advance()
        return self.busy(now + 1)

    def _advance(self) -> None:
        """Find the next pair; a step of the intersection that finds none takes a cycle of its own."""
        self.pair = None
        for pair in self.walk:
            if pair is None:
                self.intersect_k2 += 1
            else:
                self.pair = pair
            return
        self.ended = True

    def counters(self) -> dict[str, int]:
        """Steps of the intersection of K2, and pairs given."""
        return {**super().counters(), "pairs": self.given}


def walk(a: FiberTree, b: FiberTree, *, skip: bool = True) -> Iterator[tuple[int, int] | None]:
    """Yield None after each step of the intersection, or the pairs of tiles that a step meets."""
    fibers_of_a, fibers_of_b = a.segments[TILES].tolist(), b.segments[TILES].tolist()
    both = FiberIntersection(integers_of(a.coordinates[0]), integers_of(b.coordinates[TILES]), skip=skip)
    for n2 in range(len(b.coordinates[0])):
        both.begin(0, len(a.coordinates[0]), fibers_of_b[n2], fibers_of_b[n2 + 1])
        while not both.ended():
            met = both.run(1)
            yield None
            if met:
                tiles_of_a = range(fibers_of_a[both.a], fibers_of_a[both.a + 1])
                yield from ((tile, both.b) for tile in tiles_of_a)
                both.take()


def pairs_of(a: FiberTree, b: FiberTree) -> list[tuple[int, int]]:
    """The pairs of tiles that meet, in the sequencer's order."""
    return [pair for pair in walk(a, b) if pair is not None]
