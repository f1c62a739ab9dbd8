"""What ExTensor does, in plain loops over dictionaries: counts of every kind, without time."""

from collections import Counter, defaultdict
from functools import partial
from typing import Any

from intersect_model import held_scanner_steps

Fibers = dict[int, dict[int, float]]


class Model:
    """Runs A times B in ExTensor's order and counts.

    Args:
        a, b: the operands.
        side: coordinates of a microtile.
        shape: microtiles of a tile in M, K, N.
        intersection: the rule, as the parameter has it.
        held: coordinates that scanners hold; 0: all.
        by_rows: whether rows of A bring the microtiles of B that they meet.
    """

    def __init__(
        self,
        a: Any,
        b: Any,
        side: int,
        shape: tuple[int, int, int],
        *,
        intersection: str = "skip",
        held: int = 0,
        by_rows: bool = False,
    ) -> None:
        self.side, self.shape = side, shape
        shape = (1, *shape[1:]) if by_rows else shape
        self.by_rows = by_rows
        self.k_there: set[int] = set()  # of the tile of B: with rows, those of its microtiles that came
        self.intersect = two_finger if intersection == "two_finger" else skip_ahead
        self.meet = partial(scanners, held=held) if intersection == "scanners" else self.intersect
        m, k, n = (side * size for size in shape)
        # By M2 or N2 and K2: tiles, which are rows of microtiles, by M1 or N1.
        self.a_tiles = _tiles(((row, column, value) for row, column, value in points(a)), m, k, side)
        self.b_tiles = _tiles(((column, row, value) for row, column, value in points(b)), n, k, side)
        self.count: Counter[str] = Counter()
        self.product: dict[tuple[int, int], float] = {}
        self.product_steps: list[int] = []
        self._run()

    def _run(self) -> None:
        k_of_a = sorted({k for _m, k in self.a_tiles})
        loaded_b = None
        for n2 in sorted({n for n, _k in self.b_tiles}):
            k_of_b = sorted(k for n, k in self.b_tiles if n == n2)
            steps, common = self.intersect(k_of_a, k_of_b)
            self.count["intersect_k2"] += steps
            for k2 in common:
                for m2 in sorted(m for m, k in self.a_tiles if k == k2):
                    new_b = loaded_b != (n2, k2)
                    loaded_b = (n2, k2)
                    self._pair(self.a_tiles[m2, k2], self.b_tiles[n2, k2], new_b)

    def _pair(self, a: dict[int, Any], b: dict[int, Any], new_b: bool) -> None:
        self.count["pairs"] += 1
        in_b = {k1 for row in b.values() for k1 in row}
        of_a = [tile for row in a.values() for k1, tile in row.items() if k1 in in_b]
        self.count["A"] += sum(_bytes(tile) + 12 for tile in of_a)
        if new_b:
            self.count["B"] += 8 * len(b)
            self.k_there = set()
        in_a = {k1 for row in a.values() for k1 in row} if self.by_rows else in_b
        for row in b.values():
            self.count["B"] += sum(_bytes(row[k1]) + 8 for k1 in (row.keys() & in_a) - self.k_there)
        self.k_there |= in_a
        before = set(self.product)
        for m1, row in a.items():
            for n1, other in b.items():
                self._row(row, other, m1, n1, before)

    def _row(self, a: dict[int, Fibers], b: dict[int, Fibers], m1: int, n1: int, before: set[Any]) -> None:
        """One row of microtiles of A's tile with one of B's."""
        steps, common = self.intersect(sorted(a), sorted(b))
        self.count["intersect_k1"] += steps
        self.count["microtile_products"] += len(common)
        if common:
            here = sum(1 for m, n in before if (m // self.side, n // self.side) == (m1, n1))
            self.count["PO"] += 16 * here
        for k1 in common:
            self.product_steps.append(self._microtiles(a[k1], b[k1]))
        self.count["intersect_k0"] = sum(self.product_steps)

    def _microtiles(self, a: Fibers, b: Fibers) -> int:
        total = 0
        for m, fiber in a.items():
            for n, other in b.items():
                steps, common = self.meet(sorted(fiber), sorted(other))
                total += steps
                self.count["multiply"] += len(common)
                if common and (m, n) not in self.product:
                    self.product[m, n] = 0.0
                    self.count["Z"] += 16
                for k in common:
                    self.product[m, n] += fiber[k] * other[k]
        return total


def skip_ahead(left: list[int], right: list[int]) -> tuple[int, list[int]]:
    """Steps of a skip-ahead intersection of two sorted lists, and what they have in common."""
    steps, common = 0, []
    while left and right:
        steps += 1
        if left[0] == right[0]:
            common.append(left[0])
            left, right = left[1:], right[1:]
        elif left[0] < right[0]:
            left = [k for k in left if k >= right[0]]
        else:
            right = [k for k in right if k >= left[0]]
    return steps, common


def scanners(left: list[int], right: list[int], held: int) -> tuple[int, list[int]]:
    """The same of two scanners that hold so many coordinates of a fiber; 0: all."""
    return held_scanner_steps(left, right, held), [k for k in left if k in right]


def two_finger(left: list[int], right: list[int]) -> tuple[int, list[int]]:
    """The same with a step for each element that is passed over."""
    steps, common = 0, []
    while left and right:
        steps += 1
        head = min(left[0], right[0])
        if left[0] == right[0]:
            common.append(head)
        left = left[1:] if left[0] == head else left
        right = right[1:] if right[0] == head else right
    return steps, common


def points(matrix: Any) -> list[tuple[int, int, float]]:
    """Row, column and value of every stored entry."""
    return [
        (row, int(matrix.indices[place]), float(matrix.data[place]))
        for row in range(matrix.shape[0])
        for place in range(matrix.indptr[row], matrix.indptr[row + 1])
    ]


def _tiles(entries: Any, outer: int, inner: int, side: int) -> dict[tuple[int, int], Any]:
    tiles: dict[tuple[int, int], Any] = {}
    for row, k, value in entries:
        tile = tiles.setdefault((row // outer, k // inner), defaultdict(_row_of_microtiles))
        tile[row // side][k // side][row][k] = value
    return tiles


def _row_of_microtiles() -> Any:
    """Microtiles by K1: their fibers by M0 or N0, and elements by K0."""
    return defaultdict(lambda: defaultdict(dict))


def _bytes(microtile: Fibers) -> int:
    """8 bytes a fiber, 12 an element."""
    return sum(8 + 12 * len(fiber) for fiber in microtile.values())
