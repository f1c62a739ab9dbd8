"""SIGMA for the tests of all machines."""

from machine_case import MachineCase, random_operands
from sigma_bench import TINY

CASE = MachineCase(
    accelerator="sigma",
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "tiny, in one step": TINY | {"step": "chunk"},
        "one of everything": TINY | {"dpe.count": 1, "stream.lines": 1, "memory.channels": 1},
        "double buffer": TINY | {"load.double_buffer": True, "pack.slices": "one"},
        "without memory, B stationary": TINY | {"memory.model": "none", "stationary": "B"},
        "unlimited input": TINY | {"input.words_per_cycle": 0},
        "of units": TINY | {"step": "unit", "reduce.levels_outside_dpe": 5, "benes.stages": 1},
        "of units, unlimited input": TINY
        | {"step": "unit", "reduce.levels_outside_dpe": 5, "input.words_per_cycle": 0},
        "shipped": {},
    },
    operands=lambda: random_operands(14, 18, 11, 60),
    planted=("stream", "tiny"),
)
