"""Expected cost of a graph without a run: tokens of each stream, from statistics of the tensors."""

from __future__ import annotations

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.cost.estimate import Estimate, InestimableError, estimate
from fiberscope.models.graphs.cost.statistics import TensorStatistics, statistics_of
from fiberscope.models.graphs.prepared import PreparedGraph

__all__ = ["Estimate", "InestimableError", "TensorStatistics", "estimate", "estimate_graph", "statistics_of"]


def estimate_graph(prepared: PreparedGraph) -> Estimate:
    """Return the estimate of a graph with its operands, without a run.

    Raises:
        InputError: a block has no estimate.
    """
    tensors = {name: statistics_of(operand.stored) for name, operand in prepared.operands.items()}
    try:
        return estimate(prepared.graph, tensors)
    except InestimableError as error:
        raise InputError(f"{prepared.name} has no estimate: {error}") from None
