"""Choice of the tile shape of the last-level buffer, and checks that tiles and microtiles fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.extensor.configuration import PUBLISHED, ExTensorConfiguration, Tile
from fiberscope.accelerators.extensor.operand import TILES, TiledOperand, tiled_a, tiled_b
from fiberscope.accelerators.machine import TileRoom
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.fibertree import FiberTree

Shape = tuple[int, int, int]

# Microtiles of a tile in M, K and N without a published shape, halved if they do not fit; most published
# runs have this M and K
STANDARD: Shape = (32, 64, 128)


class Tiling:
    """Operands A and B partitioned into tiles that fit the machine.

    A shape in the configuration is used as it is. Without one, the shape is the published shape of this
    matrix, or else ``STANDARD``. If the tiles of such a shape, or of a shape that a tiling chose for these
    operands (``with_tile_shape``), do not fit, M is halved, then the longer of N and K, until the tiles fit.

    If two microtiles that are multiplied do not fit the buffer of a processing element together, the side of
    all microtiles is halved until they fit. A tile then has twice as many microtiles in each rank.

    Args:
        parameters: the configuration.
        a, b: the operands.

    Attributes:
        parameters: the configuration with the actual side of microtiles.
        shape: microtiles of a tile in M, K and N.
        a, b: the partitioned operands.
        choice: description of the shape with its origin, and of a halved side of microtiles; empty if the
            configuration gives the shape, no tiling chose it, and nothing was halved.
        is_dense: whether A and B are stored as values only.

    Raises:
        ConfigurationError: if a microtile or a tile does not fit its buffer.
    """

    def __init__(self, parameters: ExTensorConfiguration, a: CsrArray, b: CsrArray) -> None:
        self.parameters = parameters
        self.matrices = (a, b)
        is_stored_dense = parameters.format.is_stored_dense
        self.is_dense = {"A": is_stored_dense("A", a), "B": is_stored_dense("B", b)}
        self.trees = (build_matrix_tree(a, ("M", "K")), build_matrix_tree(b, ("K", "N")))
        self.shape, origin = _choose_initial_shape(parameters, a, b)
        self._partition()
        # Before the tiles, since smaller microtiles change the bytes of a tile
        self._fit_microtiles()
        initial_shape, excess_message = self.shape, self._describe_excess()
        # An empty origin: the user has given the shape
        while excess_message and origin and self.shape != (1, 1, 1):
            self.shape = _halve_shape(self.shape)
            self._partition()
            excess_message = self._describe_excess()
        if excess_message:
            raise ConfigurationError(excess_message)
        # Whole tiles have been found to fit. A buffer that loads single rows gets A in tiles of one row M1.
        if parameters.llb.by_rows:
            self._partition(1)
        choices = [_describe_shape(self.shape, origin, initial_shape)] if origin else []
        if self.parameters.pe.tile < parameters.pe.tile:
            sides = f"{self.parameters.pe.tile}, as two of {parameters.pe.tile} do not fit a buffer together"
            choices.append(f"microtiles of side {sides}")
        self.choice = "; ".join(choices)

    @property
    def tile(self) -> Tile:
        """Return the shape in the form of the configuration."""
        m, k, n = self.shape
        return Tile(m=m, k=k, n=n)

    def _partition(self, rows: int = 0) -> None:
        """Partition both operands; if ``rows`` is not 0, A into tiles of ``rows`` rows M1."""
        shape = (rows or self.shape[0], *self.shape[1:])
        microtile, ranks = self.parameters.pe.tile, self.parameters.format.ranks
        a, b = (ranks(operand, dense) for operand, dense in self.is_dense.items())
        self.a = TiledOperand(tiled_a(self.trees[0], microtile, shape), a)
        self.b = TiledOperand(tiled_b(self.trees[1], microtile, shape), b)

    def _fit_microtiles(self) -> None:
        """Halve the side of microtiles until any two that are multiplied fit a processing element's buffer.

        Raises:
            ConfigurationError: if even microtiles of one element do not fit.
        """
        while excess_message := self._describe_microtile_excess():
            pe = self.parameters.pe
            if pe.tile == 1:
                raise ConfigurationError(excess_message)
            halved = pe.model_copy(update={"tile": pe.tile // 2})
            # Twice as many microtiles, so that a tile covers about the same coordinates
            self.parameters = self.parameters.model_copy(update={"pe": halved})
            m, k, n = self.shape
            self.shape = (2 * m, 2 * k, 2 * n)
            self._partition()

    def _describe_microtile_excess(self) -> str:
        """Describe the largest two microtiles with a common K1 that do not fit; empty if all fit."""
        size, tile = self.parameters.pe.buffer, self.parameters.pe.tile
        k1_count = -(-int(self.matrices[0].shape[1]) // tile)
        a_bytes, b_bytes = (_find_largest_by_k(operand, tile, k1_count) for operand in (self.a, self.b))
        pair_bytes = np.where((a_bytes > 0) & (b_bytes > 0), a_bytes + b_bytes, 0)
        largest_k1 = int(np.argmax(pair_bytes)) if k1_count else 0
        if not k1_count or pair_bytes[largest_k1] <= size:
            return ""
        a, b = int(a_bytes[largest_k1]), int(b_bytes[largest_k1])
        # The text is shown only for microtiles of side 1, which are single elements
        return (
            f"extensor: pe.buffer is {size} bytes; it should hold an element of A of {a} bytes and one of B "
            f"of {b} bytes that meet at k = {largest_k1 * tile}: {a + b} bytes"
        )

    def _describe_excess(self) -> str:
        """Describe in one line which tiles do not fit in the last-level buffer; empty if all fit."""
        size, tiles_per_operand = self.parameters.llb.size, self.parameters.llb.tiles
        a, b = (int(operand.tile_bytes.max(initial=0)) for operand in (self.a, self.b))
        needed = tiles_per_operand * (a + b)
        contents = f"{tiles_per_operand} of A of up to {a} bytes, {tiles_per_operand} of B of up to {b} bytes"
        # To count the output takes long, and is of no use if the operands alone do not fit
        if needed <= size:
            max_output_bytes = self._bound_largest_output_bytes((size - needed) // tiles_per_operand)
            needed += tiles_per_operand * max_output_bytes
            contents += f", {tiles_per_operand} of Z of up to {max_output_bytes} bytes"
        if needed <= size:
            return ""
        m, k, n = self.shape
        return (
            f"extensor: llb.size is {size} bytes; with tiles of {m} x {k} x {n} microtiles (tile.m, tile.k, "
            f"tile.n) it should hold {contents}: {needed} bytes"
        )

    def _bound_largest_output_bytes(self, limit: int) -> int:
        """Return the bytes of the largest output tile, or an upper bound.

        A tile is counted exactly only if its upper bound exceeds ``limit`` bytes and the largest tile so far.
        """
        element = self.parameters.format.output // 8
        largest_bytes = 0
        for tile_a, tile_b in self._iterate_tile_pairs():
            # Nonzeros in each column k of A, which meet the nonzeros in row k of B. Several of these products
            # may belong to one element, so that their number is an upper bound.
            column_nonzeros = np.bincount(tile_a.indices, minlength=tile_a.shape[1])
            output_bytes = int(column_nonzeros @ np.diff(tile_b.indptr)) * element
            if output_bytes > max(largest_bytes, limit):
                output_bytes = int((tile_a @ tile_b).nnz) * element
            largest_bytes = max(largest_bytes, output_bytes)
        return largest_bytes

    def _iterate_tile_pairs(self) -> Iterator[tuple[Any, Any]]:
        """Yield the sparsity patterns of all pairs of nonempty tiles with a common K2."""
        m_side, k_side, n_side = (size * self.parameters.pe.tile for size in self.shape)
        a, b = (_extract_pattern(matrix) for matrix in self.matrices)
        tiles_a, tiles_b = _group_tiles_by_k(self.a.tree, True), _group_tiles_by_k(self.b.tree, False)
        for start in sorted(tiles_a.keys() & tiles_b.keys()):
            columns = a[:, start : start + k_side]
            rows = b[start : start + k_side]
            b_tiles = [rows[:, first_column : first_column + n_side] for first_column in tiles_b[start]]
            for first_row in tiles_a[start]:
                a_tile = columns[first_row : first_row + m_side]
                yield from ((a_tile, b_tile) for b_tile in b_tiles)


def choose_symbols(
    parameters: ExTensorConfiguration, a: CsrArray, b: CsrArray
) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Return the sides of tiles and microtiles by their names in ``spec.yaml``, and notes on their choice.

    Raises:
        ConfigurationError: see ``Tiling``.
    """
    tiling = Tiling(parameters, a, b)
    side = tiling.parameters.pe.tile
    sizes = {f"{rank}1": size * side for rank, size in zip("MKN", tiling.shape, strict=True)}
    notes = (tiling.choice,) if tiling.choice else ()
    return {**sizes, **{f"{rank}0": side for rank in "MKN"}}, notes


def _find_largest_by_k(operand: TiledOperand, microtile: int, k1_count: int) -> Integers:
    """Return the bytes of an operand's largest microtile for each K1; 0 for a K1 without microtiles."""
    largest_bytes = np.zeros(k1_count, dtype=np.int64)
    np.maximum.at(
        largest_bytes, np.asarray(operand.microtile_k) // microtile, np.asarray(operand.microtile_bytes)
    )
    return largest_bytes


def find_published_shape(a: CsrArray, b: CsrArray) -> tuple[Shape, str] | None:
    """Return the published tile shape for these matrices and the matrix's name; None if there is none.

    A matrix is identified by its numbers of rows and nonzeros. Both A and B must have those of the entry.
    """
    entries = yaml.safe_load((Path(__file__).parent / "tiles.yaml").read_text(encoding="utf-8"))["tiles"]
    for entry in entries:
        if all(matrix.shape[0] == entry["rows"] and matrix.nnz == entry["nonzeros"] for matrix in (a, b)):
            return (entry["m"], entry["k"], entry["n"]), entry["matrix"]
    return None


def tile_capacity(parameters: ExTensorConfiguration) -> TileRoom | None:
    """Return the space for each operand's tile, an equal part of the last-level buffer.

    Return None if the tiling is the published one. A word is half an element, because an element of a tree
    of compressed fibers takes two words.
    """
    if parameters.tiling == PUBLISHED:
        return None
    tile_bytes = parameters.llb.size // (len("ABZ") * parameters.llb.tiles)
    word_count = tile_bytes * 2 // (parameters.format.element // 8)
    return TileRoom("Z[m,n] = A[m,k] * B[k,n]", "nkm", parameters.tiling, parameters.pe.tile, word_count)


def with_tile_shape(
    parameters: ExTensorConfiguration, microtiles: Mapping[str, int]
) -> ExTensorConfiguration:
    """Return the parameters with the tile shape, in microtiles, that their tiling chose for the operands."""
    return parameters.model_copy(update={"tile": Tile(**microtiles)})


def _choose_initial_shape(parameters: ExTensorConfiguration, a: CsrArray, b: CsrArray) -> tuple[Shape, str]:
    """Return the initial shape and its origin; an empty origin means that the shape must not be halved.

    Raises:
        ConfigurationError: if the tiling chooses the shape before the machine is built and no shape is given.
    """
    sides = (parameters.tile.m, parameters.tile.k, parameters.tile.n)
    if parameters.tiling == PUBLISHED:
        return (sides, "") if all(sides) else _published_or_standard(a, b)
    if not all(sides):
        raise ConfigurationError(
            f"extensor: tiling {parameters.tiling} is chosen before the machine is built; give its shape"
        )
    return sides, f"chosen by {parameters.tiling}"


def _published_or_standard(a: CsrArray, b: CsrArray) -> tuple[Shape, str]:
    """Return the published shape for these matrices or ``STANDARD``, and the origin of the shape."""
    tiling = find_published_shape(a, b)
    if tiling is None:
        return STANDARD, "that of most published runs"
    shape, matrix = tiling
    return shape, f"published for {matrix}, which A and B are taken for by rows and nonzeros"


def _describe_shape(shape: Shape, origin: str, initial_shape: Shape) -> str:
    m, k, n = shape
    halved = "" if shape == initial_shape else ", halved until they fit"
    return f"tiles of {m} x {k} x {n} microtiles ({origin}{halved})"


def _halve_shape(shape: Shape) -> Shape:
    """Return a shape with M halved, or else the longer of N and K; one side must be above 1."""
    m, k, n = shape
    if m > 1:
        return m // 2, k, n
    return (m, k, n // 2) if n >= k else (m, k // 2, n)


def _group_tiles_by_k(tree: FiberTree, k_first: bool) -> dict[int, list[int]]:
    """Return the coordinates of the tiles' other rank for each K2 coordinate.

    Args:
        tree: a partitioned operand.
        k_first: whether K2 is the upper of the two ranks of tiles, as in A (K2, M2), or the lower, as in B.
    """
    upper = np.repeat(tree.coordinates[0], np.diff(tree.segments[TILES]))
    lower = tree.coordinates[TILES]
    coordinates_by_k: dict[int, list[int]] = {}
    for k, coordinate in zip(*((upper, lower) if k_first else (lower, upper)), strict=True):
        coordinates_by_k.setdefault(int(k), []).append(int(coordinate))
    return coordinates_by_k


def build_matrix_tree(matrix: CsrArray, ranks: tuple[str, str]) -> FiberTree:
    """Return a matrix as a tree of two ranks; the rows are the upper rank."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    shape = dict(zip(ranks, (int(size) for size in matrix.shape), strict=True))
    return FiberTree.from_coo(shape, [rows, matrix.indices], matrix.data)


def _extract_pattern(matrix: CsrArray) -> CsrArray:
    """Return a matrix with all values replaced by 1, so that no element of a product cancels."""
    pattern = matrix.copy()
    pattern.data = np.ones(len(matrix.data), dtype=np.float32)
    return pattern
