"""The base tiling, squares (or cubes) that fit even if they are dense, and what a search from it comes to."""

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
from fiberscope.workloads.tiles.packed import Packed, pack
from fiberscope.workloads.tiles.tiling import Tiled, tile

__all__ = [
    "Base",
    "Candidate",
    "Prediction",
    "Scheme",
    "Shape",
    "base_shape",
    "capacity_of",
    "cut",
    "cut_one",
    "dense",
    "pack_all",
    "pack_one",
]

Shape: TypeAlias = Mapping[str, int]  # the extent of a tile for each index, in the order of the loops
Base: TypeAlias = Literal["largest", "values_only", "power_of_two"]


def capacity_of(kernel: Kernel, buffer: int) -> int:
    """Words that a buffer of so many bytes is taken to hold of an operand.

    The paper's buffer of 128 KiB holds a dense tile of 128 x 128: a value and a coordinate for each of 16,384
    places, without their 259 words of rows and segments. So the edge of the dense tile follows from two words
    a place, and the capacity is what that tile takes if it is more than the buffer: 33,027 words.
    """
    words = buffer // WORD_BYTES
    ranks = _most_ranks(kernel)
    edge = _largest_edge(lambda size: 2 * size**ranks <= words)
    return max(words, dense(METRICS["words"], (edge,) * ranks)) if edge > 1 else words


def base_shape(
    kernel: Kernel,
    extents: Mapping[str, int],
    capacity: int,
    metric: Metric = METRICS["words"],
    base: Base | int = "largest",
) -> dict[str, int]:
    """The tile that conservative tiling takes for each index: one edge T, at most the extent.

    Args:
        kernel: T is that of its operand with most ranks.
        extents: the extents of every index.
        capacity: the capacity of the buffer of an operand, in the metric's unit.
        metric: by which a dense tile has to fit.
        base: the largest T whose dense tile fits; or by its values alone; or the largest such power of two;
            or T itself.

    Raises:
        InputError: not even one nonzero fits, or a dense tile of the T given does not.
    """
    ranks = _most_ranks(kernel)
    least = dense(metric, (1,) * ranks)
    if capacity < least:
        raise InputError(f"a capacity of {capacity} {metric.unit}: one nonzero takes {least}")
    edge = base if isinstance(base, int) else _edge(ranks, capacity, metric, base)
    if isinstance(base, int) and (size := dense(metric, (edge,) * ranks)) > capacity:
        shape = " x ".join([str(edge)] * ranks)
        raise InputError(f"a dense tile of {shape} takes {size} {metric.unit}, the buffer holds {capacity}")
    return {index: min(edge, extents[index]) for index in kernel.order}


def cut(kernel: Kernel, tensors: Mapping[str, SparseTensor], shape: Shape) -> dict[str, Tiled]:
    """Cut each operand into tiles; words count its ranks in the order in which the kernel writes them.

    Args:
        kernel: names the operands.
        tensors: by name, with their ranks as the kernel writes them.
        shape: the shape of tiles, by index.
    """
    return {name: cut_one(kernel, name, tensors[name], shape) for name in kernel.inputs}


def cut_one(kernel: Kernel, name: str, tensor: SparseTensor, shape: Shape) -> Tiled:
    """One operand in tiles, as ``cut``."""
    return tile(tensor, [shape[index] for index in kernel.indices[name]])


def pack_all(
    kernel: Kernel, tensors: Mapping[str, SparseTensor], shape: Shape, base: Shape
) -> dict[str, Packed]:
    """Pack each operand into tiles that are sets of whole base tiles; arguments as ``cut``."""
    return {name: pack_one(kernel, name, tensors[name], shape, base) for name in kernel.inputs}


def pack_one(kernel: Kernel, name: str, tensor: SparseTensor, shape: Shape, base: Shape) -> Packed:
    """One operand in tiles of a shape, each a set of whole base tiles."""
    factors = [-(-shape[index] // base[index]) for index in kernel.indices[name]]
    return pack(cut_one(kernel, name, tensor, base), factors)


def dense(metric: Metric, shape: tuple[int, ...]) -> int:
    """Return the space of a dense tile in a buffer."""
    nonzeros, fibers = math.prod(shape), sum(math.prod(shape[:rank]) for rank in range(1, len(shape)))
    return int(metric.held(np.asarray(nonzeros), np.asarray(fibers), len(shape)))


def _most_ranks(kernel: Kernel) -> int:
    return max(len(kernel.indices[name]) for name in kernel.inputs)


def _edge(ranks: int, capacity: int, metric: Metric, base: Base) -> int:
    if base == "values_only":
        return _largest_edge(lambda size: size**ranks <= capacity)
    edge = _largest_edge(lambda size: dense(metric, (size,) * ranks) <= capacity)
    return 1 << (edge.bit_length() - 1) if base == "power_of_two" else edge


def _largest_edge(fits: Callable[[int], bool]) -> int:
    """The largest number that fits, 0 if 1 does not, where all below one that fits do."""
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
    """The traffic that a shape is expected to cause, in the metric of the statistics.

    Args:
        inputs: the inputs by operand.
        repeats: by operand, how often each of its tiles is expected to pass, before others let it be skipped.
        output: the output of partial results.
        visits: writes of a partial result.
        nonzeros: expected of each such write.
    """

    inputs: Mapping[str, float]
    repeats: Mapping[str, float]
    output: float
    visits: float
    nonzeros: float

    @property
    def total(self) -> float:
        """Return the total of all tensors."""
        return sum(self.inputs.values()) + self.output

    @property
    def output_nonzeros(self) -> float:
        """Over all visits."""
        return self.visits * self.nonzeros


@dataclass(frozen=True)
class Candidate:
    """A shape that was considered.

    Args:
        shape: the shape of tiles, by index.
        prediction: the prediction of its traffic.
        iterations: the iterations of the outer loops, empty ones counted.
        rf: the reorder factor, None on a grid.
        fullest: what its fullest tile takes, where the search found that out.
        fits: whether that fits, None where it was not found out.
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
        fullest: what the fullest tile of any input takes of a buffer.
        verified: whether retiling showed that every tile fits.
        rf: the reorder factor that was chosen.
        tf: the tile factor that was left after verification; 1 where none was applied.
        candidates: all that were compared.
        packed: the shape of the base tiles that these are packed of; None where tensors are cut anew.
        fallback: why this is not what the search chose at first; empty if it is.
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
