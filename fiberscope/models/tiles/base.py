"""Base tiling: square (or cubic) tiles that fit even if they are dense; and the result of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import METRICS, WORD_BYTES, Metric
from fiberscope.workloads.tiles.packed import PackedTiles, pack
from fiberscope.workloads.tiles.tiling import TiledTensor, tile

Shape: TypeAlias = Mapping[str, int]  # the extent of a tile for each index, in the order of the loops
Base: TypeAlias = Literal["largest", "values_only", "power_of_two"]


def count_capacity(kernel: Kernel, buffer: int) -> int:
    """Return the words of an operand that a buffer holds, as the paper counts them.

    The paper's buffer of 128 KiB holds a dense tile of 128 x 128: a value and a coordinate for each of 16,384
    places, without the 259 words of rows and segments. So the edge of the dense tile follows from two words a
    place, and the capacity is the size of the dense tile if this is more than the buffer: 33,027 words.

    A buffer without space for a dense tile of edge 2 has the capacity of its words.

    Args:
        kernel: the kernel; its operand with most ranks determines the number of ranks, at least 1.
        buffer: size of the buffer of one operand, in bytes; a part of a word does not count.
    """
    words = buffer // WORD_BYTES
    ranks = _count_most_ranks(kernel)
    edge = _find_largest_edge(lambda size: 2 * size**ranks <= words)
    return max(words, dense_size(METRICS["words"], (edge,) * ranks)) if edge > 1 else words


def choose_base_shape(
    kernel: Kernel,
    extents: Mapping[str, int],
    capacity: int,
    metric: Metric = METRICS["words"],
    base: Base | int = "largest",
) -> dict[str, int]:
    """Return the tile of conservative tiling for each index: one edge T, at most the extent.

    Args:
        kernel: its operand with most ranks determines T.
        extents: the extents of all indices.
        capacity: the capacity of the buffer of an operand, in the metric's unit.
        metric: the metric of the size of a dense tile.
        base: the rule: the largest T whose dense tile fits, or whose values alone fit at one unit a value, or
            the largest power of two whose dense tile fits; or T itself.

    Raises:
        InputError: a single nonzero, or a dense tile of the given T, does not fit.
    """
    ranks = _count_most_ranks(kernel)
    # the smallest tile has one nonzero, with its coordinates and segments
    least = dense_size(metric, (1,) * ranks)
    if capacity < least:
        raise InputError(f"a capacity of {capacity} {metric.unit}: one nonzero takes {least}")
    edge = base if isinstance(base, int) else _choose_edge(ranks, capacity, metric, base)
    # an edge of ``values_only`` is not checked: its dense tile need not fit
    if isinstance(base, int) and (size := dense_size(metric, (edge,) * ranks)) > capacity:
        shape = " x ".join([str(edge)] * ranks)
        raise InputError(f"a dense tile of {shape} takes {size} {metric.unit}, the buffer holds {capacity}")
    return {index: min(edge, extents[index]) for index in kernel.order}


def cut_all(kernel: Kernel, tensors: Mapping[str, SparseTensor], shape: Shape) -> dict[str, TiledTensor]:
    """Partition each operand into tiles, with its ranks as the kernel writes them.

    Args:
        kernel: names the operands.
        tensors: by name, with their ranks as the kernel writes them.
        shape: the shape of tiles, by index; limited to the extents.

    Raises:
        WorkloadError: a side of a tile is below 1, an operand has no rank or another number of ranks than the
            kernel, or 63 bits cannot number its positions.
    """
    return {name: cut_one(kernel, name, tensors[name], shape) for name in kernel.inputs}


def cut_one(kernel: Kernel, name: str, tensor: SparseTensor, shape: Shape) -> TiledTensor:
    """Partition one operand into tiles.

    Args:
        kernel, shape: the arguments of ``cut_all``.
        name: name of the operand.
        tensor: the operand, with its ranks as the kernel writes them.

    Raises:
        WorkloadError: as of ``cut_all``.
    """
    return tile(tensor, [shape[index] for index in kernel.indices[name]])


def pack_all(
    kernel: Kernel, tensors: Mapping[str, SparseTensor], shape: Shape, base: Shape
) -> dict[str, PackedTiles]:
    """Partition each operand into tiles that are sets of whole base tiles.

    Args:
        kernel, tensors, shape: the arguments of ``cut_all``. An extent that is not a multiple of the base
            tile's is rounded up to one.
        base: the shape of base tiles, by index.

    Raises:
        WorkloadError: as of ``cut_all``, for the base tiles and for the grid of base tiles.
    """
    return {name: pack_one(kernel, name, tensors[name], shape, base) for name in kernel.inputs}


def pack_one(kernel: Kernel, name: str, tensor: SparseTensor, shape: Shape, base: Shape) -> PackedTiles:
    """Partition one operand into tiles that are sets of base tiles; see ``pack_all`` and ``cut_one``."""
    # the number of base tiles along each side, rounded up
    factors = [-(-shape[index] // base[index]) for index in kernel.indices[name]]
    return pack(cut_one(kernel, name, tensor, base), factors)


def dense_size(metric: Metric, shape: tuple[int, ...]) -> int:
    """Return the size of a dense tile of a shape in a buffer, in the metric's unit."""
    # in a dense tile, each tuple of the first 1 to m - 1 of its m coordinates begins a fiber
    nonzeros, fibers = math.prod(shape), sum(math.prod(shape[:rank]) for rank in range(1, len(shape)))
    return int(metric.buffered(np.asarray(nonzeros), np.asarray(fibers), len(shape)))


def _count_most_ranks(kernel: Kernel) -> int:
    return max(len(kernel.indices[name]) for name in kernel.inputs)


def _choose_edge(ranks: int, capacity: int, metric: Metric, base: Base) -> int:
    if base == "values_only":
        return _find_largest_edge(lambda size: size**ranks <= capacity)
    edge = _find_largest_edge(lambda size: dense_size(metric, (size,) * ranks) <= capacity)
    # the edge is at least 1, because ``choose_base_shape`` checks that a single nonzero fits
    return 1 << (edge.bit_length() - 1) if base == "power_of_two" else edge


def _find_largest_edge(fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits, or 0; every number below a number that fits is taken to fit.

    Some number must not fit; otherwise the search does not end.
    """
    # Doubling finds an edge that does not fit. Bisection keeps ``low`` fitting (or 0), and ``high`` not.
    above = 1
    while fits(above):
        above *= 2
    low, high = above // 2, above
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class Prediction:
    """Expected traffic of a tile shape, in the metric of the statistics.

    Args:
        inputs: traffic by operand.
        repeats: expected fetches of each tile, by operand. The paper's model does not subtract the fetches
            that empty tiles of other operands skip; the counted model does.
        output: traffic of partial results, with ``merge: read`` for writes and reads.
        visits: expected number of writes of partial results (visits).
        nonzeros: expected nonzeros of each visit.
    """

    inputs: Mapping[str, float]
    repeats: Mapping[str, float]
    output: float
    visits: float
    nonzeros: float

    @property
    def total(self) -> float:
        """Return the traffic of all tensors."""
        return sum(self.inputs.values()) + self.output

    @property
    def output_nonzeros(self) -> float:
        """Return the expected nonzeros of all visits."""
        return self.visits * self.nonzeros


@dataclass(frozen=True)
class Candidate:
    """A candidate shape of the search.

    Args:
        shape: the shape of tiles, by index.
        prediction: the prediction of its traffic.
        iterations: number of iterations of the outer loops, empty iterations included.
        rf: the reorder factor; None in a grid search.
        fullest: size of its fullest tile in a buffer; None unless the counted model computed it.
        fits: whether the fullest tile fits the buffer; None unless the counted model computed ``fullest``.
    """

    shape: Shape
    prediction: Prediction
    iterations: int
    rf: float | None = None
    fullest: int | None = None
    fits: bool | None = None


@dataclass(frozen=True)
class Scheme:
    """Tiles of one shape.

    Args:
        name: the name of the method.
        shape: the shape of tiles, by index.
        fullest: size of the fullest tile of any input in a buffer, in the metric's unit, or in words for
            packed tiles; 0 if an input is empty.
        verified: whether every tile is known to fit, from a partition of the tensors.
        rf: the reorder factor of D2T2's choice; 1 if the base tiling replaces the choice. None for other
            methods, and for the choice of a grid search.
        tf: TileFactor after verification; 1 if it does not enlarge the tiles.
        candidates: all candidates of D2T2's search; empty for other methods.
        packed: the shape of the base tiles of which tiles consist; None if tensors are partitioned anew.
        fallback: why the tiles differ from the first choice of the search; empty if they do not.
    """

    name: str
    shape: Shape
    fullest: int
    verified: bool
    rf: float | None = None
    tf: float = 1.0
    candidates: tuple[Candidate, ...] = field(default=())
    packed: Shape | None = None
    fallback: str = ""
