"""Selective coordinate-space tiling, the part of Gamma's software that splits long rows of A into subrows.

A row of A can select more of B than the FiberCache holds. The next row then finds none of these fibers in
the cache. Tiling partitions the rows of B into tiles and runs such a row of A as one subrow for each tile.
A subrow runs between rows and subrows that select the same part of B. The partial fibers of the subrows are
merged at the end. Short rows are not split, because merging costs more than they would gain.
Source: Gamma (ASPLOS 2021). The paper does not define which rows are split and where. This module splits a
row whose fibers take more bytes than a tile, at the bounds of the tiles.
"""

from __future__ import annotations

import numpy as np

from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.workloads.canonical import Integers


def subrows(
    a: CompressedRows, b: CompressedRows, tile_bytes: int, element_bytes: int
) -> tuple[Integers, Integers]:
    """Split the long rows of A into subrows.

    Args:
        a, b: the operands.
        tile_bytes: bytes of B that make a tile; a tile has the rows of B that begin in these bytes.
        element_bytes: bytes of an element of B.

    Returns:
        The pointers to rows and subrows, one more than their number, and the row of A of each.
    """
    pointers, columns, starts = (np.asarray(part) for part in (a.pointers, a.coordinates, b.pointers))
    rows = np.repeat(np.arange(a.rows), np.diff(pointers))  # row of each nonzero
    fibers = np.diff(starts)[columns] * element_bytes
    is_long = np.bincount(rows, fibers, minlength=a.rows) > tile_bytes
    tiles = starts[columns] * element_bytes // tile_bytes
    inside = is_long[rows[1:]] & (rows[1:] == rows[:-1]) & (tiles[1:] != tiles[:-1])
    cuts = np.flatnonzero(inside) + 1
    pieces = np.sort(np.concatenate([np.arange(a.rows), rows[cuts]]))
    return np.sort(np.concatenate([pointers, cuts])), pieces
