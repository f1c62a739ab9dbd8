# cython: infer_types=True
"""A and B cut into tiles and microtiles, and where everything lies in them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fiberscope.hw.fibers.arrays import integers_of, values_of
from fiberscope.hw.fibers.intersection import NO_FIBERS
from fiberscope.hw.fibers.masks import masks_of, worth_masks
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.fibertree_format import RankFormat, subtree_bits

# Places of the ranks in the trees: A is K2, M2, M1, K1, M0, K0 and B is N2, K2, N1, K1, N0, K0.
TILES, ROWS, MICROTILES, FIBERS, ELEMENTS = (
    1,
    2,
    3,
    4,
    5,
)


def tiled_a(matrix: FiberTree, microtile: int, shape: tuple[int, int, int]) -> FiberTree:
    """A (ranks M, K) cut by coordinates, in the order in which it is used: K2, M2, M1, K1, M0, K0."""
    m, k, _n = shape
    tree = _cut(_cut(matrix, "M", microtile, m), "K", microtile, k)
    return tree.swizzle(("K2", "M2", "M1", "K1", "M0", "K0"))


def tiled_b(matrix: FiberTree, microtile: int, shape: tuple[int, int, int]) -> FiberTree:
    """B (ranks K, N) cut by coordinates, in the order in which it is used: N2, K2, N1, K1, N0, K0."""
    _m, k, n = shape
    tree = _cut(_cut(matrix, "N", microtile, n), "K", microtile, k)
    return tree.swizzle(("N2", "K2", "N1", "K1", "N0", "K0"))


def _cut(tree: FiberTree, rank: str, microtile: int, microtiles: int) -> FiberTree:
    """A rank as three: the first coordinates of tiles, of microtiles, and the coordinates themselves."""
    fine = tree.partition_by_shape(rank, microtile, f"{rank}1", f"{rank}0")
    return fine.partition_by_shape(f"{rank}1", microtile * microtiles, f"{rank}2", f"{rank}1")


class TiledOperand:  # C: final
    """An operand as the last-level buffer and the processing elements see it.

    Tile t has the rows ``tile_rows[t] : tile_rows[t + 1]`` (M1 of A, N1 of B); row r the microtiles
    ``row_microtiles[r]`` and on, whose K1 coordinates are ``microtile_k``; microtile i the fibers
    ``microtile_fibers[i]`` and on with the coordinates ``fiber_coordinates`` (M0, N0); fiber f the elements
    ``fiber_elements[f]`` and on, with ``element_k`` (K0) and ``values``. All coordinates are the matrix's
    own. ``microtile_elements`` and ``microtile_bytes`` say how much a microtile is.

    Args:
        tree: from ``tiled_a`` or ``tiled_b``.
        formats: of its ranks.
    """

    def __init__(self, tree: FiberTree, formats: Mapping[str, RankFormat]) -> None:
        self.tree = tree
        self.formats = formats
        self.tile_rows = integers_of(tree.segments[ROWS])  # C: long[::1]
        self.row_microtiles = integers_of(tree.segments[MICROTILES])  # C: long[::1]
        self.microtile_k = integers_of(tree.coordinates[MICROTILES])  # C: long[::1]
        self.microtile_fibers = integers_of(tree.segments[FIBERS])  # C: long[::1]
        self.fiber_coordinates = integers_of(tree.coordinates[FIBERS])  # C: long[::1]
        self.fiber_elements = integers_of(tree.segments[ELEMENTS])  # C: long[::1]
        self.element_k = integers_of(tree.coordinates[ELEMENTS])  # C: long[::1]
        self.values = values_of(tree.values)  # C: double[::1]
        self.microtile_elements = _elements(tree)  # C: long[::1]
        own = formats["K1"].coordinate + formats["K1"].payload
        self.microtile_bytes = integers_of((subtree_bits(tree, "K1", formats) + own) // 8)  # C: long[::1]
        self.tile_bytes = _tile_bytes(tree, formats)  # of each whole tile
        self._masks: memoryview[int] | None = None

    def masks(self, microtile: int) -> memoryview[int]:  # C: def
        """The masks of all fibers for ``FiberMasks``; none where lists take less time."""
        if self._masks is None:
            worth = worth_masks(self.tree.segments[ELEMENTS], microtile)
            self._masks = self.words(microtile) if worth else NO_FIBERS
        return self._masks

    def words(self, microtile: int, *form: int) -> memoryview[int]:  # C: def
        """The words of all fibers' masks, in the form that ``masks_of`` is told: how many, of what width."""
        return masks_of(self.tree.segments[ELEMENTS], self.tree.coordinates[ELEMENTS], microtile, *form)

    def microtiles(self, tile: int) -> tuple[Integers, Integers]:  # C: def
        """The K1 coordinates and bytes of all microtiles of a tile."""
        segments = self.tree.segments
        first, last = segments[MICROTILES][segments[ROWS][tile : tile + 2]]
        coordinates = self.tree.coordinates[MICROTILES][first:last]
        return coordinates, np.asarray(self.microtile_bytes)[first:last]


def _elements(tree: FiberTree) -> memoryview[int]:
    """Elements of each microtile."""
    return integers_of(np.diff(tree.segments[ELEMENTS][tree.segments[FIBERS]]))


def _tile_bytes(tree: FiberTree, formats: Mapping[str, RankFormat]) -> Integers:
    bits: Integers = subtree_bits(tree, tree.names[TILES], formats) // 8
    return bits
