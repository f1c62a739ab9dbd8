"""Ranks of a nest's tensors: cursors of the inputs, fibers of the output, and the output's tree."""

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
from fiberscope.models.trace.prepare import Operand, find_depth
from fiberscope.models.trace.specification import UniformShape
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.expressions.expression import Index
from fiberscope.workloads.fibertree import FiberTree, Rank
from fiberscope.workloads.tree_blocks import swizzle_blocks

Floats: TypeAlias = "npt.NDArray[np.float64]"


@dataclass(frozen=True)
class InputLevel:
    """A rank of an input in the nest.

    Args:
        name: the name of the rank in the tree.
        depth: of the loop that iterates over the rank or looks up its coordinate; -1: before all loops.
        loops: whether the loop iterates over the rank.
        follows: whether the rank follows a partition by occupancy of another tensor.
        cursor: the position in the rank.
    """

    name: str
    depth: int
    loops: bool
    follows: bool
    cursor: Cursor


def list_levels(plan: LoopPlan, operand: Operand) -> list[InputLevel]:
    """Return the ranks of a tensor whose coordinates the nest knows, from the root, with new cursors.

    Args:
        plan: loops of the Einsum.
        operand: an operand after ``prepare``.
    """
    depths = [find_depth(plan, operand, name) for name in operand.ordered.names]
    loop_depths = [depth for depth in depths if depth < len(plan.loops)]
    # blocks are loaded one after another: every rank needs a loop, and the outermost loop reads the root
    is_fed = len(loop_depths) == len(depths) and loop_depths[:1] == [0] and _can_load_blocks(operand)
    tree = operand.ordered.root if is_fed else operand.ordered.whole
    levels: list[InputLevel] = []
    scanned = find_scanned_ranks(plan, operand)
    # not strict: ranks without a loop are last in the tree, and the nest does not know them
    for level_number, (name, depth) in enumerate(zip(tree.names, loop_depths, strict=False)):
        values = _select_values(tree, level_number) if level_number == len(loop_depths) - 1 else np.zeros(0)
        loops = scanned[name]
        shape = plan.shape(plan.loops[depth]) if loops else 0
        cursor = Cursor(tree.segments[level_number], tree.coordinates[level_number], values, shape)
        cursor.empty = operand.empty
        _set_coordinates(plan, operand, name, cursor, loops=loops)
        levels.append(InputLevel(name, depth, loops, name in operand.followers, cursor))
    for outer, inner in itertools.pairwise(levels):
        outer.cursor.next_rank = inner.cursor
    if is_fed:
        levels[0].cursor.attach_blocks(
            BlockFeed(operand.ordered.blocks(), [level.cursor for level in levels[1:]])
        )
    return levels


def find_scanned_ranks(plan: LoopPlan, operand: Operand) -> dict[str, bool]:
    """Return for each rank that the nest knows, from the root, whether its loop iterates over the rank.

    A loop iterates over one rank of a tensor; a second rank at the same depth, as in ``A[i, i]``, is looked
    up. The other ranks are looked up in the body of the loop that determines their coordinate.
    """
    scanned: dict[str, bool] = {}
    depths = set[int]()
    for name in operand.ordered.names:
        depth = find_depth(plan, operand, name)
        if depth >= len(plan.loops):
            break
        scanned[name] = depth not in depths and _has_loop(plan, operand, name)
        if scanned[name]:
            depths.add(depth)
    return scanned


def _can_load_blocks(operand: Operand) -> bool:
    """Return whether a loop reads the root in order, so that the ranks below can be loaded in blocks."""
    use = operand.use(operand.ordered.names[0])
    return (use is None or use.is_plain) and operand.ordered.comes_in_blocks


class BlockFeed:
    """The block of a tree that the loops currently read, for the cursors below the root.

    Args:
        blocks: the blocks of the tree.
        cursors: the cursors of the ranks below the root.
    """

    def __init__(self, blocks: Iterator[FiberTree], cursors: Sequence[Cursor]) -> None:
        self.blocks, self.cursors = blocks, cursors
        self.roots = 0  # root elements in all blocks so far

    def load(self) -> int:
        """Load the next block; return the number of root elements up to the end of the block."""
        tree = next(self.blocks)
        for number, cursor in enumerate(self.cursors, start=1):
            cursor.set_block(tree.segments[number], tree.coordinates[number], _select_values(tree, number))
        self.roots += len(tree.coordinates[0])
        return self.roots


def _select_values(tree: FiberTree, level_number: int) -> Floats:
    """Return the values of the elements of a rank; a fiber below counts as 1."""
    if level_number == len(tree.names) - 1:
        return tree.values.astype(np.float64, copy=False)
    return np.ones(len(tree.coordinates[level_number]))


def _has_loop(plan: LoopPlan, operand: Operand, name: str) -> bool:
    """Return whether a loop iterates over a rank: over the rank itself, or over a rank of its index."""
    use = operand.use(name)
    if use is None or use.is_plain:
        return name in plan.loops
    mover = _find_moving_rank(plan, use.index)
    return mover is not None


def _find_moving_rank(plan: LoopPlan, index: Index) -> str | None:
    """Return the rank of an index whose coordinate is known last, if the rank has a loop of its own."""
    if not index.ranks:
        return None
    depths = {rank: plan.locate(rank).depth for rank in index.ranks}
    # the loop of the rank that is known last can solve the index for its coordinate; two ranks known at once
    # (parts of one flattened rank) leave the coordinate to a lookup
    innermost = max(index.ranks, key=lambda rank: depths[rank])
    is_only = list(depths.values()).count(depths[innermost]) == 1
    return innermost if is_only and plan.loop_of(innermost) == plan.find_lowest_piece(innermost) else None


def _set_coordinates(plan: LoopPlan, operand: Operand, name: str, cursor: Cursor, *, loops: bool) -> None:
    """Set how a cursor finds coordinates: by an index, by look-up (``loops`` is false), or in a range."""
    use = operand.use(name)
    if use is not None and not use.is_plain:
        mover = _find_moving_rank(plan, use.index) if loops else None
        set_index(plan, cursor, use.index, mover)
        if mover is not None:
            cursor.window = find_window(plan, plan.find_lowest_piece(mover))
    elif not loops:
        set_index(plan, cursor, Index(((name, 1),)), None)
    else:
        cursor.is_dense = _is_dense(plan, operand, name)
        # pieces by shape begin at multiples of their size
        cursor.step = max(1, plan.find_piece_size(name))
        if cursor.is_dense or name in operand.followers:
            cursor.window = find_window(plan, name)


def set_index(plan: LoopPlan, cursor: Cursor, index: Index, mover: str | None) -> None:
    """Set the affine map from the coordinates of the loops to the coordinate of a cursor.

    Args:
        plan: loops of the Einsum.
        index: the affine index.
        mover: the rank of the index over which the cursor's own loop iterates; None: a lookup.
    """
    fixed = [(plan.locate(rank).index, factor) for rank, factor in index.terms if rank != mover]
    cursor.bound_loops = np.array([depth for depth, _ in fixed], np.int64)
    cursor.coefficients = np.array([factor for _, factor in fixed], np.int64)
    cursor.constant = index.constant
    if mover is not None:
        cursor.scale = dict(index.terms)[mover]


def _is_dense(plan: LoopPlan, operand: Operand, name: str) -> bool:
    """Return whether a loop visits every coordinate of a rank; never for pieces by occupancy."""
    names: Iterable[str] = (name, plan.base(name))
    return plan.leader(name) is None and any(rank in operand.uncompressed for rank in names)


def find_window(plan: LoopPlan, name: str) -> int:
    """Return the depth of the innermost loop over pieces that bounds a rank's loop, or ``NO_WINDOW``.

    Args:
        plan: loops of the Einsum.
        name: name of a rank or a piece.
    """
    loops = plan.list_piece_loops(plan.base(name))
    if name in plan.loops and plan.loops.index(name) in loops:
        # the loop is over pieces itself: only the loops over larger pieces bound it
        loops = loops[: loops.index(plan.loops.index(name))]
    return loops[-1] if loops else NO_WINDOW


def build_full_cursor(plan: LoopPlan, loop: str) -> Cursor:
    """Return a cursor that is present at every coordinate of a loop."""
    # one fiber without elements; being dense, the cursor still visits every coordinate
    cursor = Cursor(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), plan.shape(loop))
    cursor.is_dense = True
    cursor.step = max(1, plan.find_piece_size(loop))
    cursor.window = find_window(plan, loop)
    return cursor


@dataclass(frozen=True)
class OutputLevel:
    """A rank of the output as the nest builds it.

    Args:
        rank: the rank of the tree.
        depth: the loop that determines the coordinate; -1: no loop does.
        index: the index of the coordinate.
        loops: whether the loop iterates over this very rank.
        fibers: the fibers of the rank while the nest writes them.
    """

    rank: Rank
    depth: int
    index: Index
    loops: bool
    fibers: OutputRank


def build_output_levels(plan: LoopPlan, uses: Sequence[RankUse], empty: float) -> list[OutputLevel]:
    """Return the ranks of an output, from the root, in the order in which loops determine their coordinates.

    Pieces of a partition by shape are ranks of their own. Pieces by occupancy are not: their elements go into
    one fiber.

    Args:
        plan: loops of the Einsum.
        uses: declared ranks of the output as the equation indexes them, see ``uses_of``.
        empty: the value that the output does not store.
    """
    ranks = [rank for use in uses for rank in _list_tree_ranks(plan, use)]
    for flatten in plan.flattened.values():
        piece = plan.find_lowest_piece(flatten.name)
        if plan.find_holder(piece) is not None:
            continue  # no loop has its coordinates, but those of its parts
        parts = plan.list_parts(piece)
        components = {rank.name: rank for rank, _ in ranks if rank.name in parts}
        if set(components) == set(parts):  # an output with only some of the parts keeps them apart
            flat = _flatten(piece, [components[name] for name in parts])
            ranks = [(rank, index) for rank, index in ranks if rank.name not in components]
            ranks.append((flat, Index(((flat.name, 1),))))
    ranks_by_depth = [(_find_depth(plan, index), rank, index) for rank, index in ranks]
    # a stable sort: ranks at the same depth stay in declared order
    ranks_by_depth.sort(key=lambda item: item[0])
    # a scalar gets a rank without a name and with one coordinate, which ``build_tree`` removes
    return _make_levels(plan, ranks_by_depth or [(-1, Rank("", 1), Index(()))], empty)


def _list_tree_ranks(plan: LoopPlan, use: RankUse) -> list[tuple[Rank, Index]]:
    """Return the ranks of the tree for one rank of the output."""
    if not use.is_plain:
        return [(Rank(use.name, plan.shapes[f"{use.name} of the output"], use.declared), use.index)]
    shape, name = plan.shape(use.name), use.name
    ranks: list[tuple[Rank, Index]] = []
    while name in plan.splits:
        split = plan.splits[name]
        for piece, directive in zip(split.names, split.directives, strict=False):
            # a piece by occupancy has no coordinates of its own, a flattened piece has no loop
            if isinstance(directive, UniformShape) and piece in plan.loops:
                ranks.append((Rank(piece, shape), Index(((piece, 1),))))
        name = split.names[-1]  # may be split again
    return [*ranks, (Rank(name, shape, use.declared), Index(((name, 1),)))]


def _flatten(name: str, ranks: Sequence[Rank]) -> Rank:
    flat = ranks[0]
    for rank in ranks[1:]:
        flat = Rank(name, flat.shape * rank.shape, parts=(flat, rank))
    return flat


def _find_depth(plan: LoopPlan, index: Index) -> int:
    return max((plan.locate(rank).depth for rank in index.ranks), default=-1)


def _make_levels(
    plan: LoopPlan, ranks_by_depth: Sequence[tuple[int, Rank, Index]], empty: float
) -> list[OutputLevel]:
    """Return the levels of an output from its ranks, each with its depth, rank and index, from the root."""
    levels: list[OutputLevel] = []
    rank_below: OutputRank | None = None
    # from the last rank to the root, since a rank needs the rank below
    for number, (depth, rank, index) in reversed(list(enumerate(ranks_by_depth))):
        rank_below = OutputRank(rank.shape, rank_below, empty)
        # one rank a loop takes the loop's coordinate; the body computes the coordinates of the others
        is_first = all(depth != earlier for earlier, _, _ in ranks_by_depth[:number])
        loops = is_first and depth >= 0 and index.rank == plan.loops[depth]
        levels.append(OutputLevel(rank, depth, index, loops, rank_below))
    return levels[::-1]


def build_tree(levels: Sequence[OutputLevel]) -> FiberTree:
    """Return the tree that the nest built; a scalar has no ranks, and may have no value.

    The nest leaves fibers in the order of their creation, with gaps. The tree has fibers in order of
    coordinates, without gaps.
    """
    segments: list[Integers] = []
    coordinates: list[Integers] = []
    fibers = np.zeros(1, np.int64)  # the fibers of the current rank in order; the root has fiber 0 alone
    positions: Integers | slice = fibers
    for level in levels:
        written = level.fibers
        lengths = np.asarray(written.lengths)[fibers]
        positions = _expand_positions(np.asarray(written.starts)[fibers], lengths)
        segments.append(np.concatenate([[0], np.cumsum(lengths)]))
        coordinates.append(_take_elements(np.asarray(written.coordinates), positions))
        if written.next_rank is not None:
            fibers = _take_elements(np.asarray(written.children), positions)
    values = _take_elements(np.asarray(levels[-1].fibers.values), positions)
    if levels[0].rank.name == "":
        return FiberTree((), (), (), values)
    return FiberTree(tuple(level.rank for level in levels), tuple(segments), tuple(coordinates), values)


def _expand_positions(starts: Integers, lengths: Integers) -> Integers | slice:
    """Return the places of the elements of fibers; a slice, which copies nothing, if they are contiguous."""
    filled = lengths > 0
    starts, lengths = starts[filled], lengths[filled]
    if len(starts) == 0:
        return slice(0, 0)
    ends = starts + lengths
    if np.array_equal(starts[1:], ends[:-1]):
        return slice(int(starts[0]), int(ends[-1]))
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])  # of each fiber's first element in the result
    positions: Integers = np.arange(int(lengths.sum())) + np.repeat(starts - offsets, lengths)
    return positions


def _take_elements(array: npt.NDArray[Any], positions: Integers | slice) -> npt.NDArray[Any]:
    return array[positions]


def store_output(tree: FiberTree, order: Sequence[str]) -> FiberTree:
    """Return the output in its order of storage, with the ranks of its declaration.

    Args:
        tree: the output as the nest built it, with pieces and flattened ranks.
        order: declared ranks in the order of storage.
    """
    if tree.ranks == ():
        return tree
    # pieces and flattened ranks have no declared rank; without them, an exchange of ranks is enough
    if all(rank.tensor_rank for rank in tree.ranks):
        renamed = replace(tree, ranks=tuple(replace(rank, name=rank.tensor_rank) for rank in tree.ranks))
        return swizzle_blocks(renamed, order)
    coordinates, values = tree.to_coo()  # by declared rank: pieces dropped, flattened ranks taken apart
    shapes = _list_shapes(tree.ranks)
    ordered = {rank: shapes[rank] for rank in order}
    return FiberTree.from_coo(ordered, [coordinates[rank] for rank in order], values)


def _list_shapes(ranks: Sequence[Rank]) -> dict[str, int]:
    """Return the shapes of the declared ranks by name, those of flattened ranks included."""
    shapes: dict[str, int] = {}
    for rank in ranks:
        if rank.parts:
            shapes |= _list_shapes(rank.parts)
        elif rank.tensor_rank:
            shapes[rank.tensor_rank] = rank.shape
    return shapes
