"""ExTensor for the tests of all machines."""

from extensor_bench import TINY, small_operands
from machine_case import MachineCase

CASE = MachineCase(
    accelerator="extensor",
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "one of everything": TINY
        | {"pe.count": 1, "llb.intersectors": 1, "stream.lines": 1, "memory.channels": 1},
        "no skipping, one half": TINY | {"intersection": "two_finger", "llb.halves": 1},
        "wide": TINY | {"pe.count": 8, "llb.intersectors": 8, "llb.port": 64, "tile.m": 1},
        "shipped": {},
    },
    operands=small_operands,
    planted=("core", "tiny"),
    golden={
        "tiny": 7_846,
        "tiny, dram": 5_925,
        "one of everything": 15_015,
        "no skipping, one half": 10_962,
        "wide": 8_890,
        "shipped": 4_265,
    },
    operations={
        "multiply": 580,
        "add": 125,
        "intersect_k2": 12,
        "intersect_k1": 446,
        "intersect_k0": 1_836,
        "microtile_products": 391,
    },
    traffic={"A": (8_512, 0), "B": (3_136, 0), "PO": (9_920, 9_920), "Z": (0, 7_296)},
)
