"""Small makes of the machine, and operands that put every part to work."""

from pathlib import Path

from fiberscope.accelerators.testing import MachineCase, random_operands

TINY = {
    "pe.count": 2,
    "pe.lines": 2,
    "pe.rows": 1,
    "queues.count": 2,
    "queues.size": "24 B",
    "memory.channels": 1,
    "memory.model": "simple",
}

CASE = MachineCase(
    accelerator=str(Path(__file__).parent),
    variants={
        "tiny": TINY,
        "tiny, dram": TINY | {"memory.model": "dram"},
        "three queues": {"pe.count": 3, "queues.count": 3},
        "shipped": {},
    },
    operands=lambda: random_operands(14, 18, 11, 90),
    planted=("queues", "three queues"),
)
