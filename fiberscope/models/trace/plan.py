"""Plan of an Einsum's mapping: the loop from which the coordinate of a rank comes.

The ranks of an Einsum's equation become loops by partitioning and flattening. This page only names things
and says at which loop they are known; ``prepare`` cuts the trees, ``build`` makes the loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fiberscope.base.errors import InputError
from fiberscope.models.trace.specification import (
    Einsum,
    Flatten,
    Specification,
    Split,
    UniformOccupancy,
    UniformShape,
)
from fiberscope.workloads.expressions.expression import Access, Equation, Index, accesses
from fiberscope.workloads.fibertree import FiberTree

__all__ = ["BEFORE", "CoordinateSource", "LoopPlan", "RankUse", "rank_shapes", "uses_of"]

BEFORE = -1  # the depth of what is known before any loop begins


@dataclass(frozen=True)
class CoordinateSource:
    """Place from which a coordinate is known: the loop at ``depth``, at this place of the nest's point."""

    depth: int
    place: int


@dataclass(frozen=True)
class RankUse:
    """A rank of a tensor as an Einsum indexes it.

    Args:
        name: the name of the rank in the tree: that of the equation where the index is a plain one.
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
        names = {use.name for use in uses}
        plain = index.rank is not None and index.rank not in names
        name = str(index.rank) if plain else rank
        while name in names or (not plain and name in access.ranks):
            name += "'"
        uses.append(RankUse(name, rank, index, plain))
    return tuple(uses)


class LoopPlan:
    """The loops of an Einsum, and where the coordinates of its ranks are known.

    Args:
        einsum: an equation with its mapping.
        shapes: the shapes of its ranks by name.
    """

    def __init__(self, einsum: Einsum, shapes: Mapping[str, int]) -> None:
        self.einsum = einsum
        self.equation = einsum.computed
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
        """Return the bound of the coordinates of a rank, cut or not."""
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

    def locate(self, rank: str) -> CoordinateSource:
        """Return the place from which the coordinate of a rank is known."""
        loop = self.loop_of(rank)
        assert loop is not None, rank
        depth = self.loops.index(loop)
        if self.lowest(rank) == loop:
            return CoordinateSource(depth, depth)
        return CoordinateSource(depth, self._part_place(self.lowest(rank)))

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
        """The depths of the loops over the pieces of a rank, from the outside in, without the lowest.

        A piece that is flattened with another rank has no loop of its own.
        """
        split = self.splits.get(rank)
        if split is None:
            return []
        own = [self.loops.index(name) for name in split.names[:-1] if name in self.loops]
        return own + self.piece_loops(split.names[-1])

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
        """Return the coordinates of the pieces of each directive of a split; 0 if elements are counted."""
        shape = self.shape(split.rank)
        sizes = []
        for directive in split.directives:
            if isinstance(directive, UniformShape):
                shape = directive.size or max(1, -(-shape // directive.ways))
            sizes.append(shape if isinstance(directive, UniformShape) else 0)
        return sizes


def rank_shapes(
    specification: Specification, einsum: Einsum, tensors: Mapping[str, FiberTree]
) -> dict[str, int]:
    """The shape of each rank of an Einsum by name: of its tensors, declared, or such that indices fit.

    Raises:
        InputError: if tensors differ about one, or nothing says how large one is.
    """
    equation = einsum.computed
    shapes: dict[str, int] = {}
    given_by: dict[str, str] = {}
    affine: list[tuple[Index, int]] = []
    for access in accesses(equation.expression):
        sizes = {rank.name: rank.shape for rank in tensors[access.tensor].ranks}
        for index, declared in zip(access.indices, specification.tensors[access.tensor].ranks, strict=True):
            if index.rank is None:
                affine.append((index, sizes[declared]))
                continue
            rank = index.rank
            if shapes.setdefault(rank, sizes[declared]) != sizes[declared]:
                raise InputError(
                    f"{einsum.name}: {rank} is {shapes[rank]} in {given_by[rank]}, "
                    f"but {sizes[declared]} in {access.tensor}"
                )
            given_by.setdefault(rank, access.tensor)
    _complete(specification, einsum, shapes, affine)
    return shapes | _of_the_output(specification, equation, shapes)


def _complete(
    specification: Specification,
    einsum: Einsum,
    shapes: dict[str, int],
    affine: Iterable[tuple[Index, int]],
) -> None:
    for rank in einsum.ranks:
        if rank not in shapes and rank in specification.shapes:
            shapes[rank] = specification.shapes[rank]
    for index, size in affine:
        _fit(index, size, shapes)
    for rank in einsum.ranks:
        if rank not in shapes:
            raise InputError(f"{einsum.name}: nothing says how large {rank} is; give it under `shape`")


def _fit(index: Index, size: int, shapes: dict[str, int]) -> None:
    """The one unknown rank of an index is as large as lets every other reach its end."""
    unknown = [rank for rank in index.ranks if rank not in shapes]
    if len(unknown) != 1:
        return
    factors = dict(index.terms)
    if factors[unknown[0]] < 0:
        return
    rest = index.constant + sum(
        max(0, factor * (shapes[rank] - 1)) for rank, factor in index.terms if rank != unknown[0]
    )
    shapes[unknown[0]] = max(0, (size - 1 - rest) // factors[unknown[0]] + 1)


def _of_the_output(
    specification: Specification, equation: Equation, shapes: Mapping[str, int]
) -> dict[str, int]:
    """Shapes of the output's ranks whose index is not a plain one, by ``NAME of the output``."""
    shapes_of_output = {}
    for use in uses_of(equation.output, specification.tensors[equation.output.tensor].ranks):
        if not use.plain:
            reach = sum(max(0, factor * (shapes[rank] - 1)) for rank, factor in use.index.terms)
            size = specification.shapes.get(use.declared, use.index.constant + reach + 1)
            shapes_of_output[f"{use.name} of the output"] = size
    return shapes_of_output
