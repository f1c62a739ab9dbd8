"""Protocols between OuterSPACE's parts, and the layout of its tensors in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.accelerators.layout import Layout, Role
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.sim.protocol import Protocol

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
LINK_BITS = 32  # of a link, which counts in units of what nodes are aligned to
REGION = TENSOR_SHIFT - 2  # bits of an address within one of a tensor's arrays
OWN_REGION = 30  # within what one merging element writes
SPILL_REGION = OWN_REGION - 8  # within the heads that it spills
SPILLED_HEADS = (T << TENSOR_SHIFT) + (3 << REGION)


@dataclass(frozen=True)
class OperandLayout:
    """Layout of the arrays of an operand, one behind the other.

    Args:
        index_bytes: bytes of a pointer and of a coordinate; 0 of an operand that lies as values alone.
        value_bytes: bytes of a value.
        pointers: address of the first pointer.
        coordinates: address of the first coordinate.
        values: address of the first value.
        end: the first address behind them.
    """

    index_bytes: int
    value_bytes: int
    pointers: int
    coordinates: int
    values: int
    end: int

    @classmethod
    def place(
        cls, tensor: int, start: int, matrix: CompressedRows, dense: bool, block_bytes: int, value_bytes: int
    ) -> OperandLayout:
        """The arrays from a byte of the tensor's addresses on; each begins with a block."""
        elements, index = matrix.pointers[matrix.rows], 0 if dense else INDEX_BYTES
        sizes = ((matrix.rows + 1) * index, elements * index, elements * value_bytes)
        places = [(tensor << TENSOR_SHIFT) + start]
        for size in sizes:
            places.append(places[-1] + -(-size // block_bytes) * block_bytes)
        return cls(index, value_bytes, *places)

    def moved(self, elements: int, pointers: int) -> int:
        """Bytes of so many elements and pointers."""
        return elements * (self.index_bytes + self.value_bytes) + pointers * self.index_bytes


def operands_of(
    operands: tuple[CompressedRows, CompressedRows],
    dense: tuple[bool, bool],
    block_bytes: int,
    value_bytes: int,
) -> tuple[OperandLayout, OperandLayout]:
    """A and B, so that no array of B shares the sets of a cache with one of A's."""
    first = OperandLayout.place(A, 0, operands[0], dense[0], block_bytes, value_bytes)
    start = first.end - (A << TENSOR_SHIFT)
    return first, OperandLayout.place(B, start, operands[1], dense[1], block_bytes, value_bytes)


def written_arrays(rows: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Heads of the rows' lists and pointers of Z: address and bytes of each array."""
    size = INDEX_BYTES * rows
    return (HEADS << TENSOR_SHIFT, size), ((Z << TENSOR_SHIFT) + (2 << REGION), size)


def operand_layouts(operands: Sequence[OperandLayout], matrices: Sequence[CompressedRows]) -> list[Layout]:
    """The arrays of A and B: used are all elements of A, and the rows of B that meet one."""
    ends = [np.asarray(matrix.pointers) for matrix in matrices]
    met = np.flatnonzero(np.diff(ends[0]))  # columns of A, and of B the rows
    layouts = []
    for operand, pointers in zip(operands, ends, strict=True):
        index = operand.index_bytes
        layouts.append(Layout(operand.pointers, len(pointers) * index, Role.OPERAND))
        fibers = np.stack([pointers[met], pointers[met + 1]], axis=1)
        for start, size in ((operand.coordinates, index), (operand.values, operand.value_bytes)):
            layouts.append(Layout(start, int(pointers[-1]) * size, Role.OPERAND, fibers * size))
    return layouts


def own_regions(number: int) -> tuple[int, int]:
    """Return where a merging element's region of Z begins, and where its spilled heads."""
    return (Z << TENSOR_SHIFT) + (number << OWN_REGION), SPILLED_HEADS + (number << SPILL_REGION)


def made_layouts(
    base: int, block_bytes: int, heads: tuple[int, int], pointers: tuple[int, int], mergers: int
) -> list[Layout]:
    """Heads and Z's pointers, address and bytes; T from ``base`` on: the spill pointer's block, nodes.

    And what each of so many merging elements has to itself.
    """
    regions = [own_regions(number) for number in range(mergers)]
    nodes = SPILLED_HEADS - base - block_bytes
    return [
        Layout.whole(*heads, Role.WORK),
        Layout.whole(*pointers, Role.PRODUCT),
        Layout(base, block_bytes, Role.STATE),
        Layout(base + block_bytes, nodes, Role.WORK),
        *(Layout(z_address, 1 << OWN_REGION, Role.PRODUCT) for z_address, _spilled in regions),
        *(Layout(spilled, 1 << SPILL_REGION, Role.STATE) for _z_address, spilled in regions),
    ]
