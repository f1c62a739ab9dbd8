"""OuterSPACE (HPCA 2018): outer products to linked lists in memory, merged by insertion sort."""

from pathlib import Path

from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.outerspace.configuration import OuterSpaceConfiguration
from fiberscope.accelerators.outerspace.machine import OuterSpace

__all__ = ["ACCELERATOR", "OuterSpace", "OuterSpaceConfiguration"]

ACCELERATOR = Accelerator(
    name=OuterSpace.NAME,
    summary="outer products: 256 PEs multiply, 128 merge linked lists in memory by insertion (HPCA 2018)",
    configuration=OuterSpaceConfiguration,
    folder=Path(__file__).parent,
    models={"event": OuterSpace},
    workers="tile.pe.merger",
    channels="memory.channel",
    parts=OuterSpace.PARTS,
    chosen=OuterSpace.chosen,
    explained=OuterSpace.explained,
    unsampled="the cycles of its loads fall over the whole merge phase",
)
