"""Division of large trees at the root, so that transformations of whole arrays need little memory.

A *block* of a tree has some adjacent elements of the root, with everything below them. A transformation that
leaves the root rank in its place can be computed block by block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.fibertree import FiberTree, Rank

NONZEROS_PER_BLOCK = 1 << 19  # arrays of 4 MB: most transformations of a block stay in the host's cache


def blocks(tree: FiberTree, max_nonzeros: int = NONZEROS_PER_BLOCK) -> Iterator[FiberTree]:
    """Yield the blocks of a tree. Their arrays are views. A tree without elements is one block.

    Args:
        max_nonzeros: maximum number of nonzeros of a block; a single root element may have more.
    """
    ends = _first_nonzeros(tree)
    start, last = 0, len(ends) - 1
    while start < last:
        end = max(start + 1, int(np.searchsorted(ends, ends[start] + max_nonzeros, side="right")) - 1)
        yield _cut_block(tree, start, end)
        start = end
    if last == 0:
        yield tree


def _first_nonzeros(tree: FiberTree) -> Integers:
    """Return the number of the first nonzero below each element of the root, and the total."""
    first_nonzeros = np.arange(len(tree.coordinates[0]) + 1)
    for segments in tree.segments[1:]:
        first_nonzeros = segments[first_nonzeros]
    return first_nonzeros


def _cut_block(tree: FiberTree, start: int, end: int) -> FiberTree:
    segments, coordinates = [np.array([0, end - start])], [tree.coordinates[0][start:end]]
    for level in range(1, len(tree.ranks)):
        bounds = tree.segments[level][start : end + 1]
        start, end = int(bounds[0]), int(bounds[-1])
        segments.append(bounds - start)
        coordinates.append(tree.coordinates[level][start:end])
    return FiberTree(tree.ranks, tuple(segments), tuple(coordinates), tree.values[start:end])


def join_blocks(blocks_in_order: Iterable[FiberTree], nonzeros: int) -> FiberTree:
    """Return the tree that consists of consecutive blocks.

    A block is copied and released before the next block is requested. Every element must have a nonzero below
    it.

    Args:
        blocks_in_order: the blocks, at least one, with the same ranks.
        nonzeros: number of nonzeros of all blocks.
    """
    builder: _TreeBuilder | None = None
    for block in blocks_in_order:
        builder = builder or _TreeBuilder(block, nonzeros)
        builder.append(block)
    assert builder is not None  # a tree without elements is one block, too
    return builder.tree()


class _GrowingArray:
    """An array that is filled from the front. The host allocates no pages for its unused end."""

    def __init__(self, capacity: int, kind: npt.DTypeLike) -> None:
        self._storage = np.empty(capacity, kind)
        self.length = 0

    def extend(self, values: npt.NDArray[Any]) -> None:
        end = self.length + len(values)
        self._storage[self.length : end] = values
        self.length = end

    def array(self) -> npt.NDArray[Any]:
        return self._storage[: self.length]


class _TreeBuilder:
    """Arrays of a tree to which consecutive blocks are appended."""

    def __init__(self, first_block: FiberTree, nonzeros: int) -> None:
        self.ranks = first_block.ranks
        self.bounds = [_GrowingArray(nonzeros + 1, np.int64) for _ in self.ranks[1:]]
        self.coordinates = [_GrowingArray(nonzeros, np.int64) for _ in self.ranks]
        self.values = _GrowingArray(nonzeros, first_block.values.dtype)
        for bounds in self.bounds:
            bounds.extend(np.zeros(1, np.int64))

    def append(self, block: FiberTree) -> None:
        """Append a block. Its segments are offset by the elements so far."""
        for bounds, segments, elements in zip(
            self.bounds, block.segments[1:], self.coordinates[1:], strict=True
        ):
            bounds.extend(segments[1:] + elements.length)
        for elements, coordinates in zip(self.coordinates, block.coordinates, strict=True):
            elements.extend(coordinates)
        self.values.extend(block.values)

    def tree(self) -> FiberTree:
        root = np.array([0, self.coordinates[0].length])
        segments = (root, *(bounds.array() for bounds in self.bounds))
        coordinates = tuple(elements.array() for elements in self.coordinates)
        return FiberTree(self.ranks, segments, coordinates, self.values.array())


def swizzle_blocks(
    tree: FiberTree, names: Sequence[str], max_nonzeros: int = NONZEROS_PER_BLOCK
) -> FiberTree:
    """Return the result of ``FiberTree.swizzle``, computed block by block if the root rank stays the first.

    Args:
        names: the names of its ranks, from the root, in the new order.
        max_nonzeros: maximum number of nonzeros of a block; a smaller tree is computed as a whole.
    """
    if tuple(names) == tree.names or tree.nonzeros <= max_nonzeros or names[0] != tree.names[0]:
        return tree.swizzle(names)
    return join_blocks((block.swizzle(names) for block in blocks(tree, max_nonzeros)), tree.nonzeros)


@dataclass(frozen=True)
class Reordered:
    """A tree with its ranks in another order, computed on demand: as a whole, or block by block.

    Args:
        tree: the original tree.
        names: the names of its ranks, from the root, in the new order.
        max_nonzeros: nonzeros of a block.
    """

    tree: FiberTree
    names: tuple[str, ...]
    max_nonzeros: int = NONZEROS_PER_BLOCK

    @property
    def ranks(self) -> tuple[Rank, ...]:
        """The ranks in their new order."""
        return tuple(self.tree.ranks[self.tree.level(name)] for name in self.names)

    @property
    def comes_in_blocks(self) -> bool:
        """Return whether blocks of adjacent root elements can be computed without the whole tree."""
        is_reordered = self.names != self.tree.names and self.names[:1] == self.tree.names[:1]
        return is_reordered and self.tree.nonzeros > self.max_nonzeros

    @cached_property
    def whole(self) -> FiberTree:
        """Return the whole tree."""
        return swizzle_blocks(self.tree, self.names, self.max_nonzeros)

    @property
    def root(self) -> FiberTree:
        """Return a tree with the elements of the root rank and nothing below; only if the root rank stays."""
        count = len(self.names) - 1
        segments = (self.tree.segments[0], *(np.zeros(2, np.int64) for _ in range(count)))
        coordinates = (self.tree.coordinates[0], *(np.zeros(0, np.int64) for _ in range(count)))
        return FiberTree(self.ranks, segments, coordinates, self.tree.values[:0])

    def blocks(self) -> Iterator[FiberTree]:
        """Yield the blocks; each is built when it is requested."""
        return (block.swizzle(self.names) for block in blocks(self.tree, self.max_nonzeros))
