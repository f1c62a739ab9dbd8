# cython: infer_types=True
"""Merges sorted lists of elements by key."""

from __future__ import annotations

import numpy as np

from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.workloads.canonical import Integers, Values

__all__ = ["held_within", "merged"]


def merged(
    old_keys: Integers, old: Values, keys: Integers, values: Values, value_type: ValueType = DOUBLE
) -> tuple[Integers, Values]:
    """Merge two lists of elements; return the keys, each once, and the values, added up for equal keys.

    Args:
        old_keys, keys: keys of the two lists, increasing, 64 bits wide.
        old, values: values of ``old_keys`` and of ``keys``.
        value_type: type in which values are added.
    """
    count = len(old_keys) + len(keys) - _common(old_keys, keys)
    both, sums = np.empty(count, np.int64), np.empty(count)
    _merge(old_keys, old, keys, values, both, sums, value_type)
    return both, sums


def _common(  # C: cdef, noexcept
    old_keys: Integers,  # C: old_keys=long[::1]
    keys: Integers,  # C: keys=long[::1]
) -> int:
    """Return the number of keys that are in both lists."""
    common = i = 0
    for j in range(len(keys)):
        while i < len(old_keys) and old_keys[i] < keys[j]:
            i += 1
        common += i < len(old_keys) and old_keys[i] == keys[j]
    return common


def _merge(  # C: cdef
    old_keys: Integers,  # C: old_keys=long[::1]
    old: Values,  # C: old=double[::1]
    keys: Integers,  # C: keys=long[::1]
    values: Values,  # C: values=double[::1]
    both: Integers,  # C: both=long[::1]
    sums: Values,  # C: sums=double[::1]
    value_type: ValueType,
) -> None:
    i = j = 0
    for place in range(len(both)):
        takes_old = j == len(keys) or (i < len(old_keys) and old_keys[i] <= keys[j])
        if takes_old and j < len(keys) and old_keys[i] == keys[j]:
            both[place], sums[place] = keys[j], value_type.add(old[i], values[j])
            i += 1
            j += 1
        elif takes_old:
            both[place], sums[place] = old_keys[i], old[i]
            i += 1
        else:
            both[place], sums[place] = keys[j], values[j]
            j += 1


def held_within(  # C: cpdef
    old_keys: Integers,  # C: old_keys=long[::1]
    blocks: Integers,  # C: blocks=long[::1]
    size: int,
) -> int:
    """Return the number of keys that lie in one of the given blocks.

    Args:
        old_keys: keys, increasing.
        blocks: numbers of the blocks, increasing; block b has the keys from b * ``size`` on.
        size: keys of a block.
    """
    count = place = 0
    for block in range(len(blocks)):
        first = blocks[block] * size
        while place < len(old_keys) and old_keys[place] < first:
            place += 1
        while place < len(old_keys) and old_keys[place] < first + size:
            place += 1
            count += 1
    return count
