"""Conversion of sparse matrices and tensors from the arrays of a layout: COO, CSR, CSC, BSR, DIA, GCXS.

The names of the arrays are those of ``scipy.sparse.save_npz`` and ``sparse.save_npz``. Every array is checked
first, as libraries read out of bounds if coordinates are wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.array_checks import (
    as_doubles,
    as_integers,
    as_shape,
    as_vectors,
    check_bounds,
    check_fill_value,
    check_finite,
    check_pointers,
)
from fiberscope.workloads.canonical import CsrArray, Integers, canonicalize_in_place, check_shape
from fiberscope.workloads.errors import WorkloadError, suggest
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.tensor import SparseTensor, coordinates_at, count_positions

Arrays = Mapping[str, npt.NDArray[Any]]
# All arrays in files of sparse arrays.
SPARSE_ARRAYS = (
    *("format", "shape", "data", "row", "col", "coords", "indices", "indptr", "offsets"),
    *("compressed_axes", "fill_value"),
)
_UNNAMED: Mapping[str, Set[str]] = {  # layouts of the library sparse
    "coo": {"data", "coords", "shape"},
    "gcxs": {"data", "indices", "indptr", "compressed_axes", "shape"},
}


def layout_of(arrays: Arrays) -> str | None:
    """Return the layout of a file's arrays in lower case; None if they are no sparse array.

    The layout may be unknown, or empty if ``format`` is no text: ``decode`` then refuses it.
    """
    if "format" not in arrays:
        return next((layout for layout, names in _UNNAMED.items() if arrays.keys() >= names), None)
    name = arrays["format"]
    text = name.item() if name.size == 1 and name.dtype.kind in "SU" else ""
    return (text.decode("ascii", "replace") if isinstance(text, bytes) else str(text)).lower()


def decode(layout: str, arrays: Arrays, location: str) -> CsrArray | SparseTensor:
    """Return the matrix (for two ranks) or the tensor in the arrays of a layout.

    Entries at the same position are added. Explicit zeros stay, also in the blocks of BSR, but not in DIA.

    Args:
        layout: name of the layout, such as ``csr``; see ``layout_of``.
        arrays: arrays by the names that scipy or the library sparse use.
        location: name of the file or operand, for errors.

    Raises:
        WorkloadError: naming ``location``: an array is missing or has a wrong type, rank or length; a
            coordinate is not whole or out of range; a value is not finite, real and exact.
    """
    if layout not in _LAYOUTS:
        raise WorkloadError(
            f"a sparse array in the layout {layout!r}",
            location=location,
            fix=suggest(layout, _LAYOUTS),
        )
    for name in ("shape", "data"):
        _require_array(arrays, name, location)
    if "fill_value" in arrays:
        check_fill_value(arrays["fill_value"], location)
    return _LAYOUTS[layout](arrays, as_shape(arrays["shape"], location), location)


def decode_scipy(matrix: Any, location: str) -> CsrArray | SparseTensor:  # noqa: ANN401 - scipy has no common public type
    """Return a sparse matrix or array of scipy, of any layout: a tensor, or a matrix for two ranks.

    Raises:
        WorkloadError: see ``decode``.
    """
    converted = matrix
    if matrix.format not in _LAYOUTS:  # lists and dictionaries, which scipy converts
        try:
            converted = matrix.tocoo()
        except Exception as error:  # scipy raises many types of errors for invalid matrices
            raise WorkloadError(
                f"the {matrix.format} matrix is not sound ({error})", location=location
            ) from error
    arrays = {"shape": np.asarray(converted.shape), "data": np.asarray(converted.data)}
    if converted.format == "coo":
        arrays |= {f"coords{rank}": np.asarray(column) for rank, column in enumerate(converted.coords)}
    else:
        names = ("offsets",) if converted.format == "dia" else ("indices", "indptr")
        arrays |= {name: np.asarray(getattr(converted, name)) for name in names}
    return decode(converted.format, arrays, location)


def _require_array(arrays: Arrays, name: str, location: str) -> npt.NDArray[Any]:
    if name not in arrays:
        raise WorkloadError(f"the sparse array has no {name}", location=location)
    return arrays[name]


def _value_vector(arrays: Arrays, location: str) -> npt.NDArray[np.float64]:
    values = as_doubles(arrays["data"], location)
    if values.ndim != 1:
        raise WorkloadError(f"values of rank {values.ndim}; they must be a vector", location=location)
    return values


def _two_ranks(shape: tuple[int, ...], entries: int, layout: str, location: str) -> tuple[int, int]:
    """Return a shape that must have two ranks and a realistic size."""
    if len(shape) != 2:
        raise WorkloadError(f"{layout} with {len(shape)} ranks; a matrix has rank 2", location=location)
    check_shape(*shape, entries, location)
    return shape[0], shape[1]


def _coo(arrays: Arrays, shape: tuple[int, ...], location: str) -> CsrArray | SparseTensor:
    values = _value_vector(arrays, location)
    columns = as_vectors(_columns(arrays, location), len(values), shape, location)
    if len(shape) != 2:
        check_finite(values, columns, location)
        return SparseTensor.from_coordinates(shape, columns, values)
    rows, cols = _two_ranks(shape, len(values), "COO", location)
    return canonicalize_in_place(
        sparse.coo_array((values, tuple(columns)), shape=(rows, cols)).tocsr(), location
    )


def _columns(arrays: Arrays, location: str) -> list[npt.NDArray[Any]]:
    """Return the coordinates by rank, under any of the names that libraries use."""
    if "coords0" in arrays:
        return [arrays[f"coords{rank}"] for rank in range(sum(name.startswith("coords") for name in arrays))]
    if "row" in arrays or "col" in arrays:
        return [_require_array(arrays, "row", location), _require_array(arrays, "col", location)]
    coordinates = _require_array(arrays, "coords", location)
    if coordinates.ndim != 2:
        fault = f"coordinates of rank {coordinates.ndim}; they must have a row for each rank of the array"
        raise WorkloadError(fault, location=location)
    return list(coordinates)


def _csr(arrays: Arrays, shape: tuple[int, ...], location: str) -> CsrArray | SparseTensor:
    if len(shape) == 1:  # a vector of scipy, which has two pointers
        values, indices, _pointers = _compressed(arrays, 1, shape[0], location)
        return _coo({"data": values, "coords0": indices}, shape, location)
    rows, cols = _two_ranks(shape, arrays["data"].size, "CSR", location)
    values, indices, pointers = _compressed(arrays, rows, cols, location)
    return canonicalize_in_place(sparse.csr_array((values, indices, pointers), shape=(rows, cols)), location)


def _csc(arrays: Arrays, shape: tuple[int, ...], location: str) -> CsrArray:
    rows, cols = _two_ranks(shape, arrays["data"].size, "CSC", location)
    values, indices, pointers = _compressed(arrays, cols, rows, location)
    return canonicalize_in_place(
        sparse.csc_array((values, indices, pointers), shape=(rows, cols)).tocsr(), location
    )


def _compressed(
    arrays: Arrays, fibers: int, size: int, location: str
) -> tuple[npt.NDArray[np.float64], Integers, Integers]:
    """Return values, coordinates and pointers, without entries after the last pointer."""
    values = _value_vector(arrays, location)
    pointers = as_integers(_require_array(arrays, "indptr", location), "pointers", location)
    indices = as_integers(_require_array(arrays, "indices", location), "coordinates", location)
    check_pointers(pointers, fibers, min(len(values), len(indices)), location)
    values, indices = values[: pointers[-1]], indices[: pointers[-1]]
    check_bounds(indices, size, "the coordinate", location)
    return values, indices, pointers


def _bsr(arrays: Arrays, shape: tuple[int, ...], location: str) -> CsrArray:
    """Return the matrix of blocks (BSR): the values are an array of blocks, the pointers count blocks."""
    rows, cols = _two_ranks(shape, arrays["data"].size, "BSR", location)
    blocks = as_doubles(arrays["data"], location)
    if blocks.ndim != 3 or not blocks.shape[1] or not blocks.shape[2]:
        raise WorkloadError("the values of BSR must be blocks, in an array of rank 3", location=location)
    height, width = blocks.shape[1:]
    if rows % height or cols % width:
        fault = f"blocks of {height} x {width} do not divide a matrix of {rows} x {cols}"
        raise WorkloadError(fault, location=location)
    pointers = as_integers(_require_array(arrays, "indptr", location), "pointers", location)
    indices = as_integers(_require_array(arrays, "indices", location), "coordinates", location)
    check_pointers(pointers, rows // height, min(len(blocks), len(indices)), location)
    blocks, indices = blocks[: pointers[-1]], indices[: pointers[-1]]
    check_bounds(indices, cols // width, "the coordinate of a block", location)
    return canonicalize_in_place(
        sparse.bsr_array((blocks, indices, pointers), shape=(rows, cols)).tocsr(), location
    )


def _dia(arrays: Arrays, shape: tuple[int, ...], location: str) -> CsrArray:
    """Return the matrix of diagonals (DIA): a row of values for each offset from the main diagonal."""
    rows, cols = _two_ranks(shape, arrays["data"].size, "DIA", location)
    diagonals = np.atleast_2d(as_doubles(arrays["data"], location))
    offsets = as_integers(np.atleast_1d(_require_array(arrays, "offsets", location)), "offsets", location)
    if diagonals.ndim != 2 or len(diagonals) != len(offsets):
        fault = (
            f"{len(offsets)} offsets for values of shape {diagonals.shape}; there must be one for each row"
        )
        raise WorkloadError(fault, location=location)
    if len(np.unique(offsets)) != len(offsets):
        raise WorkloadError("an offset appears twice", location=location)
    outside = (offsets <= -rows) | (offsets >= cols)
    if outside.any():
        fault = f"the diagonal {offsets[outside][0]} is outside {1 - rows} to {cols - 1}"
        raise WorkloadError(fault, location=location)
    return canonicalize_in_place(sparse.dia_array((diagonals, offsets), shape=(rows, cols)).tocsr(), location)


def _gcxs(arrays: Arrays, shape: tuple[int, ...], location: str) -> CsrArray | SparseTensor:
    """Return a tensor in GCXS, which is CSR of an unfolded tensor.

    The compressed ranks, in increasing order, form its rows, and the other ranks form its columns.
    """
    axes = as_integers(
        _require_array(arrays, "compressed_axes", location).reshape(-1), "compressed axes", location
    )
    check_bounds(axes, len(shape), "the compressed axis", location)
    by_rows = sorted(set(axes.tolist()))
    by_cols = [rank for rank in range(len(shape)) if rank not in by_rows]
    row_shape, col_shape = ([shape[rank] for rank in ranks] for ranks in (by_rows, by_cols))
    check_shape(math.prod(row_shape), 1, arrays["data"].size, location)
    values, indices, pointers = _compressed(
        arrays, count_positions(row_shape), count_positions(col_shape), location
    )
    rows = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    # without ranks on a side, ``coordinates_at`` would still return one column
    columns = dict(zip(by_rows, coordinates_at(row_shape, rows) if by_rows else (), strict=True))
    columns |= dict(zip(by_cols, coordinates_at(col_shape, indices) if by_cols else (), strict=True))
    coordinates = {f"coords{rank}": columns[rank] for rank in range(len(shape))}
    return _coo({"data": values, **coordinates}, shape, location)


_LAYOUTS: Mapping[str, Callable[[Arrays, tuple[int, ...], str], CsrArray | SparseTensor]] = {
    "coo": _coo,
    "csr": _csr,
    "csc": _csc,
    "bsr": _bsr,
    "dia": _dia,
    "gcxs": _gcxs,
}
