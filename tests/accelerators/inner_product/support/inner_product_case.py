"""The machine of the examples for the tests of all machines."""

from pathlib import Path

from fiberscope.accelerators.testing import MachineCase, random_operands

MACHINE = Path(__file__).parents[4] / "examples" / "inner_product" / "machine.py"
TINY = {"lane.count": 2, "lane.window": 1, "lane.lines": 1, "lane.rows": 1, "memory.model": "simple"}

CASE = MachineCase(
    accelerator=str(MACHINE),
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "two fingers": {"lane.intersection": "two_finger"},
        "shipped": {},
    },
    operands=lambda: random_operands(14, 18, 11, 50),
    planted=("accumulator", "tiny"),
)
