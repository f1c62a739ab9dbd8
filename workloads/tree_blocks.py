"""Large trees taken apart at the root, so that what works on whole arrays takes little memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from workloads.canonical import Integers
from workloads.fibertree import FiberTree

__all__ = ["NONZEROS_A_BLOCK", "blocks", "put_together", "swizzled"]

NONZEROS_A_BLOCK = 1 << 19  # arrays of 4 MB: most of what is done to a block happens in the host's cache


def blocks(tree: FiberTree, most: int = NONZEROS_A_BLOCK) -> Iterator[FiberTree]:
    """The tree in parts of neighbouring elements of the root, of about ``most`` nonzeros each.

    Their arrays are views. A tree without elements is one part.
    """
    ends = _first_nonzeros(tree)
    begin, last = 0, len(ends) - 1
    while begin < last:
        end = max(begin + 1, int(np.searchsorted(ends, ends[begin] + most, side="right")) - 1)
        yield _part(tree, begin, end)
        begin = end
    if last == 0:
        yield tree


def _first_nonzeros(tree: FiberTree) -> Integers:
    """The number of the first nonzero below each element of the root, and of all."""
    places = np.arange(len(tree.coordinates[0]) + 1)
    for segments in tree.segments[1:]:
        places = segments[places]
    return places


def _part(tree: FiberTree, begin: int, end: int) -> FiberTree:
    segments, coordinates = [np.array([0, end - begin])], [tree.coordinates[0][begin:end]]
    for level in range(1, len(tree.ranks)):
        bounds = tree.segments[level][begin : end + 1]
        begin, end = int(bounds[0]), int(bounds[-1])
        segments.append(bounds - begin)
        coordinates.append(tree.coordinates[level][begin:end])
    return FiberTree(tree.ranks, tuple(segments), tuple(coordinates), tree.values[begin:end])


def put_together(parts: Iterable[FiberTree]) -> FiberTree:
    """The tree of parts whose roots follow one another."""
    kept = list(parts)
    ranks = kept[0].ranks
    segments = [[part.segments[level] for part in kept] for level in range(len(ranks))]
    coordinates = [[part.coordinates[level] for part in kept] for level in range(len(ranks))]
    values = [part.values for part in kept]
    kept.clear()  # what a rank of the parts holds is freed when it has been copied
    joined = [_concatenated(coordinates.pop(0)) for _ in ranks]
    bounds = [np.array([0, len(joined[0])])] + [_one_behind_another(rank) for rank in segments[1:]]
    return FiberTree(ranks, tuple(bounds), tuple(joined), _concatenated(values))


def _concatenated(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    joined: npt.NDArray[Any] = np.concatenate(arrays)
    arrays.clear()
    return joined


def _one_behind_another(bounds: Sequence[Integers]) -> Integers:
    """Where fibers begin, if those of each part begin where the last part's end."""
    before = np.cumsum([0] + [int(part[-1]) for part in bounds])
    moved = [part[:-1] + offset for part, offset in zip(bounds, before[:-1], strict=True)]
    return np.concatenate([*moved, before[-1:]])


def swizzled(tree: FiberTree, names: Sequence[str], most: int = NONZEROS_A_BLOCK) -> FiberTree:
    """``FiberTree.swizzle``, block by block where the root stays."""
    if tuple(names) == tree.names or tree.nonzeros <= most or names[0] != tree.names[0]:
        return tree.swizzle(names)
    return put_together(block.swizzle(names) for block in blocks(tree, most))
