"""Look-ups in loops on lanes: all elements of a fiber in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fiberscope.models.from_spec.projections import Lookup
from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.graphs.compiler.blocks import Blocks
from fiberscope.models.graphs.compiler.results import LoweredLoop
from fiberscope.models.graphs.compiler.terms import Iteration, Operand, Scan, Term, Wire, iterate_operands
from fiberscope.models.graphs.primitives.tasks import LANE_SEEK

PAIR = 2  # number of operands: one whose elements the lanes hold, and one in which they are looked up


def seek_on_lanes(
    blocks: Blocks,
    stage: Stage,
    term: Term,
    iteration: Iteration,
    variable: str,
    lookups_of: Callable[[Operand], Sequence[Lookup]],
) -> LoweredLoop | None:
    """Add the blocks of a loop on lanes that looks elements of one operand up in another operand.

    Args:
        blocks: the graph's blocks, to which the new block is added.
        term, iteration: the term that the loop computes, and the operands over which the loop iterates.
        variable: index variable of the loop.
        lookups_of: function that returns the look-ups of an operand.

    Returns:
        The loop; None, without a new block, for a loop of another form.
    """
    operands = list(iterate_operands(term))
    innermost = stage.vectors == 1 and variable == stage.einsums[-1].loop_order[-1]
    if not innermost or not isinstance(iteration, Scan) or len(operands) != PAIR:
        return None
    scanned = iteration.operand
    (searched,) = (operand for operand in operands if operand is not scanned)
    lookups = [
        (operand, lookup) for operand in operands for lookup in lookups_of(operand) if lookup.loop == variable
    ]
    if len(lookups) != 1 or lookups[0][0] is not searched or searched.has_level(variable):
        return None
    rank, sought = lookups[0][1].rank, lookups[0][1].projection
    has_lists = scanned.level(variable).loads_coordinates and searched.level(rank).loads_coordinates
    if not has_lists or [index.loop for index in sought.terms] != [variable]:
        return None
    inputs = {
        f"ref[{number}]": operand.references or Wire(blocks.add("rootref", {}), "ref")
        for number, operand in enumerate((scanned, searched))
    }
    levels = {
        "tensor0": scanned.access.tensor,
        "mode0": scanned.dimension(variable),
        "tensor1": searched.access.tensor,
        "mode1": searched.dimension(rank),
    }
    (index,) = sought.terms
    terms = f"{index.factor} {index.divisor} {index.size}"
    node = blocks.add(LANE_SEEK, inputs, index=variable, **levels, terms=terms, constant=sought.constant)
    scanned.references, searched.references = Wire(node, "ref[0]"), Wire(node, "ref[1]")
    return LoweredLoop(variable, Wire(node, "crd"), intersects=True, filled=False)
