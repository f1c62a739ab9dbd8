"""Loop nest and levels of a machine specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod

from fiberscope.base.errors import InputError
from fiberscope.models.trace.specification import (
    Configuration,
    Einsum,
    Specification,
    Split,
    StorageBinding,
    UniformShape,
)
from fiberscope.models.trace.storage_format import Format
from fiberscope.workloads.expressions.expression import Access, Equation, Operation


@dataclass(frozen=True)
class Loop:
    """A loop over pieces of a dimension or over its coordinates.

    Args:
        name: name of the loop in the specification.
        dimension: the unpartitioned rank.
        bound: number of iterations.
        across: whether the loop is spatial: its iterations run on parallel instances.
    """

    name: str
    dimension: str
    bound: int
    across: bool


@dataclass(frozen=True)
class Nest:
    """The loops of a product of two matrices, with levels between them.

    Args:
        specification, einsum: the specification, and the Einsum of the loops.
        operands: names of the two input tensors.
        loops: outermost first.
        levels: names of components, outermost first.
        ends: for each level the number of loops outside of it.
    """

    specification: Specification
    einsum: Einsum
    operands: tuple[str, str]
    loops: tuple[Loop, ...]
    levels: tuple[str, ...]
    ends: tuple[int, ...]

    @property
    def output(self) -> str:
        """Return the product."""
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
    def shared(self) -> str:
        """Return the reduced rank."""
        return next(rank for rank in self.tensors[self.operands[0]] if rank not in self.tensors[self.output])

    def own(self, operand: str) -> str:
        """Return the rank of an operand that the product has, too."""
        return next(rank for rank in self.tensors[operand] if rank != self.shared)

    def number(self, loop: Loop) -> int:
        """Return the index of a loop's dimension."""
        return self.dimensions.index(loop.dimension)

    def bound(self, dimension: str) -> int:
        """Return the product of the bounds of a dimension's loops."""
        return prod(loop.bound for loop in self.loops if loop.dimension == dimension)

    def describe_bounds(self) -> str:
        """Describe the bounds of each dimension."""
        return ", ".join(f"{name}={self.bound(name):,}" for name in self.dimensions)

    def inside(self, level: int) -> Sequence[Loop]:
        """Return the loops at or inside of a level."""
        return self.loops[self.ends[level] :]

    def at(self, level: int) -> Sequence[Loop]:
        """Return the loops of a level."""
        ends = [*self.ends[1:], len(self.loops)]
        return self.loops[self.ends[level] : ends[level]]

    @cached_property
    def held(self) -> tuple[frozenset[str], ...]:
        """Return the tensors of each level."""
        return tuple(
            frozenset(binding.tensor for binding in self.einsum.bindings.storage if binding.component == name)
            for name in self.levels
        )

    def format(self, name: str) -> Format:
        """Return the format of a tensor in memory, which counts for all levels."""
        bound = next(binding for binding in self.einsum.bindings.storage if binding.tensor == name)
        return self.specification.tensors[name].formats[bound.format]

    def leaders(self, level: int, configuration: Configuration) -> tuple[str, ...]:
        """Return the operands that skip the other operand, from the intersectors at the level's loops."""
        names = {loop.name for loop in self.at(level)}
        leaders: set[str] = set()
        for intersector in self.einsum.bindings.intersectors:
            if intersector.rank in names:
                kind = configuration.components[intersector.component].intersection
                leaders |= {str(intersector.leader)} if kind == "leader-follower" else set(self.operands)
        return tuple(name for name in self.operands if name in leaders)


def nest_of(specification: Specification, shapes: Mapping[str, int]) -> Nest:
    """Return the nest of a specification on tensors with given shapes of ranks.

    Raises:
        InputError: the specification is not a nest: it has several Einsums, another expression than a product
            of two matrices, partitions by occupancy, flattened ranks, a cache, or a buffer whose data no loop
            determines.
    """
    if len(specification.einsums) != 1 or specification.iteration is not None:
        raise _refusal(specification, f"it is a cascade of {len(specification.einsums)} Einsums, not one")
    einsum = specification.einsums[0]
    operands = _operands(specification, einsum)
    loops = tuple(_loops(specification, einsum, shapes))
    levels, ends = _levels(specification, einsum, loops)
    nest = Nest(specification, einsum, operands, loops, levels, ends)
    for level in range(len(levels)):
        _check_loops(nest, level)
        _check_eviction(nest, level)
    return nest


def _refusal(specification: Specification, reason: str) -> InputError:
    return InputError(f"{specification.name} is no nest of loops with levels: {reason}")


def _operands(specification: Specification, einsum: Einsum) -> tuple[str, str]:
    """Return the two factors."""
    equation = einsum.equation
    if isinstance(equation, Equation) and isinstance(equation.expression, Operation):
        parts, ranks = equation.expression.operands, len(equation.output.ranks)
        if equation.expression.operator == "*" and len(parts) == 2 and ranks == 2:
            first, other = parts
            if (
                isinstance(first, Access)
                and isinstance(other, Access)
                and _is_product(equation, first, other)
            ):
                return first.tensor, other.tensor
    raise _refusal(specification, f"{equation.text} is no product of two matrices")


def _is_product(equation: Equation, first: Access, other: Access) -> bool:
    """Return whether each operand has one rank of the other operand, and one rank of the output."""
    ranks = [set(access.ranks) for access in (first, other, equation.output)]
    pairs = [ranks[0] & ranks[1], ranks[0] & ranks[2], ranks[1] & ranks[2]]
    has_plain_indices = all(
        index.rank for access in (first, other, equation.output) for index in access.indices
    )
    return has_plain_indices and all(len(pair) == 1 for pair in pairs) and len(set.union(*ranks)) == 3


def _loops(specification: Specification, einsum: Einsum, shapes: Mapping[str, int]) -> Iterator[Loop]:
    """Yield the loops with their bounds, outermost first."""
    extents = {rank: (rank, shapes[rank]) for rank in einsum.ranks}
    for partition in einsum.partitioning:
        if not isinstance(partition, Split) or not all(
            isinstance(directive, UniformShape) for directive in partition.directives
        ):
            raise _refusal(specification, "it flattens ranks, or cuts them by elements and not by shape")
        bounds = _bounds(specification, partition, shapes[partition.rank])
        extents |= {
            name: (partition.rank, bound) for name, bound in zip(partition.names, bounds, strict=True)
        }
    space = {stamp.rank for stamp in einsum.spacetime.space} if einsum.spacetime else set()
    for name in einsum.loop_order:
        yield Loop(name, *extents[name], name in space)


def _bounds(specification: Specification, split: Split, shape: int) -> list[int]:
    """Return the bounds of the pieces of a rank, outermost first; a piece ends at the end of the rank."""
    sizes = [
        directive.size
        for directive in split.directives
        if isinstance(directive, UniformShape) and directive.size
    ]
    if len(sizes) < len(split.directives) or any(outer % inner for outer, inner in pairwise(sizes)):
        raise _refusal(specification, f"the pieces of {split.rank} are no multiples of each other: {sizes}")
    return [-(-min(outer, shape) // inner) for outer, inner in pairwise([shape, *sizes, 1])]


def _levels(
    specification: Specification, einsum: Einsum, loops: Sequence[Loop]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return memory and the buffets, each inside of the innermost loop that evicts its data."""
    components = specification.configurations[einsum.bindings.config].components
    names = [loop.name for loop in loops]
    ends: dict[str, int] = {}
    for binding in einsum.bindings.storage:
        kind = components[binding.component].kind
        if kind == "Cache":
            raise _refusal(specification, f"what its cache {binding.component} holds, no loop says")
        end = names.index(binding.evict_on) + 1 if binding.evict_on in names else 0
        ends[binding.component] = max(end, ends.get(binding.component, 0))
    levels = sorted(ends, key=ends.__getitem__)
    if not levels or components[levels[0]].kind != "DRAM" or len(set(ends.values())) < len(ends):
        raise _refusal(specification, "it needs a memory, and buffers inside of different loops")
    return tuple(levels), tuple(ends[name] for name in levels)


def _check_loops(nest: Nest, level: int) -> None:
    """Check that the loops of a level are of different dimensions, with spatial loops innermost."""
    loops, name = nest.at(level), nest.levels[level]
    is_spatial = [loop.across for loop in loops]
    if len({loop.dimension for loop in loops}) < len(loops) or is_spatial != sorted(is_spatial):
        loop_names = ", ".join(loop.name for loop in loops)
        raise _refusal(nest.specification, f"nothing is held between the loops {loop_names} inside of {name}")


def _check_eviction(nest: Nest, level: int) -> None:
    """Check that the innermost moving loop outside of a level evicts each tensor."""
    outside = nest.loops[: nest.ends[level]]
    for name in sorted(nest.held[level]):
        moving = [loop.name for loop in outside if loop.dimension in nest.tensors[name]]
        evicting_loop = moving[-1] if moving else None
        for binding in _bindings(nest, level, name):
            if binding.evict_on not in (evicting_loop, None) or (evicting_loop and binding.evict_on is None):
                reason = (
                    f"{binding.component} evicts {name} on {binding.evict_on}, and {evicting_loop} moves it"
                )
                raise _refusal(nest.specification, reason)


def _bindings(nest: Nest, level: int, tensor: str) -> Iterator[StorageBinding]:
    for binding in nest.einsum.bindings.storage:
        if binding.component == nest.levels[level] and binding.tensor == tensor:
            yield binding
