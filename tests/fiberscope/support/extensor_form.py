"""What the public TeAAL tool counts of ExTensor, tile by tile, from the operands alone.

A and B are given as sets of points, ``(k, m)`` and ``(k, n)``; tiles of tiles have ``large`` coordinates a
side, tiles ``small``.
"""

from collections import Counter, defaultdict


def skips(one, other):
    """Steps of a skip-ahead intersection, and what is looked at of each side."""
    one, other, steps, last, i, j = sorted(one), sorted(other), 0, "", 0, 0
    while i < len(one) and j < len(other):
        if one[i] == other[j]:
            steps, last, i, j = steps + 1, "", i + 1, j + 1
            continue
        side = "one" if one[i] < other[j] else "other"
        steps += side != last
        last = side
        i, j = i + (side == "one"), j + (side == "other")
    return steps, one[: i + 1], other[: j + 1]


def tiles(points, large, small):
    """Elements by tile of tiles and tile: ``{(k2, x2): {(x1, k1): {(x0, k0)}}}``."""
    found = defaultdict(lambda: defaultdict(set))
    for k, x in points:
        found[k - k % large, x - x % large][x - x % small, k - k % small].add((x, k))
    return found


def tile_bits(tile):
    """Of a tile's rows, with coordinates and pointers, and of their elements."""
    rows = Counter(x for x, _ in tile)
    inner = sum(64 * -(-count // 2) + 64 * count for count in rows.values())
    return 2 * 64 * -(-len(rows) // 2) + inner


class ExTensorForm:
    """All counts of a run; ``a`` and ``b`` as above."""

    def __init__(self, a, b, large, small):
        self.a, self.b = tiles(a, large, small), tiles(b, large, small)
        self.dram, self.llb, self.steps, self.bodies = Counter(), Counter(), Counter(), Counter()
        self.products = 0
        self.z = defaultdict(set)  # by tile (m1, n1): its points
        self.z_touched = {"dram": {}, "llb": {}}  # by tile: the group in which it was last written
        self.serial = Counter()  # of the last body that computed
        for n2 in sorted({x2 for _, x2 in self.b}):
            self.run_column(n2)

    def run_column(self, n2):
        self.bodies["N2"] += 1
        left, right = {k2 for k2, _ in self.a}, {k2 for k2, x2 in self.b if x2 == n2}
        self.steps["K2"] += skips(left, right)[0]
        for k2 in sorted(left & right):
            self.bodies["K2"] += 1
            self.run_pair(k2, self.b[k2, n2])

    def run_pair(self, k2, b):
        """One tile of tiles of B, with each of A."""
        n1s = sorted({n1 for n1, _ in b})
        self.dram["B"] += 2 * 64 * -(-len(n1s) // 2)
        self.looked, self.matched = set(), set()  # lines of B's list of tiles, and of their payloads
        self.met_b = set()
        for m2 in sorted(m2 for other, m2 in self.a if other == k2):
            self.bodies["M2"] += 1
            self.run_interval(self.a[k2, m2], b, n1s)
        self.dram["B"] += 64 * (len(self.looked) + len(self.matched))
        self.dram["B"] += sum(tile_bits(b[tile]) for tile in self.met_b)

    def run_interval(self, a, b, n1s):
        looked, met = set(), set()
        for m1 in sorted({m1 for m1, _ in a}):
            self.bodies["M1"] += 1
            for n1 in n1s:
                self.bodies["N1"] += 1
                self.visit(m1, n1, a, b, looked, met)
        self.dram["A"] += 64 * len(looked) + sum(tile_bits(a[tile]) for tile in met)

    def visit(self, m1, n1, a, b, looked, met):
        """One tile of Z."""
        left, right = [k1 for m, k1 in a if m == m1], sorted(k1 for n, k1 in b if n == n1)
        steps, of_a, of_b = skips(left, right)
        self.steps["K1"] += steps
        looked |= {(m1, k1) for k1 in of_a}
        self.looked |= {(n1, right.index(k1) // 2) for k1 in of_b}
        both = sorted(set(left) & set(right))
        if both:
            self.read(m1, n1)
        for k1 in both:
            self.bodies["K1"] += 1
            self.matched.add((n1, right.index(k1) // 2))
            met.add((m1, k1))
            self.met_b.add((n1, k1))
            self.multiply(m1, n1, a[m1, k1], b[n1, k1])
        self.write(m1, n1)

    def multiply(self, m1, n1, a, b):
        self.llb["A"] += tile_bits(a)
        self.llb["B"] += tile_bits(b)
        self.serial = Counter(self.bodies)
        for m in sorted({m for m, _ in a}):
            self.bodies["M0"] += 1
            for n in sorted({n for n, _ in b}):
                self.bodies["N0"] += 1
                row, column = {k for x, k in a if x == m}, {k for x, k in b if x == n}
                self.steps["K0"] += skips(row, column)[0]
                self.bodies["K0"] += len(row & column)
                if row & column:
                    self.z[m1, n1].add((m, n))

    def read(self, m1, n1):
        bits = 128 * len(self.z[m1, n1])
        if self.z_touched["dram"].get((m1, n1)) != self.bodies["M2"]:
            self.dram["Z read"] += bits
        self.llb["Z read"] += bits

    def write(self, m1, n1):
        bits = 128 * len(self.z[m1, n1])
        for level, group in (("dram", self.serial["M2"]), ("llb", self.serial["N1"])):
            if self.z_touched[level].get((m1, n1)) != group:
                getattr(self, level)["Z write"] += bits
            if bits:
                self.z_touched[level][m1, n1] = group
