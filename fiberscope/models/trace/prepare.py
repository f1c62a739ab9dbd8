"""Preparation of an Einsum's trees: partitioning, flattening, and reordering of ranks to loop order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.trace.plan import LoopPlan, RankUse
from fiberscope.models.trace.specification import (
    Flatten,
    Follow,
    Split,
    UniformOccupancy,
    UniformShape,
)
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tree_blocks import NONZEROS_PER_BLOCK, Reordered


@dataclass
class Operand:
    """A tensor as one access of the equation reads it.

    ``prepare`` changes ``tree`` partition by partition, and sets ``ordered`` at its end.

    Args:
        name: name of the tensor.
        uses: its ranks by the equation's names.
        tree: the tree after the partitions so far.
        ordered: the tree in loop order.
        empty: the value of an element that is not stored.
        uncompressed: ranks whose whole shape an iterator visits.
        followers: ranks that follow a partition of another tensor while the loops run.
        format_names: by name in the tree, the names of pieces with halos in formats and bindings.
    """

    name: str
    uses: tuple[RankUse, ...]
    tree: FiberTree
    ordered: Reordered = field(init=False)
    empty: float = 0.0
    uncompressed: tuple[str, ...] = ()
    followers: list[str] = field(default_factory=list)
    format_names: dict[str, str] = field(default_factory=dict)

    @property
    def formatted_tree(self) -> Reordered:
        """Return the tree in loop order, with the names of ranks in formats and bindings."""
        if not self.format_names:
            return self.ordered
        names = tuple(self.format_names.get(name, name) for name in self.ordered.names)
        return replace(self.ordered, tree=rename_ranks(self.tree, self.format_names), names=names)

    def use(self, rank: str) -> RankUse | None:
        """Return the use whose rank has this name; None for a piece, or a flattened rank.

        The innermost piece with a halo keeps the name of the rank, and has its use.
        """
        return next((use for use in self.uses if use.name == rank), None)


@dataclass(frozen=True)
class _Cut:
    """A directive of a split, by its position."""

    split: Split
    number: int

    def find_loop_depth(self, plan: LoopPlan) -> int:
        """Return the depth of the loop over the pieces, at least that of the larger pieces."""
        return max(plan.find_top_depth(name) for name in self.split.names[: self.number + 1])


def prepare(plan: LoopPlan, operands: Sequence[Operand]) -> None:
    """Partition and flatten all operands in place, and set ``ordered`` to their trees in loop order.

    Args:
        plan: the plan of the Einsum's loops.
        operands: an operand for each access of the equation, in order.

    Raises:
        InputError: a partition does not fit the operands.
    """
    for step in _order_partitions(plan):
        if isinstance(step, _Cut):
            _cut(plan, operands, step)
        elif isinstance(step, Flatten):
            _flatten(plan, operands, step)
        else:
            _follow(plan, operands, step)
    for operand in operands:
        # the sort is stable: ranks of the same depth keep their order in the tree
        names = sorted(operand.tree.names, key=lambda name: find_depth(plan, operand, name))
        operand.ordered = Reordered(operand.tree, tuple(names), NONZEROS_PER_BLOCK)


def _order_partitions(plan: LoopPlan) -> Iterator[_Cut | Flatten | Follow]:
    """Yield the partitions; the cuts of consecutive splits go from the outermost loop to the innermost.

    A cut by occupancy finds its pieces below the leader's ranks with outer loops. These ranks must be cut
    before it, and inner ranks after it, even between two cuts of one rank.
    """
    cuts: list[_Cut] = []
    for step in plan.einsum.partitioning:
        if isinstance(step, Split):
            cuts += [_Cut(step, number) for number in range(len(step.directives))]
            continue
        yield from sorted(cuts, key=lambda cut: cut.find_loop_depth(plan))
        cuts.clear()
        yield step
    yield from sorted(cuts, key=lambda cut: cut.find_loop_depth(plan))


def find_depth(plan: LoopPlan, operand: Operand, name: str) -> int:
    """Return the depth of the loop that iterates over a rank of a tree, or looks up its coordinate.

    The depth is ``NO_LOOP`` for a constant coordinate, and the number of loops if the rank has no loop.
    """
    use = operand.use(name)
    if use is not None and not use.is_plain:
        return plan.depth(use)
    if name in plan.loops:
        return plan.loops.index(name)
    if plan.loop_of(name) is not None:
        return plan.locate(name).depth
    return plan.find_top_depth(name)


def _cut(plan: LoopPlan, operands: Sequence[Operand], cut: _Cut) -> None:
    split, number = cut.split, cut.number
    directive, rank = split.directives[number], split.names[number] if number else split.rank
    piece, inner = split.names[number], split.names[number + 1]
    if isinstance(directive, UniformShape):
        _cut_by_shape(operands, rank, plan.list_piece_sizes(split)[number], piece, inner)
    else:
        _cut_by_occupancy(plan, operands, rank, directive, piece, inner)


def _cut_by_shape(operands: Sequence[Operand], rank: str, size: int, piece: str, inner: str) -> None:
    for operand in operands:
        if rank in operand.followers:
            raise InputError(
                f"{rank} of {operand.name} cannot be cut by shape: it follows another tensor's pieces"
            )
        if _has_rank(operand, rank):
            operand.tree = operand.tree.partition_by_shape(rank, size, piece, inner)


def _has_rank(operand: Operand, rank: str) -> bool:
    use = operand.use(rank)
    return rank in operand.tree.names and (use is None or use.is_plain)


def _cut_by_occupancy(
    plan: LoopPlan,
    operands: Sequence[Operand],
    rank: str,
    directive: UniformOccupancy,
    piece: str,
    inner: str,
) -> None:
    """Split the leader and tensors with the same outer ranks; others follow at run time."""
    leader = next((operand for operand in operands if operand.name == directive.leader), None)
    if leader is None or not _has_rank(leader, rank):
        raise InputError(f"{directive.leader} cannot lead the cut of {rank}: it does not have it")
    # boundaries are those of each fiber under the outer ranks; a tensor without these ranks cannot have them
    outer = [name for name in _find_outer_ranks(plan, leader, rank, piece) if name != rank]
    # the fibers of ``rank`` then lie directly below the outer ranks, one fiber for each of their coordinates
    leader.tree = _move_to_root(leader.tree, outer, rank)
    boundaries = leader.tree.boundaries(rank, directive.size)
    for operand in operands:
        if not _has_rank(operand, rank):
            continue
        if operand.name == directive.leader:
            tree = _move_to_root(operand.tree, outer, rank)
            operand.tree = tree.partition_by_occupancy(rank, directive.size, piece, inner)
        elif set(outer) <= set(operand.tree.names) and rank not in operand.followers:
            tree = _move_to_root(operand.tree, outer, rank)
            operand.tree = tree.partition_by_leader(rank, boundaries, piece, inner)
        else:
            _follow_at_run_time(operand, rank, inner)


def _follow_at_run_time(operand: Operand, rank: str, inner: str) -> None:
    """Rename a whole rank to the piece below the directive; the loops bound the rank to the current piece."""
    operand.tree = rename_ranks(operand.tree, {rank: inner})
    operand.followers = [name for name in operand.followers if name != rank] + [inner]


def _find_outer_ranks(plan: LoopPlan, leader: Operand, rank: str, piece: str) -> list[str]:
    """Return the leader's ranks with loops outside of the loop over pieces, in loop order."""
    depth = plan.loops.index(piece) if piece in plan.loops else plan.find_top_depth(rank)
    names = [name for name in leader.tree.names if _find_outermost_depth(plan, leader, name) < depth]
    return sorted(names, key=lambda name: _find_outermost_depth(plan, leader, name))


def _find_outermost_depth(plan: LoopPlan, operand: Operand, name: str) -> int:
    use = operand.use(name)
    return plan.depth(use) if use is not None and not use.is_plain else plan.find_top_depth(name)


def _move_to_root(tree: FiberTree, outer: Sequence[str], rank: str) -> FiberTree:
    """Move some ranks and a rank below them to the root."""
    root_ranks = [*outer, rank]
    return tree.swizzle([*root_ranks, *(name for name in tree.names if name not in root_ranks)])


def _flatten(plan: LoopPlan, operands: Sequence[Operand], flatten: Flatten) -> None:
    for operand in operands:
        if all(_has_rank(operand, rank) for rank in flatten.ranks):
            operand.tree = _flatten_tree(plan, operand, flatten)


def _flatten_tree(plan: LoopPlan, operand: Operand, flatten: Flatten) -> FiberTree:
    """Return a tree with flattened ranks, below the ranks whose loops are outside of the flattened loop."""
    names = operand.tree.names
    depth = plan.find_top_depth(flatten.name)
    other_ranks = [name for name in names if name not in flatten.ranks]
    outer_ranks = [name for name in other_ranks if _find_outermost_depth(plan, operand, name) < depth]
    inner_ranks = [name for name in other_ranks if name not in outer_ranks]
    tree = operand.tree.swizzle([*outer_ranks, *flatten.ranks, *inner_ranks])
    outer = flatten.ranks[0]
    for number, inner in enumerate(flatten.ranks[1:], start=1):
        # ``flatten`` joins two ranks: ranks before the last join get a temporary name
        name = flatten.name if number == len(flatten.ranks) - 1 else f"{outer}+{inner}"
        tree = tree.flatten(outer, inner, name)
        outer = name
    return tree


def _follow(plan: LoopPlan, operands: Sequence[Operand], follow: Follow) -> None:
    """Split a rank with an affine index into pieces with halos, which follow the pieces of an index rank.

    Raises:
        InputError: the leader's pieces are by occupancy.
    """
    sizes = plan.list_piece_sizes(plan.splits[follow.leader])
    if 0 in sizes:  # ``list_piece_sizes`` gives 0 for pieces by occupancy
        raise InputError(f"{follow.rank} cannot follow {follow.leader}: its pieces are not cut by shape")
    for operand in operands:
        use = next((use for use in operand.uses if use.declared == follow.rank), None)
        if use is not None and not use.is_plain and follow.leader in use.index.ranks:
            _cut_with_halo(plan, operand, use, follow, sizes)


def _cut_with_halo(
    plan: LoopPlan, operand: Operand, use: RankUse, follow: Follow, sizes: Sequence[int]
) -> None:
    """Copy to every piece all elements that its coordinates can reach; halos lie in several pieces."""
    coefficient = dict(use.index.terms)[follow.leader]
    # the index minus its term of the leader lies between ``low`` and ``high``, both inclusive
    low = high = use.index.constant
    for rank, factor in use.index.terms:
        if rank != follow.leader:
            reach = factor * (plan.shape(rank) - 1)  # negative for a negative factor
            low, high = low + min(0, reach), high + max(0, reach)
    tree = operand.tree
    outer: tuple[str, int] | None = None
    for name, size in zip(plan.splits[follow.leader].names[:-1], sizes, strict=True):
        pieces = _HaloPieces(name, plan.shape(follow.leader), size, coefficient, low, high, outer)
        tree = pieces.add_to(tree, use.name)
        outer = name, size
    operand.tree = tree
    piece_names = (*plan.splits[follow.leader].names[:-1], use.name)
    operand.format_names |= dict(zip(piece_names, follow.names, strict=True))


@dataclass(frozen=True)
class _HaloPieces:
    """Pieces with halos: w is in the piece q to q + size if ``coefficient * q + (low to high)`` can be w.

    Args:
        name: the name of the rank of the pieces.
        shape: the shape of the rank of q.
        size: coordinates of a piece.
        coefficient: factor of q in the index.
        low, high: smallest and largest sum of the index's constant and other terms.
        outer: name and size of the enclosing pieces; None if there are none.
    """

    name: str
    shape: int
    size: int
    coefficient: int
    low: int
    high: int
    outer: tuple[str, int] | None

    def add_to(self, tree: FiberTree, rank: str) -> FiberTree:
        """Return the tree with the rank of the pieces at its root."""
        columns = dict(zip(tree.names, tree.columns(), strict=True))
        members = [self._find_members(start, columns, rank) for start in range(0, self.shape, self.size)]
        positions = np.concatenate(members)
        sizes = [len(positions) for positions in members]
        piece_starts = np.repeat(np.arange(len(members)) * self.size, sizes)
        shapes = {self.name: self.shape} | {level.name: level.shape for level in tree.ranks}
        other_columns = [columns[name][positions] for name in tree.names]
        return FiberTree.from_coo(shapes, [piece_starts, *other_columns], tree.values[positions])

    def _find_members(self, start: int, columns: Mapping[str, Integers], rank: str) -> Integers:
        """Return the positions, in tree order, of the elements in the piece that begins at ``start``."""
        last = min(start + self.size, self.shape) - 1
        bounds = self.coefficient * start, self.coefficient * last  # decreasing for a negative coefficient
        is_member = (columns[rank] >= min(bounds) + self.low) & (columns[rank] <= max(bounds) + self.high)
        if self.outer is not None:  # an element in several outer pieces has a copy in each
            name, size = self.outer
            is_member &= (columns[name] <= start) & (start < columns[name] + size)
        return np.flatnonzero(is_member)


def rename_ranks(tree: FiberTree, names: Mapping[str, str]) -> FiberTree:
    """Return the tree with other names for some of its ranks."""
    return replace(
        tree, ranks=tuple(replace(rank, name=names.get(rank.name, rank.name)) for rank in tree.ranks)
    )
