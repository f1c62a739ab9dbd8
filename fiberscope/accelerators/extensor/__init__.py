"""ExTensor (MICRO 2019): tiled sparse matrix multiplication with intersection at every level."""

from pathlib import Path

from fiberscope.accelerators.extensor.configuration import ExTensorConfiguration
from fiberscope.accelerators.extensor.machine import ExTensor
from fiberscope.accelerators.extensor.sampling import ExTensorSampler
from fiberscope.accelerators.extensor.tiles import choose_symbols, tile_capacity, with_tile_shape
from fiberscope.accelerators.machine import Accelerator

__all__ = ["ACCELERATOR", "ExTensor", "ExTensorConfiguration"]

ACCELERATOR = Accelerator(
    name=ExTensor.NAME,
    summary="tiled inner product: 128 PEs that intersect by skipping ahead, a 30 MiB buffer (MICRO 2019)",
    configuration=ExTensorConfiguration,
    folder=Path(__file__).parent,
    models={"event": ExTensor},
    workers="pe.core",
    channels="memory.channel",
    parts=ExTensor.PARTS,
    chosen=ExTensor.chosen,
    explained=ExTensor.explained,
    symbols=choose_symbols,
    tile_room=tile_capacity,
    tiled=with_tile_shape,
    reads={"A": "csr", "B": "csr"},
    sampler=ExTensorSampler,
)
