"""What ExTensor's published runs did: the scheduler of its authors' simulator, written anew from its source.

    python published/extensor.py wiki-Vote
    python published/extensor.py p2p-Gnutella31 --without window --without barrier

Source: the simulator that ExTensor's authors published with DRT (ASPLOS 2023; github.com/FPSG-UIUC/DRT),
src/scheduler_7.cpp and src/matrix.cpp. Its rules, each of which can be left out:

- *turns*: products of microtiles go to the processing elements in turn, one after another, without a limit
  to those that wait; else each to the one that is first to be free.
- *window*: as many rows M1 are in the last-level buffer as a tile has; where one is done the next comes.
  Else all of a tile's rows are done before the next ones come.
- *requests*: a row is requested when the first processing element is free; else as soon as there is space.
- *barrier*: all elements have finished with a tile of B before the next one is begun.
- *scanners*: steps of K0 are those of two scanners that both go on; else the head behind skips.
- *held*: scanners hold 33 coordinates of a fiber, so that longer ones take more steps; else all of them.

Nothing else takes time: neither K2 and K1 nor the networks; memory moves its bytes at its peak, those read
as early as their row is in the buffer, those written once it is done.
"""

from __future__ import annotations

import argparse

import numpy as np

from fiberscope.accelerators.extensor.tiles import published
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
HELD = 33  # coordinates, by a scanner


class Microtiles:
    """The microtiles of a matrix, listed by their rows (of B: columns) of microtiles.

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
        begins = np.flatnonzero(new_fiber)
        self.fibers = np.r_[begins, len(inner)].tolist()
        self.outer = (outer[begins] % SIDE).tolist()
        firsts = np.flatnonzero(new_tile)
        self.first_fiber = np.r_[np.searchsorted(begins, firsts), len(begins)].tolist()
        self.rows: dict[int, dict[int, int]] = {}
        for number, (row, k) in enumerate(tile[:, firsts].T.tolist()):
            self.rows.setdefault(row, {})[k] = number


def format_bytes(rows: Integers, columns: Integers) -> dict[tuple[int, int], int]:
    """Bytes of each microtile, of A and of B: 12, 8 a row that has elements, 12 an element."""
    blocks = int(columns.max()) // SIDE + 1
    tiles = rows // SIDE * blocks + columns // SIDE
    elements = np.bincount(tiles)
    fibers = np.bincount(np.unique(tiles * SIDE + rows % SIDE) // SIDE)
    sizes = 12 * (elements > 0) + 8 * fibers + 12 * elements
    return {divmod(tile, blocks): int(sizes[tile]) for tile in np.flatnonzero(elements).tolist()}


class Memory:
    """Bytes that are moved in each cycle, at the peak at the most."""

    def __init__(self) -> None:
        self.used = [0.0]
        self.next = [0]  # a cycle from each on that may have room; itself, if it has
        self.bytes = 0

    def move(self, cycle: int, size: int) -> int:
        """Move bytes as early as there is room, from a cycle on; returns the cycle of the last."""
        self.bytes += size
        left = float(size)
        while True:
            cycle = self._with_room(cycle)
            room = BYTES_PER_CYCLE - self.used[cycle]
            if left < room:
                self.used[cycle] += left
                return cycle
            self.used[cycle] = BYTES_PER_CYCLE
            self.next[cycle] = cycle + 1
            left -= room
            if left == 0:
                return cycle

    def _with_room(self, cycle: int) -> int:
        while True:
            if cycle >= len(self.next):
                self.next.extend(range(len(self.next), cycle + 1))
                self.used.extend([0.0] * (cycle + 1 - len(self.used)))
            following = self.next[cycle]
            if following == cycle:
                return cycle
            if following < len(self.next):
                self.next[cycle] = self.next[following]
            cycle = following


class Products:
    """Steps of the products of microtiles, and the elements of Z that they make."""

    def __init__(self, a: Microtiles, b: Microtiles, rules: set[str]) -> None:
        self.a, self.b = a, b
        ones = (values_of([1.0] * len(a.elements)), values_of([1.0] * len(b.elements)))
        coordinates = integers_of(a.elements), integers_of(b.elements)
        fibers = integers_of(b.fibers)
        self.both = FiberIntersection(*coordinates, *ones, fibers)
        self.scanners = ScannerPair(*coordinates, fibers, HELD if "held" in rules else 0)
        self.scan = "scanners" in rules
        self.steps = 0  # of all products
        self.made: dict[tuple[int, int], set[int]] = {}

    def work(self, place: tuple[int, int], a: int, b: int) -> int:
        """Multiply two microtiles into one of Z; returns the steps."""
        both, before, scanned = self.both, self.both.steps, 0
        made = self.made.setdefault(place, set())
        first, last = self.b.first_fiber[b], self.b.first_fiber[b + 1]
        for fiber in range(self.a.first_fiber[a], self.a.first_fiber[a + 1]):
            begin, end, row = self.a.fibers[fiber], self.a.fibers[fiber + 1], self.a.outer[fiber] * SIDE
            scanned += self.scanners.steps(begin, end, first, last) if self.scan else 0
            met = both.meet(begin, end, first, last)
            while met < last:
                made.add(row + self.b.outer[met])
                met = both.meet(begin, end, met + 1, last)
        steps = scanned if self.scan else both.steps - before
        self.steps += steps
        return steps

    def bytes(self, place: tuple[int, int]) -> int:
        """What is held of a microtile of Z."""
        return ELEMENT_BYTES * len(self.made.get(place, ()))


class Scheduler:
    """Runs a matrix times itself.

    Args:
        matrix: square.
        shape: of a tile, in microtiles: M, K, N.
        rules: those of ``RULES`` that hold.
    """

    def __init__(self, matrix: CsrArray, shape: tuple[int, int, int], rules: set[str]) -> None:
        rows, columns = (part.astype(np.int64) for part in matrix.tocoo().coords)
        self.a, self.b = Microtiles(rows, columns), Microtiles(columns, rows)
        self.sizes = format_bytes(rows, columns)
        self.blocks = -(-matrix.shape[0] // SIDE)
        self.shape, self.rules = shape, rules
        self.products = Products(self.a, self.b, rules)
        self.memory = Memory()
        self.free = [0] * ELEMENTS  # cycles from which on the elements are
        self.space = 0  # cycle from which on the buffer has space for the next row
        self.turn = self.cycles = 0

    def run(self) -> int:
        """Cycles of the whole product."""
        _m, k, n = self.shape
        for first_n in range(0, self.blocks, n):
            for first_k in range(0, self.blocks, k):
                self._tile_of_b(range(first_n, first_n + n), range(first_k, first_k + k))
        return self.cycles

    def _tile_of_b(self, columns: range, inner: range) -> None:
        """All rows M1 of A with one tile of B."""
        tile = {n: {k: b for k, b in self.b.rows.get(n, {}).items() if k in inner} for n in columns}
        present: set[tuple[str, int]] = set()  # microtiles that are in the buffer
        ends: list[int] = []  # cycles in which the rows in the buffer are done
        for row in sorted(self.a.rows):
            if len(ends) == self.shape[0]:
                done = min(ends) if "window" in self.rules else max(ends)
                ends = sorted(ends)[1:] if "window" in self.rules else []
                self.space = done
                if "requests" in self.rules:
                    self.free = [max(cycle, done) for cycle in self.free]
            ends += self._row(row, {k: a for k, a in self.a.rows[row].items() if k in inner}, tile, present)
        if "barrier" in self.rules:
            self.free = [max(self.free)] * ELEMENTS

    def _row(
        self, row: int, of_a: dict[int, int], tile: dict[int, dict[int, int]], present: set[tuple[str, int]]
    ) -> list[int]:
        """One row M1; returns the cycle in which it is done, if there is anything to do."""
        begin = end = min(self.free) if "requests" in self.rules else self.space
        written = 0
        for column, of_b in tile.items():
            meeting = (
                [k for k in of_b if k in of_a] if len(of_b) < len(of_a) else [k for k in of_a if k in of_b]
            )
            if not meeting:
                continue
            place = row, column
            held = self.products.bytes(place)
            for k in sorted(meeting):
                size = self._missing(("A", of_a[k]), (row, k), present)
                size += self._missing(("B", of_b[k]), (k, column), present)
                end = max(end, self._product(begin, self.products.work(place, of_a[k], of_b[k]), size))
            self._note(self.memory.move(begin, held))
            written += self.products.bytes(place)
        self._note(self.memory.move(end, written))
        return [end] if written else []

    def _missing(
        self, microtile: tuple[str, int], place: tuple[int, int], present: set[tuple[str, int]]
    ) -> int:
        """Bytes of a microtile, if it is not in the buffer; then it is."""
        if microtile in present:
            return 0
        present.add(microtile)
        return self.sizes[place]

    def _product(self, begin: int, steps: int, size: int) -> int:
        """Give a product to an element; returns when it has finished it."""
        element = self.turn if "turns" in self.rules else self.free.index(min(self.free))
        self.turn = (self.turn + 1) % ELEMENTS
        end = max(begin, self.free[element]) + steps
        if size:
            end = max(end, self.memory.move(begin, size))
        self.free[element] = end
        self._note(end)
        return end

    def _note(self, cycle: int) -> None:
        self.cycles = max(self.cycles, cycle)


def main() -> None:
    """Run a matrix whose tiles are published."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("matrix")
    parser.add_argument("--without", action="append", choices=RULES, default=[])
    arguments = parser.parse_args()
    matrix = load(arguments.matrix).matrix
    found = published(matrix, matrix)
    if found is None:
        raise SystemExit(f"{arguments.matrix}: its tiles are not published")
    scheduler = Scheduler(matrix, found[0], set(RULES) - set(arguments.without))
    cycles = scheduler.run()
    print(f"{cycles:,} cycles, {scheduler.memory.bytes:,} bytes, {scheduler.products.steps:,} steps of K0")


if __name__ == "__main__":
    main()
