"""The shapes that are compared: those of equal size at most, longer in what only one operand carries.

RF, the reorder factor, makes a square of edge T one of T RF x T / RF; powers of two are tried.

Source: D2T2 (MICRO 2025), Section 5.2, equation 21; for more than two ranks the paper gives no rule, and ours
is that no operand's tile has more places than its base tile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from fiberscope.models.tiles.kernel import Kernel

__all__ = ["grown", "real_shape", "reorderings"]


def grown(kernel: Kernel) -> tuple[str, ...]:
    """The indices that tiles grow in: those of the result."""
    return tuple(index for index in kernel.order if index not in kernel.contracted)


def reorderings(
    kernel: Kernel, edge: int, extents: Mapping[str, int], below_one: bool
) -> Iterator[tuple[float, dict[str, int]]]:
    """Each reorder factor with its shape, from 1 up, before those below one.

    Args:
        kernel: says which indices are summed over.
        edge: T of the base tiling.
        extents: the extents of the indices; shapes are cut to them.
        below_one: whether 1/2 and 1/4 are tried.
    """
    factor = 1.0
    while factor <= edge and (factor == 1.0 or not _covers(kernel, edge, extents, factor / 2)):
        yield factor, _cut(real_shape(kernel, edge, factor), extents)
        factor *= 2
    if below_one:
        for factor in (0.5, 0.25):
            if edge * factor >= 1:
                yield factor, _cut(real_shape(kernel, edge, factor), extents)


def real_shape(kernel: Kernel, edge: int, factor: float) -> dict[str, float]:
    """The shape of a reorder factor, before it is rounded down and cut to the extents."""
    if factor == 1.0:
        return dict.fromkeys(kernel.order, float(edge))
    sizes = dict.fromkeys(kernel.contracted, _summed_edge(edge, factor, len(kernel.contracted)))
    for number, index in enumerate(grown(kernel)):
        rooms = list(_rooms(kernel, edge, sizes, index))
        sizes[index] = min(rooms) if rooms and number else min([edge * factor, *rooms])
    return {index: sizes[index] for index in kernel.order}


def _summed_edge(edge: int, factor: float, indices: int) -> float:
    """Return the edge of a summed index: T / RF, or for several the root of RF each, as powers of two."""
    if indices <= 1:
        return edge / factor
    return 2.0 ** math.floor(math.log2(max(1.0, edge / factor ** (1 / indices))))


def _rooms(kernel: Kernel, edge: int, sizes: Mapping[str, float], index: str) -> Iterator[float]:
    """Yield the room that each operand leaves to an index, in places of its base tile."""
    for name in kernel.carriers(index):
        others = [other for other in kernel.indices[name] if other != index]
        if all(other in sizes for other in others):
            yield edge ** len(kernel.indices[name]) / math.prod(sizes[other] for other in others)


def _covers(kernel: Kernel, edge: int, extents: Mapping[str, int], factor: float) -> bool:
    """Return whether a factor's shape is as large as the tensors in all that grows."""
    shape = real_shape(kernel, edge, factor)
    return all(shape[index] >= extents[index] for index in grown(kernel))


def _cut(shape: Mapping[str, float], extents: Mapping[str, int]) -> dict[str, int]:
    return {index: max(1, min(extents[index], math.floor(size))) for index, size in shape.items()}
