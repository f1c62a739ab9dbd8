# cython: infer_types=True
"""Shared state of the two ends of a merger: the lists of tasks, and partial fibers."""

from __future__ import annotations

from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.sim.protocol import Protocol

# Where the fiber of a merge goes: into an area of the store of partial fibers, or on as points; done at last.
MERGE = Protocol("merge", control="end", coordinate="area")
PARTIAL = Protocol("partial fiber", control="kind")  # one is whole in the store
AREAS = 2  # of the store: one is read while the other is written
POINTS = 2  # instead of an area: the fiber is the task's last
SUM = -1  # instead of the list that an element is of: it is a sum of products, of several


class Lists:  # C: final
    """Shared state of the two ends of a merger: the lists of tasks, and partial fibers.

    Hardware needs places for ``most_lists``, of so many tasks as there may be, each like the longest one, and
    ``most_partial`` elements of partial fibers in each area.

    Args:
        carried: references that come with each list.
    """

    def __init__(self, carried: int) -> None:
        self.most_lists = self.most_partial = 0
        self.coordinates = Growing()  # of the rank above the fibers, a list each, task by task
        self.firsts = Growing()  # the first list of each task, if its lists count from 0
        self.carried = [Growing() for _ in range(carried)]
        self.elements = [Growing() for _ in range(AREAS)]  # coordinates of partial fibers,
        self.sources = [Growing() for _ in range(AREAS)]  # the lists that they are of,
        self.values = [Growing() for _ in range(AREAS)]  # values,
        self.ends = [Growing() for _ in range(AREAS)]  # and where each fiber ends

    def store(self, area: int, coordinate: int, source: int, value: float) -> None:
        """Put an element behind the last of an area."""
        elements: Growing = self.elements[area]
        sources: Growing = self.sources[area]
        values: Growing = self.values[area]
        elements.append(coordinate)
        sources.append(source)
        values.append_value(value)

    def end(self, area: int) -> None:
        """End the fiber whose elements were put there last."""
        elements: Growing = self.elements[area]
        ends: Growing = self.ends[area]
        ends.append(elements.count)

    def clear(self, area: int) -> None:
        """Forget the partial fibers of an area."""
        for part in (self.elements, self.sources, self.values, self.ends):
            growing: Growing = part[area]
            growing.clear()
