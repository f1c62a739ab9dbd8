"""A stand-in for a matrix that cannot be had: deterministic, and as like it as what is known of it allows."""

from __future__ import annotations

import zlib

import numpy as np

from workloads.canonical import CsrArray, from_coordinates
from workloads.errors import WorkloadError
from workloads.generators import banded, chung_lu, uniform, values_for
from workloads.profile import Profile, degrees, profiles
from workloads.registry import Entry
from workloads.wiring import directed, undirected

__all__ = ["surrogate"]

# The locality (see wiring) at which the nonzeros of A times A come near the real matrix's, found by trying.
_LOCALITY = {"wiki-Vote": 0.07, "p2p-Gnutella31": 0.06, "ca-CondMat": 0.0007, "email-Enron": 0.01}

_EXPONENT = 2.1
_DENSE = 0.05  # from this density on, no power law has room
_MESHES = ("2D/3D", "structural", "fluid", "acoustics", "model reduction")
_BAND_FILL = 4  # places in the band for each nonzero


def surrogate(entry: Entry) -> tuple[CsrArray, str]:
    """A matrix in place of `entry`, and in one line how far it is like the real one.

    Shape and nonzeros are the registry's. With a degree profile, so are the joint counts of rows and columns.
    Raises WorkloadError for a tensor of another rank than 2.
    """
    if len(entry.shape) != 2:
        raise WorkloadError(f"a tensor of rank {len(entry.shape)} has no surrogate", where=entry.name)
    seed = zlib.crc32(entry.name.encode())
    profile = profiles().get(entry.name)
    if profile is not None:
        like = "same shape, nonzeros and joint row/column degrees"
        return _from_profile(profile, _LOCALITY[entry.name], seed, entry.name), like
    matrix, form = _from_kind(entry, seed)
    rounded = " (rounded in its source)" if entry.approximate else ""
    return matrix, f"{form}; only shape and nonzeros{rounded} match"


def _from_profile(profile: Profile, locality: float, seed: int, where: str) -> CsrArray:
    rng = np.random.default_rng(seed)
    rows, cols = degrees(profile)
    if profile.symmetric:
        row, col = undirected(rows, locality, rng)
    else:
        row, col = directed(rows, cols, locality, rng)
    shuffle = rng.permutation(profile.rows).astype(np.int64)
    shape = (profile.rows, profile.cols)
    matrix = from_coordinates(shuffle[row], shuffle[col], np.ones(len(row)), shape, where)
    matrix.data = values_for(rng, matrix.nnz)
    return matrix


def _from_kind(entry: Entry, seed: int) -> tuple[CsrArray, str]:
    rows, cols = entry.shape
    dense = entry.nonzeros > _DENSE * rows * cols
    if rows == cols and any(word in entry.kind for word in _MESHES):
        bandwidth = min(rows, -(-_BAND_FILL * entry.nonzeros // (2 * rows)))
        return banded(rows, cols, entry.nonzeros, bandwidth, seed), "banded"
    if not dense and any(word in entry.kind for word in ("graph", "network")):
        return chung_lu(rows, cols, entry.nonzeros, _EXPONENT, seed), "power law"
    return uniform(rows, cols, entry.nonzeros, seed), "uniform"
