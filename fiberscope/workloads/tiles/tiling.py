"""Cut a tensor into tiles of its coordinate space; keep the position and content of non-empty tiles.

Memory and time depend on the number of non-empty tiles, not on the size of the grid (such as 4,109 x 4,109).
Every entry becomes one number: the position of its tile times the positions in a tile, plus its position in
the tile. In sorted order, these numbers list all tiles consecutively, each in the order of a tree of fibers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.tensor import MAX_POSITIONS, SparseTensor, coordinates_at
from fiberscope.workloads.tiles.metrics import METRICS, Metric


@dataclass(frozen=True, eq=False)
class TiledTensor:
    """The nonempty tiles of a tensor, in the order of their positions. Ranks are in storage order.

    Args:
        extents: extents of the tensor.
        shape: shape of a tile, at most the extents; the last tiles of a rank may be smaller.
        order: for each rank, the rank of the original tensor.
        positions: for every entry: row-major position of its tile in the grid * positions in a tile +
            row-major position in the tile. They increase.
    """

    extents: tuple[int, ...]
    shape: tuple[int, ...]
    order: tuple[int, ...]
    positions: Integers

    @property
    def ranks(self) -> int:
        """Return the number of ranks."""
        return len(self.shape)

    @property
    def grid(self) -> tuple[int, ...]:
        """Return the number of tiles in each rank, including empty tiles."""
        return _grid(self.extents, self.shape)

    @property
    def volume(self) -> int:
        """Return the positions in a full tile; a smaller tile at the edge is numbered as a full tile."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        """Return the number of nonempty tiles."""
        return len(self.starts) - 1

    @cached_property
    def starts(self) -> Integers:
        """Return the number of the first entry of each nonempty tile, and the number of all entries."""
        return np.append(np.flatnonzero(mark_changes(self.positions // self.volume)), len(self.positions))

    @cached_property
    def tiles(self) -> Integers:
        """Return the row-major position of each nonempty tile in the grid."""
        return self.positions[self.starts[:-1]] // self.volume

    @cached_property
    def ids(self) -> tuple[Integers, ...]:
        """Return the outer coordinate of each nonempty tile, by rank."""
        return coordinates_at(self.grid, self.tiles)

    @cached_property
    def nonzeros(self) -> Integers:
        """Return the nonzeros of each nonempty tile."""
        return np.diff(self.starts)

    @cached_property
    def fibers(self) -> tuple[Integers, ...]:
        """Return, by rank below the first, the fibers of each nonempty tile: rows, in a matrix."""
        return tuple(self._count_prefixes(rank) for rank in range(1, self.ranks))

    @property
    def words(self) -> Integers:
        """Return the words of each nonempty tile as a tree of compressed fibers."""
        return self.fetched_sizes(METRICS["words"])

    def fetched_sizes(self, metric: Metric) -> Integers:
        """Return the size of a fetch of each nonempty tile, in the unit of the metric."""
        return metric.fetched(self.nonzeros, self._fibers_below_root, self.ranks)

    def buffered_sizes(self, metric: Metric) -> Integers:
        """Return the space of each nonempty tile in a buffer, in the unit of the metric."""
        return metric.buffered(self.nonzeros, self._fibers_below_root, self.ranks)

    def inner(self) -> tuple[Integers, ...]:
        """Return by rank the coordinate of every entry within its tile, in the order of ``positions``."""
        return coordinates_at(self.shape, self.positions % self.volume)

    def outer(self) -> Integers:
        """Return the number of the nonempty tile of each entry, from 0."""
        return np.repeat(np.arange(len(self)), self.nonzeros)

    def occupancies(self) -> tuple[Integers, Integers]:
        """Return the distinct numbers of nonzeros in tiles, empty tiles included, and their frequencies."""
        sizes, counts = np.unique(self.nonzeros, return_counts=True)
        empty = math.prod(self.grid) - len(self)
        # nonempty tiles have at least one nonzero, so that 0 is the smallest number
        return (np.append(0, sizes), np.append(empty, counts)) if empty else (sizes, counts)

    @cached_property
    def _fibers_below_root(self) -> Integers:
        return np.sum(self.fibers, axis=0, dtype=np.int64) if self.fibers else np.zeros_like(self.nonzeros)

    def _count_prefixes(self, ranks: int) -> Integers:
        """Return the number of distinct prefixes of ``ranks`` coordinates in each nonempty tile."""
        # the number of the tile is above the coordinates, so that equal prefixes of two tiles differ
        is_first = mark_changes(self.positions // math.prod(self.shape[ranks:]))
        prefixes = np.append(0, np.cumsum(is_first))
        return np.diff(prefixes[self.starts])


def tile(
    tensor: SparseTensor | CsrArray, shape: Sequence[int], order: Sequence[int] | None = None
) -> TiledTensor:
    """Cut a tensor into tiles.

    Args:
        tensor: a tensor with distinct entries; explicit zeros count as nonzeros.
        shape: shape of a tile, for each rank of the tensor in its original order; clipped to the extents.
        order: storage order of the ranks, the outermost first; by default the order of the tensor.

    Raises:
        WorkloadError: shape or order do not match the tensor, or 63 bits cannot number its positions.
    """
    if isinstance(tensor, sparse.csr_array):
        tensor = SparseTensor.from_matrix(tensor)
    assert isinstance(tensor, SparseTensor)
    ranks = tuple(range(tensor.order)) if order is None else tuple(order)
    _check_tiling(tensor, shape, ranks)
    extents = tuple(tensor.shape[rank] for rank in ranks)
    tile_shape = tuple(min(shape[rank], tensor.shape[rank]) for rank in ranks)
    # tiles at the edges count as full, so that this can be more than the positions of the tensor
    if math.prod(_grid(extents, tile_shape)) * math.prod(tile_shape) > MAX_POSITIONS:
        sizes = " x ".join(map(str, extents))
        raise WorkloadError(f"{sizes} has more places than 63 bits number", fix="drop a rank of the tensor")
    return TiledTensor(extents, tile_shape, ranks, np.sort(_positions(tensor, ranks, tile_shape)))


def _grid(extents: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(-(-extent // size) for extent, size in zip(extents, shape, strict=True))


def _check_tiling(tensor: SparseTensor, shape: Sequence[int], order: tuple[int, ...]) -> None:
    """Refuse a shape of another number of ranks or below 1, and an order that is no permutation."""
    if len(shape) != tensor.order or min(shape, default=0) < 1:
        numbers = " x ".join(map(str, shape))
        raise WorkloadError(
            f"a tile of {numbers} of {tensor.order} ranks", fix="an extent of at least 1 for each"
        )
    if sorted(order) != list(range(tensor.order)):
        numbers = ", ".join(map(str, order))
        raise WorkloadError(f"the order {numbers} of {tensor.order} ranks", fix="each of them once, from 0")


def _positions(tensor: SparseTensor, order: tuple[int, ...], shape: tuple[int, ...]) -> Integers:
    """Return ``TiledTensor.positions``, but in the order of the tensor's entries."""
    outer, inner = np.zeros(tensor.nonzeros, np.int64), np.zeros(tensor.nonzeros, np.int64)
    for rank, size in zip(order, shape, strict=True):
        tile_number, offset = np.divmod(tensor.coordinates[rank], size)
        outer *= -(-tensor.shape[rank] // size)  # Horner's rule, once in the grid and once in the tile
        outer += tile_number
        inner *= size
        inner += offset
    outer *= math.prod(shape)
    return np.add(outer, inner, out=outer)


def mark_changes(increasing: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark the sorted numbers that differ from the number before; the first is marked."""
    different = np.ones(len(increasing), bool)
    np.not_equal(increasing[1:], increasing[:-1], out=different[1:])
    return different
