"""Rows of A cut into subrows: selective coordinate-space tiling, part of Gamma's software.

A row that selects more of B than the FiberCache keeps finds none of it there when the next row comes. So the
coordinates of B's rows are cut into tiles, and such a row runs as one subrow a tile, between rows and subrows
that select the same part of B; what the subrows make is merged in the end. Short rows stay whole, since
merging costs more than they would gain. Source: Gamma (ASPLOS 2021). The rule for which rows and where is
ours: rows whose fibers take more bytes than a tile, at tiles of that many bytes of B.
"""

from __future__ import annotations

import numpy as np

from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.workloads.canonical import Integers


def subrows(
    a: CompressedRows, b: CompressedRows, tile_bytes: int, element_bytes: int
) -> tuple[Integers, Integers]:
    """Pointers to A's rows and subrows, one more than there are, and for each the row of A that it is of.

    A tile of B is the rows that begin in the same ``tile_bytes`` of its elements.
    """
    pointers, columns, starts = (np.asarray(part) for part in (a.pointers, a.coordinates, b.pointers))
    rows = np.repeat(np.arange(a.rows), np.diff(pointers))  # by nonzero
    fibers = np.diff(starts)[columns] * element_bytes
    is_long = np.bincount(rows, fibers, minlength=a.rows) > tile_bytes
    tiles = starts[columns] * element_bytes // tile_bytes
    inside = is_long[rows[1:]] & (rows[1:] == rows[:-1]) & (tiles[1:] != tiles[:-1])
    cuts = np.flatnonzero(inside) + 1
    pieces = np.sort(np.concatenate([np.arange(a.rows), rows[cuts]]))
    return np.sort(np.concatenate([pointers, cuts])), pieces
