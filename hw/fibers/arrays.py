"""Flat arrays that compiled code views without a copy and uncompiled code reads as plain numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["coordinates_of", "integers_of", "values_of"]


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
