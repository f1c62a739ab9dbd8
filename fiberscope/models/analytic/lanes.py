"""Utilization of lanes that process packed nonzeros: the last step of a tile seldom fills all lanes.

A bitmask format packs the k nonzeros of a tile of n elements on P lanes. The tile takes ceil(k / P) steps,
a dense tile n / P.

Source: Sparseloop (MICRO 2022), Section VI, on the dual-side sparse tensor core, and its artifact.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.stats import binom

Mode = Literal["exact", "artifact"]


def share_of_steps(elements: int, density: float, lanes: int, mode: Mode = "exact") -> float:
    """Return the steps of a tile, divided by the steps of a dense tile.

    Args:
        elements: number of elements of a tile, each a nonzero with probability ``density``.
        density: share of nonzeros; above 0 in the mode ``artifact``.
        lanes: number of lanes P: the most nonzeros of a step.
        mode: ``exact``: the mean of ceil(k / P); ``artifact``: E[k] / E[k / ceil(k / P)], which replaces the
            mean of the inverse lane utilization by the inverse of the mean.
    """
    nonzeros = np.arange(elements + 1)
    probabilities = binom.pmf(nonzeros, elements, density)
    steps = -(-nonzeros // lanes)
    if mode == "exact":
        return float(np.dot(probabilities, steps)) * lanes / elements
    utilization = np.dot(probabilities[1:], nonzeros[1:] / steps[1:])
    return density * elements / float(utilization) * lanes / elements
