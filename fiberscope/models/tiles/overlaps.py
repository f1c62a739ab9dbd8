"""Counts of pairs of a set's members by distance, for Corrs and TileCorrs.

Members of a small set are compared pairwise. A large set becomes a row of zeros and ones, whose Fourier
transform gives all distances at once. Spectra of rows are added and transformed back together.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tiles.tiling import first_of_each

Numbers: TypeAlias = npt.NDArray[np.float64]

_FEW = 16  # members of a set up to which they are compared pairwise
_AT_ONCE = 1 << 20  # places of the rows that are transformed together


def with_last(places: Integers, shape: tuple[int, ...], rank: int) -> Integers:
    """Renumber and sort places so that another rank varies fastest, in place of the last rank of ``shape``.

    Digits above the ranks of ``shape`` (a tile's number) stay above.
    """
    below = int(np.prod(shape[rank + 1 :], dtype=np.int64))
    if below == 1:
        return places
    above, low = np.divmod(places, below)
    higher, coordinate = np.divmod(above, shape[rank])
    return np.sort((higher * below + low) * shape[rank] + coordinate)


def overlaps(members: Integers, extent: int, weights: Numbers) -> Numbers:
    """Return for each distance below ``extent`` the number of pairs of members of a set at that distance.

    At distance 0, this is the number of members. Pairs of members of different sets do not count.

    Args:
        members: index of the set x extent + position, increasing, without duplicates.
        extent: bound of the positions.
        weights: weight of each nonempty set in each variant: variants x sets.

    Returns:
        Weighted counts over all sets: variants x distances.
    """
    starts = np.append(np.flatnonzero(first_of_each(members // extent)), len(members))
    sizes = np.diff(starts)
    few = sizes <= _FEW
    return _by_pairs(members, sizes, few, extent, weights) + _by_spectra(
        members, starts, few, extent, weights
    )


def _by_pairs(
    members: Integers, sizes: Integers, few: npt.NDArray[np.bool_], extent: int, weights: Numbers
) -> Numbers:
    """Return the counts of small sets."""
    is_small = np.repeat(few, sizes)
    members, set_of = members[is_small], np.repeat(np.arange(len(sizes)), sizes)[is_small]
    expected = np.zeros((len(weights), extent))
    expected[:, 0] = weights @ (sizes * few)
    lower = np.arange(len(members))
    for offset in range(1, _FEW):
        lower = lower[: np.searchsorted(lower, len(members) - offset)]
        lower = lower[set_of[lower + offset] == set_of[lower]]
        distances = members[lower + offset] - members[lower]
        for reading, weight in enumerate(weights):
            expected[reading] += np.bincount(distances, weight[set_of[lower]], extent)
    return expected


def _by_spectra(
    members: Integers, starts: Integers, few: npt.NDArray[np.bool_], extent: int, weights: Numbers
) -> Numbers:
    """Return the counts of large sets."""
    large = np.flatnonzero(~few)
    if not len(large):
        return np.zeros((len(weights), extent))
    length = 1 << (2 * extent - 1).bit_length()  # twice the extent, or the ends would meet
    power = np.zeros((len(weights), length + 2))  # of real and imaginary parts in turn
    step = max(1, _AT_ONCE // length)
    for start in range(0, len(large), step):
        sets = large[start : start + step]
        parts = np.fft.rfft(_rows(members, starts, sets, extent), length).view(np.float64)
        power += np.einsum("rs,sp->rp", weights[:, sets], np.square(parts, out=parts))
    return np.fft.irfft(power[:, ::2] + power[:, 1::2], length)[:, :extent]


def _rows(members: Integers, starts: Integers, sets: Integers, extent: int) -> Numbers:
    """Return a matrix of zeros and ones: row i has ones at the members of set i."""
    sizes = starts[sets + 1] - starts[sets]
    ends = np.cumsum(sizes)
    members_of_sets = np.arange(ends[-1]) + np.repeat(starts[sets] - (ends - sizes), sizes)
    rows = np.zeros((len(sets), extent))
    rows[np.repeat(np.arange(len(sets)), sizes), members[members_of_sets] % extent] = 1.0
    return rows
