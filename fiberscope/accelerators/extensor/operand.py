# cython: infer_types=True
"""Operands partitioned into tiles and microtiles, with the arrays that locate their elements."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fiberscope.hw.fibers.arrays import integers_of, values_of
from fiberscope.hw.fibers.intersection import NO_FIBERS
from fiberscope.hw.fibers.masks import masks_of, worth_masks
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.fibertree_format import RankFormat, count_subtree_bits

# Indices of the ranks in the trees. A has the ranks K2, M2, M1, K1, M0, K0; B has N2, K2, N1, K1, N0, K0.
TILES, ROWS, MICROTILES, FIBERS, ELEMENTS = 1, 2, 3, 4, 5


def tiled_a(matrix: FiberTree, microtile: int, shape: tuple[int, int, int]) -> FiberTree:
    """Return A (ranks M, K) partitioned by coordinates, in the order of use: K2, M2, M1, K1, M0, K0.

    Args:
        matrix: operand A.
        microtile: side of a microtile, in coordinates.
        shape: microtiles of a tile in M, K and N.
    """
    m, k, _n = shape
    tree = _partition(_partition(matrix, "M", microtile, m), "K", microtile, k)
    return tree.swizzle(("K2", "M2", "M1", "K1", "M0", "K0"))


def tiled_b(matrix: FiberTree, microtile: int, shape: tuple[int, int, int]) -> FiberTree:
    """Return B (ranks K, N) partitioned by coordinates, in the order of use: N2, K2, N1, K1, N0, K0.

    Args:
        matrix: operand B.
        microtile: side of a microtile, in coordinates.
        shape: microtiles of a tile in M, K and N.
    """
    _m, k, n = shape
    tree = _partition(_partition(matrix, "N", microtile, n), "K", microtile, k)
    return tree.swizzle(("N2", "K2", "N1", "K1", "N0", "K0"))


def _partition(tree: FiberTree, rank: str, microtile: int, microtiles: int) -> FiberTree:
    """Partition a rank into three: first coordinates of tiles, of microtiles, and the coordinates."""
    fine = tree.partition_by_shape(rank, microtile, f"{rank}1", f"{rank}0")
    return fine.partition_by_shape(f"{rank}1", microtile * microtiles, f"{rank}2", f"{rank}1")


class TiledOperand:  # C: final
    """An operand as the last-level buffer and the processing elements see it.

    All coordinates are those of the matrix, not relative to a tile. The coordinate of a microtile is that of
    its first row or column, a multiple of its side. Entries i and i + 1 of ``tile_rows``, ``row_microtiles``,
    ``microtile_fibers`` and ``fiber_elements`` bound the parts of tile, row, microtile or fiber i.

    Args:
        tree: tree from ``tiled_a`` or ``tiled_b``.
        formats: format of each rank of the tree, by name.

    Attributes:
        tile_rows: first row of microtiles (M1 of A, N1 of B) of each tile.
        row_microtiles: first microtile of each row.
        microtile_k: K1 coordinate of each microtile.
        microtile_fibers: first fiber of each microtile.
        fiber_coordinates: coordinate (M0 of A, N0 of B) of each fiber.
        fiber_elements: first element of each fiber.
        element_k, values: K0 coordinate and value of each element.
        microtile_elements, microtile_bytes: number of elements and bytes of each microtile.
        tile_bytes: bytes of each whole tile.
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
        # The entry of a microtile in the list of its row, which ``count_subtree_bits`` leaves out
        element_bits = formats["K1"].coordinate + formats["K1"].payload
        bits = count_subtree_bits(tree, "K1", formats) + element_bits
        self.microtile_bytes = integers_of(bits // 8)  # C: long[::1]
        self.tile_bytes = _tile_bytes(tree, formats)
        self._masks: memoryview[int] | None = None

    def masks(self, microtile: int) -> memoryview[int]:  # C: def
        """Return the masks of all fibers for ``FiberMasks``; empty if lists take the host less time.

        They are also empty for microtiles that are too large for masks. The first call makes the masks, for
        its ``microtile``; later calls return the same masks.
        """
        if self._masks is None:
            uses_masks = worth_masks(self.tree.segments[ELEMENTS], microtile)
            self._masks = self.mask_array(microtile) if uses_masks else NO_FIBERS
        return self._masks

    def mask_array(self, microtile: int, *form: int) -> memoryview[int]:  # C: def
        """Return the words of the masks of all fibers.

        Args:
            microtile: side of a microtile, in coordinates.
            form: further arguments of ``masks_of``: the number of words of a mask and their width in bits.
        """
        return masks_of(self.tree.segments[ELEMENTS], self.tree.coordinates[ELEMENTS], microtile, *form)

    def microtiles(self, tile: int) -> tuple[Integers, Integers]:  # C: def
        """Return the K1 coordinates and the bytes of all microtiles of a tile."""
        segments = self.tree.segments
        start, end = segments[MICROTILES][segments[ROWS][tile : tile + 2]]
        coordinates = self.tree.coordinates[MICROTILES][start:end]
        return coordinates, np.asarray(self.microtile_bytes)[start:end]


def least_bytes(a: TiledOperand, b: TiledOperand) -> int:
    """Return the bytes of the microtiles of A and B whose K1 coordinate the other operand has too.

    The entries of the rows that hold such microtiles are included. The other microtiles give no product.
    """
    return _bytes_that_meet(a, b.tree) + _bytes_that_meet(b, a.tree)


def _bytes_that_meet(operand: TiledOperand, other: FiberTree) -> int:
    """Return the bytes of an operand's microtiles with a K1 coordinate of ``other``, and of their rows."""
    tree = operand.tree
    meets = np.isin(tree.coordinates[MICROTILES], other.coordinates[MICROTILES])
    rows = np.repeat(np.arange(len(operand.row_microtiles) - 1), np.diff(tree.segments[MICROTILES]))
    # Rows of A have no entry in memory
    row_format = operand.formats.get(tree.names[ROWS], RankFormat("C"))
    row_bits = len(np.unique(rows[meets])) * (row_format.coordinate + row_format.payload)
    return int(np.asarray(operand.microtile_bytes)[meets].sum()) + row_bits // 8


def _elements(tree: FiberTree) -> memoryview[int]:
    """Return the number of elements of each microtile."""
    return integers_of(np.diff(tree.segments[ELEMENTS][tree.segments[FIBERS]]))


def _tile_bytes(tree: FiberTree, formats: Mapping[str, RankFormat]) -> Integers:
    bits: Integers = count_subtree_bits(tree, tree.names[TILES], formats) // 8
    return bits
