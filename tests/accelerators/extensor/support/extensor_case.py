"""ExTensor for the tests of all machines."""

from extensor_bench import TINY, small_operands

from fiberscope.accelerators.testing import MachineCase

CASE = MachineCase(
    accelerator="extensor",
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "one of everything": TINY
        | {"pe.count": 1, "llb.intersectors": 1, "stream.lines": 1, "memory.channels": 1},
        "no skipping, one half": TINY | {"intersection": "two_finger", "llb.halves": 1},
        "wide": TINY | {"pe.count": 8, "llb.intersectors": 8, "llb.port": 64, "tile.m": 1},
        "rows in turn, a barrier": TINY
        | {"llb.window": "rows", "llb.dispatch": "turn", "llb.barrier": True}
        | {"intersection": "scanners", "pe.scanner_coordinates": 2},
        "units": TINY | {"step": "unit"},
        "shipped": {},
    },
    operands=small_operands,
    planted=("core", "tiny"),
)
