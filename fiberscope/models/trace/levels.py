"""The ranks of a nest's tensors: cursors that read the inputs, and the output's fibers and their tree."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.models.trace.codes import NO_WINDOW
from fiberscope.models.trace.cursor import Cursor
from fiberscope.models.trace.output import OutputRank
from fiberscope.models.trace.plan import LoopPlan, RankUse
from fiberscope.models.trace.prepare import Operand, depth_of
from fiberscope.models.trace.specification import UniformShape
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.expressions.expression import Index
from fiberscope.workloads.fibertree import FiberTree, Rank
from fiberscope.workloads.tree_blocks import swizzle_blocks

__all__ = [
    "InputLevel",
    "OutputLevel",
    "everywhere",
    "levels_of",
    "output_levels",
    "scanned_ranks",
    "set_index",
    "store_output",
    "tree_of",
    "window_of",
]

Floats: TypeAlias = "npt.NDArray[np.float64]"


@dataclass(frozen=True)
class InputLevel:
    """A rank of an input in the nest.

    Args:
        name: the name of the rank in the tree.
        depth: of the loop that goes through it or that looks it up in its body; -1: before all loops.
        loops: whether the loop goes through it.
        follows: whether it is cut where another tensor is, while the loops run.
        cursor: where it is.
    """

    name: str
    depth: int
    loops: bool
    follows: bool
    cursor: Cursor


def levels_of(plan: LoopPlan, operand: Operand) -> list[InputLevel]:
    """The ranks of a tensor that the nest knows coordinates of, from the root."""
    depths = [depth_of(plan, operand, name) for name in operand.ordered.names]
    depths_of_loops = [depth for depth in depths if depth < len(plan.loops)]
    fed = len(depths_of_loops) == len(depths) and depths_of_loops[:1] == [0] and _comes_in_blocks(operand)
    tree = operand.ordered.root if fed else operand.ordered.whole
    levels: list[InputLevel] = []
    scanned = scanned_ranks(plan, operand)
    for place, (name, depth) in enumerate(zip(tree.names, depths_of_loops, strict=False)):
        values = _values(tree, place) if place == len(depths_of_loops) - 1 else np.zeros(0)
        loops = scanned[name]
        shape = plan.shape(plan.loops[depth]) if loops else 0
        cursor = Cursor(tree.segments[place], tree.coordinates[place], values, shape)
        cursor.empty = operand.empty
        _set_coordinates(plan, operand, name, cursor, loops=loops)
        levels.append(InputLevel(name, depth, loops, name in operand.followed, cursor))
    for upper, lower in itertools.pairwise(levels):
        upper.cursor.below = lower.cursor
    if fed:
        levels[0].cursor.feed_by(Feed(operand.ordered.blocks(), [level.cursor for level in levels[1:]]))
    return levels


def scanned_ranks(plan: LoopPlan, operand: Operand) -> dict[str, bool]:
    """Return for each rank that the nest knows, from the root, whether its loop goes through it.

    The others are looked up in the body of the loop at which their coordinate is known.
    """
    scanned: dict[str, bool] = {}
    depths = set[int]()
    for name in operand.ordered.names:
        depth = depth_of(plan, operand, name)
        if depth >= len(plan.loops):
            break
        scanned[name] = depth not in depths and _loops(plan, operand, name)
        if scanned[name]:
            depths.add(depth)
    return scanned


def _comes_in_blocks(operand: Operand) -> bool:
    """Return whether a loop reads the root in its order, and the ranks below can follow it by blocks."""
    use = operand.use(operand.ordered.names[0])
    return (use is None or use.plain) and operand.ordered.comes_in_blocks


class Feed:
    """The ranks below a root, of which the cursors hold the block that the loops are in.

    Args:
        blocks: the blocks of the tree.
        cursors: the cursors of the ranks below the root.
    """

    def __init__(self, blocks: Iterator[FiberTree], cursors: Sequence[Cursor]) -> None:
        self.blocks, self.cursors = blocks, cursors
        self.roots = 0

    def load(self) -> int:
        """Go on to the next block; returns the root's elements up to its end."""
        tree = next(self.blocks)
        for place, cursor in enumerate(self.cursors, start=1):
            cursor.hold(tree.segments[place], tree.coordinates[place], _values(tree, place))
        self.roots += len(tree.coordinates[0])
        return self.roots


def _values(tree: FiberTree, place: int) -> Floats:
    """Return the values of the last known rank's elements; a fiber below counts as 1."""
    if place == len(tree.names) - 1:
        return tree.values.astype(np.float64, copy=False)
    return np.ones(len(tree.coordinates[place]))


def _loops(plan: LoopPlan, operand: Operand, name: str) -> bool:
    """Return whether a loop goes through a rank: it is the loop's, or its index moves with the loop."""
    use = operand.use(name)
    if use is None or use.plain:
        return name in plan.loops
    mover = _mover(plan, use.index)
    return mover is not None


def _mover(plan: LoopPlan, index: Index) -> str | None:
    """The rank of an index whose coordinate is known last, if a loop of its own goes over it."""
    if not index.ranks:
        return None
    depths = {rank: plan.locate(rank).depth for rank in index.ranks}
    last = max(index.ranks, key=lambda rank: depths[rank])
    alone = list(depths.values()).count(depths[last]) == 1
    return last if alone and plan.loop_of(last) == plan.lowest(last) else None


def _set_coordinates(plan: LoopPlan, operand: Operand, name: str, cursor: Cursor, *, loops: bool) -> None:
    use = operand.use(name)
    if use is not None and not use.plain:
        mover = _mover(plan, use.index) if loops else None
        set_index(plan, cursor, use.index, mover)
        if mover is not None:
            cursor.window = window_of(plan, plan.lowest(mover))
    elif not loops:
        set_index(plan, cursor, Index(((name, 1),)), None)
    else:
        cursor.whole = _is_whole(plan, operand, name)
        cursor.step = max(1, plan.piece(name))
        if cursor.whole or name in operand.followed:
            cursor.window = window_of(plan, name)


def set_index(plan: LoopPlan, cursor: Cursor, index: Index, mover: str | None) -> None:
    """Tie a cursor to the loops' coordinates; ``mover`` is the rank that its own loop goes over."""
    fixed = [(plan.locate(rank).place, factor) for rank, factor in index.terms if rank != mover]
    cursor.bound = np.array([place for place, _ in fixed], np.int64)
    cursor.coefficients = np.array([factor for _, factor in fixed], np.int64)
    cursor.constant = index.constant
    if mover is not None:
        cursor.scale = dict(index.terms)[mover]


def _is_whole(plan: LoopPlan, operand: Operand, name: str) -> bool:
    named: Iterable[str] = (name, plan.base(name))
    return plan.leader(name) is None and any(rank in operand.uncompressed for rank in named)


def window_of(plan: LoopPlan, name: str) -> int:
    """The depth of the loop over the pieces that a rank's loop keeps to, or ``NO_WINDOW``."""
    loops = plan.piece_loops(plan.base(name))
    if name in plan.loops and plan.loops.index(name) in loops:
        loops = loops[: loops.index(plan.loops.index(name))]
    return loops[-1] if loops else NO_WINDOW


def everywhere(plan: LoopPlan, loop: str) -> Cursor:
    """A cursor at every coordinate of a loop."""
    cursor = Cursor(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), plan.shape(loop))
    cursor.whole = True
    cursor.step = max(1, plan.piece(loop))
    cursor.window = window_of(plan, loop)
    return cursor


@dataclass(frozen=True)
class OutputLevel:
    """A rank of the output as the nest builds it.

    Args:
        rank: the rank of the tree.
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


def output_levels(plan: LoopPlan, uses: Sequence[RankUse], empty: float) -> list[OutputLevel]:
    """The ranks of an output, from the root, in the order in which the loops come to know them.

    Pieces that are cut by shape are ranks of their own. Pieces of so many elements are not: their elements
    go into one fiber.
    """
    ranks = [rank for use in uses for rank in _ranks_of(plan, use)]
    for flatten in plan.flattened.values():
        parts = {rank.name: rank for rank, _ in ranks if rank.name in flatten.ranks}
        if set(parts) == set(flatten.ranks):
            flat = _flat(plan.lowest(flatten.name), [parts[name] for name in flatten.ranks])
            ranks = [(rank, index) for rank, index in ranks if rank.name not in parts]
            ranks.append((flat, Index(((flat.name, 1),))))
    placed = [(_depth(plan, index), rank, index) for rank, index in ranks]
    placed.sort(key=lambda item: item[0])
    return _grown(plan, placed or [(-1, Rank("", 1), Index(()))], empty)


def _ranks_of(plan: LoopPlan, use: RankUse) -> list[tuple[Rank, Index]]:
    """The ranks of the tree that a rank of the output becomes."""
    if not use.plain:
        return [(Rank(use.name, plan.shapes[f"{use.name} of the output"], use.declared), use.index)]
    shape, name = plan.shape(use.name), use.name
    ranks: list[tuple[Rank, Index]] = []
    while name in plan.splits:
        split = plan.splits[name]
        for upper, directive in zip(split.names, split.directives, strict=False):
            if isinstance(directive, UniformShape) and upper in plan.loops:
                ranks.append((Rank(upper, shape), Index(((upper, 1),))))
        name = split.names[-1]
    return [*ranks, (Rank(name, shape, use.declared), Index(((name, 1),)))]


def _flat(name: str, parts: Sequence[Rank]) -> Rank:
    flat = parts[0]
    for part in parts[1:]:
        flat = Rank(name, flat.shape * part.shape, parts=(flat, part))
    return flat


def _depth(plan: LoopPlan, index: Index) -> int:
    return max((plan.locate(rank).depth for rank in index.ranks), default=-1)


def _grown(plan: LoopPlan, placed: Sequence[tuple[int, Rank, Index]], empty: float) -> list[OutputLevel]:
    levels: list[OutputLevel] = []
    below: OutputRank | None = None
    for place, (depth, rank, index) in reversed(list(enumerate(placed))):
        below = OutputRank(rank.shape, below, empty)
        first = all(depth != before for before, _, _ in placed[:place])
        loops = first and depth >= 0 and index.rank == plan.loops[depth]
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
    """Return the places of the elements of fibers; a slice if they are contiguous."""
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


def store_output(tree: FiberTree, order: Sequence[str]) -> FiberTree:
    """The output in the order in which it is stored, with the ranks of its declaration."""
    if tree.ranks == ():
        return tree
    if all(rank.tensor_rank for rank in tree.ranks):
        named = replace(tree, ranks=tuple(replace(rank, name=rank.tensor_rank) for rank in tree.ranks))
        return swizzle_blocks(named, order)
    coordinates, values = tree.to_coo()
    shapes = _shapes(tree.ranks)
    ordered = {rank: shapes[rank] for rank in order}
    return FiberTree.from_coo(ordered, [coordinates[rank] for rank in order], values)


def _shapes(ranks: Sequence[Rank]) -> dict[str, int]:
    shapes: dict[str, int] = {}
    for rank in ranks:
        if rank.parts:
            shapes |= _shapes(rank.parts)
        elif rank.tensor_rank:
            shapes[rank.tensor_rank] = rank.shape
    return shapes
