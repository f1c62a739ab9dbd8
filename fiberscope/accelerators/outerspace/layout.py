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

# Names of the tensors in a report, each with the tensor numbers that it includes.
TENSORS = {"A": (A,), "B": (B,), "T": (T,), "Z": (Z,), "heads": (HEADS,)}

# A group is a set of elements of A that a tile gets at once. END_OF_WORK follows the last group. The slot of
# a task is the position of the task's group in the tile's ring of groups; the report of the task repeats it.
GROUP = Protocol("group of elements", reference="group")
GROUP_DONE = Protocol("group done", reference="group")
PRODUCT_TASK = Protocol("element times row", control="slot", coordinate="element", reference="k")
TASK_DONE = Protocol("task done", control="slot")
ROW = Protocol("row to merge", reference="row")
# A node of T holds the products of one element of A. Its number is the number of the element, by columns. The
# tag of a request consists of the number of the multiplying element, as a port, and its own slot of the node.
NODE_REQUEST = Protocol("node wanted", coordinate="tag", reference="node")
NODE_PLACE = Protocol("node's place", coordinate="tag", reference="address")

END_OF_WORK = -1
NO_NODE = -1

INDEX_BYTES = 4  # bytes of a coordinate, of a pointer, and of the head of a row's list
LINK_BITS = 32  # bits of a link; the unit of a link is the alignment of nodes
ARRAY_BITS = TENSOR_SHIFT - 2  # address bits within one array of a tensor
MERGER_REGION_BITS = 30  # largest number of address bits within the part of Z that a merging element writes
SPILL_REGION_BITS = 22  # address bits within the heads that one merging element spills
SPILLED_HEADS = (T << TENSOR_SHIFT) + (3 << ARRAY_BITS)


@dataclass(frozen=True)
class OperandLayout:
    """The layout of the arrays of an operand, which follow each other in memory.

    The arrays are the pointers, the coordinates and the values. A dense operand has only values: the first
    two arrays are empty.

    Args:
        index_bytes: bytes of a pointer and of a coordinate; 0 for a dense operand, which is stored as values.
        pointers: address of the first pointer.
        coordinates: address of the first coordinate.
        values: address of the first value.
        end: first address after the arrays.
    """

    index_bytes: int
    value_bytes: int
    pointers: int
    coordinates: int
    values: int
    end: int

    @classmethod
    def from_matrix(
        cls, tensor: int, start: int, matrix: CompressedRows, dense: bool, block_bytes: int, value_bytes: int
    ) -> OperandLayout:
        """Return the layout of an operand whose arrays begin at an offset; each array is aligned to a block.

        Args:
            tensor: number of the tensor.
            start: offset in bytes within the tensor's addresses, a multiple of ``block_bytes``.
            matrix: the operand; A by columns, B by rows.
            dense: whether the operand is stored as values alone.
        """
        elements, index = matrix.pointers[matrix.rows], 0 if dense else INDEX_BYTES
        sizes = ((matrix.rows + 1) * index, elements * index, elements * value_bytes)
        addresses = [(tensor << TENSOR_SHIFT) + start]
        for size in sizes:
            addresses.append(addresses[-1] + -(-size // block_bytes) * block_bytes)
        return cls(index, value_bytes, *addresses)

    def data_bytes(self, elements: int, pointers: int) -> int:
        """Return the bytes of a number of elements and of a number of pointers, without padding."""
        return elements * (self.index_bytes + self.value_bytes) + pointers * self.index_bytes


def operands_of(
    operands: tuple[CompressedRows, CompressedRows],
    dense: tuple[bool, bool],
    block_bytes: int,
    value_bytes: int,
) -> tuple[OperandLayout, OperandLayout]:
    """Return the layouts of A and B; B begins after A, so that their arrays map to different cache sets.

    Args:
        operands: A by columns, and B by rows.
        dense: whether A, and whether B, is stored as values alone.
    """
    first = OperandLayout.from_matrix(A, 0, operands[0], dense[0], block_bytes, value_bytes)
    start = first.end - (A << TENSOR_SHIFT)
    return first, OperandLayout.from_matrix(B, start, operands[1], dense[1], block_bytes, value_bytes)


def written_arrays(rows: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return address and bytes of two arrays: the heads of the rows' lists, and the pointers of Z.

    Args:
        rows: number of rows of Z. Each row has one head and one pointer.
    """
    size = INDEX_BYTES * rows
    return (HEADS << TENSOR_SHIFT, size), ((Z << TENSOR_SHIFT) + (2 << ARRAY_BITS), size)


def operand_layouts(operands: Sequence[OperandLayout], matrices: Sequence[CompressedRows]) -> list[Layout]:
    """Return the layouts of the arrays of A and B.

    The used ranges contain all elements of A, and the rows of B that are multiplied with an element of A.
    The pointers have no used ranges.

    Args:
        operands: layouts of A and B.
        matrices: A by columns, and B by rows.
    """
    ends = [np.asarray(matrix.pointers) for matrix in matrices]
    used_columns = np.flatnonzero(np.diff(ends[0]))  # of A, with an element; they are the used rows of B
    layouts = []
    for operand, pointers in zip(operands, ends, strict=True):
        index = operand.index_bytes
        layouts.append(Layout(operand.pointers, len(pointers) * index, Role.OPERAND))
        fibers = np.stack([pointers[used_columns], pointers[used_columns + 1]], axis=1)
        for start, size in ((operand.coordinates, index), (operand.values, operand.value_bytes)):
            layouts.append(Layout(start, int(pointers[-1]) * size, Role.OPERAND, fibers * size))
    return layouts


def merger_regions(number: int, mergers: int) -> tuple[int, int]:
    """Return the first address of a merging element's region of Z, and of its region for spilled heads.

    Args:
        number: number of the merging element in the machine, from 0.
        mergers: number of merging elements.
    """
    z_address = (Z << TENSOR_SHIFT) + (number << merger_region_bits(mergers))
    return z_address, SPILLED_HEADS + (number << SPILL_REGION_BITS)


def merger_region_bits(mergers: int) -> int:
    """Return the number of address bits within a merging element's region of Z.

    All regions lie below the pointers of Z; more than 512 merging elements have smaller regions.
    """
    return min(MERGER_REGION_BITS, ARRAY_BITS + 1 - (mergers - 1).bit_length())


def written_layouts(
    base: int, block_bytes: int, heads: tuple[int, int], pointers: tuple[int, int], mergers: int
) -> list[Layout]:
    """Return the layouts of all arrays that the machine writes.

    Args:
        base: address of T, which begins with the block of the spill pointer; the nodes follow.
        heads: address and bytes of the heads of the rows' lists.
        pointers: address and bytes of the pointers of Z.
        mergers: number of merging elements, each of which has a region of Z and one of spilled heads.
    """
    regions = [merger_regions(number, mergers) for number in range(mergers)]
    region_bytes = 1 << merger_region_bits(mergers)
    nodes = SPILLED_HEADS - base - block_bytes
    return [
        Layout.whole(*heads, Role.WORK),
        Layout.whole(*pointers, Role.PRODUCT),
        Layout(base, block_bytes, Role.STATE),
        Layout(base + block_bytes, nodes, Role.WORK),
        *(Layout(z_address, region_bytes, Role.PRODUCT) for z_address, _spilled in regions),
        *(Layout(spilled, 1 << SPILL_REGION_BITS, Role.STATE) for _z_address, spilled in regions),
    ]
