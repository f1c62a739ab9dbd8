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
        "tiny": 30_063,
        "tiny, dram": 17_877,
        "one column over the chip": 38_772,
        "flat, nothing static": 32_442,
        "columns ahead": 30_108,
        "shipped": 6_423,
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
        "A": (3_264, 0),
        "B": (3_520, 0),
        "T": (28_384, 17_664),
        "Z": (0, 5_440),
        "heads": (3_712, 3_712),
    },
)
