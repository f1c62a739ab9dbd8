"""Conversion to flat arrays, which compiled code reads without a copy and Python code as plain numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.hw.value_type import DOUBLE, INTEGER, ValueType


def integers_of(numbers: npt.ArrayLike) -> memoryview[int]:
    """Return 64-bit integers; a copy, unless the array is of this type, contiguous and writable."""
    return np.require(numbers, np.int64, ["C", "W"]).data


def coordinates_of(numbers: npt.ArrayLike) -> memoryview[int]:
    """Return 32-bit integers; a copy, unless the array is of this type, contiguous and writable."""
    return np.require(numbers, np.int32, ["C", "W"]).data


def values_of(numbers: npt.ArrayLike) -> memoryview[float]:
    """Return doubles; a copy, unless the array is of this type, contiguous and writable."""
    doubles: memoryview[Any] = np.require(numbers, np.float64, ["C", "W"]).data
    return doubles


def arithmetic(value_type: ValueType) -> tuple[np.ufunc, np.ufunc]:
    """Return the functions that multiply and add arrays of a type element by element, in this order.

    For a type that rounds, they call its Python functions and return arrays of objects.
    """
    if not value_type.floats:
        return np.multiply, np.add
    return np.frompyfunc(value_type.multiply, 2, 1), np.frompyfunc(value_type.add, 2, 1)


def rounded_to(
    value_type: ValueType, values: npt.NDArray[np.float64], setting: str = "value"
) -> npt.NDArray[np.float64]:
    """Round values to a type, and return them as doubles; without a copy if the type is double.

    Args:
        value_type: type to which the values are rounded.
        values: values to round.
        setting: name of the setting of the type, for the message.

    Raises:
        ValueError: if a value is not an integer and the type is, or is out of the range of the type.
    """
    if value_type is DOUBLE:
        return values
    rounded_values = np.fromiter(map(value_type.round_value, values.tolist()), np.float64, len(values))
    fits = (
        rounded_values == np.trunc(rounded_values)
        if value_type.name == INTEGER
        else np.isfinite(rounded_values) | ~np.isfinite(values)
    )
    if not fits.all():
        raise ValueError(f"{values[~fits][0]:g} is no {value_type.name}; --set {setting} names another type")
    return rounded_values
