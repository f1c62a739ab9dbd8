"""OuterSPACE (HPCA 2018): outer products to linked lists in memory, merged by insertion sort."""

from pathlib import Path

from accelerators.machine import Accelerator
from accelerators.outerspace.configuration import OuterSpaceConfiguration
from accelerators.outerspace.machine import OuterSpace

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
    explained=OuterSpace.explained,
)
