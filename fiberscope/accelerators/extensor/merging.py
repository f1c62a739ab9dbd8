# cython: infer_types=True
"""Merges sorted lists of elements by key."""

from __future__ import annotations

import numpy as np

from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.workloads.canonical import Integers, Values

__all__ = ["held_within", "merged"]


def merged(
    held: Integers, old: Values, keys: Integers, values: Values, value_type: ValueType = DOUBLE
) -> tuple[Integers, Values]:
    """Merge two lists of elements; return the keys, each once, and the values, added up for equal keys.

    Args:
        held, keys: keys of the two lists, increasing, 64 bits wide.
        old, values: values of ``held`` and of ``keys``.
        value_type: type in which values are added.
    """
    count = len(held) + len(keys) - _common(held, keys)
    both, sums = np.empty(count, np.int64), np.empty(count)
    _merge(held, old, keys, values, both, sums, value_type)
    return both, sums


def _common(held: Integers, keys: Integers) -> int:  # C: held=long[::1], keys=long[::1], cdef, noexcept
    """Return the number of keys that are in both lists."""
    common = i = 0
    for j in range(len(keys)):
        while i < len(held) and held[i] < keys[j]:
            i += 1
        common += i < len(held) and held[i] == keys[j]
    return common


def _merge(  # C: cdef
    held: Integers,  # C: held=long[::1]
    old: Values,  # C: old=double[::1]
    keys: Integers,  # C: keys=long[::1]
    values: Values,  # C: values=double[::1]
    both: Integers,  # C: both=long[::1]
    sums: Values,  # C: sums=double[::1]
    value_type: ValueType,
) -> None:
    i = j = 0
    for place in range(len(both)):
        from_held = j == len(keys) or (i < len(held) and held[i] <= keys[j])
        if from_held and j < len(keys) and held[i] == keys[j]:
            both[place], sums[place] = keys[j], value_type.add(old[i], values[j])
            i += 1
            j += 1
        elif from_held:
            both[place], sums[place] = held[i], old[i]
            i += 1
        else:
            both[place], sums[place] = keys[j], values[j]
            j += 1


def held_within(  # C: cpdef
    held: Integers,  # C: held=long[::1]
    blocks: Integers,  # C: blocks=long[::1]
    size: int,
) -> int:
    """Return the number of keys that lie in one of the given blocks.

    Args:
        held: keys, increasing.
        blocks: numbers of the blocks, increasing; block b has the keys from b * ``size`` on.
        size: keys of a block.
    """
    count = place = 0
    for block in range(len(blocks)):
        first = blocks[block] * size
        while place < len(held) and held[place] < first:
            place += 1
        while place < len(held) and held[place] < first + size:
            place += 1
            count += 1
    return count
