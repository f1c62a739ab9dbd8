"""Operands of an Einsum's loops: fibertrees, partitioned and ordered as in the trace, stored as levels.

An uncompressed rank, of which every coordinate is visited, becomes a dense level, with two exceptions:

*   A loop before the cut that one operand alone determines has a compressed level. Its sequencer skips empty
    fibers, while each coordinate of a dense level would take a cycle.
*   The last rank is dense only if the tensor is full, because elements that are not stored are not computed.

Under the same exceptions, an unpartitioned compressed rank is dense if an intersector looks up a leader's
coordinates in it. A rank with look-ups of other kinds has a compressed level.

A rank that is partitioned at run time at the boundaries of another tensor's pieces stays unpartitioned. In a
product, the pieces of the other tensor determine which coordinates of the rank are visited.

A merger hands over the output of a stage's first Einsum to the second Einsum while the loops run. This tensor
is never stored, so only its ranks are prepared. Parameters named ``handed`` hold its name.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fiberscope.models.from_spec.projections import Lookup, find_lookups
from fiberscope.models.from_spec.stages import list_skipped_loops, refuse
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.storage import StoredTensor, store
from fiberscope.models.trace.evaluate import rename_operand
from fiberscope.models.trace.plan import LoopPlan, rank_shapes
from fiberscope.models.trace.prepare import Operand, prepare, rename_ranks
from fiberscope.models.trace.specification import Einsum, Specification, Split, UniformOccupancy
from fiberscope.workloads.expressions.expression import Access, accesses, iterate_operators
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tensor import SparseTensor


@dataclass(frozen=True)
class EinsumLoops:
    """The loops of an Einsum, and the tensors over which they iterate.

    Args:
        plan: plan of the loops.
        accesses: accesses of the expression, from left to right; their variables are the loops of the levels.
        tensors: stored tensors, by their names in ``accesses``; a tensor that is read twice has two names.
        lookups: for each name of a tensor, the ranks in which coordinates are looked up.
        orders: for each name of a tensor with a rank that stays unpartitioned, the ranks of its format,
            pieces included.
    """

    plan: LoopPlan
    accesses: tuple[Access, ...]
    tensors: Mapping[str, StoredTensor]
    lookups: Mapping[str, tuple[Lookup, ...]]
    orders: Mapping[str, tuple[str, ...]]


def prepare_loops(
    specification: Specification,
    einsum: Einsum,
    trees: Mapping[str, FiberTree],
    outer: Sequence[str] = (),
    handed: str = "",
) -> EinsumLoops:
    """Return the loops of an Einsum with its operands.

    Args:
        specification, einsum: the Einsum and its specification.
        trees: fibertrees of the tensors that the Einsum reads, by name. Of the tensor ``handed``, only the
            ranks are read.
        outer: loops of the Einsum before the cut.
        handed: name of the tensor that a merger hands over; empty if there is none.

    Raises:
        ConfigurationError: no block reads a tensor in the way that the specification requires.
        InputError: tensors do not fit the specification.
    """
    for rank in _iterate_ranks_partitioned_by(einsum, handed):
        message = f"{rank} is partitioned as {handed}, which a merger computes while the loops run"
        raise refuse(specification, f"{einsum.name}: {message}")
    plan = LoopPlan(einsum, rank_shapes(specification, einsum, trees))
    operands = [rename_operand(specification, access, trees) for access in accesses(plan.equation.expression)]
    # This call renames ranks, so that ``prepare`` does not find and partition them.
    unpartitioned = _leave_unpartitioned(plan, operands)
    prepare(plan, operands)
    tensors: dict[str, StoredTensor] = {}
    lookups: dict[str, tuple[Lookup, ...]] = {}
    reads: list[Access] = []
    skipped = list_skipped_loops(specification, einsum)
    for operand in operands:
        # A prime for each earlier access to the same tensor: A, A', A''.
        name = operand.name + "'" * sum(tensor.partition("'")[0] == operand.name for tensor in tensors)
        if operand.followers and (skipped.intersection(operand.followers) or not _multiplies(plan)):
            message = (
                f"{operand.name} is partitioned as another tensor while the loops run, and no block does that"
            )
            raise refuse(specification, f"{einsum.name}: {message}")
        lookups[name] = _find_lookups(specification, plan, operand, handed)
        variables = {lookup.rank: lookup.graph_name for lookup in lookups[name]}
        reads.append(Access.plain(name, [variables.get(rank, rank) for rank in operand.ordered.names]))
        sequenced = [rank for rank in outer if _is_alone(plan, operands, operand, rank)]
        tensors[name] = _store_operand(specification, plan, operand, handed, sequenced, variables)
    orders = {
        reads[number].tensor: tuple(sorted({*operands[number].ordered.names, *pieces}, key=plan.loops.index))
        for number, pieces in unpartitioned.items()
    }
    return EinsumLoops(plan, tuple(reads), tensors, lookups, orders)


def _leave_unpartitioned(plan: LoopPlan, operands: Sequence[Operand]) -> dict[int, tuple[str, ...]]:
    """Leave ranks of a product's operands unpartitioned if another operand's pieces select coordinates.

    A rank stays unpartitioned only if it is uncompressed, and its pieces are cut by shape and have loops.

    Returns:
        For each changed operand, by its number, the names of the pieces that its fibertree lacks.
    """
    unpartitioned: dict[int, tuple[str, ...]] = {}
    for number, operand in enumerate(operands if _multiplies(plan) else ()):
        for rank in operand.uncompressed:
            split = plan.splits.get(rank)
            readers = (other for other in operands if rank in other.tree.names)
            is_selected = any(rank not in other.uncompressed for other in readers)
            if split is None or rank not in operand.tree.names or not set(split.names) <= set(plan.loops):
                continue
            depth = plan.loops.index(split.names[-1])
            # The last level is dense, and thus addressed by coordinate, only if the tensor is full.
            is_last = not any(
                plan.find_lowest_piece(name) in plan.loops[depth + 1 :] for name in operand.tree.names
            )
            if (
                not is_selected
                or not all(plan.list_piece_sizes(split))
                or (is_last and not _is_full(operand.tree))
            ):
                continue
            operand.tree = rename_ranks(operand.tree, {rank: split.names[-1]})
            operand.followers.append(split.names[-1])
            unpartitioned[number] = (*unpartitioned.get(number, ()), *split.names[:-1])
    return unpartitioned


def _is_full(tree: FiberTree) -> bool:
    return tree.nonzeros == math.prod(rank.shape for rank in tree.ranks)


def _find_lookups(
    specification: Specification, plan: LoopPlan, operand: Operand, handed: str
) -> tuple[Lookup, ...]:
    """Return the look-ups in an operand; refuse those for which there is no block."""
    lookups = () if operand.name == handed else find_lookups(plan, operand)
    skipped = list_skipped_loops(specification, plan.einsum)
    for lookup in lookups:
        reason = ""
        if not _multiplies(plan):
            reason = "for a sum, and no block does that"
        elif not lookup.loop:
            reason = "at a constant, and no block does that"
        elif lookup.loop in skipped:
            reason = f"in {lookup.loop}, whose intersector skips ahead, and no block does both"
        if reason:
            raise refuse(
                specification, f"{plan.einsum.name}: {operand.name} is looked up by {lookup.rank} {reason}"
            )
    return lookups


def _iterate_ranks_partitioned_by(einsum: Einsum, leader: str) -> Iterator[str]:
    """Yield the ranks that are partitioned by occupancy with a tensor as the leader."""
    for partition in einsum.partitioning:
        if isinstance(partition, Split):
            pieces = (
                directive for directive in partition.directives if isinstance(directive, UniformOccupancy)
            )
            yield from (partition.rank for directive in pieces if directive.leader == leader)


def _is_alone(plan: LoopPlan, operands: Sequence[Operand], operand: Operand, rank: str) -> bool:
    """Return whether an operand alone determines a loop, which does nothing where the operand is empty."""
    readers = (other for other in operands if other is not operand)
    return _multiplies(plan) and not any(rank in other.ordered.names for other in readers)


def _multiplies(plan: LoopPlan) -> bool:
    """Return whether the expression is a single product."""
    return set(iterate_operators(plan.equation.expression)) <= {"*"}


def _store_operand(
    specification: Specification,
    plan: LoopPlan,
    operand: Operand,
    handed: str,
    sequenced: Sequence[str],
    looked_up: Collection[str],
) -> StoredTensor:
    """Store an operand in the levels that its scanners read; ``handed`` is a tensor that a merger passes."""
    names = operand.ordered.names
    order = tuple(range(len(names)))
    if operand.name == handed:
        # The tensor is never stored: it only needs its ranks, and no elements.
        return StoredTensor((0,) * len(names), Format("s" * len(names), order), (), operand.tree.values[:0])
    for rank in names:
        if rank not in plan.loops and rank not in looked_up:
            raise refuse(specification, f"{plan.einsum.name}: {operand.name} has {rank}, which no loop has")
    tree = operand.ordered.tree.swizzle(names)
    letters = [
        _level_letter(specification, plan, operand, rank) if rank not in looked_up else "s" for rank in names
    ]
    letters = ["s" if rank in sequenced else letter for rank, letter in zip(names, letters, strict=True)]
    if letters and not _is_full(tree):
        letters[-1] = "s"  # a dense level would turn a missing value into an operand of 0
    shape = tuple(rank.shape for rank in tree.ranks)
    if not names:
        return StoredTensor((), Format("", ()), (), tree.values)
    return store(SparseTensor(shape, tuple(tree.columns()), tree.values), Format("".join(letters), order))


def _level_letter(specification: Specification, plan: LoopPlan, operand: Operand, rank: str) -> str:
    """Return a level's letter: d (dense) if every coordinate is visited or looked up, else s (compressed).

    Raises:
        ConfigurationError: an uncompressed rank other than the last one is partitioned.
    """
    base = plan.base(rank)
    is_unpartitioned = rank == base or rank in operand.followers
    if base not in operand.uncompressed:
        return "d" if is_unpartitioned and _is_led(plan, operand, rank) else "s"
    if not is_unpartitioned and plan.find_lowest_piece(base) == operand.ordered.names[-1]:
        return "s"  # elements without a value are not computed
    if not is_unpartitioned:
        message = f"{base} of {operand.name} is both uncompressed and partitioned"
        raise refuse(specification, f"{plan.einsum.name}: {message}")
    return "d"


def _is_led(plan: LoopPlan, operand: Operand, rank: str) -> bool:
    """Return whether an intersector looks up the coordinates of a leader in this operand."""
    return any(
        intersector.rank == rank and intersector.leader not in (None, operand.name)
        for intersector in plan.einsum.bindings.intersectors
    )
