"""Flat arrays that compiled code views without a copy and uncompiled code reads as plain numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.hw.value_type import DOUBLE, INTEGER, ValueType

__all__ = ["arithmetic", "coordinates_of", "integers_of", "rounded_to", "values_of"]


def integers_of(numbers: npt.ArrayLike) -> memoryview[int]:
    """64-bit integers; the array itself where it is one of those, contiguous and writable, else a copy."""
    return np.require(numbers, np.int64, ["C", "W"]).data


def coordinates_of(numbers: npt.ArrayLike) -> memoryview[int]:
    """32-bit integers; the array itself where it is one of those, contiguous and writable, else a copy."""
    return np.require(numbers, np.int32, ["C", "W"]).data


def values_of(numbers: npt.ArrayLike) -> memoryview[float]:
    """Doubles; the array itself where it is one of those, contiguous and writable, else a copy."""
    doubles: memoryview[Any] = np.require(numbers, np.float64, ["C", "W"]).data
    return doubles


def arithmetic(value_type: ValueType) -> tuple[np.ufunc, np.ufunc]:
    """Return the functions that multiply and add arrays of a type by element; of doubles numpy's own."""
    if not value_type.floats:
        return np.multiply, np.add
    return np.frompyfunc(value_type.multiply, 2, 1), np.frompyfunc(value_type.add, 2, 1)


def rounded_to(
    value_type: ValueType, values: npt.NDArray[np.float64], setting: str = "value"
) -> npt.NDArray[np.float64]:
    """Doubles as numbers of a type, the array itself where it is of those.

    Raises:
        ValueError: naming the first that is none, nor near one.
    """
    if value_type is DOUBLE:
        return values
    rounded_values = np.fromiter(map(value_type.rounded, values.tolist()), np.float64, len(values))
    fits = (
        rounded_values == np.trunc(rounded_values)
        if value_type.name == INTEGER
        else np.isfinite(rounded_values) | ~np.isfinite(values)
    )
    if not fits.all():
        raise ValueError(f"{values[~fits][0]:g} is no {value_type.name}; --set {setting} names another type")
    return rounded_values
