"""SIGMA for the tests of all machines."""

from sigma_bench import TINY

from fiberscope.accelerators.testing import MachineCase, random_operands

OF_UNITS = TINY | {"step": "unit", "reduce.levels_outside_dpe": 5, "controller.first_fold": "counted"}

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
        "of units": OF_UNITS | {"benes.stages": 1},
        "of units, unlimited input": OF_UNITS | {"input.words_per_cycle": 0},
        "shipped": {},
    },
    operands=lambda: random_operands(14, 18, 11, 60),
    planted=("stream", "tiny"),
)
