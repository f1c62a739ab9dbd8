"""Graphicionado (MICRO 2016): vertex programs on graphs, and the designs derived from it."""

from pathlib import Path

from accelerators.graphicionado.configuration import GraphicionadoConfiguration
from accelerators.graphicionado.machine import Graphicionado
from accelerators.machine import Accelerator
from workloads import GraphAlgorithm

__all__ = ["ACCELERATOR", "Graphicionado", "GraphicionadoConfiguration"]

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
    iterations=Graphicionado.iterations,
)
