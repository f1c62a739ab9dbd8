"""Plan of an Einsum's loops: the loop that determines the coordinate of each rank.

Partitioning and flattening turn the ranks of an equation into loops. This module names loops and pieces;
``prepare`` partitions the trees, and ``build`` constructs the loops.
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

NO_LOOP = -1  # the depth of a coordinate that is known before any loop begins


@dataclass(frozen=True)
class CoordinateSource:
    """Source of a coordinate.

    Args:
        depth: depth of the loop that determines the coordinate, 0 for the outermost.
        index: index of the coordinate in ``NestState.point``: the depth, or for a part of a flattened rank an
            index after those of all loops.
    """

    depth: int
    index: int


@dataclass(frozen=True)
class RankUse:
    """A rank of a tensor as an Einsum indexes it.

    Args:
        name: the name of the rank in the tree; for a plain index the name in the equation.
        declared: its name in the declaration.
        index: its coordinate.
        is_plain: whether the index is a single rank that no earlier rank of the tensor has.
    """

    name: str
    declared: str
    index: Index
    is_plain: bool


def uses_of(access: Access, declared: tuple[str, ...]) -> tuple[RankUse, ...]:
    """Return the ranks of a tensor with the names that an Einsum gives them.

    A rank with a plain index has the name of the index. Other ranks keep the declared name, with apostrophes
    if that name is taken.

    Args:
        access: the access of the tensor in the equation.
        declared: declared names of the tensor's ranks.
    """
    uses: list[RankUse] = []
    for index, rank in zip(access.indices, declared, strict=True):
        names = {use.name for use in uses}
        is_plain = index.rank is not None and index.rank not in names
        name = str(index.rank) if is_plain else rank
        while name in names or (not is_plain and name in access.ranks):
            name += "'"
        uses.append(RankUse(name, rank, index, is_plain))
    return tuple(uses)


class LoopPlan:
    """The loops of an Einsum, and the loops that determine the coordinates of its ranks.

    A piece is a rank that a split makes of a rank; the innermost piece has the rank's own coordinates.

    Args:
        einsum: an equation with its mapping.
        shapes: the shapes of its unpartitioned ranks by name, see ``rank_shapes``.
    """

    def __init__(self, einsum: Einsum, shapes: Mapping[str, int]) -> None:
        self.einsum = einsum
        self.equation = einsum.computed
        self.loops = einsum.loop_order
        self.splits = {step.rank: step for step in einsum.partitioning if isinstance(step, Split)}
        self.flattened = {step.name: step for step in einsum.partitioning if isinstance(step, Flatten)}
        self.shapes = dict(shapes)
        for flatten in self.flattened.values():
            self.shapes[flatten.name] = 1  # a pair of coordinates becomes the number c0 * shape1 + c1
            for rank in flatten.ranks:
                self.shapes[flatten.name] *= self.shape(rank)
        self._component_indices: dict[str, int] = {}

    def base(self, rank: str) -> str:
        """Return the unpartitioned rank of a piece; the rank itself if it is no piece."""
        for split in self.splits.values():
            if rank in split.names:
                return self.base(split.rank)  # a piece may be split again
        return rank

    def shape(self, rank: str) -> int:
        """Return the bound of the coordinates of a rank or a piece."""
        return self.shapes[self.base(rank)]

    def find_lowest_piece(self, rank: str) -> str:
        """Return the innermost piece of a rank, which has its coordinates."""
        split = self.splits.get(rank)
        return rank if split is None else self.find_lowest_piece(split.names[-1])

    def find_holder(self, rank: str) -> str | None:
        """Return the flattened rank with a rank as a part, or None."""
        return next((flat.name for flat in self.flattened.values() if rank in flat.ranks), None)

    def list_parts(self, piece: str) -> list[str]:
        """Return the parts of a flattened rank, by its innermost piece; the piece itself of any other rank.

        A part that is itself flattened is replaced by its parts.
        """
        flattened = {self.find_lowest_piece(step.name): step for step in self.flattened.values()}
        if piece not in flattened:
            return [piece]
        return [part for rank in flattened[piece].ranks for part in self.list_parts(rank)]

    def loop_of(self, rank: str) -> str | None:
        """Return the loop that determines the coordinate of a rank; None if no loop does.

        It is the loop of the rank's innermost piece, or of the flattened rank with this piece as a part.
        """
        lowest = self.find_lowest_piece(rank)
        holder = self.find_holder(lowest)
        if holder is not None:
            return self.loop_of(holder)
        return lowest if lowest in self.loops else None

    def locate(self, rank: str) -> CoordinateSource:
        """Return the source of the coordinate of a rank; a loop must determine it, see ``loop_of``.

        The first call for a part of a flattened rank assigns its index in the point.
        """
        loop = self.loop_of(rank)
        assert loop is not None, rank
        depth = self.loops.index(loop)
        # otherwise the loop is over a flattened rank, and its body computes the coordinate of this part
        if self.find_lowest_piece(rank) == loop:
            return CoordinateSource(depth, depth)
        return CoordinateSource(depth, self._find_component_index(self.find_lowest_piece(rank)))

    def _find_component_index(self, rank: str) -> int:
        """Return the index of the coordinate of a flattened rank's part in the nest's point."""
        return self._component_indices.setdefault(rank, len(self.loops) + len(self._component_indices))

    def find_top_depth(self, rank: str) -> int:
        """Return the depth of a rank's outermost loop, or the number of loops if there is none."""
        if rank in self.loops:
            return self.loops.index(rank)
        if rank in self.splits:
            return self.find_top_depth(self.splits[rank].names[0])
        holder = self.find_holder(rank)
        return len(self.loops) if holder is None else self.find_top_depth(holder)

    def depth(self, use: RankUse) -> int:
        """Return the depth of the loop that determines a rank's coordinate.

        The depth is ``NO_LOOP`` for a constant coordinate, and the number of loops if no loop determines it.
        """
        depths = [self._find_depth(rank) for rank in use.index.ranks]
        return max(depths, default=NO_LOOP)

    def _find_depth(self, rank: str) -> int:
        loop = self.loop_of(rank)
        return len(self.loops) if loop is None else self.loops.index(loop)

    def list_piece_loops(self, rank: str) -> list[int]:
        """Return the depths of the loops over the outer pieces of a rank, outermost first.

        A piece that is flattened with another rank has no loop of its own.
        """
        split = self.splits.get(rank)
        if split is None:
            return []
        depths = [self.loops.index(name) for name in split.names[:-1] if name in self.loops]
        return depths + self.list_piece_loops(split.names[-1])

    def leader(self, loop: str) -> str | None:
        """Return the tensor whose occupancy bounds the pieces of a loop; None without such a tensor."""
        for split in self.splits.values():
            if loop in split.names[:-1]:  # the innermost piece has no directive: its loop is over coordinates
                directive = split.directives[split.names.index(loop)]
                return directive.leader if isinstance(directive, UniformOccupancy) else None
        return None

    def find_piece_size(self, loop: str) -> int:
        """Return the coordinates of a piece of a loop by shape; 0 for other loops, by occupancy included."""
        for split in self.splits.values():
            if loop in split.names[:-1]:
                return self.list_piece_sizes(split)[split.names.index(loop)]
        return 0

    def list_piece_sizes(self, split: Split) -> list[int]:
        """Return the coordinates of a piece for each directive of a split; 0 for a partition by occupancy.

        A directive with a number of ways divides the pieces of the directive by shape before it.
        """
        shape = self.shape(split.rank)
        sizes = []
        for directive in split.directives:
            if isinstance(directive, UniformShape):
                # ``shape`` is the size of the pieces that the next directive by shape divides
                shape = directive.size or max(1, -(-shape // directive.ways))
            sizes.append(shape if isinstance(directive, UniformShape) else 0)
        return sizes


def rank_shapes(
    specification: Specification, einsum: Einsum, tensors: Mapping[str, FiberTree]
) -> dict[str, int]:
    """Return the shapes of the ranks of an Einsum by name: from tensors, declarations, or affine indices.

    The shape of a rank of the output with an affine index has the name of the rank and `` of the output``.
    Affine indices are used in the order of the equation, each once. An index with two unknown ranks
    determines neither of them, even if a later index determines one.

    Args:
        specification: has the declared shapes.
        einsum: an Einsum with an equation.
        tensors: fibertrees of the tensors that the Einsum reads, by name.

    Raises:
        InputError: tensors disagree on a shape, or a shape is unknown.
    """
    equation = einsum.computed
    shapes: dict[str, int] = {}
    sources: dict[str, str] = {}
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
                    f"{einsum.name}: {rank} is {shapes[rank]} in {sources[rank]}, "
                    f"but {sizes[declared]} in {access.tensor}"
                )
            sources.setdefault(rank, access.tensor)
    _infer_missing_shapes(specification, einsum, shapes, affine)
    return shapes | _find_output_shapes(specification, equation, shapes)


def _infer_missing_shapes(
    specification: Specification, einsum: Einsum, shapes: dict[str, int], affine: Iterable[tuple[Index, int]]
) -> None:
    """Add shapes of ranks that no tensor has as a plain index: declared, or inferred from affine indices."""
    for rank in einsum.ranks:
        if rank not in shapes and rank in specification.shapes:
            shapes[rank] = specification.shapes[rank]
    for index, size in affine:
        _infer_shape(index, size, shapes)
    for rank in einsum.ranks:
        if rank not in shapes:
            raise InputError(f"{einsum.name}: the size of {rank} is not known; give it under `shape`")


def _infer_shape(index: Index, size: int, shapes: dict[str, int]) -> None:
    """Infer the only unknown shape of an affine index: the largest with which the index fits.

    The shape is 0 if the index never fits. It stays unknown if its factor is negative, since then any shape
    fits at the upper end.
    """
    unknown = [rank for rank in index.ranks if rank not in shapes]
    if len(unknown) != 1:
        return
    factors = dict(index.terms)
    if factors[unknown[0]] < 0:
        return
    # the largest s with factor * (s - 1) + other_reach <= size - 1, where other_reach is the largest value of
    # the other terms
    other_reach = index.constant + sum(
        max(0, factor * (shapes[rank] - 1)) for rank, factor in index.terms if rank != unknown[0]
    )
    shapes[unknown[0]] = max(0, (size - 1 - other_reach) // factors[unknown[0]] + 1)


def _find_output_shapes(
    specification: Specification, equation: Equation, shapes: Mapping[str, int]
) -> dict[str, int]:
    """Return the shapes of the output's ranks with affine indices, by ``NAME of the output``."""
    shapes_of_output = {}
    for use in uses_of(equation.output, specification.tensors[equation.output.tensor].ranks):
        if not use.is_plain:
            reach = sum(max(0, factor * (shapes[rank] - 1)) for rank, factor in use.index.terms)
            # without a declared shape, the output is just large enough for the largest index
            size = specification.shapes.get(use.declared, use.index.constant + reach + 1)
            shapes_of_output[f"{use.name} of the output"] = size
    return shapes_of_output
