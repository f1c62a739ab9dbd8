# cython: infer_types=True
"""Counter of the operations of pairs of tiles, without a simulation of cycles."""

from __future__ import annotations

from fiberscope.accelerators.extensor.operand import TiledOperand
from fiberscope.hw.fibers.intersection import NO_FIBERS, FiberIntersection
from fiberscope.hw.fibers.masks import FiberMasks

NO_STEP_LIMIT = 1 << 62  # more steps than an intersection can take


class PairCounter:  # C: final
    """A counter of the multiplications and intersection steps of dispatcher and cores for pairs of tiles.

    The counts add up over all calls of ``count``.

    Args:
        a, b: the operands.
        microtile_side: side of a microtile, in coordinates.
        skips_ahead: whether intersections skip ahead (ExTensor) instead of advancing by one element.

    Attributes:
        microtile_products: products of microtiles counted so far.
        multiplications: multiplications of elements counted so far.
    """

    def __init__(self, a: TiledOperand, b: TiledOperand, microtile_side: int, *, skips_ahead: bool) -> None:
        self.a, self.b = a, b
        # Masks are used only if both operands have them; an operand has none if lists are faster.
        operand_masks = [operand.masks(microtile_side) if skips_ahead else NO_FIBERS for operand in (a, b)]
        self.masks = FiberMasks(*operand_masks)
        self.uses_masks = all(map(len, operand_masks))
        self.k1_intersection = FiberIntersection(a.microtile_k, b.microtile_k, skip=skips_ahead)
        self.k0_intersection = FiberIntersection(
            a.element_k, b.element_k, a.values, b.values, b.fiber_elements, skip=skips_ahead
        )
        self.microtile_products = 0
        self.multiplications = 0

    def k1_steps(self) -> int:
        """Return the steps of the intersections over rank K1 so far."""
        return self.k1_intersection.steps

    def k0_steps(self) -> int:
        """Return the steps of the intersections over rank K0 so far."""
        return self.k0_intersection.steps + self.masks.steps

    def count(self, tile_a: int, tile_b: int) -> None:
        """Count the operations of a pair of tiles, given by the number of the tile of each operand."""
        for row_a in range(self.a.tile_rows[tile_a], self.a.tile_rows[tile_a + 1]):
            for row_b in range(self.b.tile_rows[tile_b], self.b.tile_rows[tile_b + 1]):
                self._count_rows(row_a, row_b)

    def _count_rows(self, row_a: int, row_b: int) -> None:
        """Intersect a row of microtiles of A (M1) with a row of microtiles of B (N1) over K1."""
        intersection = self.k1_intersection
        intersection.begin(
            self.a.row_microtiles[row_a],
            self.a.row_microtiles[row_a + 1],
            self.b.row_microtiles[row_b],
            self.b.row_microtiles[row_b + 1],
        )
        while intersection.advance(NO_STEP_LIMIT):
            self._count_product(intersection.a, intersection.b)

    def _count_product(self, a: int, b: int) -> None:
        """Count the product of two microtiles: intersect all fibers of A with all fibers of B over K0."""
        first_b, end_b = self.b.microtile_fibers[b], self.b.microtile_fibers[b + 1]
        self.microtile_products += 1
        for fiber in range(self.a.microtile_fibers[a], self.a.microtile_fibers[a + 1]):
            if self.uses_masks:
                self._count_masked(fiber, first_b, end_b)
            else:
                self._count_fibers(fiber, first_b, end_b)

    def _count_fibers(self, fiber: int, fiber_b: int, end_b: int) -> None:
        """Intersect a fiber of A with the fibers ``fiber_b`` to ``end_b`` - 1 of B."""
        intersection = self.k0_intersection  # C: FiberIntersection
        start, end = self.a.fiber_elements[fiber], self.a.fiber_elements[fiber + 1]
        # ``find_match`` ends at the next fiber of B that has a match, and counts the steps of those before.
        fiber_b = intersection.find_match(start, end, fiber_b, end_b)
        while fiber_b < end_b:
            self.multiplications += intersection.matches
            fiber_b = intersection.find_match(start, end, fiber_b + 1, end_b)

    def _count_masked(self, fiber: int, fiber_b: int, end_b: int) -> None:
        """Count as ``_count_fibers`` does, but intersect only pairs of fibers with a common coordinate.

        ``masks`` counts the steps of the other pairs.
        """
        intersection, masks = self.k0_intersection, self.masks
        start, end = self.a.fiber_elements[fiber], self.a.fiber_elements[fiber + 1]
        fiber_b = masks.next_met(fiber, fiber_b, end_b)
        while fiber_b < end_b:
            # The masks have counted the steps of the fibers without a match; this fiber has one.
            intersection.find_match(start, end, fiber_b, fiber_b + 1)
            self.multiplications += intersection.matches
            fiber_b = masks.next_met(fiber, fiber_b + 1, end_b)
