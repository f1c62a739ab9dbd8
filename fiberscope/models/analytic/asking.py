"""Questions to a density about the tiles of many mappings, each different tile asked of once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.density import Density, Numbers, distinct

__all__ = ["ask", "empty", "expected"]

Whole = NDArray[np.int64]

_FEW = 32  # tiles that are asked of as they are: finding out which are alike would take longer


def ask(question: Callable[[list[Any]], Any], extents: Sequence[Whole]) -> Numbers:
    """The answers for tiles given by extents, in their shape.

    Args:
        question: takes the extents of one tile, or arrays of them.
        extents: by rank.
    """
    shape = extents[0].shape if extents else ()
    if extents and extents[0].size == 1:
        answer = question([int(extent.flat[0]) for extent in extents])
        return np.full(shape, np.asarray(answer, np.float64).reshape(-1)[0])
    if extents[0].size <= _FEW:
        return np.asarray(question(list(extents)), np.float64)
    rows = np.stack([extent.reshape(-1) for extent in extents], axis=1)
    keys, which = distinct(rows)
    return np.asarray(np.asarray(question(list(keys.T)), np.float64)[which].reshape(shape))


def empty(density: Density, extents: Sequence[Whole]) -> Numbers:
    """The share of tiles without a nonzero."""
    return ask(density.probability_empty, extents)


def expected(density: Density, extents: Sequence[Whole]) -> Numbers:
    """The mean occupancy."""
    return ask(density.expected, extents)
