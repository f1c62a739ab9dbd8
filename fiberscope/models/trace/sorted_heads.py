# cython: infer_types=True
"""Steps of mergers: mergers that take an element a step, and mergers that keep a sorted list of heads."""

from __future__ import annotations

import numpy as np

from fiberscope.workloads.canonical import Integers

NOTHING: Integers = np.zeros(1, np.int64)


def merge_steps(
    segments: Integers, starts: Integers, radix: int | None, sum_coordinates: Integers | None = None
) -> int:
    """Return the steps of mergers that take an element a step, and one further step a list, in each round.

    Lists are merged ``radix`` at a time, in rounds, until one list remains. Equal coordinates stay separate
    elements, unless they are summed. A merge of a single list takes no steps. In a round of a larger merge, a
    group of a single list takes the steps of any other list.

    Args:
        segments: merge i reads the lists ``segments[i]`` to ``segments[i + 1]``.
        starts: the first element of each list, and the end of the last list.
        radix: lists merged at a time, at least 2; None for all.
        sum_coordinates: the elements' coordinates, if each round sums elements with equal coordinates.
    """
    elements, steps = np.diff(starts), 0
    while (lists := np.diff(segments)).max(initial=0) > 1:
        is_merged = np.repeat(lists > 1, lists)  # by list: a merge with one list left is done
        steps += int(is_merged.sum() + elements[is_merged].sum())
        width = radix or int(lists.max())
        # the number of each list in its merge; ``width`` lists in a row become one list of the next round
        positions = np.arange(len(elements)) - np.repeat(segments[:-1], lists)
        segments = np.insert(np.cumsum(-(-lists // width)), 0, 0)
        list_numbers = np.repeat(segments[:-1], lists) + positions // width
        if sum_coordinates is not None:
            list_numbers, sum_coordinates = _find_distinct(np.repeat(list_numbers, elements), sum_coordinates)
        # ``_find_distinct`` leaves an entry an element, which counts as 1; else each list has its elements
        weights = elements if sum_coordinates is None else None
        elements = np.bincount(list_numbers, weights, segments[len(lists)]).astype(np.int64)
    return steps


def _find_distinct(lists: Integers, coordinates: Integers) -> tuple[Integers, Integers]:
    """Return the lists and the coordinates of the distinct elements, sorted by list, then by coordinate."""
    width = coordinates.max(initial=0) + 1  # keys sort by list, then by coordinate
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

    Attributes: ``steps``: steps of all insertions, over all calls of ``sort_all``.

    Args:
        radix: lists merged at a time, at least 2.
        sums: whether elements with equal coordinates are summed in each round.
    """

    def __init__(self, radix: int, *, sums: bool = False) -> None:
        self.radix, self.sums = radix, sums
        self.steps = self.count = 0
        self.head_count = 0
        self.keys = NOTHING  # C: long[::1]; of the heads in descending order, so that the last leaves first
        self.coordinates = self.outputs = self.bounds = self.next_elements = (
            NOTHING  # C: bounds=long[::1], next_elements=long[::1], outputs=long[::1], coordinates=long[::1]
        )

    def sort_all(
        self, segments: Integers, starts: Integers, coordinates: Integers
    ) -> None:  # C: segments=long[::1], starts=long[::1], coordinates=long[::1]
        """Sort the lists of each merge, and add the steps to ``steps``; see ``sort_steps``."""
        self._allocate(segments, starts)
        for merge in range(len(segments) - 1):
            first, end = segments[merge], segments[merge + 1]  # C: end=long, first=long
            if end - first > 1:  # a single list is sorted already
                self._load(first, end, starts, coordinates)
                self._sort(end - first)

    def _allocate(
        self, segments: Integers, starts: Integers
    ) -> None:  # C: segments=long[::1], starts=long[::1]
        largest = int(np.diff(np.asarray(starts)[np.asarray(segments)]).max(initial=1))
        lists = int(np.diff(segments).max(initial=1))
        self.coordinates, self.outputs = np.empty(largest, np.int64), np.empty(largest, np.int64)
        self.bounds, self.next_elements = np.empty(lists + 1, np.int64), np.empty(lists, np.int64)
        self.keys = np.empty(lists, np.int64)

    def _load(
        self, first: int, end: int, starts: Integers, coordinates: Integers
    ) -> None:  # C: starts=long[::1], coordinates=long[::1]
        # rounds overwrite bounds and coordinates, so both are copies, counted from the merge's first element
        base = starts[first]  # C: long
        for number in range(end - first + 1):
            self.bounds[number] = starts[first + number] - base
        for number in range(starts[end] - base):
            self.coordinates[number] = coordinates[base + number]

    def _sort(self, lists: int) -> None:
        """Merge groups of lists in rounds until one list remains."""
        while lists > 1:
            radix = min(self.radix, lists)
            groups = (lists + radix - 1) // radix
            self.count = 0
            for group in range(groups):
                first, end, start = group * radix, min((group + 1) * radix, lists), self.count
                self._merge(first, end)
                self.bounds[group] = start  # later groups read bounds from (group + 1) * radix on only
            self.bounds[groups] = self.count
            lists = groups
            # the merged lists are the input of the next round; nothing reads the old input again
            self.coordinates, self.outputs = self.outputs, self.coordinates

    def _merge(self, first: int, end: int) -> None:
        """Merge one group of lists."""
        width = end - first
        for number in range(width):
            self.next_elements[number] = self.bounds[first + number]
            self._push(first, width, number)
        start = self.count  # a sum does not join the last element of the group before
        while self.head_count:
            self.head_count -= 1
            key = self.keys[self.head_count]  # C: long
            coordinate = key // width  # C: long
            if not self.sums or self.count == start or self.outputs[self.count - 1] != coordinate:
                self.outputs[self.count] = coordinate
                self.count += 1
            self._push(first, width, width - 1 - key % width)  # of the list that lost its head

    def _push(self, first: int, width: int, number: int) -> None:  # C: noexcept
        """Insert the next element of a list, if there is one, into the sorted heads."""
        if self.next_elements[number] == self.bounds[first + number + 1]:
            return
        # one number that sorts by coordinate, then by list: later lists have smaller keys and leave first
        key = self.coordinates[self.next_elements[number]] * width + width - 1 - number  # C: long
        self.next_elements[number] += 1
        slot = self.head_count  # C: long
        while slot > 0 and self.keys[slot - 1] < key:
            self.keys[slot] = self.keys[slot - 1]
            slot -= 1
        self.keys[slot] = key
        # one step, and one for each head behind the slot: these heads have smaller keys
        self.steps += 1 + self.head_count - slot
        self.head_count += 1
