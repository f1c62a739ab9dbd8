"""Small configurations of the machine for its tests, and operands that exercise every part."""

from pathlib import Path

from fiberscope.accelerators.testing import MachineCase, random_operands

TINY = {"pe.count": 2, "pe.lines": 2, "pe.rows": 1, "memory.channels": 1, "memory.model": "simple"}

CASE = MachineCase(
    accelerator=str(Path(__file__).parent),
    variants={"tiny": TINY, "tiny, dram": TINY | {"memory.model": "dram"}, "shipped": {}},
    operands=lambda: random_operands(14, 18, 11, 50),
    planted=("multiplier", "tiny"),
)
