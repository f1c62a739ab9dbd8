# cython: infer_types=True
"""Counts the operations of pairs of tiles without simulating cycles."""

from __future__ import annotations

from fiberscope.accelerators.extensor.operand import TiledOperand
from fiberscope.hw.fibers.intersection import NO_FIBERS, FiberIntersection
from fiberscope.hw.fibers.masks import FiberMasks

NO_STEP_LIMIT = 1 << 62  # more steps than an intersection can take


class PairCounter:  # C: final
    """A counter of the multiplications and intersection steps of dispatcher and cores for pairs of tiles.

    Args:
        a, b: the operands.
        microtile: side of a microtile, in coordinates.
        skip: whether intersections skip ahead (ExTensor) instead of advancing by one element.

    Attributes:
        products: products of microtiles counted so far.
        multiply: multiplications of elements counted so far.
    """

    def __init__(self, a: TiledOperand, b: TiledOperand, microtile: int, *, skip: bool) -> None:
        self.a, self.b = a, b
        # Masks are used only if both operands have them.
        masks = [operand.masks(microtile) if skip else NO_FIBERS for operand in (a, b)]
        self.masks = FiberMasks(*masks)
        self.uses_masks = all(map(len, masks))
        self.lists = FiberIntersection(a.microtile_k, b.microtile_k, skip=skip)
        self.fibers = FiberIntersection(
            a.element_k, b.element_k, a.values, b.values, b.fiber_elements, skip=skip
        )
        self.products = 0
        self.multiply = 0

    def steps_of_lists(self) -> int:
        """Return the steps of the intersections over rank K1 so far."""
        return self.lists.steps

    def steps_of_fibers(self) -> int:
        """Return the steps of the intersections over rank K0 so far."""
        return self.fibers.steps + self.masks.steps

    def count(self, tile_a: int, tile_b: int) -> None:
        """Count the operations of a pair of tiles."""
        for row in range(self.a.tile_rows[tile_a], self.a.tile_rows[tile_a + 1]):
            for column in range(self.b.tile_rows[tile_b], self.b.tile_rows[tile_b + 1]):
                self._count_rows(row, column)

    def _count_rows(self, row: int, column: int) -> None:
        """Intersect a row of microtiles of A with a row of microtiles of B over K1."""
        intersection = self.lists
        intersection.begin(
            self.a.row_microtiles[row],
            self.a.row_microtiles[row + 1],
            self.b.row_microtiles[column],
            self.b.row_microtiles[column + 1],
        )
        while intersection.advance(NO_STEP_LIMIT):
            self._count_product(intersection.a, intersection.b)

    def _count_product(self, a: int, b: int) -> None:
        """Count the product of two microtiles: intersect all fibers of A with all fibers of B over K0."""
        first_b, end_b = self.b.microtile_fibers[b], self.b.microtile_fibers[b + 1]
        self.products += 1
        for fiber in range(self.a.microtile_fibers[a], self.a.microtile_fibers[a + 1]):
            if self.uses_masks:
                self._count_masked(fiber, first_b, end_b)
            else:
                self._count_fibers(fiber, first_b, end_b)

    def _count_fibers(self, fiber: int, fiber_b: int, end_b: int) -> None:
        """Intersect a fiber of A with the fibers ``fiber_b`` to ``end_b`` - 1 of B."""
        intersection = self.fibers  # C: FiberIntersection
        start, end = self.a.fiber_elements[fiber], self.a.fiber_elements[fiber + 1]
        fiber_b = intersection.find_match(start, end, fiber_b, end_b)
        while fiber_b < end_b:
            self.multiply += intersection.matches
            fiber_b = intersection.find_match(start, end, fiber_b + 1, end_b)

    def _count_masked(self, fiber: int, fiber_b: int, end_b: int) -> None:
        """Intersect a fiber of A with fibers of B; masks select the pairs that have a common coordinate."""
        intersection, masks = self.fibers, self.masks
        start, end = self.a.fiber_elements[fiber], self.a.fiber_elements[fiber + 1]
        fiber_b = masks.next_met(fiber, fiber_b, end_b)
        while fiber_b < end_b:
            intersection.find_match(start, end, fiber_b, fiber_b + 1)
            self.multiply += intersection.matches
            fiber_b = masks.next_met(fiber, fiber_b + 1, end_b)
