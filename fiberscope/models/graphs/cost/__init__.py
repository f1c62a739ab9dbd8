"""Expected cost of a graph before a run: tokens by stream, from statistics of its tensors."""

from __future__ import annotations

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.cost.estimate import Estimate, InestimableError, estimate
from fiberscope.models.graphs.cost.statistics import TensorStatistics, statistics_of
from fiberscope.models.graphs.prepared import PreparedGraph

__all__ = ["Estimate", "InestimableError", "TensorStatistics", "estimate", "estimate_graph", "statistics_of"]


def estimate_graph(ready: PreparedGraph) -> Estimate:
    """The estimate of a graph with its operands.

    Raises:
        InputError: it has blocks of which no tokens can be estimated.
    """
    tensors = {name: statistics_of(operand.stored) for name, operand in ready.operands.items()}
    try:
        return estimate(ready.graph, tensors)
    except InestimableError as error:
        raise InputError(f"{ready.name} has no estimate: {error}") from None
