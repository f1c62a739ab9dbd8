"""Walk over the outer loops of a tiled kernel, which counts the fetches of nonempty tiles.

An operand's tiles are a tree with a level for each index in loop order. At each loop, the nodes of all
operands with the loop's index advance to the children that all of them have (hierarchical skipping). All
points of the outer loops advance together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tiles.metrics import METRICS, Metric
from fiberscope.workloads.tiles.packed import PackedTiles
from fiberscope.workloads.tiles.tiling import TiledTensor

MAX_CHILDREN = 1 << 21  # about the largest number of points of the next loop in a portion
MAX_TABLE = 1 << 24  # largest number of entries of a lookup table of children


@dataclass(frozen=True)
class Overflow:
    """Handling of a tile that exceeds its buffer: a part streams at each use, and the rest stays.

    Source: Tailors (Xue et al., MICRO 2023); the size of the part is our interpretation.

    Args:
        capacity: the capacity of the buffer, in the unit of the metric.
        resident: space of the part of a larger tile that stays in the buffer, at most ``capacity``; the rest
            is fetched at each use.
        metric: the measure of a tile's space in the buffer.
    """

    capacity: int
    resident: int
    metric: Metric = METRICS["words"]

    def count_fetched_words(self, words: Integers, sizes: Integers, uses: Integers) -> Integers:
        """Return the fetched words of each tile.

        Args:
            words: words of each tile; a part of a tile has the same share of its words and of its space.
            sizes: space of each tile in the buffer.
            uses: number of consecutive uses of each tile, at least 1: iterations of the loops inside.
        """
        excess = np.where(sizes > self.capacity, sizes - self.resident, 0)
        again: Integers = -(-words * excess // np.maximum(1, sizes))
        return words + (uses - 1) * again


@dataclass
class Fetched:
    """Fetches of an operand: tiles, words of 4 bytes, nonzeros."""

    fetches: int = 0
    words: int = 0
    nonzeros: int = 0


def walk(
    order: Sequence[str],
    operands: Mapping[str, tuple[Sequence[str], TiledTensor | PackedTiles]],
    overflow: Overflow | None = None,
) -> tuple[dict[str, Fetched], int]:
    """Walk over the tiles; return the fetches of each operand, and the iterations with all operands.

    A tile is fetched when its last index is bound and an inner iteration needs it. The tile stays while
    deeper indices iterate, and no longer.

    Args:
        order: the order of the outer loops; each loop has an operand with its index.
        operands: by name, the indices of the ranks, at least one, and the tiles. Operands with a common index
            have the same side of a tile in it.
        overflow: the handling of tiles that exceed their buffer; None: tiles do not overflow.
    """
    trees = [
        _Tree(sorted(indices, key=order.index), indices, tiled, overflow)
        for indices, tiled in operands.values()
    ]
    walker = _Walk(order, trees, overflow)
    iterations = walker.descend(0, [np.zeros(1, np.int64) for _ in trees])
    return dict(zip(operands, walker.fetched, strict=True)), int(iterations.sum())


class _Tree:
    """An operand's nonempty tiles as a tree with a level for each index; the root is node 0.

    Args:
        indices: in loop order.
        ranks: the same indices in the order of the ranks of ``tiled``.
        tiled: the tiles.
        overflow: gives the metric of the tiles' space; None if tiles do not overflow.
    """

    def __init__(
        self,
        indices: Sequence[str],
        ranks: Sequence[str],
        tiled: TiledTensor | PackedTiles,
        overflow: Overflow | None,
    ) -> None:
        self.indices = tuple(indices)
        columns = [tiled.ids[ranks.index(index)] for index in indices]
        order = np.lexsort(columns[::-1])  # ``lexsort`` sorts by its last key first
        self.words, self.nonzeros = tiled.words[order], tiled.nonzeros[order]
        self.sizes = self.words
        if overflow is not None and isinstance(
            tiled, TiledTensor
        ):  # packed tiles are measured in words alone
            self.sizes = tiled.buffered_sizes(overflow.metric)[order]
        self.levels: list[_Level] = []
        parents, parent_count = np.zeros(len(order), np.int64), 1
        for column in (column[order] for column in columns):
            level = _Level(parents, column, parent_count)
            self.levels.append(level)
            parents, parent_count = level.nodes, len(level.coordinates)

    def level(self, index: str) -> _Level | None:
        """Return the level of an index, or None."""
        return self.levels[self.indices.index(index)] if index in self.indices else None


class _Level:
    """Children of the nodes above a level: those of node n are ``first[n] : first[n + 1]``, by coordinate.

    Args:
        parents: for each tile the parent node.
        column: for each tile the coordinate at this level.
        parent_count: number of parent nodes.
    """

    def __init__(self, parents: Integers, column: Integers, parent_count: int) -> None:
        self.extent = int(column.max(initial=0)) + 1
        keys = parents * self.extent + column  # sorted, as the tiles are
        is_first = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
        self.nodes = np.cumsum(is_first) - 1  # of each tile
        self.keys = keys[is_first]
        self.coordinates = column[is_first]
        self.first = np.append(0, np.cumsum(np.bincount(parents[is_first], minlength=parent_count)))
        self.table = self._build_table(parent_count * self.extent)

    def _build_table(self, keys: int) -> Integers | None:
        """Return a table of the child at each key, -1 without a child; None above ``MAX_TABLE`` keys."""
        if keys > MAX_TABLE:
            return None
        table = np.full(keys, -1, np.int64)
        table[self.keys] = np.arange(len(self.keys))
        return table

    def counts(self, nodes: Integers) -> Integers:
        """Return the number of children of each node."""
        child_counts: Integers = self.first[nodes + 1] - self.first[nodes]
        return child_counts

    def find(self, nodes: Integers, coordinates: Integers) -> Integers:
        """Return the child of each node at a coordinate; -1 without a child."""
        keys = nodes * self.extent + coordinates
        if self.table is not None:
            children = self.table.take(keys, mode="clip")  # clipped keys are replaced by -1 below
        else:
            candidates = np.searchsorted(self.keys, keys)
            # -1 stands behind the keys, since a key above all others has the index behind the last key
            children = np.where(np.append(self.keys, -1)[candidates] == keys, candidates, -1)
        children[coordinates >= self.extent] = -1  # whose keys are those of other nodes
        return children


class _Walk:
    """Recursion over the loops, which counts the fetches of each tree's tiles."""

    def __init__(self, order: Sequence[str], trees: Sequence[_Tree], overflow: Overflow | None) -> None:
        self.order, self.trees, self.overflow = order, trees, overflow
        self.fetched = [Fetched() for _ in trees]

    def descend(self, depth: int, nodes: Sequence[Integers]) -> Integers:
        """Walk over the loops from ``depth`` on, and count the fetches.

        Args:
            depth: number of the loop.
            nodes: for each tree, its node at each point of the loops outside.

        Returns:
            For each point the number of iterations below.
        """
        if depth == len(self.order):
            return np.ones(len(nodes[0]), np.int64)
        levels = [tree.level(self.order[depth]) for tree in self.trees]
        sums = [np.zeros(0, np.int64)]  # not empty even without points, for ``concatenate``
        for points in _iterate_portions(levels, nodes):
            parents, children = _advance(levels, points)
            # first the loops inside, because a tile is fetched only if one of their iterations needs it
            iterations = self.descend(depth + 1, children)
            self._fetch(self.order[depth], children, iterations)
            sums.append(_sum_by_parent(parents, iterations, len(points[0])))
        return np.concatenate(sums)

    def _fetch(self, index: str, nodes: Sequence[Integers], uses: Integers) -> None:
        """Count the fetches of operands whose last index is ``index``: of tiles with a use."""
        for tree, tiles, fetched in zip(self.trees, nodes, self.fetched, strict=True):
            if tree.indices[-1] == index:  # the node is now a tile, not a set of tiles
                needed = tiles[uses > 0]
                words = tree.words[needed]
                if self.overflow is not None:
                    words = self.overflow.count_fetched_words(words, tree.sizes[needed], uses[uses > 0])
                fetched.fetches += len(needed)
                fetched.words += int(words.sum())
                fetched.nonzeros += int(tree.nonzeros[needed].sum())


def _sum_by_parent(parents: Integers, numbers: Integers, parent_count: int) -> Integers:
    """Return for each parent the sum of the numbers of its children; ``parents`` does not decrease."""
    # the children of a parent are a run: the difference of prefix sums at its ends, 0 for an empty run
    sums = np.append(0, np.cumsum(numbers))
    starts = np.searchsorted(parents, np.arange(parent_count + 1))
    return np.diff(sums[starts])


def _iterate_portions(levels: Sequence[_Level | None], nodes: Sequence[Integers]) -> Iterator[list[Integers]]:
    """Yield the points in portions of about ``MAX_CHILDREN`` children; a point is never divided."""
    portions = np.cumsum(_choose_driving_tree(levels, nodes)[1]) // MAX_CHILDREN
    starts = np.flatnonzero(np.diff(portions, prepend=-1))
    for start, end in pairwise([*starts, len(portions)]):
        yield [tree_nodes[start:end] for tree_nodes in nodes]


def _choose_driving_tree(levels: Sequence[_Level | None], nodes: Sequence[Integers]) -> tuple[int, Integers]:
    """Return the number of the tree with the fewest children below the points, and how many each point has.

    At least one tree has the loop's index.
    """
    counts = {tree: level.counts(nodes[tree]) for tree, level in enumerate(levels) if level is not None}
    driver = min(counts, key=lambda tree: int(counts[tree].sum()))
    return driver, counts[driver]


def _advance(levels: Sequence[_Level | None], nodes: Sequence[Integers]) -> tuple[Integers, list[Integers]]:
    """Return the points of the next loop: the parent of each point, and the node of each tree."""
    # the children of one tree are looked up in the others: the fewest children need the fewest lookups
    driver, counts = _choose_driving_tree(levels, nodes)
    level = levels[driver]
    assert level is not None
    parents = np.repeat(np.arange(len(counts)), counts)
    offsets = np.cumsum(counts) - counts
    children = np.arange(len(parents)) + (level.first[nodes[driver]] - offsets)[parents]
    coordinates = level.coordinates[children]
    next_nodes: list[Integers] = []
    for tree, tree_level in enumerate(levels):
        if tree == driver:
            next_nodes.append(children)
        elif tree_level is None:  # the loop does not advance in this tree
            next_nodes.append(nodes[tree][parents])
        else:
            next_nodes.append(tree_level.find(nodes[tree][parents], coordinates))
    in_all = np.logical_and.reduce([tree_nodes >= 0 for tree_nodes in next_nodes])
    if in_all.all():
        return parents, next_nodes
    return parents[in_all], [tree_nodes[in_all] for tree_nodes in next_nodes]
