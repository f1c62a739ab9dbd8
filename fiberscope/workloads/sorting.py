"""Sorting of many points by their coordinates, and lookup of points, on whole arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fiberscope.workloads.canonical import Integers

INTEGER_LIMIT = 1 << 62  # limit of keys and sizes, so that 64-bit integers do not overflow
INTEGER_BITS = 63  # bits of an integer without its sign


def lexical_order(columns: Sequence[Integers], sizes: Sequence[int]) -> Integers | None:
    """Return the stable order that sorts points; None only if the points are sorted.

    Sorted points get an order too if the shape has more than ``INTEGER_LIMIT`` positions.

    Args:
        columns: coordinates of every point by rank, the most significant rank first.
        sizes: exclusive upper bound of the coordinates of each rank.
    """
    # Adjacent ranks share a key while the product of their sizes is at most INTEGER_LIMIT.
    keys: list[Integers] = []
    size = INTEGER_LIMIT + 1  # so that the first rank begins a key
    for extent, column in zip(sizes, columns, strict=True):
        if size * max(1, extent) > INTEGER_LIMIT:
            keys.append(column)
            size = max(1, extent)
        else:
            keys[-1] = keys[-1] * extent  # a new array: the first is the caller's column
            keys[-1] += column  # in place: there can be millions of points
            size *= max(1, extent)
    if not keys or (len(keys) == 1 and _is_sorted(keys[0])):
        return None
    # ``lexsort`` takes the most significant key last
    return np.lexsort(keys[::-1]) if len(keys) > 1 else _sort_positions(keys[0], size)


def _sort_positions(keys: Integers, size: int) -> Integers:
    """Return the stable ``argsort`` of numbers below ``size``.

    Each number is sorted together with its position as one integer, which numpy does several times faster. If
    both need more than 63 bits, the lowest bits of the numbers are sorted in a second pass.
    """
    position_bits = max(1, len(keys) - 1).bit_length()
    dropped_bits = max(0, (size - 1).bit_length() + position_bits - INTEGER_BITS)
    order = keys >> dropped_bits
    order <<= position_bits
    order |= np.arange(len(keys))
    order.sort()
    order &= (1 << position_bits) - 1
    if dropped_bits == 0 or _is_sorted(partly_sorted := keys.take(order)):
        return order
    return order[np.argsort(partly_sorted, kind="stable")]


def _is_sorted(keys: Integers) -> bool:
    return bool(np.all(keys[1:] >= keys[:-1]))


def rows_in(points: Integers, table: Integers) -> Integers:
    """Return the position of each point in a list of points; -1 for a point that is not in the list.

    Args:
        points: one point in each row; its coordinates are at least 0.
        table: the list, one point in each row, distinct and in lexical order.
    """
    keys = _row_keys(np.concatenate([table, points]))
    sorted_keys, point_keys = keys[: len(table)], keys[len(table) :]
    if len(sorted_keys) == 0:
        return np.full(len(point_keys), -1)
    # a point after the last row of the list is compared with this row, and differs
    positions = np.minimum(np.searchsorted(sorted_keys, point_keys), len(sorted_keys) - 1)
    return np.where(sorted_keys[positions] == point_keys, positions, -1)


def _row_keys(rows: Integers) -> Integers:
    """Return one number for each row; the numbers have the same order and equality as the rows."""
    keys, size = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        extent = int(column.max(initial=0)) + 1
        if size * extent <= INTEGER_LIMIT:
            keys = keys * extent + column
        else:
            # The columns so far, and this column, have at most as many distinct numbers as there are rows.
            # The new keys therefore fit 64 bits up to 2^31 rows.
            (keys, size), (numbers, extent) = _compact(keys), _compact(column)
            keys = keys * extent + numbers
        size *= extent
    return keys


def _compact(keys: Integers) -> tuple[Integers, int]:
    """Return each number's position among the distinct numbers, and the number of distinct numbers."""
    distinct, positions = np.unique(keys, return_inverse=True)
    return positions, len(distinct)
