"""Loop nest and levels of a machine specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod

from fiberscope.base.errors import InputError
from fiberscope.models.trace.specification import Configuration, Einsum, Specification, Split, UniformShape
from fiberscope.models.trace.storage_format import Format
from fiberscope.workloads.expressions.expression import Access, Equation, Operation


@dataclass(frozen=True)
class Loop:
    """A loop over pieces of a dimension or over its coordinates.

    Args:
        name: name of the loop in the specification.
        dimension: the unpartitioned rank.
        bound: number of iterations in a full piece of the enclosing loop over the dimension; a piece that the
            end of the rank cuts has fewer.
        is_spatial: whether the loop is spatial: its iterations run on parallel instances.
    """

    name: str
    dimension: str
    bound: int
    is_spatial: bool


@dataclass(frozen=True)
class SpecifiedNest:
    """The loops of a product of two matrices, with levels between them.

    Args:
        specification: the machine's specification.
        einsum: its only Einsum.
        operands: names of the two input tensors.
        loops: outermost first.
        levels: names of components, outermost first.
        depths: for each level the number of loops outside of it.
    """

    specification: Specification
    einsum: Einsum
    operands: tuple[str, str]
    loops: tuple[Loop, ...]
    levels: tuple[str, ...]
    depths: tuple[int, ...]

    @property
    def output(self) -> str:
        """Return the name of the product."""
        return self.einsum.output

    @cached_property
    def tensors(self) -> dict[str, tuple[str, ...]]:
        """Return the declared ranks of each tensor."""
        return {name: self.specification.tensors[name].ranks for name in (*self.operands, self.output)}

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """Return the ranks before partitioning."""
        return tuple(dict.fromkeys(loop.dimension for loop in self.loops))

    @property
    def reduced_rank(self) -> str:
        """Return the rank over which products are summed: the rank of both operands that the output lacks."""
        return next(rank for rank in self.tensors[self.operands[0]] if rank not in self.tensors[self.output])

    def free_rank(self, operand: str) -> str:
        """Return the rank of an operand that the product has, too."""
        return next(rank for rank in self.tensors[operand] if rank != self.reduced_rank)

    def dimension_index(self, loop: Loop) -> int:
        """Return the index of a loop's dimension."""
        return self.dimensions.index(loop.dimension)

    def dimension_bound(self, dimension: str) -> int:
        """Return the product of the bounds of a dimension's loops.

        The product exceeds the shape of the rank if the pieces do not divide the shape.
        """
        return prod(loop.bound for loop in self.loops if loop.dimension == dimension)

    def describe_bounds(self) -> str:
        """Describe the bounds of each dimension."""
        return ", ".join(f"{name}={self.dimension_bound(name):,}" for name in self.dimensions)

    def loops_inside(self, level: int) -> Sequence[Loop]:
        """Return the loops inside of a level, those of inner levels included."""
        return self.loops[self.depths[level] :]

    def loops_of(self, level: int) -> Sequence[Loop]:
        """Return the loops between a level and the next inner level."""
        ends = [*self.depths[1:], len(self.loops)]
        return self.loops[self.depths[level] : ends[level]]

    @cached_property
    def level_tensors(self) -> tuple[frozenset[str], ...]:
        """Return the names of the tensors that each level keeps."""
        return tuple(
            frozenset(binding.tensor for binding in self.einsum.bindings.storage if binding.component == name)
            for name in self.levels
        )

    def format(self, name: str) -> Format:
        """Return the format of a tensor's first storage binding, which counts for all levels."""
        binding = next(binding for binding in self.einsum.bindings.storage if binding.tensor == name)
        return self.specification.tensors[name].formats[binding.format]

    def leaders(self, level: int, configuration: Configuration) -> tuple[str, ...]:
        """Return the operands that skip the other operand, from the intersectors at the level's loops.

        At a leader-follower intersector, only the leader skips the other operand. At the other types, each
        operand skips the other operand.
        """
        names = {loop.name for loop in self.loops_of(level)}
        leaders: set[str] = set()
        for intersector in self.einsum.bindings.intersectors:
            if intersector.rank in names:
                kind = configuration.components[intersector.component].intersection
                leaders |= {str(intersector.leader)} if kind == "leader-follower" else set(self.operands)
        return tuple(name for name in self.operands if name in leaders)


def read_nest(specification: Specification, shapes: Mapping[str, int]) -> SpecifiedNest:
    """Return the nest of a specification on tensors with given shapes of ranks.

    Args:
        specification: the machine's specification, with bindings.
        shapes: the shape of each unpartitioned rank of the Einsum, by name.

    Raises:
        InputError: the specification is not a nest: it has several Einsums or iterations, another expression
            than a product of two matrices, partitions by occupancy, flattened ranks, a cache, a tensor that
            no component holds, or a buffer whose data no loop determines.
    """
    if (count := len(specification.einsums)) != 1:
        raise _make_refusal(specification, f"it is a cascade of {count} Einsums, not one")
    if specification.iteration is not None:
        raise _make_refusal(specification, "its Einsum is iterated")
    einsum = specification.einsums[0]
    operands = _find_operands(specification, einsum)
    loops = tuple(_list_loops(specification, einsum, shapes))
    bound = {binding.tensor for binding in einsum.bindings.storage}
    if unbound := [name for name in (*operands, einsum.output) if name not in bound]:
        raise _make_refusal(specification, f"no component holds {' and '.join(unbound)}")
    levels, depths = _list_levels(specification, einsum, loops)
    nest = SpecifiedNest(specification, einsum, operands, loops, levels, depths)
    for level in range(len(levels)):
        _check_loops(nest, level)
        _check_eviction(nest, level)
    return nest


def _make_refusal(specification: Specification, reason: str) -> InputError:
    return InputError(f"{specification.name} is no nest of loops with levels: {reason}")


def _find_operands(specification: Specification, einsum: Einsum) -> tuple[str, str]:
    """Return the two factors; refuse an equation that is no product of two matrices."""
    equation = einsum.equation
    if isinstance(equation, Equation) and isinstance(equation.expression, Operation):
        factors, ranks = equation.expression.operands, len(equation.output.ranks)
        if equation.expression.operator == "*" and len(factors) == 2 and ranks == 2:
            a, b = factors
            if isinstance(a, Access) and isinstance(b, Access) and _is_matrix_product(equation, a, b):
                return a.tensor, b.tensor
    raise _make_refusal(specification, f"{equation.text} is no product of two matrices")


def _is_matrix_product(equation: Equation, a: Access, b: Access) -> bool:
    """Return whether the operands have one common rank, and each one common rank with the output."""
    ranks = [set(access.ranks) for access in (a, b, equation.output)]
    pairs = [ranks[0] & ranks[1], ranks[0] & ranks[2], ranks[1] & ranks[2]]
    has_plain_indices = all(index.rank for access in (a, b, equation.output) for index in access.indices)
    return has_plain_indices and all(len(pair) == 1 for pair in pairs) and len(set.union(*ranks)) == 3


def _list_loops(specification: Specification, einsum: Einsum, shapes: Mapping[str, int]) -> Iterator[Loop]:
    """Yield the loops with their bounds, outermost first."""
    # by name of a loop: its dimension and its bound; an unpartitioned rank is its own only loop
    extents = {rank: (rank, shapes[rank]) for rank in einsum.ranks}
    for partition in einsum.partitioning:
        if not isinstance(partition, Split) or not all(
            isinstance(directive, UniformShape) for directive in partition.directives
        ):
            raise _make_refusal(specification, "it flattens ranks, or cuts them by elements and not by shape")
        bounds = _compute_bounds(specification, partition, shapes[partition.rank])
        extents |= {
            name: (partition.rank, bound) for name, bound in zip(partition.names, bounds, strict=True)
        }
    space = {stamp.rank for stamp in einsum.spacetime.space} if einsum.spacetime else set()
    for name in einsum.loop_order:
        yield Loop(name, *extents[name], name in space)


def _compute_bounds(specification: Specification, split: Split, shape: int) -> list[int]:
    """Return the bounds of the pieces of a rank, outermost first; a piece ends at the end of the rank.

    Raises:
        InputError: a size is no multiple of the next size, or a directive gives a number of ways, not a size.
    """
    sizes = [
        directive.size
        for directive in split.directives
        if isinstance(directive, UniformShape) and directive.size
    ]
    if len(sizes) < len(split.directives) or any(outer % inner for outer, inner in pairwise(sizes)):
        raise _make_refusal(
            specification, f"the pieces of {split.rank} are no multiples of each other: {sizes}"
        )
    # the outermost pieces divide the whole shape, the innermost loop visits single coordinates
    return [-(-min(outer, shape) // inner) for outer, inner in pairwise([shape, *sizes, 1])]


def _list_levels(
    specification: Specification, einsum: Einsum, loops: Sequence[Loop]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return memory and the buffets, each inside of the innermost loop that evicts its data."""
    components = specification.configurations[einsum.bindings.config].components
    names = [loop.name for loop in loops]
    depths: dict[str, int] = {}
    for binding in einsum.bindings.storage:
        kind = components[binding.component].kind
        if kind == "Cache":
            raise _make_refusal(specification, f"no loop determines what its cache {binding.component} holds")
        # a loop that evicts data is outside of the level, so the level is one loop deeper; root is no loop
        depth = names.index(binding.evict_on) + 1 if binding.evict_on in names else 0
        depths[binding.component] = max(depth, depths.get(binding.component, 0))
    levels = sorted(depths, key=depths.__getitem__)
    # two levels at one depth would be side by side, and not nested
    if not levels or components[levels[0]].kind != "DRAM" or len(set(depths.values())) < len(depths):
        raise _make_refusal(specification, "it needs a memory, and buffers inside of different loops")
    return tuple(levels), tuple(depths[name] for name in levels)


def _check_loops(nest: SpecifiedNest, level: int) -> None:
    """Check that the loops of a level are of different dimensions, with spatial loops innermost."""
    loops, name = nest.loops_of(level), nest.levels[level]
    is_spatial = [loop.is_spatial for loop in loops]  # sorted if the spatial loops are last, i.e. innermost
    if len({loop.dimension for loop in loops}) < len(loops) or is_spatial != sorted(is_spatial):
        loop_names = ", ".join(loop.name for loop in loops)
        raise _make_refusal(
            nest.specification, f"nothing is held between the loops {loop_names} inside of {name}"
        )


def _check_eviction(nest: SpecifiedNest, level: int) -> None:
    """Check that the innermost moving loop outside of a level evicts each tensor.

    A nest holds a tile while the loops outside do not move the tile. A buffer that evicts at another loop
    holds the data for a shorter or a longer time than the nest.
    """
    outside = nest.loops[: nest.depths[level]]
    for name in sorted(nest.level_tensors[level]):
        moving = [loop.name for loop in outside if loop.dimension in nest.tensors[name]]
        evicting_loop = moving[-1] if moving else None
        for binding in nest.einsum.bindings.storage:
            if (binding.component, binding.tensor) != (nest.levels[level], name):
                continue
            evict_on = None if binding.evict_on == "root" else binding.evict_on
            if evict_on != evicting_loop:
                reason = (
                    f"{binding.component} evicts {name} on {evict_on or 'no loop'}, "
                    f"and {evicting_loop or 'no loop'} moves it"
                )
                raise _make_refusal(nest.specification, reason)
