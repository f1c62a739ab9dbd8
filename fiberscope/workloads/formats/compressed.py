"""Formats with a pointer array: CSR, CSC, and BSR, whose entries are blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.formats.bit_packing import Items
from fiberscope.workloads.formats.format import Coordinates, Counts, Encoded, Format, Layout, Span, index_bits
from fiberscope.workloads.sorting import lexical_order
from fiberscope.workloads.tensor import SparseTensor, coordinates_at


class Matrices(Format):
    """A format for two ranks, rows and columns."""

    def check(self, shape: Sequence[int]) -> None:
        """Check that the tensor has order 2.

        Raises:
            WorkloadError: the tensor has another order.
        """
        if len(shape) != 2:
            fault = f"{self.name} holds matrices, not a tensor of order {len(shape)}"
            raise WorkloadError(fault, fix="dense, zvc, rlc, coo and csf hold any order")


@dataclass(frozen=True)
class Csr(Matrices):
    """Compressed sparse rows: the first nonzero of each row; the columns of nonzeros; the nonzeros."""

    name = "csr"
    code = 5

    def layout(self, shape: Sequence[int], counts: Counts, bits: int) -> Layout:
        """Return the arrays. Pointers distinguish all nonzeros and the end."""
        nonzeros = counts["nonzeros"]
        return [
            Span("row_ptr", shape[0] + 1, index_bits(nonzeros + 1)),
            Span("col_ids", nonzeros, index_bits(shape[1])),
            Span("values", nonzeros, bits),
        ]

    def items(self, tensor: SparseTensor, words: Items) -> Mapping[str, Integers | Items]:
        """Return the items: row pointers from cumulative counts, the columns, and the values."""
        rows, columns = tensor.coordinates
        # the entries of a tensor are sorted by row, then by column, as CSR stores them
        return {"row_ptr": _build_pointers(rows, tensor.shape[0]), "col_ids": columns, "values": words}

    def points(self, encoded: Encoded) -> tuple[Coordinates, Items]:
        """Return the nonzeros, with a row for each."""
        rows = _list_row_numbers(encoded["row_ptr"])
        return (rows, encoded["col_ids"].astype(np.int64)), encoded["values"]


@dataclass(frozen=True)
class Csc(Matrices):
    """Compressed sparse columns: the first nonzero of each column; the rows of nonzeros; the nonzeros."""

    name = "csc"
    code = 6

    def layout(self, shape: Sequence[int], counts: Counts, bits: int) -> Layout:
        """Return the arrays: those of the transposed matrix in CSR, with names of columns for rows."""
        nonzeros = counts["nonzeros"]
        return [
            Span("col_ptr", shape[1] + 1, index_bits(nonzeros + 1)),
            Span("row_ids", nonzeros, index_bits(shape[0])),
            Span("values", nonzeros, bits),
        ]

    def items(self, tensor: SparseTensor, words: Items) -> Mapping[str, Integers | Items]:
        """Return the items, sorted by column first."""
        rows, columns = tensor.coordinates
        # ``lexical_order`` returns None for entries that have the order already
        order = lexical_order((columns, rows), tensor.shape[::-1])
        if order is not None:
            rows, words = rows[order], words[order]
        # pointers are sums of counts, for which the columns need not be sorted
        return {"col_ptr": _build_pointers(columns, tensor.shape[1]), "row_ids": rows, "values": words}

    def points(self, encoded: Encoded) -> tuple[Coordinates, Items]:
        """Return the nonzeros, sorted by row first."""
        columns, rows = _list_row_numbers(encoded["col_ptr"]), encoded["row_ids"].astype(np.int64)
        order = lexical_order((rows, columns), encoded.shape)
        if order is None:
            return (rows, columns), encoded["values"]
        return (rows[order], columns[order]), encoded["values"][order]


@dataclass(frozen=True)
class Bsr(Matrices):
    """CSR of square blocks that have a nonzero, by increasing column. A block stores its zeros.

    Blocks at the edge are padded with zeros.

    Args:
        block: rows and columns of a block, 1 to 255.
    """

    block: int = 2
    code = 7

    def __post_init__(self) -> None:
        """Check the block size.

        Raises:
            WorkloadError: the block size is not 1 to 255.
        """
        if not 1 <= self.block <= MAX_BLOCK:
            raise WorkloadError(f"bsr.block is {self.block}", fix=f"it is 1 to {MAX_BLOCK}")

    @property
    def name(self) -> str:
        """Return the name with the block size."""
        return f"bsr{self.block}"

    @property
    def parameter(self) -> int:
        """Return the block size."""
        return self.block

    def grid(self, shape: Sequence[int]) -> tuple[int, int]:
        """Return the rows and columns of blocks."""
        return -(-shape[0] // self.block), -(-shape[1] // self.block)

    def count_names(self, shape: Sequence[int]) -> Sequence[str]:
        """Return the names of the counts: nonzeros, and blocks with a nonzero."""
        return ("nonzeros", "blocks")

    def counts(self, tensor: SparseTensor) -> dict[str, int]:
        """Return the counts. Blocks are distinguished by their positions on the grid."""
        return {"nonzeros": tensor.nonzeros, "blocks": len(self._find_blocks(tensor)[0])}

    def expected_counts(self, shape: Sequence[int], density: float) -> dict[str, float]:
        """Return the expected counts, if each position is a nonzero with the same probability.

        Blocks at the edges have fewer positions for nonzeros.
        """
        rows, columns = (_block_lengths(size, self.block) for size in shape)
        # a block of n positions has a nonzero with probability 1 - (1 - density)^n
        blocks = sum(
            row_count * column_count * (1 - (1 - density) ** (height * width))
            for height, row_count in rows.items()
            for width, column_count in columns.items()
        )
        return {"nonzeros": density * shape[0] * shape[1], "blocks": blocks}

    def layout(self, shape: Sequence[int], counts: Counts, bits: int) -> Layout:
        """Return the arrays. Pointers and columns refer to blocks; the values of a block are row-major."""
        rows, columns = self.grid(shape)
        blocks = counts["blocks"]
        return [
            Span("row_ptr", rows + 1, index_bits(blocks + 1)),
            Span("col_ids", blocks, index_bits(columns)),
            Span("values", blocks * self.block**2, bits),
        ]

    def items(self, tensor: SparseTensor, words: Items) -> Mapping[str, Integers | Items]:
        """Return the items. Each nonzero is at its position in its block."""
        blocks, numbers = self._find_blocks(tensor)
        rows, columns = self.grid(tensor.shape)
        block_rows, block_columns = coordinates_at((rows, columns), blocks)
        row, column = (coordinates % self.block for coordinates in tensor.coordinates)
        values = np.zeros(len(blocks) * self.block**2, dtype=words.dtype)
        # ``values`` is row-major by block, row and column; positions without a nonzero stay 0
        values[(numbers * self.block + row) * self.block + column] = words
        return {"row_ptr": _build_pointers(block_rows, rows), "col_ids": block_columns, "values": values}

    def _find_blocks(self, tensor: SparseTensor) -> tuple[Integers, Integers]:
        """Return the grid positions of blocks with a nonzero, and the block number of each nonzero."""
        rows, columns = self.grid(tensor.shape)
        positions = tensor.coordinates[0] // self.block * columns + tensor.coordinates[1] // self.block
        order = lexical_order([positions], [rows * columns])
        by_block = positions if order is None else positions[order]
        # nonzeros of one block are adjacent now, and a new position begins the next block
        is_first = np.diff(by_block, prepend=-1) > 0
        numbers = np.cumsum(is_first) - 1
        if order is not None:
            # back to the order of the nonzeros; both sides are the same array, hence the copy
            numbers[order] = numbers.copy()
        return by_block[is_first], numbers

    def points(self, encoded: Encoded) -> tuple[Coordinates, Items]:
        """Return the nonzeros of all blocks, sorted by row first, without the zeros that blocks store."""
        values = encoded["values"]
        # ``convert_to_words`` rounds no nonzero to 0, so that a word of 0 is a position without a nonzero
        positions = np.flatnonzero(values)
        # ``coordinates_at`` ignores the first size; the number of blocks would be exact
        number, row, column = coordinates_at((len(values), self.block, self.block), positions)
        rows = _list_row_numbers(encoded["row_ptr"])[number] * self.block + row
        columns = encoded["col_ids"].astype(np.int64)[number] * self.block + column
        order = lexical_order((rows, columns), encoded.shape)
        if order is None:
            return (rows, columns), values[positions]
        return (rows[order], columns[order]), values[positions[order]]


MAX_BLOCK = 255  # limit of a header's byte


def _block_lengths(size: int, block: int) -> dict[int, int]:
    """Return the number of blocks along a rank, by their length; the last block may be shorter."""
    full_blocks, remainder = divmod(size, block)
    return {block: full_blocks, **({remainder: 1} if remainder else {})}


def _build_pointers(numbers: Integers, size: int) -> Integers:
    """Return the index of the first entry of each number below ``size``, and the end.

    The entries must be sorted by these numbers when they are stored; here only their counts matter.
    """
    return np.append(0, np.cumsum(np.bincount(numbers, minlength=size)))


def _list_row_numbers(pointers: Items) -> Integers:
    """Return the number of the row, or column, of each entry."""
    lengths = pointers[1:].astype(np.int64) - pointers[:-1].astype(np.int64)
    return np.repeat(np.arange(len(pointers) - 1), lengths)
