# cython: infer_types=True
"""Intersection of two fibers whose coordinates lie in arrays, counted in steps; a part of a component."""

from __future__ import annotations

NO_VALUES = memoryview(bytearray()).cast("d")
TO_THE_MATCH = 1 << 62  # steps: as many as it takes


class FiberIntersection:  # C: final
    """Two increasing lists of coordinates and their heads.

    A step finds the heads equal, or moves the one behind: to the first coordinate not below the other's where
    it skips (ExTensor), else by one (two fingers). The intersection ends with the shorter list. Where a
    component may take a step a cycle, it asks for one; one that works a fiber out at once, for all.

    ``a`` and ``b`` are the heads' positions, ``met`` says whether they were found equal, ``steps`` is all
    those made.

    Source: ExTensor (MICRO 2019): skip-ahead; it is ``fiberscope.hw.fibers.intersect.SkipAheadIntersector``
    with windows that hold the fibers, and ``TwoFingerIntersector``, without their channels.

    Args:
        coordinates_a, coordinates_b: all coordinates of the operands, fiber behind fiber.
        values_a, values_b: of these coordinates; only ``dot`` needs them.
        skip: whether the head behind skips.
    """

    def __init__(
        self,
        coordinates_a: memoryview[int],
        coordinates_b: memoryview[int],
        values_a: memoryview[float] = NO_VALUES,
        values_b: memoryview[float] = NO_VALUES,
        *,
        skip: bool = True,
    ) -> None:
        self.coordinates_a = coordinates_a  # C: long[::1]
        self.coordinates_b = coordinates_b  # C: long[::1]
        self.values_a = values_a  # C: double[::1]
        self.values_b = values_b  # C: double[::1]
        self.skip = skip
        self.a = self.end_a = 0
        self.b = self.end_b = 0
        self.met = False
        self.steps = 0
        self.matches = 0  # of the two fibers worked out last

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
        a, b = self.a, self.b
        steps = 0
        met = False
        while not met and steps < most and a < self.end_a and b < self.end_b:
            steps += 1
            head_a, head_b = self.coordinates_a[a], self.coordinates_b[b]
            if head_a == head_b:
                met = True
            elif head_a < head_b:
                a += 1
                while self.skip and a < self.end_a and self.coordinates_a[a] < head_b:
                    a += 1
            else:
                b += 1
                while self.skip and b < self.end_b and self.coordinates_b[b] < head_a:
                    b += 1
        self.a, self.b = a, b
        self.met = met
        self.steps += steps
        return met

    def dot(self) -> float:  # C: noexcept
        """Work the fibers out: the sum of the products where they meet, ``matches`` of them."""
        total = 0.0
        self.matches = 0
        while self.run(TO_THE_MATCH):
            total += self.values_a[self.a] * self.values_b[self.b]
            self.matches += 1
        return total

    def take(self) -> None:  # C: noexcept
        """Go on behind two heads that met, without a step."""
        self.a += 1
        self.b += 1
        self.met = False
