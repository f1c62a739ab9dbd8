"""The canonical form of a matrix: CSR, float64 values, int64 indices, sorted, without duplicates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.array_checks import check_finite
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.sparse import sparse

CsrArray: TypeAlias = "sparse.csr_array[Any]"
Coordinates: TypeAlias = npt.NDArray[np.signedinteger[Any]]
Duplicates: TypeAlias = Literal["sum", "least", "keep"]
Integers: TypeAlias = npt.NDArray[np.int64]
Values: TypeAlias = npt.NDArray[np.float64]

# The SuiteSparse collection ends at 226 million rows (MAWI/mawi_201512020330).
MAX_ROWS = 2**28
# A matrix may have EMPTY_ROWS rows, and ROWS_PER_NONZERO more for each nonzero. A few bytes of input
# therefore never allocate gigabytes of row pointers.
EMPTY_ROWS = 10_000_000
ROWS_PER_NONZERO = 16


def check_shape(
    rows: int, cols: int, nonzeros: int, location: str | None, line: int | None = None, fix: str | None = None
) -> None:
    """Refuse an unrealistic shape before memory is allocated for it.

    Args:
        rows, cols: the declared shape.
        nonzeros: the declared number of entries.
        location, line: file or text, and 1-based line, for the message.
        fix: advice for a shape that is too large.

    Raises:
        WorkloadError: no rows or columns, or too many for ``nonzeros`` entries.
    """
    if rows < 1 or cols < 1:
        raise WorkloadError(
            f"the shape {rows} x {cols} is empty; at least 1 x 1", location=location, line=line
        )
    limit = min(MAX_ROWS, EMPTY_ROWS + ROWS_PER_NONZERO * nonzeros)
    if max(rows, cols) > limit:
        fault = f"a shape of {rows} x {cols} for {nonzeros} nonzeros; at most {limit} rows or columns"
        raise WorkloadError(fault, location=location, line=line, fix=fix)


def from_coordinates(
    rows: Coordinates,
    cols: Coordinates,
    values: Values,
    shape: tuple[int, int],
    location: str,
    duplicates: Duplicates = "sum",
) -> CsrArray:
    """Return the matrix with these values at 0-based rows and columns, sorted. Zeros are kept as nonzeros.

    Args:
        rows: row of each value.
        cols: column of each value.
        shape: shape of the matrix.
        location: name in errors.
        duplicates: whether values at the same position are added (``sum``), reduced to the smallest
            (``least``), or all kept (``keep``). With ``keep`` the matrix is not canonical.

    Raises:
        WorkloadError: see ``canonical``.
    """
    check_shape(*shape, len(values), location)
    entries: Any = sparse.coo_array((values, (rows, cols)), shape=shape)
    entries.has_canonical_format = duplicates != "sum"  # scipy's conversion sums duplicates unless it is set
    matrix = entries.tocsr()
    matrix.sort_indices()
    if duplicates == "least":
        _keep_least(matrix)
    return canonicalize_in_place(matrix, location, duplicates)


def _keep_least(matrix: Any) -> None:  # noqa: ANN401 - scipy declares too narrow types
    """Keep the least value at each position."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    is_first = np.append(True, (np.diff(rows) > 0) | (np.diff(matrix.indices) > 0))[: matrix.nnz]
    starts = np.flatnonzero(is_first)
    matrix.data = np.minimum.reduceat(matrix.data, starts) if len(starts) else matrix.data
    matrix.indices = matrix.indices[starts]
    matrix.indptr = np.searchsorted(starts, matrix.indptr)


def compressed(shape: tuple[int, int], pointers: Integers, columns: Integers, values: Values) -> CsrArray:
    """Return the CSR matrix of these arrays without a copy. scipy would copy indices to a narrower type.

    Args:
        shape: rows and columns.
        pointers: position in ``columns`` of the first entry of each row, and the end.
        columns, values: the column and the value of each entry, in canonical order; not checked.
    """
    matrix: Any = sparse.csr_array(shape)
    matrix.indptr, matrix.indices, matrix.data = pointers, columns, values
    return cast(CsrArray, matrix)


def canonical(matrix: Any, location: str) -> CsrArray:  # noqa: ANN401 - no common type
    """Return a valid scipy matrix of doubles as a canonical copy. Explicit zeros stay.

    Matrices from outside need ``sparse_layouts.decode_scipy``, which checks the arrays.

    Raises:
        WorkloadError: a value is NaN or infinite, or the shape is unrealistic.
    """
    check_shape(int(matrix.shape[0]), int(matrix.shape[1]), int(matrix.nnz), location)
    return canonicalize_in_place(sparse.csr_array(matrix, dtype=np.float64, copy=True), location)


def canonicalize_in_place(matrix: CsrArray, location: str, duplicates: Duplicates = "sum") -> CsrArray:
    """Bring a matrix of doubles into canonical form in place, and return it.

    Args:
        location: name in errors.
        duplicates: with ``sum``, values at the same position are added; otherwise they stay.

    Raises:
        WorkloadError: a value is NaN or infinite.
    """
    if duplicates == "sum":
        matrix.sum_duplicates()
    matrix.sort_indices()
    if not np.isfinite(matrix.data).all():
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        check_finite(matrix.data, (rows, matrix.indices), location)  # refuses, with the position
    matrix.indptr = matrix.indptr.astype(np.int64, copy=False)
    matrix.indices = matrix.indices.astype(np.int64, copy=False)
    return matrix


def digest(matrix: CsrArray) -> str:
    """Return the hexadecimal sha256 of shape, indptr, indices (little-endian int64) and values (float64)."""
    return compute_sha256(matrix.shape, (matrix.indptr, matrix.indices), matrix.data)


def compute_sha256(shape: Sequence[int], arrays: Iterable[npt.NDArray[Any]], values: Values) -> str:
    """Return the hexadecimal sha256 of sizes and coordinates (little-endian int64) and values (float64).

    Args:
        shape: sizes of the ranks.
        arrays: pointers or coordinates, in this order.
    """
    state = hashlib.sha256(np.asarray(shape, dtype="<i8").tobytes())
    for array in arrays:
        state.update(np.ascontiguousarray(array, dtype="<i8").data)
    state.update(np.ascontiguousarray(values, dtype="<f8").data)
    return state.hexdigest()
