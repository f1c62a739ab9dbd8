"""MatrixMarket files: coordinate and array; pattern, integer, real; general, symmetric, skew-symmetric.

The format: R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market Exchange Formats: Initial Design",
NISTIR 5935, 1996.
"""

from __future__ import annotations

import os
from typing import BinaryIO

import numpy as np

from fiberscope.workloads.canonical import Coordinates, CsrArray, Duplicates, Values, from_coordinates
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.gathering import Entries, gather, gather_columns
from fiberscope.workloads.market_header import Header, read_header
from fiberscope.workloads.tensor import SparseTensor, coordinates_at, count_positions
from fiberscope.workloads.text import Grammar, scan


def read_matrix_market(stream: BinaryIO, location: str, duplicates: Duplicates = "sum") -> CsrArray:
    """Read the matrix of a MatrixMarket ``stream``. The zeros of an array file are not stored.

    A vector becomes a column, and so does a tensor of taco with one rank. A tensor must not have more than
    two ranks.

    Args:
        stream: the file, at its beginning.
        location: name of the file, for errors.
        duplicates: treatment of entries at the same position, see ``from_coordinates``. Entries of a vector
            or tensor are always added.

    Raises:
        WorkloadError: with the line: a fault in the banner, the size line or an entry, or a wrong number of
            entries; without a line: entries that contradict the declared symmetry.
    """
    header = read_header(stream, location)
    if len(header.shape) > 2:
        fault = f"a tensor of rank {len(header.shape)}; a matrix has rank 2"
        raise WorkloadError(fault, location=location, line=header.line)
    if header.object != "matrix":
        tensor = _read_tensor(stream, header, location)
        # one rank lacks columns: all are 0
        rows, cols = (*tensor.coordinates, np.zeros(tensor.nonzeros, dtype=np.int64))[:2]
        return from_coordinates(rows, cols, tensor.values, (header.rows, header.cols), location, duplicates)
    _check_size(stream, header, location)
    blocks = scan(stream, Grammar(header.kinds, "%"), location, header.line + 1)
    if header.layout == "array":
        # a symmetric array has one triangle, or all positions
        values = gather(blocks, location, header.rows * header.cols, alternative=header.entries).values
        entries = _dense_coordinates(header, values, location)
    else:
        entries = gather(blocks, location, header.entries, (header.rows, header.cols), base=1)
    rows, cols, values = _mirror(header, entries, location)
    return from_coordinates(rows, cols, values, (header.rows, header.cols), location, duplicates)


def read_market_tensor(stream: BinaryIO, location: str) -> SparseTensor | None:
    """Read the tensor or vector of a ``stream``; return None for a matrix.

    Entries at the same position are added. The zeros of an array file are not stored.

    Raises:
        WorkloadError: see ``read_matrix_market``.
    """
    header = read_header(stream, location)
    return None if header.object == "matrix" else _read_tensor(stream, header, location)


def _read_tensor(stream: BinaryIO, header: Header, location: str) -> SparseTensor:
    _check_size(stream, header, location)
    blocks = scan(stream, Grammar(header.kinds, "%"), location, header.line + 1)
    if header.layout == "array":
        values = gather(blocks, location, header.entries).values
        positions = np.flatnonzero(values)
        count_positions(header.shape)  # refuses a shape that is too large
        columns = coordinates_at(header.shape[::-1], positions)[::-1]  # the file is column-major
        return SparseTensor.from_coordinates(header.shape, columns, values[positions])
    coordinates, values = gather_columns(blocks, location, header.entries, header.shape)
    return SparseTensor.from_coordinates(header.shape, coordinates, values)


def _check_size(stream: BinaryIO, header: Header, location: str) -> None:
    """Refuse a plain file that is too short for its declared entries, before memory is allocated for them.

    The check does not apply to gzip, nor to a stream that ``open_text`` has read into memory.
    """
    if not hasattr(stream, "raw"):
        return
    # one byte more, as the last line may lack its newline
    remaining = os.fstat(stream.fileno()).st_size - stream.tell() + 1
    capacity = remaining // (2 * len(header.kinds))  # a number takes a digit and a separator
    if header.entries > capacity:
        fault = f"declares {header.entries} entries, and the file has room for at most {capacity}"
        raise WorkloadError(fault, location=location, line=header.line)


def _dense_coordinates(header: Header, values: Values, location: str) -> Entries:
    """Return the entries of a column-major array file; a symmetric array may be a lower triangle."""
    positions = np.flatnonzero(values)
    if header.symmetry == "general" or len(values) != header.entries:
        entries = Entries(positions % header.rows, positions // header.rows, values[positions])
        return entries if header.symmetry == "general" else _lower_triangle(header, entries, values, location)
    skew = header.symmetry == "skew-symmetric"  # its triangle lacks the diagonal: one row less in a column
    lengths = np.arange(header.cols, 0, -1, dtype=np.int64) - skew
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    cols = np.searchsorted(starts, positions, side="right") - 1
    # column c begins at row c, below the diagonal at row c + 1
    return Entries(cols + positions - starts[cols] + skew, cols, values[positions])


def _lower_triangle(header: Header, entries: Entries, values: Values, location: str) -> Entries:
    """Return the lower triangle of a full square, which must have the declared symmetry."""
    square = values.reshape(header.rows, header.rows)
    if not np.array_equal(square, -square.T if header.symmetry == "skew-symmetric" else square.T):
        fault = f"the full square of a {header.symmetry} matrix is not {header.symmetry}"
        raise WorkloadError(fault, location=location, fix="say general")
    in_triangle = entries.rows >= entries.cols
    return Entries(entries.rows[in_triangle], entries.cols[in_triangle], entries.values[in_triangle])


def _mirror(header: Header, entries: Entries, location: str) -> tuple[Coordinates, Coordinates, Values]:
    """Return rows, columns and values with the entries of the other triangle of a symmetric matrix.

    The standard stores the lower triangle; an upper triangle alone is accepted too.
    """
    rows, cols, values = entries.rows, entries.cols, entries.values
    if header.symmetry == "general":
        return rows, cols, values
    if np.any(rows < cols) and np.any(rows > cols):
        fault = f"entries on both sides of the diagonal of a {header.symmetry} matrix"
        raise WorkloadError(fault, location=location, fix="store one triangle, or say general")
    off_diagonal = rows != cols
    sign = -1.0 if header.symmetry == "skew-symmetric" else 1.0
    if sign < 0 and np.any(values[~off_diagonal]):
        raise WorkloadError("a nonzero on the diagonal of a skew-symmetric matrix", location=location)
    return (
        np.concatenate([rows, cols[off_diagonal]]),
        np.concatenate([cols, rows[off_diagonal]]),
        np.concatenate([values, sign * values[off_diagonal]]),
    )
