"""Gamma for the tests of all machines."""

from gamma_bench import SETTINGS, TINY, small_operands

from fiberscope.accelerators.testing import MachineCase

CASE = MachineCase(
    accelerator="gamma",
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "tiny, through the cache": TINY | {"scheduler.output": "cache", "pe.prefetch": False},
        "tiny, preprocessed": TINY | {"reorder": "affinity", "tiling": "selective"},
        "small": SETTINGS,
        "shipped": {},
    },
    operands=small_operands,
    planted=("accumulator", "small"),
)
