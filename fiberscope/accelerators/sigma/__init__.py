"""SIGMA (HPCA 2020): sparse GEMM with one operand stationary, a multicasting network and an adder network."""

from pathlib import Path

from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.sigma.configuration import SigmaConfiguration
from fiberscope.accelerators.sigma.machine import Sigma
from fiberscope.accelerators.sigma.sampling import SigmaSampler
from fiberscope.workloads import Gemm

__all__ = ["ACCELERATOR", "Sigma", "SigmaConfiguration"]

ACCELERATOR = Accelerator(
    name=Sigma.NAME,
    summary="sparse GEMM: 128 Flex-DPEs of 128 multipliers, one operand held, one multicast (HPCA 2020)",
    configuration=SigmaConfiguration,
    folder=Path(__file__).parent,
    models={"event": Sigma},
    workers="dpe",
    limits=("distributor", "accumulators", "controller"),
    channels="memory.channel",
    parts=Sigma.PARTS,
    solves=(Gemm,),
    explained=Sigma.explained,
    sampler=SigmaSampler,
)
