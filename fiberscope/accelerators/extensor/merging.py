# cython: infer_types=True
"""Merges sorted lists of elements by key."""

from __future__ import annotations

import numpy as np

from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.workloads.canonical import Integers, Values

__all__ = ["count_in_blocks", "merge_elements"]


def merge_elements(
    old_keys: Integers, old: Values, keys: Integers, values: Values, value_type: ValueType = DOUBLE
) -> tuple[Integers, Values]:
    """Merge two lists of elements; return the keys, each once, and the values, added up for equal keys.

    Args:
        old_keys, keys: keys of the two lists, strictly increasing, 64 bits wide.
        old, values: values of ``old_keys`` and of ``keys``.
        value_type: type in which values are added.

    Returns:
        Two new arrays: the keys in increasing order, and their values.
    """
    count = len(old_keys) + len(keys) - _common(old_keys, keys)
    merged_keys, sums = np.empty(count, np.int64), np.empty(count)
    _merge(old_keys, old, keys, values, merged_keys, sums, value_type)
    return merged_keys, sums


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
    merged_keys: Integers,  # C: merged_keys=long[::1]
    sums: Values,  # C: sums=double[::1]
    value_type: ValueType,
) -> None:
    """Merge into arrays of the exact length; at equal keys, add the new value to the old one."""
    i = j = 0
    for index in range(len(merged_keys)):
        # At equal keys, ``is_old`` is true, so that only one of the two branches has to compare again.
        is_old = j == len(keys) or (i < len(old_keys) and old_keys[i] <= keys[j])
        if is_old and j < len(keys) and old_keys[i] == keys[j]:
            merged_keys[index], sums[index] = keys[j], value_type.add(old[i], values[j])
            i += 1
            j += 1
        elif is_old:
            merged_keys[index], sums[index] = old_keys[i], old[i]
            i += 1
        else:
            merged_keys[index], sums[index] = keys[j], values[j]
            j += 1


def count_in_blocks(  # C: cpdef
    old_keys: Integers,  # C: old_keys=long[::1]
    blocks: Integers,  # C: blocks=long[::1]
    size: int,
) -> int:
    """Return the number of keys that lie in one of the given blocks.

    Args:
        old_keys: keys, increasing.
        blocks: numbers of the blocks, strictly increasing; block b has the keys from b * ``size`` on.
        size: keys of a block.
    """
    count = index = 0
    for block in range(len(blocks)):
        first = blocks[block] * size
        # Skip the keys between two blocks, then count those in the block: each key is passed once.
        while index < len(old_keys) and old_keys[index] < first:
            index += 1
        while index < len(old_keys) and old_keys[index] < first + size:
            index += 1
            count += 1
    return count
