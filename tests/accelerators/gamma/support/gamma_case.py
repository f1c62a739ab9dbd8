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
        "tiny": 27_722,
        "tiny, dram": 18_903,
        "tiny, through the cache": 17_876,
        "small": 1_185,
        "shipped": 537,
    },
    operations={"multiply": 597, "add": 237, "merge": 1_109, "partial_merge": 512, "tasks": 64},
    traffic={"A": (1_792, 0), "B": (25_536, 0), "partial": (12_224, 7_296), "Z": (0, 4_544)},
)
