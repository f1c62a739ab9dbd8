"""What the weight-stationary array gives to the laws of all machines."""

from fiberscope.accelerators.testing import MachineCase, random_operands

SMALL = {
    "pe.count": 3,
    "pe.buffer": 8,
    "pe.comparators": 2,
    "pe.lanes": 2,
    "bus.words": 6,
    "bus.load": "counted",
}

CASE = MachineCase(
    accelerator="weight_stationary",
    variants={
        "tiny": SMALL,
        "csc and dense": SMALL | {"acf.a": "csc", "acf.b": "dense"},
        "dense, and the bus alone": SMALL | {"acf.a": "dense", "match": "bus", "bus.load": "hidden"},
    },
    operands=lambda: random_operands(12, 20, 10, 60),
    planted=("pe", "tiny"),
)
