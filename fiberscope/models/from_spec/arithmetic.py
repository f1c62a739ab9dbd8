"""Arithmetic of a stage: the functions of its operators, and the values of elements that are not stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fiberscope.hw.streams.alu import Arithmetic
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.operations import BINARY
from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.models.graphs.netlist import Node
from fiberscope.models.trace.reference import has_reduction
from fiberscope.models.trace.specification import OPERATORS, Einsum, Specification
from fiberscope.sim import Component

STANDARD_SUM = OPERATORS["+"]
SECOND = "second"  # the function that returns its second operand


@dataclass(frozen=True)
class StageArithmetic:
    """The functions and the empty values of the Einsum that a stage writes.

    Args:
        sum: name of the function that combines two values of the same point of the output; ``second`` if all
            values of a point are equal.
        adds: whether the function counts as an addition.
        empty: value of the elements that the output does not store.
        absent: for each tensor, by name, the value of the elements that the tensor does not store.
        is_standard: whether every operator has its usual meaning and every empty value is 0.
    """

    sum: str
    adds: bool
    empty: float
    absent: Mapping[str, float]
    is_standard: bool

    @classmethod
    def from_einsum(cls, specification: Specification, einsum: Einsum) -> StageArithmetic:
        """Return the arithmetic of an Einsum of the specification; the Einsum must be no alias."""
        empty = {name: tensor.empty for name, tensor in specification.tensors.items()}
        output_empty = empty[einsum.output]
        adds = has_reduction(einsum)
        copies_equal = not adds and set(einsum.ranks) > set(einsum.computed.output.ranks)
        is_standard = dict(einsum.operators) == OPERATORS and not any(empty.values()) and not copies_equal
        return cls(SECOND if copies_equal else einsum.operators["+"], adds, output_empty, empty, is_standard)

    def set(self, node: Node, block: Component) -> None:
        """Set the functions and empty values of a node's block.

        A block of the user's own, and a block of a standard operator, stay as they are.

        Args:
            block: its block, before the run.
        """
        if self.is_standard and not node["where"]:
            return
        if isinstance(block, Arithmetic):
            if node["where"]:
                block.needs_all = node["where"] == "all"
            block.fills, block.empty = True, self.empty
        elif isinstance(block, ArrayLoad):
            block.empty = self.absent[node["tensor"].partition("'")[0]]
        elif isinstance(block, ScalarReduce):
            block.code, block.fills, block.empty = BINARY[self.sum], True, self.empty
