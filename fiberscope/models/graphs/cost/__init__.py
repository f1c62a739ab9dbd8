"""Expected cost of a graph without a run: tokens of each stream, from statistics of the tensors."""

from __future__ import annotations

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.cost.estimate import Estimate, InestimableError, estimate
from fiberscope.models.graphs.cost.statistics import TensorStatistics, statistics_of
from fiberscope.models.graphs.cost.tile_memories import TileEstimate
from fiberscope.models.graphs.prepared import PreparedGraph
from fiberscope.models.graphs.settings import GraphParameters
from fiberscope.models.graphs.tiles import tile_loops

__all__ = ["Estimate", "InestimableError", "TensorStatistics", "estimate", "estimate_graph", "statistics_of"]


def estimate_graph(prepared: PreparedGraph, parameters: GraphParameters | None = None) -> Estimate:
    """Return the estimate of a graph with its operands, without a run.

    Args:
        prepared: the graph and its operands.
        parameters: parameters of a run, of which ``tiles`` counts; None for a run without memories of tiles.

    Raises:
        InputError: a block has no estimate, or two tiles do not fit in a memory.
    """
    stored = {name: operand.stored for name, operand in prepared.operands.items()}
    tensors = {name: statistics_of(tensor) for name, tensor in stored.items()}
    tiles = None
    if parameters is not None and parameters.tiles.is_used:
        tiles = TileEstimate(tile_loops(prepared.graph, parameters.tiles), parameters.tiles, stored)
    try:
        return estimate(prepared.graph, tensors, tiles)
    except InestimableError as error:
        raise InputError(f"{prepared.name} has no estimate: {error}") from None
