"""The outer loops of a tiled kernel, walked over the nonempty tiles: which tiles are fetched, and how often.

An operand's tiles are a tree, a level for each of its indices in loop order. At each loop the nodes of all
operands that carry its index step to those children that all of them have (hierarchical skipping), for all
points of the loops above at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tiles.packed import Packed
from fiberscope.workloads.tiles.tiling import Tiled

__all__ = ["Fetched", "Overflow", "walk"]

POINTS = 1 << 21  # of a loop that are worked on at once
TABLE = 1 << 24  # places of a table that finds children, at the most


@dataclass(frozen=True)
class Overflow:
    """Treatment of a tile that exceeds its buffer: a part streams, anew at each use, and the rest stays.

    Source: Tailors (Xue et al., MICRO 2023), for the idea; that it is of these words is our reading.

    Args:
        capacity: the capacity of the buffer, in words.
        stays: of those, how many stay.
    """

    capacity: int
    stays: int

    def words(self, words: Integers, uses: Integers) -> Integers:
        """Words that are fetched of tiles that are used so often in a row."""
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
    """Walk the tiles: return the fetches of each buffer, and the iterations with a tile of every operand.

    A tile is fetched when its last index is bound and an iteration below needs it; it stays while deeper
    indices run, and no longer.

    Args:
        order: the order of the outer loops.
        operands: the operands by name: the indices of the ranks, and the tiles.
        overflow: the overflow of operands whose tiles may exceed their buffer, what happens then.
    """
    trees = [_Tree(sorted(indices, key=order.index), indices, tiled) for indices, tiled in operands.values()]
    walker = _Walk(order, trees, overflow)
    iterations = walker.go(0, [np.zeros(1, np.int64) for _ in trees])
    return dict(zip(operands, walker.fetched, strict=True)), int(iterations.sum())


class _Tree:
    """An operand's nonempty tiles as a tree, a level an index; the root is node 0.

    Args:
        indices: in the order of the loops.
        ranks: the same as the tiles are stored.
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
        """Return the level at which the tree branches by an index; None if it never does."""
        return self.levels[self.indices.index(index)] if index in self.indices else None


class _Level:
    """The children of the nodes of one level: node n's are ``first[n] : first[n + 1]``, by coordinate.

    Args:
        parents: of each tile the node above.
        column: of each tile the coordinate at this level.
        above: how many nodes are above.
    """

    def __init__(self, parents: Integers, column: Integers, above: int) -> None:
        self.extent = int(column.max(initial=0)) + 1
        keys = parents * self.extent + column  # sorted, as the tiles are
        new = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
        self.nodes = np.cumsum(new) - 1  # of each tile
        self.keys = keys[new]
        self.coordinates = column[new]
        self.first = np.append(0, np.cumsum(np.bincount(parents[new], minlength=above)))
        self.table = self._table(above * self.extent)

    def _table(self, places: int) -> Integers | None:
        """The child at each key, -1 where there is none; None where that would be too large."""
        if places > TABLE:
            return None
        table = np.full(places, -1, np.int64)
        table[self.keys] = np.arange(len(self.keys))
        return table

    def counts(self, nodes: Integers) -> Integers:
        """Count the children of each node."""
        many: Integers = self.first[nodes + 1] - self.first[nodes]
        return many

    def find(self, nodes: Integers, coordinates: Integers) -> Integers:
        """The child of each node at a coordinate; -1 where it has none."""
        keys = nodes * self.extent + coordinates
        if self.table is not None:
            positions = self.table.take(keys, mode="clip")
        else:
            places = np.searchsorted(self.keys, keys)
            positions = np.where(np.append(self.keys, -1)[places] == keys, places, -1)
        positions[coordinates >= self.extent] = -1  # no key is theirs
        return positions


class _Walk:
    def __init__(self, order: Sequence[str], trees: Sequence[_Tree], overflow: Overflow | None) -> None:
        self.order, self.trees, self.overflow = order, trees, overflow
        self.fetched = [Fetched() for _ in trees]

    def go(self, depth: int, nodes: Sequence[Integers]) -> Integers:
        """Walk the loops from ``depth`` on, from points at each of which every tree is at a node.

        Returns:
            Of each point, how many iterations were reached below it.
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
        """Count the fetches of operands whose last index this is."""
        for tree, tiles, fetched in zip(self.trees, nodes, self.fetched, strict=True):
            if tree.indices[-1] == index:
                needed = tiles[uses > 0]
                words = tree.words[needed]
                if self.overflow is not None:
                    words = self.overflow.words(words, uses[uses > 0])
                fetched.fetches += len(needed)
                fetched.words += int(words.sum())
                fetched.nonzeros += int(tree.nonzeros[needed].sum())


def _sums(places: Integers, numbers: Integers, many: int) -> Integers:
    """Sums of the numbers that belong to each of so many places; the places increase."""
    before = np.append(0, np.cumsum(numbers))
    ends = np.searchsorted(places, np.arange(many + 1))
    return np.diff(before[ends])


def _portions(levels: Sequence[_Level | None], nodes: Sequence[Integers]) -> Iterator[list[Integers]]:
    """The points in portions whose children are not many."""
    portions = np.cumsum(_fewest(levels, nodes)[1]) // POINTS
    starts = np.flatnonzero(np.diff(portions, prepend=-1))
    for first, last in pairwise([*starts, len(portions)]):
        yield [each[first:last] for each in nodes]


def _fewest(levels: Sequence[_Level | None], nodes: Sequence[Integers]) -> tuple[int, Integers]:
    """The tree with the fewest children below the points, and how many each point's node has there."""
    counts = {place: level.counts(nodes[place]) for place, level in enumerate(levels) if level is not None}
    least = min(counts, key=lambda place: int(counts[place].sum()))
    return least, counts[least]


def _step(levels: Sequence[_Level | None], nodes: Sequence[Integers]) -> tuple[Integers, list[Integers]]:
    """The points one loop deeper: of each the point above, and each tree's node."""
    driver, counts = _fewest(levels, nodes)
    level = levels[driver]
    assert level is not None
    parents = np.repeat(np.arange(len(counts)), counts)
    offsets = np.cumsum(counts) - counts
    children = np.arange(len(parents)) + (level.first[nodes[driver]] - offsets)[parents]
    coordinates = level.coordinates[children]
    stepped: list[Integers] = []
    for place, other in enumerate(levels):
        if place == driver:
            stepped.append(children)
        elif other is None:
            stepped.append(nodes[place][parents])
        else:
            stepped.append(other.find(nodes[place][parents], coordinates))
    met = np.logical_and.reduce([each >= 0 for each in stepped])
    return (parents, stepped) if met.all() else (parents[met], [each[met] for each in stepped])
