"""OuterSPACE for the tests of all machines."""

from machine_case import MachineCase
from outerspace_bench import TINY, small_operands

CASE = MachineCase(
    accelerator="outerspace",
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "one column over the chip": TINY | {"multiply.assign": "chip", "merge.element_access": "block"},
        "flat, nothing static": TINY | {"multiply.assign": "flat", "alloc.static": False},
        "columns ahead": TINY | {"multiply.overlap_pairs": 3, "pe.work_queue": 2, "pe.outstanding": 16},
        "shipped": {},
    },
    operands=small_operands,
    planted=("merger", "tiny"),
    golden={
        "tiny": 29_976,
        "tiny, dram": 17_256,
        "one column over the chip": 39_120,
        "flat, nothing static": 32_547,
        "columns ahead": 30_387,
        "shipped": 6_609,
    },
    operations={
        "multiply": 557,
        "add": 121,
        "swap": 1_526,
        "pairs": 25,
        "nodes": 112,
        "node_blocks": 161,
        "rows_merged": 28,
        "spilled_nodes": 66,
    },
    traffic={
        "A": (3_776, 0),
        "B": (3_648, 0),
        "T": (28_288, 17_568),
        "Z": (0, 5_568),
        "heads": (3_712, 3_712),
    },
)
