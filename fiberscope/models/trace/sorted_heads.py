# cython: infer_types=True
"""Steps of mergers: mergers that take an element a step, and mergers that keep a sorted list of heads."""

from __future__ import annotations

import numpy as np

from fiberscope.workloads.canonical import Integers

NOTHING: Integers = np.zeros(1, np.int64)


def merge_steps(
    segments: Integers, starts: Integers, radix: int | None, summed: Integers | None = None
) -> int:
    """Return the steps of mergers that take an element a step, and one further step a list.

    Lists are merged ``radix`` at a time, in rounds, until one list remains. Equal coordinates stay separate
    elements, unless they are summed.

    Args:
        segments: merge i reads the lists ``segments[i]`` to ``segments[i + 1]``.
        starts: the first element of each list, and the end of the last list.
        radix: lists merged at a time; None for all.
        summed: coordinates of the elements, if elements with equal coordinates are summed in each round.
    """
    elements, steps = np.diff(starts), 0
    while (lists := np.diff(segments)).max(initial=0) > 1:
        several = np.repeat(lists > 1, lists)
        steps += int(several.sum() + elements[several].sum())
        width = radix or int(lists.max())
        places = np.arange(len(elements)) - np.repeat(segments[:-1], lists)
        segments = np.insert(np.cumsum(-(-lists // width)), 0, 0)
        merged = np.repeat(segments[:-1], lists) + places // width
        if summed is not None:
            merged, summed = _distinct(np.repeat(merged, elements), summed)
        weights = elements if summed is None else None
        elements = np.bincount(merged, weights, segments[len(lists)]).astype(np.int64)
    return steps


def _distinct(lists: Integers, coordinates: Integers) -> tuple[Integers, Integers]:
    """Return the distinct elements by list and coordinate, in order."""
    width = coordinates.max(initial=0) + 1
    keys = np.unique(lists * width + coordinates)
    return keys // width, keys % width


def sort_steps(
    segments: Integers, starts: Integers, coordinates: Integers, radix: int | None, *, sums: bool = False
) -> int:
    """Return the steps of mergers that keep the heads of their lists sorted, in rounds as in ``merge_steps``.

    The insertion of an element into the sorted heads takes a step, and a step for each head that leaves
    before the element. Of equal coordinates, the later list's leaves first.

    Args:
        segments, starts, radix: as in ``merge_steps``.
        coordinates: of the elements.
        sums: whether elements with equal coordinates are summed in each round.
    """
    heads = SortedHeads(radix or int(np.diff(segments).max(initial=1)), sums=sums)
    columns = (np.ascontiguousarray(column, np.int64) for column in (segments, starts, coordinates))
    heads.sort_all(*columns)
    return heads.steps


class SortedHeads:  # C: final
    """A merger with a sorted list of the heads of its lists.

    Attributes: ``steps``: of all insertions.

    Args:
        radix: lists merged at a time, at least 2.
        sums: whether elements with equal coordinates are summed in each round.
    """

    def __init__(self, radix: int, *, sums: bool = False) -> None:
        self.radix, self.sums = radix, sums
        self.steps = self.out = 0
        self.head_count = 0
        self.keys = NOTHING  # C: long[::1]; of the heads in descending order, so that the last leaves first
        self.coordinates = self.merged = self.bounds = self.places = (
            NOTHING  # C: bounds=long[::1], places=long[::1], merged=long[::1], coordinates=long[::1]
        )

    def sort_all(
        self, segments: Integers, starts: Integers, coordinates: Integers
    ) -> None:  # C: segments=long[::1], starts=long[::1], coordinates=long[::1]
        """Sort the lists of each merge; see ``sort_steps``."""
        self._allocate(segments, starts)
        for merge in range(len(segments) - 1):
            first, last = segments[merge], segments[merge + 1]  # C: last=long, first=long
            if last - first > 1:
                self._load(first, last, starts, coordinates)
                self._sort(last - first)

    def _allocate(
        self, segments: Integers, starts: Integers
    ) -> None:  # C: segments=long[::1], starts=long[::1]
        largest = int(np.diff(np.asarray(starts)[np.asarray(segments)]).max(initial=1))
        lists = int(np.diff(segments).max(initial=1))
        self.coordinates, self.merged = np.empty(largest, np.int64), np.empty(largest, np.int64)
        self.bounds, self.places = np.empty(lists + 1, np.int64), np.empty(lists, np.int64)
        self.keys = np.empty(lists, np.int64)

    def _load(
        self, first: int, last: int, starts: Integers, coordinates: Integers
    ) -> None:  # C: starts=long[::1], coordinates=long[::1]
        base = starts[first]  # C: long
        for place in range(last - first + 1):
            self.bounds[place] = starts[first + place] - base
        for place in range(starts[last] - base):
            self.coordinates[place] = coordinates[base + place]

    def _sort(self, lists: int) -> None:
        """Merge groups of lists in rounds until one list remains."""
        while lists > 1:
            radix = min(self.radix, lists)
            groups = (lists + radix - 1) // radix
            self.out = 0
            for group in range(groups):
                first, last, begin = group * radix, min((group + 1) * radix, lists), self.out
                self._merge(first, last)
                self.bounds[group] = begin
            self.bounds[groups] = self.out
            lists = groups
            self.coordinates, self.merged = self.merged, self.coordinates

    def _merge(self, first: int, last: int) -> None:
        """Merge one group of lists."""
        width = last - first
        for place in range(width):
            self.places[place] = self.bounds[first + place]
            self._push(first, width, place)
        begin = self.out
        while self.head_count:
            self.head_count -= 1
            key = self.keys[self.head_count]  # C: long
            coordinate = key // width  # C: long
            if not self.sums or self.out == begin or self.merged[self.out - 1] != coordinate:
                self.merged[self.out] = coordinate
                self.out += 1
            self._push(first, width, width - 1 - key % width)

    def _push(self, first: int, width: int, place: int) -> None:  # C: noexcept
        """Insert the next element of a list, if there is one, into the sorted heads."""
        if self.places[place] == self.bounds[first + place + 1]:
            return
        key = self.coordinates[self.places[place]] * width + width - 1 - place  # C: long
        self.places[place] += 1
        slot = self.head_count  # C: long
        while slot > 0 and self.keys[slot - 1] < key:
            self.keys[slot] = self.keys[slot - 1]
            slot -= 1
        self.keys[slot] = key
        self.steps += 1 + self.head_count - slot
        self.head_count += 1
