"""The weight-stationary array of MINT (IPDPS 2021): columns of B held, A streamed over a bus."""

from pathlib import Path

from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.accelerators.weight_stationary.configuration import WeightStationaryConfiguration
from fiberscope.accelerators.weight_stationary.machine import WeightStationary

__all__ = ["ACCELERATOR", "WeightStationary", "WeightStationaryConfiguration"]

ACCELERATOR = Accelerator(
    name=WeightStationary.NAME,
    summary="a column of B in each of 2,048 PEs, A over a bus, in the formats of both (MINT, IPDPS 2021)",
    configuration=WeightStationaryConfiguration,
    folder=Path(__file__).parent,
    models={EVENT: WeightStationary},
    workers="pe",
    limits=("bus",),
    parts=WeightStationary.PARTS,
    explained=WeightStationary.explained,
)
