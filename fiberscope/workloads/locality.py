"""Distance between neighbours of a matrix, found by drawing others of its profile and comparing products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.profile import Profile, measure_profile
from fiberscope.workloads.surrogate import draw_matrix

__all__ = ["product_nonzeros", "profile_of", "with_locality"]

_SEED = 0
_COARSE = tuple(4.0**-step for step in range(7))
_HALVINGS = 3
_MOST_MULTIPLIES = 1_000_000_000


def profile_of(matrix: CsrArray, name: str, source: str) -> Profile:
    """The profile of a matrix in canonical CSR; with its locality up to 10^9 multiplies of A times A."""
    profile = measure_profile(matrix, name, source)
    return (
        profile
        if _multiplies(matrix) > _MOST_MULTIPLIES
        else with_locality(profile, product_nonzeros(matrix))
    )


def with_locality(profile: Profile, wanted: int) -> Profile:
    """The profile with the locality at which a drawn matrix's product has nearest to ``wanted`` nonzeros.

    Localities fall by four until the product has too few; the interval is then halved three times (on a
    logarithmic scale), and the best one seen is taken.
    """
    surplus: dict[float, int] = {}

    def excess(locality: float) -> int:
        matrix = draw_matrix(profile.model_copy(update={"locality": locality}), _SEED)
        surplus[locality] = product_nonzeros(matrix) - wanted
        return surplus[locality]

    below = next((place for place, locality in enumerate(_COARSE) if excess(locality) <= 0), None)
    if below:
        _halve(excess, _COARSE[below], _COARSE[below - 1])
    best = min(surplus, key=lambda locality: abs(surplus[locality]))
    return profile.model_copy(update={"locality": best})


def _halve(excess: Callable[[float], int], low: float, high: float) -> None:
    for _ in range(_HALVINGS):
        middle = float(f"{np.sqrt(low * high):.3g}")
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)


def product_nonzeros(matrix: CsrArray) -> int:
    """Nonzeros of A times A; of A times its transpose where A is not square."""
    return int((matrix @ _other(matrix)).nnz)


def _multiplies(matrix: CsrArray) -> int:
    columns = np.bincount(matrix.indices, minlength=matrix.shape[1])
    return int(columns @ np.diff(_other(matrix).indptr))


def _other(matrix: CsrArray) -> CsrArray:
    square = matrix.shape[0] == matrix.shape[1]
    return matrix if square else matrix.T.tocsr()
