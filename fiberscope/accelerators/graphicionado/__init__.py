"""Graphicionado (MICRO 2016): vertex programs on graphs, and the designs derived from it."""

from pathlib import Path

from fiberscope.accelerators.graphicionado.configuration import GraphicionadoConfiguration
from fiberscope.accelerators.graphicionado.machine import Graphicionado
from fiberscope.accelerators.graphicionado.sampling import GraphicionadoSampler
from fiberscope.accelerators.machine import Accelerator
from fiberscope.workloads import GraphAlgorithm
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.synchronous import GraphTask

__all__ = ["ACCELERATOR", "Graphicionado", "GraphicionadoConfiguration"]


def _symbols(
    parameters: GraphicionadoConfiguration, _graph: CsrArray, task: GraphTask
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the bits of the weight of an edge for ``spec.yaml``; 0 if the algorithm does not use weights."""
    return {"weight": 8.0 * parameters.property.bytes * task.program.uses_weights}, ()


ACCELERATOR = Accelerator(
    name=Graphicionado.NAME,
    summary="vertex programs: 8 streams, temporary properties on chip, a barrier an iteration (MICRO 2016)",
    configuration=GraphicionadoConfiguration,
    folder=Path(__file__).parent,
    models={"event": Graphicionado},
    workers="stream.atomic_update",
    limits=("stream.edge_pipe", "stream.apply"),
    channels="memory.channel",
    parts=Graphicionado.PARTS,
    solves=(GraphAlgorithm,),
    chosen=Graphicionado.chosen,
    explained=Graphicionado.explained,
    symbols=_symbols,
    iterations=Graphicionado.iterations,
    sampler=GraphicionadoSampler,
)
