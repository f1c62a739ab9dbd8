"""Gamma for the tests of all machines."""

from gamma_bench import SETTINGS, TINY, small_operands
from machine_case import MachineCase

CASE = MachineCase(
    accelerator="gamma",
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "tiny, through the cache": TINY | {"scheduler.output": "cache", "pe.prefetch": False},
        "small": SETTINGS,
        "shipped": {},
    },
    operands=small_operands,
    planted=("accumulator", "small"),
    golden={
        "tiny": 28_322,
        "tiny, dram": 19_221,
        "tiny, through the cache": 18_262,
        "small": 1_235,
        "shipped": 760,
    },
    operations={"multiply": 597, "add": 237, "merge": 1_109, "partial_merge": 512, "tasks": 64},
    traffic={"A": (1_792, 0), "B": (25_216, 0), "partial": (12_160, 7_296), "Z": (0, 4_544)},
)
