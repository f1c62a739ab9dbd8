"""Loss of lanes that are packed with nonzeros: the last row of lanes of a tile is seldom full.

A tensor under a bitmask packs the k nonzeros of a tile of n elements on P lanes, which takes ceil(k / P)
steps where a dense tile takes n / P. Source: Sparseloop (MICRO 2022), Section VI, on the dual-side sparse
tensor core, and its artifact.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.stats import binom

__all__ = ["Mode", "share_of_steps"]

Mode = Literal["exact", "artifact"]


def share_of_steps(elements: int, density: float, lanes: int, mode: Mode = "exact") -> float:
    """Steps of a tile over those that it takes dense.

    Args:
        elements: the elements of a tile, each a nonzero with chance ``density``.
        density: share of nonzeros.
        lanes: nonzeros of a step.
        mode: ``exact``: the mean of ceil(k / P); ``artifact``: E[k] / E[k / ceil(k / P)], which takes the
            mean of how full a step is for that of its inverse.
    """
    nonzeros = np.arange(elements + 1)
    chance = binom.pmf(nonzeros, elements, density)
    steps = -(-nonzeros // lanes)
    if mode == "exact":
        return float(np.dot(chance, steps)) * lanes / elements
    filled = np.dot(chance[1:], nonzeros[1:] / steps[1:])
    return density * elements / float(filled) * lanes / elements
