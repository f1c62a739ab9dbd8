"""Counts of pairs of a set's members by distance, for Corrs and TileCorrs.

Members of a small set are compared pairwise. A large set becomes a row of zeros and ones, whose Fourier
transform gives all distances at once. Spectra of rows are added and transformed back together.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tiles.tiling import mark_changes

Numbers: TypeAlias = npt.NDArray[np.float64]

_MAX_PAIRED = 16  # largest number of members of a set whose members are compared pairwise
_BATCH = 1 << 20  # elements of the rows that are transformed together


def sort_with_last(positions: Integers, shape: tuple[int, ...], rank: int) -> Integers:
    """Renumber row-major positions so that ``rank`` varies fastest, and sort them.

    Digits above the ranks of ``shape`` (a tile's number) stay above.

    Args:
        positions: positions in increasing order. If ``rank`` is the last rank, or all ranks after it have one
            coordinate, the same array is returned.
        shape: the extents of the ranks.
        rank: number of the rank, from 0.
    """
    inner_volume = int(np.prod(shape[rank + 1 :], dtype=np.int64))
    if inner_volume == 1:
        return positions
    outer, inner = np.divmod(positions, inner_volume)
    prefix, coordinate = np.divmod(outer, shape[rank])
    return np.sort((prefix * inner_volume + inner) * shape[rank] + coordinate)


def count_overlaps(members: Integers, extent: int, weights: Numbers) -> Numbers:
    """Return for each distance below ``extent`` the number of pairs of members of a set at that distance.

    At distance 0, this is the number of members. Pairs of members of different sets do not count. Counts of
    large sets come from a Fourier transform, and have its rounding errors: callers round unweighted counts.

    Args:
        members: number of the set * extent + position, increasing, without duplicates.
        extent: bound of the positions.
        weights: weight of each nonempty set in each variant: variants x sets.

    Returns:
        Weighted counts over all sets: variants x distances.
    """
    starts = np.append(np.flatnonzero(mark_changes(members // extent)), len(members))
    sizes = np.diff(starts)
    is_small = sizes <= _MAX_PAIRED
    return _count_by_pairs(members, sizes, is_small, extent, weights) + _count_by_spectra(
        members, starts, is_small, extent, weights
    )


def _count_by_pairs(
    members: Integers, sizes: Integers, is_small: npt.NDArray[np.bool_], extent: int, weights: Numbers
) -> Numbers:
    """Return the counts of small sets."""
    is_member_of_small = np.repeat(is_small, sizes)
    set_of = np.repeat(np.arange(len(sizes)), sizes)[is_member_of_small]
    members = members[is_member_of_small]
    counts = np.zeros((len(weights), extent))
    counts[:, 0] = weights @ (sizes * is_small)  # each member is at distance 0 of itself
    lower = np.arange(len(members))
    # members at offset 1, 2, ... in the list; a small set of n members has pairs up to offset n - 1
    for offset in range(1, _MAX_PAIRED):
        # a member without a partner at this offset has none at larger offsets: sets are contiguous
        lower = lower[: np.searchsorted(lower, len(members) - offset)]
        lower = lower[set_of[lower + offset] == set_of[lower]]
        distances = members[lower + offset] - members[lower]
        for reading, weight in enumerate(weights):
            counts[reading] += np.bincount(distances, weight[set_of[lower]], extent)
    return counts


def _count_by_spectra(
    members: Integers, starts: Integers, is_small: npt.NDArray[np.bool_], extent: int, weights: Numbers
) -> Numbers:
    """Return the counts of large sets: their autocorrelations, by the theorem of Wiener and Khinchin."""
    large = np.flatnonzero(~is_small)
    if not len(large):
        return np.zeros((len(weights), extent))
    length = 1 << (2 * extent - 1).bit_length()  # at least twice the extent, as the transform is cyclic
    # the sum over the sets is taken before the transform back, which is linear: one inverse a variant
    power = np.zeros((len(weights), length + 2))  # squares of real and imaginary parts, alternating
    step = max(1, _BATCH // length)  # rows of a batch; limits memory
    for start in range(0, len(large), step):
        sets = large[start : start + step]
        # as pairs of floats: the square of the absolute value needs no complex temporary
        spectra = np.fft.rfft(_build_member_rows(members, starts, sets, extent), length).view(np.float64)
        power += np.einsum("rs,sp->rp", weights[:, sets], np.square(spectra, out=spectra))
    return np.fft.irfft(power[:, ::2] + power[:, 1::2], length)[:, :extent]


def _build_member_rows(members: Integers, starts: Integers, sets: Integers, extent: int) -> Numbers:
    """Return a matrix of zeros and ones: row i has ones at the members of set i."""
    sizes = starts[sets + 1] - starts[sets]
    ends = np.cumsum(sizes)
    members_of_sets = np.arange(ends[-1]) + np.repeat(starts[sets] - (ends - sizes), sizes)
    rows = np.zeros((len(sets), extent))
    rows[np.repeat(np.arange(len(sets)), sizes), members[members_of_sets] % extent] = 1.0
    return rows
