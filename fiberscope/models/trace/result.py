"""The tensor that a loop nest writes: its ranks while they grow, and the tree that comes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.models.trace.output import OutputRank
from fiberscope.models.trace.plan import Mapped, RankUse
from fiberscope.models.trace.specification import UniformShape
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.expressions.expression import Index
from fiberscope.workloads.fibertree import FiberTree, Rank
from fiberscope.workloads.tree_blocks import swizzled

__all__ = ["OutputLevel", "output_levels", "stored", "tree_of"]


@dataclass(frozen=True)
class OutputLevel:
    """A rank of the output as the nest builds it.

    Args:
        rank: of the tree.
        depth: the loop that knows its coordinate; -1: no loop does.
        index: that coordinate.
        loops: whether the loop goes over this very rank.
        growing: where its fibers grow.
    """

    rank: Rank
    depth: int
    index: Index
    loops: bool
    growing: OutputRank


def output_levels(mapped: Mapped, uses: Sequence[RankUse], empty: float) -> list[OutputLevel]:
    """The ranks of an output, from the root, in the order in which the loops come to know them.

    Pieces that are cut by shape are ranks of their own. Pieces of so many elements are not: their elements
    go into one fiber.
    """
    ranks = [rank for use in uses for rank in _ranks_of(mapped, use)]
    for flatten in mapped.flattened.values():
        parts = {rank.name: rank for rank, _ in ranks if rank.name in flatten.ranks}
        if set(parts) == set(flatten.ranks):
            flat = _flat(mapped.lowest(flatten.name), [parts[name] for name in flatten.ranks])
            ranks = [(rank, index) for rank, index in ranks if rank.name not in parts]
            ranks.append((flat, Index(((flat.name, 1),))))
    known = [(_depth(mapped, index), rank, index) for rank, index in ranks]
    known.sort(key=lambda item: item[0])
    return _grown(mapped, known or [(-1, Rank("", 1), Index(()))], empty)


def _ranks_of(mapped: Mapped, use: RankUse) -> list[tuple[Rank, Index]]:
    """The ranks of the tree that a rank of the output becomes."""
    if not use.plain:
        return [(Rank(use.name, mapped.shapes[f"{use.name} of the output"], use.declared), use.index)]
    shape, name = mapped.shape(use.name), use.name
    ranks: list[tuple[Rank, Index]] = []
    while name in mapped.splits:
        split = mapped.splits[name]
        for upper, directive in zip(split.names, split.directives, strict=False):
            if isinstance(directive, UniformShape) and upper in mapped.loops:
                ranks.append((Rank(upper, shape), Index(((upper, 1),))))
        name = split.names[-1]
    return [*ranks, (Rank(name, shape, use.declared), Index(((name, 1),)))]


def _flat(name: str, parts: Sequence[Rank]) -> Rank:
    flat = parts[0]
    for part in parts[1:]:
        flat = Rank(name, flat.shape * part.shape, parts=(flat, part))
    return flat


def _depth(mapped: Mapped, index: Index) -> int:
    return max((mapped.known(rank).depth for rank in index.ranks), default=-1)


def _grown(mapped: Mapped, known: Sequence[tuple[int, Rank, Index]], empty: float) -> list[OutputLevel]:
    levels: list[OutputLevel] = []
    below: OutputRank | None = None
    for place, (depth, rank, index) in reversed(list(enumerate(known))):
        below = OutputRank(rank.shape, below, empty)
        first = all(depth != before for before, _, _ in known[:place])
        loops = first and depth >= 0 and index.rank == mapped.loops[depth]
        levels.append(OutputLevel(rank, depth, index, loops, below))
    return levels[::-1]


def tree_of(levels: Sequence[OutputLevel]) -> FiberTree:
    """The tree as the nest built it; without ranks for a scalar, whose value may be missing."""
    segments: list[Integers] = []
    coordinates: list[Integers] = []
    fibers = np.zeros(1, np.int64)
    places: Integers | slice = fibers
    for level in levels:
        growing = level.growing
        lengths = np.asarray(growing.lengths)[fibers]
        places = _places(np.asarray(growing.starts)[fibers], lengths)
        segments.append(np.concatenate([[0], np.cumsum(lengths)]))
        coordinates.append(_taken(np.asarray(growing.coordinates), places))
        if growing.below is not None:
            fibers = _taken(np.asarray(growing.children), places)
    values = _taken(np.asarray(levels[-1].growing.values), places)
    if levels[0].rank.name == "":
        return FiberTree((), (), (), values)
    return FiberTree(tuple(level.rank for level in levels), tuple(segments), tuple(coordinates), values)


def _places(starts: Integers, lengths: Integers) -> Integers | slice:
    """Where the elements of fibers lie; a slice if they follow one another."""
    filled = lengths > 0
    starts, lengths = starts[filled], lengths[filled]
    if len(starts) == 0:
        return slice(0, 0)
    ends = starts + lengths
    if np.array_equal(starts[1:], ends[:-1]):
        return slice(int(starts[0]), int(ends[-1]))
    before = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    places: Integers = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return places


def _taken(array: npt.NDArray[Any], places: Integers | slice) -> npt.NDArray[Any]:
    return array[places]


def stored(tree: FiberTree, order: Sequence[str]) -> FiberTree:
    """The output in the order in which it is stored, with the ranks of its declaration."""
    if tree.ranks == ():
        return tree
    if all(rank.tensor_rank for rank in tree.ranks):
        named = replace(tree, ranks=tuple(replace(rank, name=rank.tensor_rank) for rank in tree.ranks))
        return swizzled(named, order)
    found, values = tree.to_coo()
    shapes = _shapes(tree.ranks)
    ordered = {rank: shapes[rank] for rank in order}
    return FiberTree.from_coo(ordered, [found[rank] for rank in order], values)


def _shapes(ranks: Sequence[Rank]) -> dict[str, int]:
    shapes: dict[str, int] = {}
    for rank in ranks:
        if rank.parts:
            shapes |= _shapes(rank.parts)
        elif rank.tensor_rank:
            shapes[rank.tensor_rank] = rank.shape
    return shapes
