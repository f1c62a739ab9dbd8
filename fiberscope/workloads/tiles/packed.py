"""Tiles of tiles: base tiles packed under one more pair of levels, without cutting the tensor again.

Source: D2T2 (MICRO 2025), Section 6, "without retiling". The words of the added levels are those of a tree
whose leaves are the base tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import count_csf_words
from fiberscope.workloads.tiles.tiling import TiledTensor, tile


@dataclass(frozen=True)
class PackedTiles:
    """The nonempty packed tiles, in the order of their positions.

    Args:
        ids: for each rank, the outer coordinate of each tile.
        words: words of the base tiles, and of the tree above them.
        nonzeros: nonzeros of each tile.
    """

    ids: tuple[Integers, ...]
    words: Integers
    nonzeros: Integers


def pack(tiled: TiledTensor, factors: Sequence[int]) -> PackedTiles:
    """Pack base tiles. A factor of 1 keeps them.

    Args:
        tiled: the base tiles.
        factors: for each rank, the length of a packed tile in base tiles.
    """
    if max(factors, default=1) == 1:
        return PackedTiles(tiled.ids, tiled.words, tiled.nonzeros)
    ones = np.ones(len(tiled))
    packed = tile(SparseTensor(tiled.grid, tiled.ids, ones), factors)
    positions = np.zeros(len(tiled), np.int64)  # of the packed tiles, row-major
    for ids, size, tiles in zip(tiled.ids, packed.shape, packed.grid, strict=True):
        positions = positions * tiles + ids // size
    tile_numbers = np.searchsorted(packed.tiles, positions)
    fibers = sum(packed.fibers, start=np.zeros(len(packed), np.int64))
    tree = count_csf_words(packed.nonzeros, fibers, tiled.ranks)
    return PackedTiles(
        packed.ids,
        words=tree - packed.nonzeros + _sum_by_tile(tile_numbers, tiled.words, len(packed)),
        nonzeros=_sum_by_tile(tile_numbers, tiled.nonzeros, len(packed)),
    )


def _sum_by_tile(tile_numbers: Integers, numbers: Integers, count: int) -> Integers:
    return np.bincount(tile_numbers, numbers, count).astype(np.int64)
