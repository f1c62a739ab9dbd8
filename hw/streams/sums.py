"""Sums by coordinate, read out in the order of the coordinates."""

from __future__ import annotations

from bisect import bisect_right, insort


class Sums:
    """A fiber that is accumulated: a sum for each coordinate, and how many values went into it.

    The sorted memory of an accumulator. It takes as many coordinates as come; hardware has a limit.
    """

    def __init__(self) -> None:
        self.order: list[int] = []  # the coordinates, sorted
        self.sums: dict[int, float] = {}
        self.hits: dict[int, int] = {}

    def add(self, coordinate: int, value: float) -> int:
        """Add to the sum of a coordinate; how many values that has had now."""
        hits = self.hits.get(coordinate, 0)
        if hits == 0:
            insort(self.order, coordinate)
            self.sums[coordinate] = value
        else:
            self.sums[coordinate] += value
        self.hits[coordinate] = hits + 1
        return hits + 1

    def next(self, last: int) -> int:
        """The smallest coordinate behind this one; there must be one."""
        return self.order[bisect_right(self.order, last)]

    def ends_with(self, coordinate: int) -> bool:
        """Whether this is the largest coordinate."""
        return self.order[len(self.order) - 1] == coordinate
