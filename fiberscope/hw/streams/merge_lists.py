# cython: infer_types=True
"""State that the two ends of a merger share: the lists of tasks, and partial fibers."""

from __future__ import annotations

from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.sim.protocol import Protocol

# Destination of the fiber that a merge gives: an area of the store of partial fibers, or ``POINTS``. Done
# follows the last fiber.
MERGE = Protocol("merge", control="end", coordinate="area")
PARTIAL = Protocol("partial fiber", control="kind")  # each token announces a complete fiber in the store
AREAS = 2  # areas of the store: one is read while the other is written
POINTS = 2  # in place of an area: the fiber is the last of its task, and leaves as points
SUM = -1  # in place of an element's list: the element is a sum of products of several lists


class Lists:  # C: final
    """Shared state of the two ends of a merger: the lists of tasks, and partial fibers.

    ``most_lists`` and ``most_partial`` are the sizes that hardware needs. ``most_lists`` is the largest
    number of lists of a task, times the number of tasks that can wait. ``most_partial`` is the largest
    number of elements of partial fibers in an area.

    Args:
        carried: number of references that travel along with each list.
    """

    def __init__(self, carried: int) -> None:
        self.most_lists = self.most_partial = 0
        self.coordinates = Growing()  # coordinate of each list in the rank above, task by task
        self.firsts = Growing()  # first list of each task, if lists are numbered from 0 in each task
        self.carried = [Growing() for _ in range(carried)]
        self.elements = [Growing() for _ in range(AREAS)]  # coordinates of partial fibers, by area
        self.sources = [Growing() for _ in range(AREAS)]  # list of each of these elements, or ``SUM``
        self.values = [Growing() for _ in range(AREAS)]  # values of these elements
        self.ends = [Growing() for _ in range(AREAS)]  # position after the last element of each partial fiber

    def store(self, area: int, coordinate: int, source: int, value: float) -> None:
        """Append an element to an area.

        Args:
            area: number of the area.
            coordinate: coordinate of the element.
            source: list of the element, or ``SUM``.
            value: value of the element.
        """
        elements: Growing = self.elements[area]
        sources: Growing = self.sources[area]
        values: Growing = self.values[area]
        elements.append(coordinate)
        sources.append(source)
        values.append_value(value)

    def end(self, area: int) -> None:
        """End the partial fiber whose elements were appended to this area last."""
        elements: Growing = self.elements[area]
        fiber_ends: Growing = self.ends[area]
        fiber_ends.append(elements.count)

    def clear(self, area: int) -> None:
        """Remove all partial fibers of an area."""
        for stores in (self.elements, self.sources, self.values, self.ends):
            growing: Growing = stores[area]
            growing.clear()
