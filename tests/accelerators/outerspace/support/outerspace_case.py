"""OuterSPACE for the tests of all machines."""

from outerspace_bench import TINY, small_operands

from fiberscope.accelerators.testing import MachineCase

CASE = MachineCase(
    accelerator="outerspace",
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "one column over the chip": TINY | {"multiply.assign": "chip", "merge.element_access": "block"},
        "flat, nothing static": TINY | {"multiply.assign": "flat", "alloc.static": False},
        "columns ahead": TINY | {"multiply.overlap_pairs": 3, "pe.work_queue": 2, "pe.outstanding": 16},
        "of units": TINY | {"merge.heads": "unit", "merge.max_lists": 12, "alloc.links": "unit"},
        "shipped": {},
    },
    operands=small_operands,
    planted=("merger", "tiny"),
)
