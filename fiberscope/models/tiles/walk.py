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
from fiberscope.workloads.tiles.packed import Packed
from fiberscope.workloads.tiles.tiling import Tiled

POINTS = 1 << 21  # points of a loop in a portion
TABLE = 1 << 24  # largest size of a lookup table of children


@dataclass(frozen=True)
class Overflow:
    """Handling of a tile that exceeds its buffer: a part streams at each use, and the rest stays.

    Source: Tailors (Xue et al., MICRO 2023); the size of the part is our interpretation.

    Args:
        capacity: the capacity of the buffer, in words.
        stays: words of a larger tile that stay in the buffer; the others are fetched at each use.
    """

    capacity: int
    stays: int

    def words(self, words: Integers, uses: Integers) -> Integers:
        """Return the fetched words of tiles.

        Args:
            words: size of each tile.
            uses: number of consecutive uses of each tile.
        """
        streamed = self.stays + uses * (words - self.stays)
        moved: Integers = np.where(words > self.capacity, streamed, words)
        return moved


@dataclass
class Fetched:
    """Fetches of an operand: tiles, words of 4 bytes, nonzeros."""

    fetches: int = 0
    words: int = 0
    nonzeros: int = 0


def walk(
    order: Sequence[str],
    operands: Mapping[str, tuple[Sequence[str], Tiled | Packed]],
    overflow: Overflow | None = None,
) -> tuple[dict[str, Fetched], int]:
    """Walk over the tiles; return the fetches of each operand, and the iterations with all operands.

    A tile is fetched when its last index is bound and an inner iteration needs it. The tile stays while
    deeper indices iterate, and no longer.

    Args:
        order: the order of the outer loops.
        operands: by name, the indices of the ranks, and the tiles.
        overflow: the handling of tiles that exceed their buffer; None: tiles do not overflow.
    """
    trees = [_Tree(sorted(indices, key=order.index), indices, tiled) for indices, tiled in operands.values()]
    walker = _Walk(order, trees, overflow)
    iterations = walker.go(0, [np.zeros(1, np.int64) for _ in trees])
    return dict(zip(operands, walker.fetched, strict=True)), int(iterations.sum())


class _Tree:
    """An operand's nonempty tiles as a tree with a level for each index; the root is node 0.

    Args:
        indices: in loop order.
        ranks: the same indices in the order of the ranks of ``tiled``.
        tiled: the tiles.
    """

    def __init__(self, indices: Sequence[str], ranks: Sequence[str], tiled: Tiled | Packed) -> None:
        self.indices = tuple(indices)
        columns = [tiled.ids[ranks.index(index)] for index in indices]
        order = np.lexsort(columns[::-1])
        self.words, self.nonzeros = tiled.words[order], tiled.nonzeros[order]
        self.levels: list[_Level] = []
        parents, above = np.zeros(len(order), np.int64), 1
        for column in (column[order] for column in columns):
            level = _Level(parents, column, above)
            self.levels.append(level)
            parents, above = level.nodes, len(level.coordinates)

    def level(self, index: str) -> _Level | None:
        """Return the level of an index, or None."""
        return self.levels[self.indices.index(index)] if index in self.indices else None


class _Level:
    """The children of the nodes of one level: those of node n are ``first[n] : first[n + 1]``, by coordinate.

    Args:
        parents: for each tile the parent node.
        column: for each tile the coordinate at this level.
        above: number of parent nodes.
    """

    def __init__(self, parents: Integers, column: Integers, above: int) -> None:
        self.extent = int(column.max(initial=0)) + 1
        keys = parents * self.extent + column  # sorted, as the tiles are
        is_first = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
        self.nodes = np.cumsum(is_first) - 1  # of each tile
        self.keys = keys[is_first]
        self.coordinates = column[is_first]
        self.first = np.append(0, np.cumsum(np.bincount(parents[is_first], minlength=above)))
        self.table = self._table(above * self.extent)

    def _table(self, places: int) -> Integers | None:
        """Return a table of the child at each key, -1 without a child; None above ``TABLE`` keys."""
        if places > TABLE:
            return None
        table = np.full(places, -1, np.int64)
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
            positions = self.table.take(keys, mode="clip")
        else:
            places = np.searchsorted(self.keys, keys)
            positions = np.where(np.append(self.keys, -1)[places] == keys, places, -1)
        positions[coordinates >= self.extent] = -1
        return positions


class _Walk:
    def __init__(self, order: Sequence[str], trees: Sequence[_Tree], overflow: Overflow | None) -> None:
        self.order, self.trees, self.overflow = order, trees, overflow
        self.fetched = [Fetched() for _ in trees]

    def go(self, depth: int, nodes: Sequence[Integers]) -> Integers:
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
        sums = [np.zeros(0, np.int64)]
        for points in _portions(levels, nodes):
            above, children = _step(levels, points)
            below = self.go(depth + 1, children)
            self._fetch(self.order[depth], children, below)
            sums.append(_sums(above, below, len(points[0])))
        return np.concatenate(sums)

    def _fetch(self, index: str, nodes: Sequence[Integers], uses: Integers) -> None:
        """Count the fetches of operands with this last index."""
        for tree, tiles, fetched in zip(self.trees, nodes, self.fetched, strict=True):
            if tree.indices[-1] == index:
                needed = tiles[uses > 0]
                words = tree.words[needed]
                if self.overflow is not None:
                    words = self.overflow.words(words, uses[uses > 0])
                fetched.fetches += len(needed)
                fetched.words += int(words.sum())
                fetched.nonzeros += int(tree.nonzeros[needed].sum())


def _sums(positions: Integers, numbers: Integers, place_count: int) -> Integers:
    """Return for each place the sum of the numbers whose position it is; positions are increasing."""
    preceding = np.append(0, np.cumsum(numbers))
    ends = np.searchsorted(positions, np.arange(place_count + 1))
    return np.diff(preceding[ends])


def _portions(levels: Sequence[_Level | None], nodes: Sequence[Integers]) -> Iterator[list[Integers]]:
    """Yield the points in portions with a bounded number of children."""
    portions = np.cumsum(_driving_tree(levels, nodes)[1]) // POINTS
    starts = np.flatnonzero(np.diff(portions, prepend=-1))
    for first, last in pairwise([*starts, len(portions)]):
        yield [each[first:last] for each in nodes]


def _driving_tree(levels: Sequence[_Level | None], nodes: Sequence[Integers]) -> tuple[int, Integers]:
    """Return the tree with the fewest children below the points, and the children of each point."""
    counts = {place: level.counts(nodes[place]) for place, level in enumerate(levels) if level is not None}
    least = min(counts, key=lambda place: int(counts[place].sum()))
    return least, counts[least]


def _step(levels: Sequence[_Level | None], nodes: Sequence[Integers]) -> tuple[Integers, list[Integers]]:
    """Return the points of the next loop: the parent of each point, and the node of each tree."""
    driver, counts = _driving_tree(levels, nodes)
    level = levels[driver]
    assert level is not None
    parents = np.repeat(np.arange(len(counts)), counts)
    offsets = np.cumsum(counts) - counts
    children = np.arange(len(parents)) + (level.first[nodes[driver]] - offsets)[parents]
    coordinates = level.coordinates[children]
    next_nodes: list[Integers] = []
    for place, other in enumerate(levels):
        if place == driver:
            next_nodes.append(children)
        elif other is None:
            next_nodes.append(nodes[place][parents])
        else:
            next_nodes.append(other.find(nodes[place][parents], coordinates))
    in_all = np.logical_and.reduce([each >= 0 for each in next_nodes])
    return (parents, next_nodes) if in_all.all() else (parents[in_all], [each[in_all] for each in next_nodes])
