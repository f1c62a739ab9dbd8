"""Checks of arrays that all readers share. Messages begin with the name of the file or operand.

Values must be finite real numbers that doubles represent. Coordinates must be whole numbers within the shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.errors import WorkloadError

MAX_EXACT_INTEGER = 2**53  # a double represents every integer up to this limit
MAX_COORDINATE = 2**63 - 1
_EXTENDED = "ml_dtypes"  # the library with narrow floating-point types such as bfloat16


def is_number(kind: np.dtype[Any]) -> bool:
    """Return whether a type holds real numbers or booleans: no dates, strings, objects, complex numbers."""
    return kind.kind in "biuf" or kind.type.__module__ == _EXTENDED


def as_doubles(values: npt.NDArray[Any], location: str) -> npt.NDArray[np.float64]:
    """Return values of any real type and byte order as doubles; ``check_finite`` checks NaN and infinity.

    Raises:
        WorkloadError: values of another type, or an integer that a double cannot represent.
    """
    if not is_number(values.dtype):
        raise WorkloadError(f"values of type {values.dtype}; they must be real numbers", location=location)
    if values.dtype.kind in "iu":
        check_exact(values, location)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(np.float64)


def check_exact(values: npt.NDArray[Any], location: str) -> None:
    """Check that a double represents each integer.

    Raises:
        WorkloadError: naming ``location`` and the first integer that a double would round.
    """
    large = values[np.abs(values.astype(np.float64)) >= MAX_EXACT_INTEGER]
    wrong = [value for value in large.tolist() if int(float(value)) != value]
    if wrong:
        fault = f"the integer {wrong[0]}, beyond 2^53, is none that a double holds"
        raise WorkloadError(fault, location=location, fix="give the values as doubles")


def check_finite(
    values: npt.NDArray[np.float64], columns: Sequence[npt.NDArray[np.signedinteger[Any]]], location: str
) -> None:
    """Check that no value is NaN or infinite.

    Args:
        values: the values of the entries.
        columns: by rank, the coordinates of the entries, from 0.
        location: name of the file or operand.

    Raises:
        WorkloadError: naming the first such value and its position, counted from 1.
    """
    wrong = np.flatnonzero(~np.isfinite(values))
    if not wrong.size:
        return
    entry = int(wrong[0])
    point = [str(int(column[entry]) + 1) for column in columns]
    position = f"row {point[0]}, column {point[1]}" if len(point) == 2 else f"({', '.join(point)})"
    fault = f"the value at {position} is {values[entry]}; values must be finite"
    raise WorkloadError(fault, location=location)


def as_integers(numbers: npt.NDArray[Any], noun: str, location: str) -> npt.NDArray[np.int64]:
    """Return coordinates, pointers or sizes as 64-bit integers.

    Args:
        numbers: a vector of integers, or of floating-point numbers that are whole.
        noun: the plural noun in messages, such as ``coordinates``.
        location: name of the file or operand.

    Raises:
        WorkloadError: the array is no vector, has another type, or has a number that is not whole or too
            large.
    """
    if numbers.ndim != 1:
        raise WorkloadError(f"{noun} of rank {numbers.ndim}; they must be a vector", location=location)
    if numbers.dtype.kind not in "iuf":
        raise WorkloadError(f"{noun} of type {numbers.dtype}; they must be whole numbers", location=location)
    if numbers.dtype.kind == "f":
        wrong = ~np.isfinite(numbers) | (np.floor(numbers) != numbers)
        if wrong.any():
            raise WorkloadError(f"{noun} must be whole numbers, not {numbers[wrong][0]}", location=location)
    if numbers.dtype.kind in "uf" and numbers.size and (np.abs(numbers) >= float(MAX_COORDINATE)).any():
        raise WorkloadError(f"{noun} must be below 2^63, and one is {numbers.max()}", location=location)
    return np.asarray(numbers).astype(np.int64)


def as_shape(sizes: npt.NDArray[Any], location: str) -> tuple[int, ...]:
    """Return the sizes of ranks. A single number is the size of the only rank.

    Raises:
        WorkloadError: the sizes are not a vector of whole numbers, are empty, or are below 1.
    """
    shape = tuple(int(size) for size in as_integers(np.atleast_1d(sizes), "sizes", location))
    if not shape or min(shape) < 1:
        sizes_text = " x ".join(map(str, shape)) or "without ranks"
        raise WorkloadError(f"the shape {sizes_text} is empty", location=location)
    return shape


def check_bounds(coordinates: npt.NDArray[np.int64], size: int, noun: str, location: str) -> None:
    """Check that coordinates lie within a rank.

    Args:
        coordinates: coordinates from 0.
        size: size of the rank.
        noun: the name of a coordinate, with which the message begins.
        location: name of the file or operand.

    Raises:
        WorkloadError: naming the first coordinate outside 0 to ``size`` - 1.
    """
    wrong = (coordinates < 0) | (coordinates >= size)
    if wrong.any():
        raise WorkloadError(f"{noun} {coordinates[wrong][0]} is outside 0 to {size - 1}", location=location)


def check_pointers(pointers: npt.NDArray[np.int64], fibers: int, entries: int, location: str) -> None:
    """Check that pointers divide entries into fibers.

    Args:
        pointers: the first entry of each fiber, and the end.
        fibers: number of fibers: rows or columns.
        entries: number of stored entries; those after the last pointer belong to no fiber.
        location: name of the file or operand.

    Raises:
        WorkloadError: there are not ``fibers`` + 1 pointers, or they do not rise from 0 to at most
            ``entries``.
    """
    if len(pointers) != fibers + 1:
        fault = f"{len(pointers)} pointers for {fibers} rows or columns; there must be {fibers + 1}"
        raise WorkloadError(fault, location=location)
    if pointers[0] != 0 or pointers[-1] > entries or np.any(np.diff(pointers) < 0):
        raise WorkloadError(f"the pointers do not rise from 0 to the {entries} entries", location=location)


def check_fill_value(fill: Any, location: str) -> None:  # noqa: ANN401  (any value of a file)
    """Check that the missing entries of a sparse array are 0.

    Raises:
        WorkloadError: the fill value is not 0, or is not a single number.
    """
    array = np.asarray(fill)
    if array.size != 1 or not (is_number(array.dtype) or array.dtype.kind == "c"):
        raise WorkloadError("the fill value is not a single number", location=location)
    if complex(array.reshape(-1)[0]) != 0 or math.isnan(abs(complex(array.reshape(-1)[0]))):
        fault = f"entries that are not stored are {array.reshape(-1)[0]}, by the fill value"
        raise WorkloadError(fault, location=location, fix="only a fill value of 0 is sparse")


def as_vectors(
    columns: Sequence[npt.NDArray[Any]], entries: int, shape: Sequence[int], location: str
) -> list[npt.NDArray[np.int64]]:
    """Return the checked coordinates of entries by rank.

    Args:
        columns: by rank, the coordinate of each entry.
        entries: number of entries.
        shape: sizes of the ranks.
        location: name of the file or operand.

    Raises:
        WorkloadError: the number of ranks or entries is wrong; or see ``as_integers`` and ``check_bounds``.
    """
    if len(columns) != len(shape):
        fault = f"coordinates of {len(columns)} ranks for a shape of {len(shape)}"
        raise WorkloadError(fault, location=location)
    checked = [as_integers(np.asarray(column), "coordinates", location) for column in columns]
    for rank, (size, column) in enumerate(zip(shape, checked, strict=True), start=1):
        if len(column) != entries:
            fault = f"{len(column)} coordinates of rank {rank} for {entries} values"
            raise WorkloadError(fault, location=location)
        check_bounds(column, size, f"coordinate {rank} of an entry:", location)
    return checked
