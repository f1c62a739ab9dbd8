"""Sums of Corrs and TileCorrs in the reading that was asked for."""

from __future__ import annotations

import math

import numpy as np

from fiberscope.models.tiles.overlaps import Numbers
from fiberscope.models.tiles.statistics import Statistics

__all__ = ["corrs", "corrs_sum", "partial_sum", "tile_corrs"]


def corrs(statistics: Statistics, index: str, reading: str) -> Numbers:
    """Corrs of a contracted index by distance inside of a base tile."""
    found = statistics.corrs[index]
    return _unparted(found["pooled"]) if reading == "unbiased" else found[reading]


def tile_corrs(statistics: Statistics, index: str, reading: str) -> Numbers:
    """TileCorrs of an index by distance in the grid."""
    found = statistics.tile_corrs[index]
    return _unparted(found["slice"]) if reading == "unbiased" else found[reading]


def corrs_sum(statistics: Statistics, index: str, extent: int, reading: str) -> float:
    """How many coordinates of an extent have what one of them has; no more beyond the base tile's."""
    return float(corrs(statistics, index, reading)[:extent].sum())


def partial_sum(terms: Numbers, number: float) -> float:
    """Of the first ``number`` terms; of a part of a term, that part."""
    whole = math.floor(number)
    part = float(terms[whole]) if whole < len(terms) else 0.0
    return float(terms[:whole].sum()) + (number - whole) * part


def _unparted(terms: Numbers) -> Numbers:
    """With each distance weighted by how many pairs the edge parts: of n places, n - s are s apart."""
    number = len(terms)
    return terms * number / (number - np.arange(number))
