"""The functional pass: exact operations and traffic of every pair of tiles, without cycles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.extensor.loader import bytes_of_a
from fiberscope.accelerators.extensor.operand import TILES
from fiberscope.accelerators.extensor.pair_counter import PairCounter
from fiberscope.accelerators.extensor.sequencer import walk
from fiberscope.accelerators.extensor.tiles import Tiling
from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.sparse import sparse

Tell = Callable[[str, int, int], None]
Numbers = npt.NDArray[np.float64]
Counts = Any  # a sparse array of counts


class PairWork:
    """The exact work of each pair of tiles.

    Args:
        tiling: the partitioned operands.
        tell: progress callback, called with the stage, the work done and the total work.

    Attributes:
        pairs: tile of A and tile of B of each pair, in the order of the sequencer.
        steps_k2: all intersection steps of the sequencer, also those that find no pair.
        steps_k1, steps_k0: intersection steps over K1 and K0 of each pair.
        products, multiply: microtile products and multiplications of each pair.
        brings_b: for each pair, whether its tile of B differs from that of the previous pair.
        a_bytes, b_bytes: bytes that the loader fetches for each pair.
        old: for each pair, elements of Z that the drain reads and writes again.
        new: for each pair, elements of Z that memory did not hold.
    """

    def __init__(self, tiling: Tiling, tell: Tell) -> None:
        self.tiling, self.parameters = tiling, tiling.parameters
        self.side = self.parameters.pe.tile
        skip = self.parameters.intersection != "two_finger"
        steps = list(walk(tiling.a.tree, tiling.b.tree, skip=skip))
        self.pairs = [pair for pair in steps if pair is not None]
        # ``walk`` yields None for each step, before the pairs that the step finds
        self.steps_k2 = len(steps) - len(self.pairs)
        self._count(tell, skip=skip)
        a, b = tiling.a, tiling.b
        self.a_bytes = np.array([bytes_of_a(a, b, *pair) for pair in self.pairs], np.int64)
        tiles = np.array([tile for _, tile in self.pairs], np.int64)
        # No tile has the number -1, so that the first pair always brings its tile
        self.brings_b = np.diff(tiles, prepend=-1) != 0
        self.b_bytes = np.where(self.brings_b, np.asarray(b.tile_bytes)[tiles], 0)
        self.old, self.new = np.zeros((2, len(self.pairs)), np.int64)
        self._drain()

    def _count(self, tell: Tell, *, skip: bool) -> None:
        """Count the operations of each pair."""
        counter = PairCounter(self.tiling.a, self.tiling.b, self.side, skips_ahead=skip)
        # The counter counts from its start: row i holds the counts of the first i pairs, row 0 those of none
        counts = np.zeros((len(self.pairs) + 1, 4), np.int64)
        for number, pair in enumerate(self.pairs, 1):
            counter.count(*pair)
            steps = counter.k1_steps(), counter.k0_steps()
            counts[number] = (*steps, counter.microtile_products, counter.multiplications)
            tell("functional pass", number, len(self.pairs))
        self.steps_k1, self.steps_k0, self.products, self.multiply = np.diff(counts, axis=0).T

    def _drain(self) -> None:
        """Count the elements of Z that are read again and the new elements, one panel (N2) after another."""
        for panel, numbers in groupby(range(len(self.pairs)), key=self.panel):
            product: CsrArray | None = None
            counts: Integers | None = None
            # Pairs with the same tile of B (N2, K2) follow one another: one product covers all rows of A
            for _, group in groupby(numbers, key=lambda number: self.pairs[number][1]):
                pairs = list(group)
                inner = self.inner(pairs[0])
                left, right = patterns(self.tiling.matrices, slice(None), inner, panel)
                partial_product = left @ right
                # The drain reads all elements of a microtile of Z again if A and B have microtiles with a
                # common K1 coordinate, whether or not their elements meet
                visited = (_blocks(left, self.side) @ _blocks(right, self.side)).toarray() > 0
                # Sums of ones do not cancel: the pattern of ``product`` only grows
                product = partial_product if product is None else product + partial_product
                new_counts = _blocks(product, self.side).toarray()
                old_counts = np.zeros_like(new_counts) if counts is None else counts
                old = np.where(visited, old_counts, 0).sum(axis=1)
                self._add(pairs, old, (new_counts - old_counts).sum(axis=1))
                counts = new_counts

    def _add(self, numbers: Sequence[int], old: Integers, new: Integers) -> None:
        """Set the counts of pairs with the same tile of B from the counts of rows M1.

        Args:
            numbers: the pairs.
            old, new: elements of Z in each row M1 that memory held, and that it did not hold.
        """
        for number in numbers:
            rows = self.rows(number)
            # Rounded up: the last microtiles may reach beyond the last row
            span = slice(rows.start // self.side, -(-rows.stop // self.side))
            self.old[number], self.new[number] = old[span].sum(), new[span].sum()

    def rows(self, number: int) -> slice:
        """Return the rows of Z that a pair contributes to."""
        first = int(self.tiling.a.tree.coordinates[TILES][self.pairs[number][0]])
        return slice(first, min(first + self.tiling.shape[0] * self.side, self.tiling.matrices[0].shape[0]))

    def inner(self, number: int) -> slice:
        """Return the coordinates of K that a pair sums over."""
        first = int(self.tiling.b.tree.coordinates[TILES][self.pairs[number][1]])
        return slice(first, first + self.tiling.shape[1] * self.side)

    def panel(self, number: int) -> slice:
        """Return the columns of Z that a pair contributes to."""
        tree, tile = self.tiling.b.tree, self.pairs[number][1]
        # The last fiber (N2) that begins at this tile or before it contains the tile
        first = int(tree.coordinates[0][np.searchsorted(tree.segments[TILES], tile, side="right") - 1])
        return slice(first, first + self.tiling.shape[2] * self.side)

    def moved_bytes(self) -> Integers:
        """Return the bytes moved for each pair; columns: A, B, Z read, Z written again, new Z."""
        element = self.parameters.format.output // 8
        old, new = self.old * element, self.new * element
        return np.stack([self.a_bytes, self.b_bytes, old, old, new], axis=1)

    def costs(self) -> Numbers:
        """Predict the cycles of each pair: the cycles of its slowest unit, at least 1."""
        parameters = self.parameters
        elements = parameters.pe.count
        rate = parameters.memory.peak_bytes_per_second / float(parameters.clock)  # bytes per cycle
        unit_cycles = (
            self.moved_bytes().sum(axis=1) / rate,
            self.steps_k1 / parameters.llb.intersectors,
            self.steps_k0 / elements,
            self.products / elements,
        )
        longest: Numbers = np.maximum(np.max(unit_cycles, axis=0), 1.0) if self.pairs else np.zeros(0)
        return longest


def patterns(
    matrices: tuple[CsrArray, CsrArray], rows: slice, inner: slice, panel: slice
) -> tuple[CsrArray, CsrArray]:
    """Return parts of A and B with the value of every stored entry, also of a stored 0, replaced by 1.

    Args:
        matrices: A and B.
        rows: rows of A.
        inner: columns of A and rows of B.
        panel: columns of B.
    """
    submatrices = matrices[0][rows, inner], matrices[1][inner, panel]
    first, second = (
        sparse.csr_array((np.ones(matrix.nnz, np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
        for matrix in map(sparse.csr_array, submatrices)
    )
    return first, second


def _blocks(matrix: CsrArray, side: int) -> Counts:
    """Return the number of entries in each microtile of a matrix, as a sparse matrix."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)) // side
    shape = tuple(-(-size // side) for size in matrix.shape)
    ones = np.ones(matrix.nnz, np.int64)
    # The conversion to CSR adds up the ones of each microtile
    return sparse.coo_array((ones, (rows, matrix.indices // side)), shape=shape).tocsr()
