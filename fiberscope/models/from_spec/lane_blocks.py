"""Look-ups of loops on lanes: all elements of a fiber at once, instead of one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fiberscope.models.from_spec.projections import LookUp
from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.graphs.compiler.blocks import Blocks
from fiberscope.models.graphs.compiler.results import LoweredLoop
from fiberscope.models.graphs.compiler.terms import Iteration, Operand, Scan, Term, Wire, operands_in
from fiberscope.models.graphs.primitives.tasks import LANE_SEEK

__all__ = ["seek_on_lanes"]

PAIR = 2  # operands: one that lanes hold, and one in which is looked


def seek_on_lanes(
    blocks: Blocks,
    stage: Stage,
    term: Term,
    iteration: Iteration,
    variable: str,
    lookups_of: Callable[[Operand], Sequence[LookUp]],
) -> LoweredLoop | None:
    """The blocks of a loop on lanes that looks the elements of one operand up in another; None of any other.

    Args:
        blocks: to which they are added.
        stage: what runs.
        term: the term of the loop.
        iteration: what it goes through.
        variable: the variable of it.
        lookups_of: returns the look-ups of an operand.
    """
    operands = list(operands_in(term))
    innermost = stage.vectors == 1 and variable == stage.einsums[-1].loop_order[-1]
    if not innermost or not isinstance(iteration, Scan) or len(operands) != PAIR:
        return None
    held = iteration.operand
    (other,) = (operand for operand in operands if operand is not held)
    lookups = [
        (operand, each) for operand in operands for each in lookups_of(operand) if each.loop == variable
    ]
    if len(lookups) != 1 or lookups[0][0] is not other or other.has(variable):
        return None
    rank, sought = lookups[0][1].rank, lookups[0][1].sought
    alone = [each.loop for each in sought.terms] == [variable]
    if not (alone and held.level(variable).lists and other.level(rank).lists):
        return None
    inputs = {
        f"ref[{way}]": operand.references or Wire(blocks.add("rootref", {}), "ref")
        for way, operand in enumerate((held, other))
    }
    levels = {
        "tensor0": held.access.tensor,
        "mode0": held.dimension(variable),
        "tensor1": other.access.tensor,
        "mode1": other.dimension(rank),
    }
    (part,) = sought.terms
    terms = f"{part.factor} {part.divisor} {part.size}"
    node = blocks.add(LANE_SEEK, inputs, index=variable, **levels, terms=terms, constant=sought.constant)
    held.references, other.references = Wire(node, "ref[0]"), Wire(node, "ref[1]")
    return LoweredLoop(variable, Wire(node, "crd"), intersects=True, filled=False)
