"""Functions and empty values of a stage whose operators have another meaning, or whose tensors store 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fiberscope.hw.streams.alu import Arithmetic
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.operations import BINARY
from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.models.graphs.netlist import Node
from fiberscope.models.trace.reference import accumulates
from fiberscope.models.trace.specification import OPERATORS, Einsum, Specification
from fiberscope.sim import Component

__all__ = ["USUAL_SUM", "StageArithmetic"]

USUAL_SUM = OPERATORS["+"]
SECOND = "second"


@dataclass(frozen=True)
class StageArithmetic:
    """Functions and empty values of the Einsum that a stage writes.

    Args:
        sum: the function that makes one value of two of one point; ``second`` where copies are alike.
        adds: whether it counts as an addition.
        empty: the value of its output that is not stored.
        absent: of each tensor that is read, the value where it has none.
        usual: whether all operators are what they are called, and all these values 0.
    """

    sum: str
    adds: bool
    empty: float
    absent: Mapping[str, float]
    usual: bool

    @classmethod
    def read(cls, specification: Specification, einsum: Einsum) -> StageArithmetic:
        """Read the arithmetic of an Einsum."""
        empty = {name: tensor.empty for name, tensor in specification.tensors.items()}
        own = empty[einsum.output]
        adds = accumulates(einsum)
        alike = not adds and set(einsum.ranks) > set(einsum.computed.output.ranks)
        usual = dict(einsum.operators) == OPERATORS and not any(empty.values()) and not alike
        return cls(SECOND if alike else einsum.operators["+"], adds, own, empty, usual)

    def set(self, node: Node, block: Component) -> None:
        """Have a block compute so; one of the user's own computes as it does."""
        if self.usual and not node["where"]:
            return
        if isinstance(block, Arithmetic):
            if node["where"]:
                block.needs_all = node["where"] == "all"
            block.fills, block.empty = True, self.empty
        elif isinstance(block, ArrayLoad):
            block.empty = self.absent[node["tensor"].partition("'")[0]]
        elif isinstance(block, ScalarReduce):
            block.code, block.fills, block.empty = BINARY[self.sum], True, self.empty
