"""The cursors with which a loop nest reads its tensors."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.models.trace.codes import NO_WINDOW
from fiberscope.models.trace.cursor import Cursor
from fiberscope.models.trace.plan import Mapped
from fiberscope.models.trace.prepare import Operand, depth_of
from fiberscope.workloads.expressions.expression import Index
from fiberscope.workloads.fibertree import FiberTree

Floats: TypeAlias = "npt.NDArray[np.float64]"

__all__ = ["InputLevel", "everywhere", "levels_of", "set_index", "window_of"]


@dataclass(frozen=True)
class InputLevel:
    """A rank of an input in the nest.

    Args:
        name: of the rank in the tree.
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


def levels_of(mapped: Mapped, operand: Operand) -> list[InputLevel]:
    """The ranks of a tensor that the nest knows coordinates of, from the root."""
    depths = [depth_of(mapped, operand, name) for name in operand.ordered.names]
    known = [depth for depth in depths if depth < len(mapped.loops)]
    fed = len(known) == len(depths) and known[:1] == [0] and _comes_in_blocks(operand)
    tree = operand.ordered.root if fed else operand.ordered.whole
    levels: list[InputLevel] = []
    for place, (name, depth) in enumerate(zip(tree.names, known, strict=False)):
        values = _values(tree, place) if place == len(known) - 1 else np.zeros(0)
        taken = any(level.loops and level.depth == depth for level in levels)
        loops = not taken and _loops(mapped, operand, name)
        shape = mapped.shape(mapped.loops[depth]) if loops else 0
        cursor = Cursor(tree.segments[place], tree.coordinates[place], values, shape)
        cursor.empty = operand.empty
        _set_coordinates(mapped, operand, name, cursor, loops=loops)
        levels.append(InputLevel(name, depth, loops, name in operand.followed, cursor))
    for upper, lower in itertools.pairwise(levels):
        upper.cursor.below = lower.cursor
    if fed:
        levels[0].cursor.feed_by(Feed(operand.ordered.blocks(), [level.cursor for level in levels[1:]]))
    return levels


def _comes_in_blocks(operand: Operand) -> bool:
    """Whether a loop goes through the root in its order, and what is below can follow it block by block."""
    use = operand.use(operand.ordered.names[0])
    return (use is None or use.plain) and operand.ordered.comes_in_blocks


class Feed:
    """The ranks below a root, of which the cursors hold the block that the loops are in.

    Args:
        blocks: of the tree.
        cursors: of the ranks below the root.
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
    """What the elements of the last rank that the nest knows hold; that there is a fiber below is a 1."""
    if place == len(tree.names) - 1:
        return tree.values.astype(np.float64, copy=False)
    return np.ones(len(tree.coordinates[place]))


def _loops(mapped: Mapped, operand: Operand, name: str) -> bool:
    """Whether a loop goes through a rank: it is the loop's, or its index moves with the loop."""
    use = operand.use(name)
    if use is None or use.plain:
        return name in mapped.loops
    mover = _mover(mapped, use.index)
    return mover is not None


def _mover(mapped: Mapped, index: Index) -> str | None:
    """The rank of an index whose coordinate is known last, if a loop of its own goes over it."""
    if not index.ranks:
        return None
    depths = {rank: mapped.known(rank).depth for rank in index.ranks}
    last = max(index.ranks, key=lambda rank: depths[rank])
    alone = list(depths.values()).count(depths[last]) == 1
    return last if alone and mapped.loop_of(last) == mapped.lowest(last) else None


def _set_coordinates(mapped: Mapped, operand: Operand, name: str, cursor: Cursor, *, loops: bool) -> None:
    use = operand.use(name)
    if use is not None and not use.plain:
        mover = _mover(mapped, use.index) if loops else None
        set_index(mapped, cursor, use.index, mover)
        if mover is not None:
            cursor.window = window_of(mapped, mapped.lowest(mover))
    elif not loops:
        set_index(mapped, cursor, Index(((name, 1),)), None)
    else:
        cursor.whole = _is_whole(mapped, operand, name)
        cursor.step = max(1, mapped.piece(name))
        if cursor.whole or name in operand.followed:
            cursor.window = window_of(mapped, name)


def set_index(mapped: Mapped, cursor: Cursor, index: Index, mover: str | None) -> None:
    """Tie a cursor to the loops' coordinates; ``mover`` is the rank that its own loop goes over."""
    fixed = [(mapped.known(rank).place, factor) for rank, factor in index.terms if rank != mover]
    cursor.bound = np.array([place for place, _ in fixed], np.int64)
    cursor.coefficients = np.array([factor for _, factor in fixed], np.int64)
    cursor.constant = index.constant
    if mover is not None:
        cursor.scale = dict(index.terms)[mover]


def _is_whole(mapped: Mapped, operand: Operand, name: str) -> bool:
    named: Iterable[str] = (name, mapped.base(name))
    return mapped.leader(name) is None and any(rank in operand.uncompressed for rank in named)


def window_of(mapped: Mapped, name: str) -> int:
    """The depth of the loop over the pieces that a rank's loop keeps to, or ``NO_WINDOW``."""
    loops = mapped.piece_loops(mapped.base(name))
    if name in mapped.loops and mapped.loops.index(name) in loops:
        loops = loops[: loops.index(mapped.loops.index(name))]
    return loops[-1] if loops else NO_WINDOW


def everywhere(mapped: Mapped, loop: str) -> Cursor:
    """A cursor at every coordinate of a loop."""
    cursor = Cursor(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), mapped.shape(loop))
    cursor.whole = True
    cursor.step = max(1, mapped.piece(loop))
    cursor.window = window_of(mapped, loop)
    return cursor
