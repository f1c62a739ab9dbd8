# cython: infer_types=True
"""Fibers as masks of their coordinates: which of two operands' meet, and the steps of those that do not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.sim import raw_words

Integers = npt.NDArray[np.int64]
SIDE = 128  # coordinates that a mask has, in two words
WORD = 64
WORTH = 2  # elements of a mean fiber from which on masks take less time than lists


class FiberMasks:  # C: final
    """The fibers of two operands whose coordinates lie within a microtile of up to 128.

    It says what ``FiberIntersection`` would, of fibers that skip ahead: of two without a common coordinate
    each step leaps over those of one up to the next of the other.

    Args:
        masks_a, masks_b: two words a fiber, from ``masks_of``.
    """

    def __init__(self, masks_a: memoryview[int], masks_b: memoryview[int]) -> None:
        self.masks_a = masks_a  # C: long[::1]
        self.masks_b = masks_b  # C: long[::1]
        self.steps = 0

    def next_met(self, fiber_a: int, fiber: int, last: int) -> int:  # C: noexcept
        """The first fiber of B from ``fiber`` on that meets one of A, or ``last``; counts what is between."""
        low_a, high_a = self.masks_a[2 * fiber_a], self.masks_a[2 * fiber_a + 1]
        steps = 0
        while fiber < last:
            low, high = self.masks_b[2 * fiber], self.masks_b[2 * fiber + 1]
            if low_a & low or high_a & high:
                break
            steps += raw_words.turns(low_a, high_a, low, high)
            fiber += 1
        self.steps += steps
        return fiber


def masks_of(
    segments: Integers, coordinates: Integers, microtile: int, words: int = 2, width: int = WORD
) -> memoryview[int]:
    """The words of each fiber's mask: which of a microtile's coordinates it has.

    Args:
        segments: where each fiber begins, and the last one ends; none is empty.
        coordinates: of all of them, fiber behind fiber.
        microtile: coordinates of a microtile.
        words: of a mask, which has at least so many bits.
        width: bits of a word, at most 64.
    """
    fibers = len(segments) - 1
    word, bit = np.divmod(coordinates % microtile, width)
    bits = np.left_shift(np.uint64(1), bit.astype(np.uint64))
    parts = [np.where(word == number, bits, np.uint64(0)) for number in range(words)]
    masks = [np.bitwise_or.reduceat(part, segments[:fibers]) for part in parts]
    return integers_of(np.stack(masks, axis=1).view(np.int64).ravel())


def worth_masks(segments: Integers, microtile: int) -> bool:
    """Return whether masks of an operand's fibers take less time than their lists."""
    fibers = len(segments) - 1
    return microtile <= SIDE and int(segments[fibers]) >= WORTH * fibers
