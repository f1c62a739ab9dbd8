"""Gamma (ASPLOS 2021): row-wise sparse matrix multiplication with high-radix mergers and a FiberCache."""

from pathlib import Path

from fiberscope.accelerators.gamma.cached_traffic import cached_traffic
from fiberscope.accelerators.gamma.configuration import GammaConfiguration
from fiberscope.accelerators.gamma.machine import Gamma
from fiberscope.accelerators.gamma.sampling import GammaSampler
from fiberscope.accelerators.machine import Accelerator

__all__ = ["ACCELERATOR", "Gamma", "GammaConfiguration"]

ACCELERATOR = Accelerator(
    name=Gamma.NAME,
    summary="row-wise product: 32 radix-64 merging PEs around a 3 MiB FiberCache (ASPLOS 2021)",
    configuration=GammaConfiguration,
    folder=Path(__file__).parent,
    models={"event": Gamma},
    workers="pe.merger",
    limits=("fibercache.bank",),
    channels="memory.channel",
    parts=Gamma.PARTS,
    chosen=Gamma.chosen,
    sampler=GammaSampler,
    cached=cached_traffic,
    reads={"A": "csr", "B": "csr"},
)
