"""How an Einsum is mapped: from which loop the coordinate of a rank comes.

The ranks of an Einsum's equation become loops by partitioning and flattening. This page only names things
and says at which loop they are known; ``prepare`` cuts the trees, ``build`` makes the loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fiberscope.models.trace.specification import Einsum, Flatten, Split, UniformOccupancy, UniformShape
from fiberscope.workloads.expressions.expression import Access, Equation, Index

__all__ = ["BEFORE", "Known", "Mapped", "RankUse", "uses_of"]

BEFORE = -1  # the depth of what is known before any loop begins


@dataclass(frozen=True)
class Known:
    """Where a coordinate is known: from the loop at ``depth`` on, at this place of the nest's point."""

    depth: int
    place: int


@dataclass(frozen=True)
class RankUse:
    """A rank of a tensor as an Einsum indexes it.

    Args:
        name: of the rank in the tree: that of the equation where the index is a plain one.
        declared: its name in the declaration.
        index: its coordinate.
        plain: whether it is that of one of the Einsum's ranks, which no rank before it is.
    """

    name: str
    declared: str
    index: Index
    plain: bool


def uses_of(access: Access, declared: tuple[str, ...]) -> tuple[RankUse, ...]:
    """The ranks of a tensor by the names that an Einsum gives them."""
    uses: list[RankUse] = []
    for index, rank in zip(access.indices, declared, strict=True):
        taken = {use.name for use in uses}
        plain = index.rank is not None and index.rank not in taken
        name = str(index.rank) if plain else rank
        while name in taken or (not plain and name in access.ranks):
            name += "'"
        uses.append(RankUse(name, rank, index, plain))
    return tuple(uses)


class Mapped:
    """The loops of an Einsum, and where the coordinates of its ranks are known.

    Args:
        einsum: an equation with its mapping.
        shapes: of its ranks by name.
    """

    def __init__(self, einsum: Einsum, shapes: Mapping[str, int]) -> None:
        assert isinstance(einsum.equation, Equation)
        self.einsum = einsum
        self.equation = einsum.equation
        self.loops = einsum.loop_order
        self.splits = {part.rank: part for part in einsum.partitioning if isinstance(part, Split)}
        self.flattened = {part.name: part for part in einsum.partitioning if isinstance(part, Flatten)}
        self.shapes = dict(shapes)
        for flatten in self.flattened.values():
            self.shapes[flatten.name] = 1
            for rank in flatten.ranks:
                self.shapes[flatten.name] *= self.shape(rank)
        self._places: dict[str, int] = {}

    def base(self, rank: str) -> str:
        """The rank that a piece was cut from, as often as it was; the rank itself if it was not."""
        for split in self.splits.values():
            if rank in split.names:
                return self.base(split.rank)
        return rank

    def shape(self, rank: str) -> int:
        """What the coordinates of a rank, cut or not, are below."""
        return self.shapes[self.base(rank)]

    def lowest(self, rank: str) -> str:
        """The piece that has the coordinates of a rank."""
        split = self.splits.get(rank)
        return rank if split is None else self.lowest(split.names[-1])

    def holder(self, rank: str) -> str | None:
        """The flattened rank that a rank is part of."""
        return next((flat.name for flat in self.flattened.values() if rank in flat.ranks), None)

    def loop_of(self, rank: str) -> str | None:
        """The loop whose coordinate says that of a rank; None if it is in no loop."""
        lowest = self.lowest(rank)
        holder = self.holder(lowest)
        if holder is not None:
            return self.loop_of(holder)
        return lowest if lowest in self.loops else None

    def known(self, rank: str) -> Known:
        """Where the coordinate of a rank is known."""
        loop = self.loop_of(rank)
        assert loop is not None, rank
        depth = self.loops.index(loop)
        if self.lowest(rank) == loop:
            return Known(depth, depth)
        return Known(depth, self._part_place(self.lowest(rank)))

    def _part_place(self, rank: str) -> int:
        """A place of its own for the coordinate of a part of a flattened rank."""
        return self._places.setdefault(rank, len(self.loops) + len(self._places))

    def top(self, rank: str) -> int:
        """The depth of the outermost loop of a rank or of its pieces; behind all loops if it has none."""
        if rank in self.loops:
            return self.loops.index(rank)
        if rank in self.splits:
            return self.top(self.splits[rank].names[0])
        holder = self.holder(rank)
        return len(self.loops) if holder is None else self.top(holder)

    def depth(self, use: RankUse) -> int:
        """The loop at which the coordinate of a tensor's rank is known; behind all if none goes over it."""
        depths = [self._depth_of(rank) for rank in use.index.ranks]
        return max(depths, default=BEFORE)

    def _depth_of(self, rank: str) -> int:
        loop = self.loop_of(rank)
        return len(self.loops) if loop is None else self.loops.index(loop)

    def piece_loops(self, rank: str) -> list[int]:
        """The depths of the loops over the pieces of a rank, from the outside in, without the lowest."""
        split = self.splits.get(rank)
        if split is None:
            return []
        return [self.loops.index(name) for name in split.names[:-1]] + self.piece_loops(split.names[-1])

    def leader(self, loop: str) -> str | None:
        """The tensor whose elements are counted to cut what a loop goes over."""
        for split in self.splits.values():
            if loop in split.names[:-1]:
                directive = split.directives[split.names.index(loop)]
                return directive.leader if isinstance(directive, UniformOccupancy) else None
        return None

    def piece(self, loop: str) -> int:
        """Coordinates of the pieces that a loop goes over; 0: it goes over none, or they are no ranges."""
        for split in self.splits.values():
            if loop in split.names[:-1]:
                return self.piece_sizes(split)[split.names.index(loop)]
        return 0

    def piece_sizes(self, split: Split) -> list[int]:
        """For each directive of a split the coordinates of its pieces; 0 where elements are counted."""
        shape = self.shape(split.rank)
        sizes = []
        for directive in split.directives:
            if isinstance(directive, UniformShape):
                shape = directive.size or max(1, -(-shape // directive.ways))
            sizes.append(shape if isinstance(directive, UniformShape) else 0)
        return sizes
