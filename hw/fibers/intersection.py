# cython: infer_types=True
"""Intersection of two fibers whose coordinates lie in arrays, counted in steps; a part of a component."""

from __future__ import annotations

NO_VALUES = memoryview(bytearray()).cast("d")
NO_FIBERS = memoryview(bytearray()).cast("q")


class FiberIntersection:  # C: final
    """Two increasing lists of coordinates and their heads.

    A step finds the heads equal, or moves the one behind: to the first coordinate not below the other's where
    it skips (ExTensor), else by one (two fingers). The intersection ends with the shorter list. Where a
    component may take a step a cycle, it asks for one; one that works fibers out at once, where they
    ``meet``.

    ``a`` and ``b`` are the heads' positions, ``met`` says whether they were found equal, ``steps`` is all
    those made.

    Source: ExTensor (MICRO 2019): skip-ahead; it is ``fiberscope.hw.fibers.intersect.SkipAheadIntersector``
    with windows that hold the fibers, and ``TwoFingerIntersector``, without their channels.

    Args:
        coordinates_a, coordinates_b: all coordinates of the operands, fiber behind fiber.
        values_a, values_b: of these coordinates; only ``meet`` needs them.
        fibers_b: where each fiber of B begins, and the last one ends; the same.
        skip: whether the head behind skips.
    """

    def __init__(
        self,
        coordinates_a: memoryview[int],
        coordinates_b: memoryview[int],
        values_a: memoryview[float] = NO_VALUES,
        values_b: memoryview[float] = NO_VALUES,
        fibers_b: memoryview[int] = NO_FIBERS,
        *,
        skip: bool = True,
    ) -> None:
        self.coordinates_a = coordinates_a  # C: long[::1]
        self.coordinates_b = coordinates_b  # C: long[::1]
        self.values_a = values_a  # C: double[::1]
        self.values_b = values_b  # C: double[::1]
        self.fibers_b = fibers_b  # C: long[::1]
        self.skip = skip
        self.a = self.end_a = 0
        self.b = self.end_b = 0
        self.met = False
        self.steps = 0
        self.matches = 0  # of the two fibers worked out last, and the sum of their products
        self.total = 0.0

    def begin(self, a: int, end_a: int, b: int, end_b: int) -> None:  # C: noexcept
        """Turn to the fibers that lie from ``a`` to ``end_a`` and from ``b`` to ``end_b``."""
        self.a, self.end_a = a, end_a
        self.b, self.end_b = b, end_b
        self.met = False

    def ended(self) -> bool:  # C: noexcept
        """Whether one of the fibers has come to its end."""
        return self.a == self.end_a or self.b == self.end_b

    def run(self, most: int) -> bool:  # C: noexcept
        """Make up to so many steps, from behind heads that met; ends where they meet again and says so."""
        if self.met:
            self.take()
        steps = 0
        while not self.met and steps < most and self.a < self.end_a and self.b < self.end_b:
            steps += 1
            head_a, head_b = self.coordinates_a[self.a], self.coordinates_b[self.b]
            if head_a == head_b:
                self.met = True
            elif head_a < head_b:
                self.a = self._next_a(self.a, self.end_a, head_b)
            else:
                self.b = self._next_b(self.b, self.end_b, head_a)
        self.steps += steps
        return self.met

    def meet(self, a: int, end_a: int, fiber: int, last: int) -> int:  # C: noexcept
        """Work a fiber of A out with fibers of B in turn, up to the first that meets it, in all steps.

        As ``begin`` and ``run`` until the end, without what a component needs that looks in between.

        Args:
            a, end_a: where the fiber of A lies.
            fiber, last: numbers of the first fiber of B, and of the one behind the last.

        Returns:
            The fiber that meets A's, in ``matches`` of products that add up to ``total``; ``last`` if none.
        """
        total = 0.0
        matches = steps = 0
        while fiber < last:
            head, b, end_b = a, self.fibers_b[fiber], self.fibers_b[fiber + 1]
            while head < end_a and b < end_b:
                steps += 1
                head_a, head_b = self.coordinates_a[head], self.coordinates_b[b]
                if head_a == head_b:
                    total += self.values_a[head] * self.values_b[b]
                    matches += 1
                    head += 1
                    b += 1
                elif head_a < head_b:
                    head = self._next_a(head, end_a, head_b)
                else:
                    b = self._next_b(b, end_b, head_a)
            if matches > 0:
                break
            fiber += 1
        self.total, self.matches = total, matches
        self.steps += steps
        return fiber

    def _next_a(self, head: int, end: int, other: int) -> int:  # C: noexcept, inline
        """Where A's head moves, which is behind the other."""
        head += 1
        while self.skip and head < end and self.coordinates_a[head] < other:
            head += 1
        return head

    def _next_b(self, head: int, end: int, other: int) -> int:  # C: noexcept, inline
        """Where B's head moves, which is behind the other."""
        head += 1
        while self.skip and head < end and self.coordinates_b[head] < other:
            head += 1
        return head

    def take(self) -> None:  # C: noexcept
        """Go on behind two heads that met, without a step."""
        self.a += 1
        self.b += 1
        self.met = False
