# cython: infer_types=True
"""Operations of pairs of tiles, counted without cycles."""

from __future__ import annotations

from fiberscope.accelerators.extensor.operand import TiledOperand
from fiberscope.hw.fibers.intersection import NO_FIBERS, FiberIntersection
from fiberscope.hw.fibers.masks import FiberMasks

ALL = 1 << 62  # steps


class PairCounter:  # C: final
    """Counts the operations of pairs of tiles as the dispatcher and the cores make them.

    ``products`` are microtile products and ``multiply`` multiplications so far.

    Args:
        a, b: the operands.
        microtile: coordinates of a microtile.
        skip: whether the head behind skips in intersections.
    """

    def __init__(self, a: TiledOperand, b: TiledOperand, microtile: int, *, skip: bool) -> None:
        self.a, self.b = a, b
        masks = [operand.masks(microtile) if skip else NO_FIBERS for operand in (a, b)]
        self.masks = FiberMasks(*masks)
        self.masked = all(map(len, masks))
        self.lists = FiberIntersection(a.microtile_k, b.microtile_k, skip=skip)
        self.fibers = FiberIntersection(
            a.element_k, b.element_k, a.values, b.values, b.fiber_elements, skip=skip
        )
        self.products = 0
        self.multiply = 0

    def steps_of_lists(self) -> int:
        """Steps of the intersections of K1 so far."""
        return self.lists.steps

    def steps_of_fibers(self) -> int:
        """Steps of the intersections of K0 so far."""
        return self.fibers.steps + self.masks.steps

    def count(self, tile_a: int, tile_b: int) -> None:
        """Count the operations of a pair of tiles."""
        for row in range(self.a.tile_rows[tile_a], self.a.tile_rows[tile_a + 1]):
            for column in range(self.b.tile_rows[tile_b], self.b.tile_rows[tile_b + 1]):
                self._count_rows(row, column)

    def _count_rows(self, row: int, column: int) -> None:
        """Intersect a row of microtiles of A with one of B."""
        both = self.lists
        both.begin(
            self.a.row_microtiles[row],
            self.a.row_microtiles[row + 1],
            self.b.row_microtiles[column],
            self.b.row_microtiles[column + 1],
        )
        while both.run(ALL):
            self._count_product(both.a, both.b)

    def _count_product(self, a: int, b: int) -> None:
        """Intersect the fibers of two microtiles."""
        first, last = self.b.microtile_fibers[b], self.b.microtile_fibers[b + 1]
        self.products += 1
        for fiber in range(self.a.microtile_fibers[a], self.a.microtile_fibers[a + 1]):
            if self.masked:
                self._count_masked(fiber, first, last)
            else:
                self._count_fibers(fiber, first, last)

    def _count_fibers(self, fiber: int, other: int, last: int) -> None:
        """Intersect a fiber of A with some of B."""
        both = self.fibers  # C: FiberIntersection
        first, end = self.a.fiber_elements[fiber], self.a.fiber_elements[fiber + 1]
        other = both.meet(first, end, other, last)
        while other < last:
            self.multiply += both.matches
            other = both.meet(first, end, other + 1, last)

    def _count_masked(self, fiber: int, other: int, last: int) -> None:
        """The same, with masks that say which fibers meet."""
        both, masks = self.fibers, self.masks
        first, end = self.a.fiber_elements[fiber], self.a.fiber_elements[fiber + 1]
        other = masks.next_met(fiber, other, last)
        while other < last:
            both.meet(first, end, other, other + 1)
            self.multiply += both.matches
            other = masks.next_met(fiber, other + 1, last)
