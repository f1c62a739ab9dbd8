"""Candidate shapes: as a rule at most as large as the base tile, and longer in indices of one operand.

The reorder factor RF turns a square of edge T into a tile of T RF x T / RF. RF is a power of two. Tiles of a
matrix product grow in the indices of the result, and shrink in the summed index; with RF below 1, the reverse
holds.

Source: D2T2 (MICRO 2025), Section 5.2, equation 21. The paper has no rule for more than two ranks; our rule
is that no operand's tile has more places than its base tile. With RF below 1, an operand with summed indices
alone is an exception.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from fiberscope.models.tiles.kernel import Kernel


def list_growing_indices(kernel: Kernel) -> tuple[str, ...]:
    """Return the indices in which tiles grow: those of the result."""
    return tuple(index for index in kernel.order if index not in kernel.contracted)


def iterate_reorderings(
    kernel: Kernel, edge: int, extents: Mapping[str, int], below_one: bool
) -> Iterator[tuple[float, dict[str, int]]]:
    """Yield each reorder factor with its shape: from 1 up, then factors below 1.

    The factors from 1 up end at the last power of two up to T, or with the first factor whose shape covers
    the tensors in all indices of the result.

    Args:
        kernel: its summed indices.
        edge: T of the base tiling.
        extents: the extents of the indices, which limit shapes.
        below_one: whether to yield 1/2 and 1/4, if T times the factor is at least 1.
    """
    factor = 1.0
    while factor <= edge and (
        factor == 1.0 or not _covers_growing_indices(kernel, edge, extents, factor / 2)
    ):
        yield factor, _limit_shape(compute_real_shape(kernel, edge, factor), extents)
        factor *= 2
    if below_one:
        for factor in (0.5, 0.25):
            if edge * factor >= 1:
                yield factor, _limit_shape(compute_real_shape(kernel, edge, factor), extents)


def compute_real_shape(kernel: Kernel, edge: int, factor: float) -> dict[str, float]:
    """Return the shape of a reorder factor, before rounding and limiting to the extents.

    Args:
        kernel: its indices and operands.
        edge: T, the edge of a base tile.
        factor: RF, the reorder factor; 1 gives the base tile.
    """
    if factor == 1.0:
        return dict.fromkeys(kernel.order, float(edge))
    sizes = dict.fromkeys(kernel.contracted, _compute_summed_edge(edge, factor, len(kernel.contracted)))
    for number, index in enumerate(list_growing_indices(kernel)):
        # the first growing index takes at most T RF; the others take what the operands' base tiles leave, or
        # T RF if no operand limits them
        limits = list(_iterate_limits(kernel, edge, sizes, index))
        sizes[index] = min(limits) if limits and number else min([edge * factor, *limits])
    return {index: sizes[index] for index in kernel.order}


def _compute_summed_edge(edge: int, factor: float, indices: int) -> float:
    """Return the edge of a summed index: T / RF; for several, T over a root of RF as a power of two."""
    if indices <= 1:
        return edge / factor
    return 2.0 ** math.floor(math.log2(max(1.0, edge / factor ** (1 / indices))))


def _iterate_limits(kernel: Kernel, edge: int, sizes: Mapping[str, float], index: str) -> Iterator[float]:
    """Yield the limit that each operand's base tile sets for an index."""
    for name in kernel.list_carriers(index):
        others = [other for other in kernel.indices[name] if other != index]
        # an operand with an index without a size yet limits that later index instead
        if all(other in sizes for other in others):
            yield edge ** len(kernel.indices[name]) / math.prod(sizes[other] for other in others)


def _covers_growing_indices(kernel: Kernel, edge: int, extents: Mapping[str, int], factor: float) -> bool:
    """Return whether a factor's shape covers the tensors in all growing indices."""
    shape = compute_real_shape(kernel, edge, factor)
    return all(shape[index] >= extents[index] for index in list_growing_indices(kernel))


def _limit_shape(shape: Mapping[str, float], extents: Mapping[str, int]) -> dict[str, int]:
    return {index: max(1, min(extents[index], math.floor(size))) for index, size in shape.items()}
