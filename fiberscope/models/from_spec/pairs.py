"""Inner products of all pairs of fibers of two operands: loops over rows, columns and shared coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fiberscope.models.from_spec.arithmetic import StageArithmetic
from fiberscope.models.from_spec.operands import EinsumLoops
from fiberscope.models.from_spec.stages import Stage, is_shared, list_skipped_loops
from fiberscope.models.graphs.compiler.blocks import Blocks
from fiberscope.models.graphs.compiler.lower import add_value
from fiberscope.models.graphs.compiler.terms import (
    Iteration,
    Join,
    Operand,
    Scan,
    Term,
    Wire,
    derive_iteration,
    iterate_operands,
)
from fiberscope.models.graphs.primitives.tasks import FIBER_PAIRS
from fiberscope.models.trace.specification import Einsum, Specification, StorageBinding

LOOP_COUNT = 3  # number of loops: over rows, over columns, and over the coordinates of a fiber


@dataclass(frozen=True)
class FiberLists:
    """Two operands, of which every pair of fibers is intersected.

    Args:
        loops: index variables of the loops over rows, over columns, and over the coordinates of a fiber.
        rows, columns: the operand whose fibers are the rows, and the one whose fibers are the columns.
    """

    loops: tuple[str, str, str]
    rows: Operand
    columns: Operand


def find_fiber_lists(
    specification: Specification, stage: Stage, einsum_loops: EinsumLoops, term: Term
) -> FiberLists | None:
    """Return the operands whose fibers the loops after the cut intersect in pairs; None for other loops.

    The loops must meet these conditions:

    - There are three loops after the cut. The first scans the rows, the second the columns.
    - The innermost loop intersects the two operands, which are the only ones. Its intersector skips ahead.
    - Stores load the operands' subtrees as a whole.
    - The arithmetic is the standard one, so that a pair without a match contributes nothing.
    - The stage has no lanes, and no operand has a rank in which coordinates are looked up.

    Args:
        specification: the specification of the stage.
        einsum_loops: loops and operands of the stage's Einsum.
        term: the right side of the Einsum.
    """
    loops = einsum_loops.plan.loops[len(stage.outer) :]
    if stage.lanes or any(einsum_loops.lookups.values()):
        return None
    if not StageArithmetic.from_einsum(specification, einsum_loops.plan.einsum).is_standard:
        return None
    if len(loops) != LOOP_COUNT or loops[-1] not in list_skipped_loops(specification, stage.einsums[0]):
        return None
    rows, columns = (_find_scanned_operand(derive_iteration(term, loop), loop) for loop in loops[:2])
    shared_iteration = derive_iteration(term, loops[-1])
    # Each loop but the innermost scans one operand, so that there are as many operands as such loops
    if (
        rows is None
        or columns is None
        or len(list(iterate_operands(term))) != len(loops) - 1
        or rows is columns
    ):
        return None
    iterations = (
        shared_iteration.inputs
        if isinstance(shared_iteration, Join) and shared_iteration.kind == "intersect"
        else ()
    )
    joined_operands = [_find_scanned_operand(iteration, loops[-1]) for iteration in iterations]
    if set(joined_operands) != {rows, columns} or not _has_eager_stores(specification, stage, loops):
        return None
    return FiberLists((loops[0], loops[1], loops[2]), rows, columns)


def _find_scanned_operand(iteration: Iteration | None, loop: str) -> Operand | None:
    """Return the operand over whose stored coordinates alone a loop iterates; None for other loops."""
    if isinstance(iteration, Scan) and iteration.operand.level(loop).loads_coordinates:
        return iteration.operand
    return None


def _has_eager_stores(specification: Specification, stage: Stage, loops: Sequence[str]) -> bool:
    """Return whether all stores of the data that the loops read are eager buffers above the instances."""
    return all(_einsum_has_eager_stores(specification, stage, einsum, loops) for einsum in stage.einsums)


def _einsum_has_eager_stores(
    specification: Specification, stage: Stage, einsum: Einsum, loops: Sequence[str]
) -> bool:
    """Return whether an Einsum's stores move whole subtrees, and keep them during a task."""
    components = specification.configurations[einsum.bindings.config].components

    def is_whole(binding: StorageBinding) -> bool:
        store = components[binding.component]
        # Memory, other ranks and the output do not matter: only fibers of the three loops are paired
        if store.kind == "DRAM" or binding.rank not in loops or binding.tensor == einsum.output:
            return True
        # No loop after the cut evicts the data, so that it stays for all pairs of a task
        is_held = binding.evict_on in (None, "root", *stage.outer)
        return binding.style == "eager" and store.kind == "Buffet" and is_shared(store, stage) and is_held

    return all(is_whole(binding) for binding in einsum.bindings.storage)


def sum_pairs(blocks: Blocks, term: Term, lists: FiberLists, output: str) -> None:
    """Add the unit that intersects the pairs, the blocks that it feeds, and the sum over all tasks.

    The references of both operands are replaced by those that the unit sends.

    Args:
        blocks: the graph's blocks, to which the blocks are added.
        term: the product that is computed for each match.
        lists: the two operands and their loops, from ``find_fiber_lists``.
        output: name of the tensor that the Einsum writes.
    """
    outer, inner, shared = lists.loops
    inputs: dict[str, Wire | None] = {}
    levels: dict[str, object] = {}
    for number, (operand, loop) in enumerate(((lists.rows, outer), (lists.columns, inner))):
        inputs[f"ref[{number}]"] = operand.references
        levels |= {f"tensor{number}": operand.access.tensor, f"mode{number}": operand.dimension(loop)}
        # The rank of the fibers that are intersected, below the rank of rows or columns
        levels[f"below{number}"] = operand.dimension(shared)
    node = blocks.add(FIBER_PAIRS, inputs, index=shared, outer=outer, inner=inner, **levels)
    for number, operand in enumerate((lists.rows, lists.columns)):
        operand.references = Wire(node, f"ref[{number}]")
    columns = Wire(node, "inner")
    # A pair without a match is marked N, not 0, so that it adds no element to the output
    value = blocks.add_reducer(add_value(blocks, term, lambda _operand: None), columns, "mark")
    points = {"crd[0]": Wire(node, "outer"), "crd[1]": columns, "val": value}
    blocks.add("tasksum", points, tensor=output)
