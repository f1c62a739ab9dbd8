"""Surrogates: deterministic replacements that match the known properties of an unavailable matrix."""

from __future__ import annotations

import zlib

import numpy as np

from fiberscope.workloads.canonical import CsrArray, Integers, from_coordinates
from fiberscope.workloads.drawn_values import draw_uniform
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.generators import banded, chung_lu, uniform
from fiberscope.workloads.graphs import rmat_graph
from fiberscope.workloads.profile import Profile, profiles, read_profile
from fiberscope.workloads.registry import Entry, RmatGraph
from fiberscope.workloads.wiring import Nodes, draw_directed_edges, draw_undirected_edges

_EXPONENT = 2.1  # of the power law of degrees
_DENSE = 0.05  # above this density, a matrix is too full for a power law
# In SuiteSparse's kinds, words for meshes, whose nonzeros are near the diagonal.
_MESHES = ("2D/3D", "structural", "fluid", "acoustics", "model reduction")
_BAND_FILL = 4  # places in the band for each nonzero


def surrogate(entry: Entry) -> tuple[CsrArray, str]:
    """Return a surrogate of ``entry``, and one line about its similarity to the real matrix.

    Shape and nonzeros are those of the registry. With a profile, which precedes an R-MAT graph, degrees and
    nonzeros between classes match too. An R-MAT graph with a tail has its own shape and nonzeros. The seed
    follows from the name, so that the surrogate is the same in every run.

    Raises:
        WorkloadError: a tensor of another rank than 2.
    """
    if len(entry.shape) != 2:
        raise WorkloadError(f"a tensor of rank {len(entry.shape)} has no surrogate", location=entry.name)
    seed = zlib.crc32(entry.name.encode())
    profile = profiles().get(entry.name)
    if profile is not None:
        return draw_matrix(
            profile, seed
        ), "same shape, nonzeros, degrees and nonzeros between classes of like degree"
    if entry.rmat is not None:
        return _rmat(entry, entry.rmat, seed)
    matrix, form = _from_kind(entry, seed)
    rounded = " (rounded in its source)" if entry.approximate else ""
    return matrix, f"{form}; only shape and nonzeros{rounded} match"


def draw_like(profile: str, seed: int = 0) -> CsrArray:
    """Draw a matrix from a profile; see ``draw_matrix``.

    Args:
        profile: the name of a matrix with a shipped profile, or the path of a profile.
        seed: seed of the draw.

    Raises:
        WorkloadError: no such profile.
    """
    return draw_matrix(profiles().get(profile) or read_profile(profile), seed)


def draw_matrix(profile: Profile, seed: int) -> CsrArray:
    """Draw a matrix with the degrees, the nonzeros between classes and the locality of a profile.

    Rows and columns are in random order, in a square matrix the same for both. Values are uniform in
    (0.5, 1.5). In a dense class, some degrees may be off by one, see ``draw_directed_edges``.

    Args:
        profile: the statistics of a real matrix.
        seed: seed of positions, order and values.
    """
    rng = np.random.default_rng(seed)
    kinds, rows, columns = profile.degrees()
    class_nonzeros = np.array(profile.nonzeros_between, dtype=np.int64)
    # Nonzeros on the diagonal are drawn first, because edges of the other draws have no loops.
    diagonal = _on_diagonal(profile, kinds, np.minimum(rows, columns), rng)
    rows[diagonal] -= 1
    columns[diagonal] -= 1
    np.subtract.at(class_nonzeros, (kinds[diagonal], kinds[diagonal]), 1)
    nodes = Nodes(kinds, class_nonzeros, profile.locality)
    row, column = (
        draw_undirected_edges(nodes, rows, rng)
        if profile.symmetric
        else draw_directed_edges(nodes, rows, columns, rng)
    )
    row, column = _shuffle(profile, np.concatenate([row, diagonal]), np.concatenate([column, diagonal]), rng)
    matrix = from_coordinates(row, column, np.ones(len(row)), profile.shape, profile.name)
    matrix.data = draw_uniform(rng, matrix.nnz)
    return matrix


def _on_diagonal(
    profile: Profile, kinds: Integers, candidates: Integers, rng: np.random.Generator
) -> Integers:
    """Choose the nodes with a nonzero on the diagonal, among nodes with nonzeros in both row and column."""
    diagonal_nodes = [
        rng.choice(np.flatnonzero((kinds == kind) & (candidates > 0)), class_.diagonal, replace=False)
        for kind, class_ in enumerate(profile.classes)
        if class_.diagonal
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *diagonal_nodes])


def _shuffle(
    profile: Profile, row: Integers, column: Integers, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Map nodes to rows and columns in random order."""
    rows, columns = profile.shape
    order = rng.permutation(rows).astype(np.int64)
    if profile.square:
        return order[row], order[column]
    # The nodes of a matrix that is not square are its rows, then its columns.
    return order[row], rng.permutation(columns).astype(np.int64)[column - rows]


def _rmat(entry: Entry, graph: RmatGraph, seed: int) -> tuple[CsrArray, str]:
    matrix = rmat_graph(entry.shape[0], graph.edges, graph.tail, seed=seed)
    drawn = f"an R-MAT graph of {entry.shape[0]} vertices and {graph.edges} edges"
    chain = f"a TAIL of {graph.tail} vertices in a chain, which a search of the real graph may not have"
    return matrix, f"{drawn}, and behind its last level {chain}"


def _from_kind(entry: Entry, seed: int) -> tuple[CsrArray, str]:
    rows, cols = entry.shape
    dense = entry.nonzeros > _DENSE * rows * cols
    if rows == cols and any(word in entry.kind for word in _MESHES):
        # a band of this distance has about 2 x bandwidth x rows positions
        bandwidth = min(rows, -(-_BAND_FILL * entry.nonzeros // (2 * rows)))
        return banded(rows, cols, entry.nonzeros, bandwidth, seed), "banded"
    if not dense and any(word in entry.kind for word in ("graph", "network")):
        return chung_lu(rows, cols, entry.nonzeros, _EXPONENT, seed), "power law"
    return uniform(rows, cols, entry.nonzeros, seed), "uniform"
