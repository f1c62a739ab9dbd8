"""Which shape the tiles of the last-level buffer have, and whether everything fits where it has to lie."""

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

STANDARD: Shape = (32, 64, 128)  # in microtiles: M, K and N of most published runs, at the most


class Tiling:
    """A and B cut into tiles that fit the machine.

    The tiles' shape is the configuration's. Where that leaves it open, it is the published one of this
    matrix, else ``STANDARD``; of either, and of one that a tiling chose for these operands (``tiled``), M is
    halved (then the longer of N and K) until the tiles fit.

    Where two microtiles that meet do not fit the buffer of a processing element together, all microtiles have
    half the side, and tiles twice as many, until they do.

    ``choice`` says the shape and where it is from, and the side of microtiles where that was halved; it is
    empty if both are the configuration's. ``parameters`` are those with the side that they have.

    Args:
        parameters: the configuration.
        a, b: the operands.

    Raises:
        ConfigurationError: a microtile or a tile does not fit its buffer.
    """

    def __init__(self, parameters: ExTensorConfiguration, a: CsrArray, b: CsrArray) -> None:
        self.parameters = parameters
        self.matrices = (a, b)
        lies_dense = parameters.format.lies_dense
        self.dense = {"A": lies_dense("A", a), "B": lies_dense("B", b)}
        self.trees = (matrix_tree(a, ("M", "K")), matrix_tree(b, ("K", "N")))
        self.shape, origin = _first(parameters, a, b)
        self._cut()
        self._fit_microtiles()
        wanted, excess = self.shape, self._excess()
        while excess and origin and self.shape != (1, 1, 1):
            self.shape = _halved(self.shape)
            self._cut()
            excess = self._excess()
        if excess:
            raise ConfigurationError(excess)
        if parameters.llb.by_rows:
            self._cut(1)
        choices = [_shape_text(self.shape, origin, wanted)] if origin else []
        if self.parameters.pe.tile < parameters.pe.tile:
            sides = f"{self.parameters.pe.tile}, as two of {parameters.pe.tile} do not fit a buffer together"
            choices.append(f"microtiles of side {sides}")
        self.choice = "; ".join(choices)

    @property
    def tile(self) -> Tile:
        """The shape, as the configuration has it."""
        m, k, n = self.shape
        return Tile(m=m, k=k, n=n)

    def _cut(self, rows: int = 0) -> None:
        """Cut both; A into tiles of so many rows M1, if it is said."""
        shape = (rows or self.shape[0], *self.shape[1:])
        microtile, ranks = self.parameters.pe.tile, self.parameters.format.ranks
        a, b = (ranks(operand, dense) for operand, dense in self.dense.items())
        self.a = TiledOperand(tiled_a(self.trees[0], microtile, shape), a)
        self.b = TiledOperand(tiled_b(self.trees[1], microtile, shape), b)

    def _fit_microtiles(self) -> None:
        """Halve the side of microtiles until those that meet fit the buffer of a processing element.

        Raises:
            ConfigurationError: single elements do not.
        """
        while excess := self._microtile_excess():
            pe = self.parameters.pe
            if pe.tile == 1:
                raise ConfigurationError(excess)
            halved = pe.model_copy(update={"tile": pe.tile // 2})
            self.parameters = self.parameters.model_copy(update={"pe": halved})
            m, k, n = self.shape
            self.shape = (2 * m, 2 * k, 2 * n)
            self._cut()

    def _microtile_excess(self) -> str:
        """Describe which of the largest microtiles of one K1 that can meet do not fit; empty if all fit."""
        size, tile = self.parameters.pe.buffer, self.parameters.pe.tile
        blocks = -(-int(self.matrices[0].shape[1]) // tile)
        of_a, of_b = (_largest_by_k(part, tile, blocks) for part in (self.a, self.b))
        meeting = np.where((of_a > 0) & (of_b > 0), of_a + of_b, 0)
        worst = int(np.argmax(meeting)) if blocks else 0
        if not blocks or meeting[worst] <= size:
            return ""
        a, b = int(of_a[worst]), int(of_b[worst])
        return (
            f"extensor: pe.buffer is {size} bytes; it should hold an element of A of {a} bytes and one of B "
            f"of {b} bytes that meet at k = {worst * tile}: {a + b} bytes"
        )

    def _excess(self) -> str:
        """Describe what does not fit in the last-level buffer, in one line; empty if all fits."""
        size, halves = self.parameters.llb.size, self.parameters.llb.tiles
        a, b = (int(part.tile_bytes.max(initial=0)) for part in (self.a, self.b))
        needed = halves * (a + b)
        parts = f"{halves} of A of up to {a} bytes, {halves} of B of up to {b} bytes"
        if needed <= size:
            output = self._largest_output((size - needed) // halves)
            needed += halves * output
            parts += f", {halves} of Z of up to {output} bytes"
        if needed <= size:
            return ""
        m, k, n = self.shape
        return (
            f"extensor: llb.size is {size} bytes; with tiles of {m} x {k} x {n} microtiles (tile.m, tile.k, "
            f"tile.n) it should hold {parts}: {needed} bytes"
        )

    def _largest_output(self, room: int) -> int:
        """Bytes of the largest output tile; counted exactly where the products could exceed ``room``."""
        element = self.parameters.format.output // 8
        largest = 0
        for part_a, part_b in self._pairs():
            of_a = np.bincount(part_a.indices, minlength=part_a.shape[1])
            bound = int(of_a @ np.diff(part_b.indptr)) * element
            if bound > max(largest, room):
                bound = int((part_a @ part_b).nnz) * element
            largest = max(largest, bound)
        return largest

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        """The patterns of all pairs of tiles that both hold something."""
        m, k, n = (size * self.parameters.pe.tile for size in self.shape)
        a, b = (_pattern(matrix) for matrix in self.matrices)
        tiles_a, tiles_b = _tiles_by_k(self.a.tree, True), _tiles_by_k(self.b.tree, False)
        for start in sorted(tiles_a.keys() & tiles_b.keys()):
            columns = a[:, start : start + k]
            rows = b[start : start + k]
            halves = [rows[:, right : right + n] for right in tiles_b[start]]
            for left in tiles_a[start]:
                part = columns[left : left + m]
                yield from ((part, half) for half in halves)


def symbols(
    parameters: ExTensorConfiguration, a: CsrArray, b: CsrArray
) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Coordinates of a tile of the buffer and of a microtile, as ``spec.yaml`` calls them, and why these.

    Raises:
        ConfigurationError: as ``Tiling``.
    """
    tiling = Tiling(parameters, a, b)
    side = tiling.parameters.pe.tile
    sizes = {f"{rank}1": size * side for rank, size in zip("MKN", tiling.shape, strict=True)}
    chosen = (tiling.choice,) if tiling.choice else ()
    return {**sizes, **{f"{rank}0": side for rank in "MKN"}}, chosen


def _largest_by_k(operand: TiledOperand, microtile: int, blocks: int) -> Integers:
    """Bytes of an operand's largest microtile for each K1; 0 where it has none."""
    largest = np.zeros(blocks, dtype=np.int64)
    np.maximum.at(largest, np.asarray(operand.microtile_k) // microtile, np.asarray(operand.microtile_bytes))
    return largest


def published(a: CsrArray, b: CsrArray) -> tuple[Shape, str] | None:
    """The published tile shape for these matrices, known by rows and nonzeros, and the matrix's name; None if
    there is none.
    """
    rows = yaml.safe_load((Path(__file__).parent / "tiles.yaml").read_text(encoding="utf-8"))["tiles"]
    for row in rows:
        if all(matrix.shape[0] == row["rows"] and matrix.nnz == row["nonzeros"] for matrix in (a, b)):
            return (row["m"], row["k"], row["n"]), row["matrix"]
    return None


def tile_room(parameters: ExTensorConfiguration) -> TileRoom | None:
    """Return the space of each operand's tile, an equal part of the last-level buffer; None as published.

    A word is half an element, as in trees of compressed fibers, where an element takes two.
    """
    if parameters.tiling == PUBLISHED:
        return None
    part = parameters.llb.size // (len("ABZ") * parameters.llb.tiles)
    words = part * 2 // (parameters.format.element // 8)
    return TileRoom("Z[m,n] = A[m,k] * B[k,n]", "nkm", parameters.tiling, parameters.pe.tile, words)


def tiled(parameters: ExTensorConfiguration, microtiles: Mapping[str, int]) -> ExTensorConfiguration:
    """The parameters with the shape that their tiling has chosen for the operands, in microtiles."""
    return parameters.model_copy(update={"tile": Tile(**microtiles)})


def _first(parameters: ExTensorConfiguration, a: CsrArray, b: CsrArray) -> tuple[Shape, str]:
    """The shape to begin with, and where it is from; nowhere, if it is to be taken as it is.

    Raises:
        ConfigurationError: a tiling that this machine does not choose has chosen nothing.
    """
    sides = (parameters.tile.m, parameters.tile.k, parameters.tile.n)
    if parameters.tiling == PUBLISHED:
        return (sides, "") if all(sides) else _start_shape(a, b)
    if not all(sides):
        raise ConfigurationError(
            f"extensor: tiling {parameters.tiling} is chosen before the machine is built; give its shape"
        )
    return sides, f"chosen by {parameters.tiling}"


def _start_shape(a: CsrArray, b: CsrArray) -> tuple[Shape, str]:
    """The shape to begin with, and where it is from."""
    tiling = published(a, b)
    if tiling is None:
        return STANDARD, "that of most published runs"
    shape, matrix = tiling
    return shape, f"published for {matrix}, which A and B are taken for by rows and nonzeros"


def _shape_text(shape: Shape, origin: str, wanted: Shape) -> str:
    m, k, n = shape
    halved = "" if shape == wanted else ", halved until they fit"
    return f"tiles of {m} x {k} x {n} microtiles ({origin}{halved})"


def _halved(shape: Shape) -> Shape:
    m, k, n = shape
    if m > 1:
        return m // 2, k, n
    return (m, k, n // 2) if n >= k else (m, k // 2, n)


def _tiles_by_k(tree: FiberTree, k_first: bool) -> dict[int, list[int]]:
    """Return the coordinates of the tiles' other rank for each K2 coordinate."""
    upper = np.repeat(tree.coordinates[0], np.diff(tree.segments[TILES]))
    lower = tree.coordinates[TILES]
    columns_of: dict[int, list[int]] = {}
    for k, other in zip(*((upper, lower) if k_first else (lower, upper)), strict=True):
        columns_of.setdefault(int(k), []).append(int(other))
    return columns_of


def matrix_tree(matrix: CsrArray, ranks: tuple[str, str]) -> FiberTree:
    """A matrix as a tree of two ranks, its rows the upper one."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    shape = dict(zip(ranks, (int(size) for size in matrix.shape), strict=True))
    return FiberTree.from_coo(shape, [rows, matrix.indices], matrix.data)


def _pattern(matrix: CsrArray) -> CsrArray:
    pattern = matrix.copy()
    pattern.data = np.ones(len(matrix.data), dtype=np.float32)
    return pattern
