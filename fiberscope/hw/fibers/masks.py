# cython: infer_types=True
"""Bit masks of fibers: find fibers with a common coordinate, and count the steps for those without."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.sim import raw_words

Integers = npt.NDArray[np.int64]
SIDE = 128  # greatest edge length of a microtile whose fibers fit masks of two words
WORD = 64  # bits of a word
MIN_MASKED_ELEMENTS = 2  # least mean number of elements of a fiber with which masks are faster than lists


class FiberMasks:  # C: final
    """The fibers of two operands as masks, for fibers with coordinates within a microtile of up to 128.

    Both fibers of a comparison must lie in the same microtile, as masks do not name it.

    The result and ``steps`` are those of ``FiberIntersection`` with skip-ahead. For two fibers without a
    common coordinate, each step skips the coordinates of one fiber up to the next coordinate of the other.

    Args:
        masks_a, masks_b: two words per fiber, from ``masks_of``.

    ``steps`` is the number of steps so far, for fibers without a common coordinate.
    """

    def __init__(self, masks_a: memoryview[int], masks_b: memoryview[int]) -> None:
        self.masks_a = masks_a  # C: long[::1]
        self.masks_b = masks_b  # C: long[::1]
        self.steps = 0

    def next_met(self, fiber_a: int, fiber: int, last: int) -> int:  # C: noexcept
        """Find the first fiber of B that has a common coordinate with a fiber of A.

        The steps for the fibers of B before it are added to ``steps``.

        Args:
            fiber_a: number of the fiber of A.
            fiber, last: number of the first fiber of B, and the number after the last one.

        Returns:
            The number of the fiber of B, ``last`` if there is none.
        """
        low_a, high_a = self.masks_a[2 * fiber_a], self.masks_a[2 * fiber_a + 1]
        steps = 0
        while fiber < last:
            # Two words, low and high, hold the 128 coordinates of a microtile
            low, high = self.masks_b[2 * fiber], self.masks_b[2 * fiber + 1]
            if low_a & low or high_a & high:
                break
            # A step is a change from one fiber to the other in the merged order of their coordinates
            steps += raw_words.turns(low_a, high_a, low, high)
            fiber += 1
        self.steps += steps
        return fiber


def masks_of(
    segments: Integers, coordinates: Integers, microtile: int, words: int = 2, width: int = WORD
) -> memoryview[int]:
    """Return the masks of fibers, ``words`` words each; bit i is set if the fiber has coordinate i.

    Coordinates count from the start of their microtile. A fiber has elements of one microtile only.

    Args:
        segments: index of the first element of each fiber, then the number of elements; no fiber is empty,
            which is not checked.
        coordinates: coordinates of all fibers, one fiber after another.
        microtile: edge length of a microtile in coordinates, at most ``words`` * ``width``; coordinates above
            this limit are left out of the masks.
        words: words of a mask.
        width: bits of a word, at most 64.
    """
    fibers = len(segments) - 1
    word, bit = np.divmod(coordinates % microtile, width)
    bits = np.left_shift(np.uint64(1), bit.astype(np.uint64))
    parts = [np.where(word == number, bits, np.uint64(0)) for number in range(words)]
    # For an empty fiber, ``reduceat`` would return the first element of the next fiber
    masks = [np.bitwise_or.reduceat(part, segments[:fibers]) for part in parts]
    return integers_of(np.stack(masks, axis=1).view(np.int64).ravel())


def worth_masks(segments: Integers, microtile: int) -> bool:
    """Return whether masks are possible and faster than lists for the fibers of an operand.

    Args:
        segments: index of the first element of each fiber, then the number of elements.
        microtile: edge length of a microtile in coordinates.
    """
    fibers = len(segments) - 1
    return microtile <= SIDE and int(segments[fibers]) >= MIN_MASKED_ELEMENTS * fibers
