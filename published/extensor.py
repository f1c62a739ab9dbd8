"""Scheduler of the simulator behind ExTensor's published runs, reimplemented from its source.

    python published/extensor.py wiki-Vote
    python published/extensor.py p2p-Gnutella31 --without window --without barrier

Source: the simulator that ExTensor's authors published with DRT (ASPLOS 2023; github.com/FPSG-UIUC/DRT),
src/scheduler_7.cpp and src/matrix.cpp. Each rule can be disabled:

- *turns*: microtile products go to the processing elements in round-robin order with unbounded queues;
  otherwise each goes to the first free element.
- *window*: the last-level buffer holds as many rows M1 as a tile has, and a finished row is replaced at
  once; otherwise all rows of a tile finish before the next rows are fetched.
- *requests*: a row is requested when the first processing element is free; otherwise as soon as there is
  space.
- *barrier*: all elements finish a tile of B before the next tile begins.
- *scanners*: steps of K0 are those of two scanners that both advance; otherwise the head behind skips.
- *held*: scanners hold 33 coordinates of a fiber, so that longer fibers take more steps; otherwise all
  coordinates.

Nothing else takes time: neither K2 and K1 nor the networks. Memory moves its bytes at its peak rate: reads as
early as their row is in the buffer, writes once the row is done.
"""

from __future__ import annotations

import argparse

import numpy as np

from fiberscope.accelerators.extensor.tiles import find_published_shape
from fiberscope.hw.fibers.arrays import integers_of, values_of
from fiberscope.hw.fibers.intersection import FiberIntersection
from fiberscope.hw.fibers.scanner_pair import ScannerPair
from fiberscope.workloads import load
from fiberscope.workloads.canonical import CsrArray, Integers

RULES = ("turns", "window", "requests", "barrier", "scanners", "held")
SIDE = 128  # coordinates of a microtile
ELEMENTS = 128  # processing elements
BYTES_PER_CYCLE = 68.25 * 2**30 / 1e9  # at 1 GHz
ELEMENT_BYTES = 16  # of Z
SCANNER_COORDINATES = 33  # coordinates held by a scanner


class Microtiles:
    """The microtiles of a matrix, by row (of B: by column) of microtiles.

    Args:
        outer, inner: coordinates of the elements: M and K of A, N and K of B.
    """

    def __init__(self, outer: Integers, inner: Integers) -> None:
        order = np.lexsort((inner, outer, inner // SIDE, outer // SIDE))
        outer, inner = outer[order], inner[order]
        tile = np.stack((outer // SIDE, inner // SIDE))
        new_tile = np.r_[True, np.any(np.diff(tile), axis=0)]
        new_fiber = new_tile | np.r_[True, np.diff(outer) != 0]
        self.elements = inner.tolist()
        fiber_starts = np.flatnonzero(new_fiber)
        self.fibers = np.r_[fiber_starts, len(inner)].tolist()
        self.outer = (outer[fiber_starts] % SIDE).tolist()
        tile_starts = np.flatnonzero(new_tile)
        self.first_fiber = np.r_[np.searchsorted(fiber_starts, tile_starts), len(fiber_starts)].tolist()
        self.rows: dict[int, dict[int, int]] = {}
        for number, (row, k) in enumerate(tile[:, tile_starts].T.tolist()):
            self.rows.setdefault(row, {})[k] = number


def format_bytes(rows: Integers, columns: Integers) -> dict[tuple[int, int], int]:
    """Return the bytes of each microtile: 12, plus 8 per nonempty row, plus 12 per element."""
    blocks = int(columns.max()) // SIDE + 1
    tiles = rows // SIDE * blocks + columns // SIDE
    elements = np.bincount(tiles)
    fibers = np.bincount(np.unique(tiles * SIDE + rows % SIDE) // SIDE)
    sizes = 12 * (elements > 0) + 8 * fibers + 12 * elements
    return {divmod(tile, blocks): int(sizes[tile]) for tile in np.flatnonzero(elements).tolist()}


class Memory:
    """Bytes that memory moves in each cycle, limited by the peak bandwidth."""

    def __init__(self) -> None:
        self.used_bytes = [0.0]
        self.next_free = [0]  # next cycle that may have bandwidth left
        self.bytes = 0

    def move(self, cycle: int, size: int) -> int:
        """Move bytes as early as bandwidth permits from a cycle on; return the last cycle."""
        self.bytes += size
        remaining = float(size)
        while True:
            cycle = self._next_available(cycle)
            available = BYTES_PER_CYCLE - self.used_bytes[cycle]
            if remaining < available:
                self.used_bytes[cycle] += remaining
                return cycle
            self.used_bytes[cycle] = BYTES_PER_CYCLE
            self.next_free[cycle] = cycle + 1
            remaining -= available
            if remaining == 0:
                return cycle

    def _next_available(self, cycle: int) -> int:
        while True:
            if cycle >= len(self.next_free):
                self.next_free.extend(range(len(self.next_free), cycle + 1))
                self.used_bytes.extend([0.0] * (cycle + 1 - len(self.used_bytes)))
            next_cycle = self.next_free[cycle]
            if next_cycle == cycle:
                return cycle
            if next_cycle < len(self.next_free):
                self.next_free[cycle] = self.next_free[next_cycle]
            cycle = next_cycle


class Products:
    """Steps of microtile products, and the resulting elements of Z.

    Args:
        a, b: the microtiles of both operands.
        rules: the enabled rules of ``RULES``.
    """

    def __init__(self, a: Microtiles, b: Microtiles, rules: set[str]) -> None:
        self.a, self.b = a, b
        x = (values_of([1.0] * len(a.elements)), values_of([1.0] * len(b.elements)))
        coordinates = integers_of(a.elements), integers_of(b.elements)
        fibers = integers_of(b.fibers)
        self.intersection = FiberIntersection(*coordinates, *x, fibers)
        self.scanners = ScannerPair(*coordinates, fibers, SCANNER_COORDINATES if "held" in rules else 0)
        self.uses_scanners = "scanners" in rules
        self.steps = 0  # of all products
        self.outputs_by_tile: dict[tuple[int, int], set[int]] = {}

    def multiply(self, position: tuple[int, int], a: int, b: int) -> int:
        """Multiply two microtiles into a microtile of Z; return the steps.

        Args:
            position: row and column of the microtile of Z.
            a, b: numbers of the microtiles of A and B.
        """
        meeting, old_steps, scanner_steps = self.intersection, self.intersection.steps, 0
        outputs = self.outputs_by_tile.setdefault(position, set())
        first, last = self.b.first_fiber[b], self.b.first_fiber[b + 1]
        for fiber in range(self.a.first_fiber[a], self.a.first_fiber[a + 1]):
            start, end, row = (self.a.fibers[fiber], self.a.fibers[fiber + 1], self.a.outer[fiber] * SIDE)
            scanner_steps += self.scanners.steps(start, end, first, last) if self.uses_scanners else 0
            match = meeting.find_match(start, end, first, last)
            while match < last:
                outputs.add(row + self.b.outer[match])
                match = meeting.find_match(start, end, match + 1, last)
        steps = scanner_steps if self.uses_scanners else meeting.steps - old_steps
        self.steps += steps
        return steps

    def bytes(self, position: tuple[int, int]) -> int:
        """Return the bytes of the elements of a microtile of Z."""
        return ELEMENT_BYTES * len(self.outputs_by_tile.get(position, ()))


class Scheduler:
    """Multiplies a matrix by itself.

    Args:
        matrix: a square matrix.
        shape: the shape of a tile in microtiles: M, K, N.
        rules: the enabled rules of ``RULES``.
    """

    def __init__(self, matrix: CsrArray, shape: tuple[int, int, int], rules: set[str]) -> None:
        rows, columns = (axis.astype(np.int64) for axis in matrix.tocoo().coords)
        self.a, self.b = Microtiles(rows, columns), Microtiles(columns, rows)
        self.sizes = format_bytes(rows, columns)
        self.blocks = -(-matrix.shape[0] // SIDE)
        self.shape, self.rules = shape, rules
        self.products = Products(self.a, self.b, rules)
        self.memory = Memory()
        self.free = [0] * ELEMENTS  # first free cycle of each element
        self.space_cycle = 0  # first cycle with space for the next row
        self.next_element = self.cycles = 0

    def run(self) -> int:
        """Return the cycles of the product."""
        _m, k, n = self.shape
        for first_n in range(0, self.blocks, n):
            for first_k in range(0, self.blocks, k):
                self._process_tile(range(first_n, first_n + n), range(first_k, first_k + k))
        return self.cycles

    def _process_tile(self, columns: range, inner: range) -> None:
        """Process all rows M1 of A with one tile of B."""
        tile = {n: {k: b for k, b in self.b.rows.get(n, {}).items() if k in inner} for n in columns}
        buffered: set[tuple[str, int]] = set()  # microtiles in the buffer
        ends: list[int] = []  # end cycles of the rows in the buffer
        for row in sorted(self.a.rows):
            if len(ends) == self.shape[0]:
                row_end = min(ends) if "window" in self.rules else max(ends)
                ends = sorted(ends)[1:] if "window" in self.rules else []
                self.space_cycle = row_end
                if "requests" in self.rules:
                    self.free = [max(cycle, row_end) for cycle in self.free]
            ends += self._process_row(
                row, {k: a for k, a in self.a.rows[row].items() if k in inner}, tile, buffered
            )
        if "barrier" in self.rules:
            self.free = [max(self.free)] * ELEMENTS

    def _process_row(
        self,
        row: int,
        a_tiles: dict[int, int],
        tile: dict[int, dict[int, int]],
        buffered: set[tuple[str, int]],
    ) -> list[int]:
        """Process one row M1; return its end cycle, or an empty list without work."""
        start = end = min(self.free) if "requests" in self.rules else self.space_cycle
        written_bytes = 0
        for column, b_tiles in tile.items():
            common = sorted(a_tiles.keys() & b_tiles.keys())
            if not common:
                continue
            position = row, column
            old_bytes = self.products.bytes(position)
            for k in common:
                size = self._fetch(("A", a_tiles[k]), (row, k), buffered)
                size += self._fetch(("B", b_tiles[k]), (k, column), buffered)
                steps = self.products.multiply(position, a_tiles[k], b_tiles[k])
                end = max(end, self._assign(start, steps, size))
            self._extend_to(self.memory.move(start, old_bytes))
            written_bytes += self.products.bytes(position)
        self._extend_to(self.memory.move(end, written_bytes))
        return [end] if written_bytes else []

    def _fetch(
        self, microtile: tuple[str, int], position: tuple[int, int], buffered: set[tuple[str, int]]
    ) -> int:
        """Fetch a microtile unless it is in the buffer; return the fetched bytes."""
        if microtile in buffered:
            return 0
        buffered.add(microtile)
        return self.sizes[position]

    def _assign(self, start: int, steps: int, size: int) -> int:
        """Assign a product to an element; return its end cycle."""
        element = self.next_element if "turns" in self.rules else self.free.index(min(self.free))
        self.next_element = (self.next_element + 1) % ELEMENTS
        end = max(start, self.free[element]) + steps
        if size:
            end = max(end, self.memory.move(start, size))
        self.free[element] = end
        self._extend_to(end)
        return end

    def _extend_to(self, cycle: int) -> None:
        self.cycles = max(self.cycles, cycle)


def main() -> None:
    """Run a matrix with published tiles."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("matrix")
    parser.add_argument("--without", action="append", choices=RULES, default=[])
    arguments = parser.parse_args()
    matrix = load(arguments.matrix).matrix
    tiles = find_published_shape(matrix, matrix)
    if tiles is None:
        raise SystemExit(f"{arguments.matrix}: its tiles are not published")
    scheduler = Scheduler(matrix, tiles[0], set(RULES) - set(arguments.without))
    cycles = scheduler.run()
    print(f"{cycles:,} cycles, {scheduler.memory.bytes:,} bytes, {scheduler.products.steps:,} steps of K0")


if __name__ == "__main__":
    main()
