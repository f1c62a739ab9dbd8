"""What OuterSPACE's parts say to one another, and where its tensors lie in memory."""

from __future__ import annotations

from dataclasses import dataclass

from hw.fibers.compressed import CompressedRows
from hw.memory import TENSOR_SHIFT
from sim.protocol import Protocol

# Tensor numbers, the upper bits of an address.
A = 0
B = 1
T = 2
Z = 3
HEADS = 4

# What a report calls the tensors, with the numbers that count for each.
TENSORS = {"A": (A,), "B": (B,), "T": (T,), "Z": (Z,), "heads": (HEADS,)}

# A group is elements of A that a tile is given at once, END_OF_WORK behind the last; a slot is its place.
GROUP = Protocol("group of elements", reference="group")
GROUP_DONE = Protocol("group done", reference="group")
PRODUCT_TASK = Protocol("element times row", control="slot", coordinate="element", reference="k")
TASK_DONE = Protocol("task done", control="slot")
ROW = Protocol("row to merge", reference="row")
# A node of T stands for the products of one element of A, whose number in the order of columns it has.
NODE_REQUEST = Protocol("node wanted", coordinate="tag", reference="node")
NODE_PLACE = Protocol("node's place", coordinate="tag", reference="address")

END_OF_WORK = -1
NO_NODE = -1

INDEX_BYTES = 4  # of a coordinate, a pointer, and the head of a row's list
VALUE_BYTES = 8
ELEMENT_BYTES = INDEX_BYTES + VALUE_BYTES
LINK_BITS = 32  # of a link, which counts in units of what nodes are aligned to
REGION = TENSOR_SHIFT - 2  # bits of an address within one of a tensor's arrays


@dataclass(frozen=True)
class OperandLayout:
    """Where the arrays of an operand begin, one behind the other.

    Args:
        pointers: address of the first pointer, of ``INDEX_BYTES`` each.
        coordinates: address of the first coordinate, of ``INDEX_BYTES`` each.
        values: address of the first value, of ``VALUE_BYTES`` each.
        end: the first address behind them.
    """

    pointers: int
    coordinates: int
    values: int
    end: int

    @classmethod
    def of(cls, tensor: int, start: int, matrix: CompressedRows, block_bytes: int) -> OperandLayout:
        """The arrays from a byte of the tensor's addresses on; each begins with a block."""
        elements = matrix.pointers[matrix.rows]
        sizes = ((matrix.rows + 1) * INDEX_BYTES, elements * INDEX_BYTES, elements * VALUE_BYTES)
        places = [(tensor << TENSOR_SHIFT) + start]
        for size in sizes:
            places.append(places[-1] + -(-size // block_bytes) * block_bytes)
        return cls(*places)
