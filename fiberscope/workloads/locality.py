"""Measurement of the locality of a matrix: the distance between neighbours on a line of length 1.

Matrices of the same profile are drawn with several localities. The locality whose product has about as many
nonzeros as the product of the matrix is taken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.profile import Profile, measure_profile
from fiberscope.workloads.surrogate import draw_matrix

_SEED = 0
_COARSE = tuple(4.0**-step for step in range(7))  # localities that are tried first, in this order
_HALVINGS = 3
_MOST_MULTIPLIES = 1_000_000_000  # of a product that is computed


def profile_of(matrix: CsrArray, name: str, source: str) -> Profile:
    """Return the profile of a matrix.

    Args:
        matrix: canonical CSR. Its locality is measured if A times A (see ``product_nonzeros``) takes at most
            10^9 multiplies; otherwise it stays 1, which means no locality.
        name, source: name and source of the matrix, for the profile.
    """
    profile = measure_profile(matrix, name, source)
    if _count_multiplies(matrix) > _MOST_MULTIPLIES:
        return profile
    return with_locality(profile, product_nonzeros(matrix))


def with_locality(profile: Profile, target: int) -> Profile:
    """Return the profile with the locality that reproduces the number of nonzeros of the product best.

    The locality is divided by four until the product has at most ``target`` nonzeros, or down to 4^-6. In the
    first case, the last interval is then halved three times on a logarithmic scale. Of all localities tried,
    the best one is taken. Each trial draws a matrix and computes its product.

    Args:
        profile: the profile of the matrix.
        target: nonzeros of the product of the matrix.
    """
    surplus: dict[float, int] = {}

    def excess(locality: float) -> int:
        matrix = draw_matrix(profile.model_copy(update={"locality": locality}), _SEED)
        surplus[locality] = product_nonzeros(matrix) - target
        return surplus[locality]

    # a smaller locality gives fewer nonzeros, because more products have the same position
    index = next((index for index, locality in enumerate(_COARSE) if excess(locality) <= 0), None)
    if index:  # not None (no change of sign) nor 0 (no larger locality exists)
        _bisect(excess, _COARSE[index], _COARSE[index - 1])
    best = min(surplus, key=lambda locality: abs(surplus[locality]))
    return profile.model_copy(update={"locality": best})


def _bisect(excess: Callable[[float], int], low: float, high: float) -> None:
    """Call ``excess`` at the middles of intervals that enclose its change of sign."""
    for _ in range(_HALVINGS):
        middle = float(f"{np.sqrt(low * high):.3g}")
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)


def product_nonzeros(matrix: CsrArray) -> int:
    """Return the number of nonzeros of A times A, or of A times its transpose if A is not square.

    Entries whose terms cancel to 0 do not count, because scipy omits them.
    """
    return int((matrix @ _right_factor(matrix)).nnz)


def _count_multiplies(matrix: CsrArray) -> int:
    columns = np.bincount(matrix.indices, minlength=matrix.shape[1])
    return int(columns @ np.diff(_right_factor(matrix).indptr))


def _right_factor(matrix: CsrArray) -> CsrArray:
    is_square = matrix.shape[0] == matrix.shape[1]
    return matrix if is_square else matrix.T.tocsr()
