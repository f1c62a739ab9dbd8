"""Sparse times sparse as inner products, with two kinds of intersection, from blocks.

    python examples/inner_product.py

Each element of A x B is a row of A times a column of B: two scanners read them, an intersector finds the
coordinates that both have, and what belongs to those is multiplied and added. A has few nonzeros in a row and
B many in a column, so that most of what is read of B meets nothing.
"""

import random

import numpy as np
from scipy import sparse

from hw.arithmetic import Accumulator
from hw.intersect import SkipAheadIntersector, TwoFingerIntersector
from hw.level import Level
from hw.scanner import LevelScanner
from hw.stream import DATA, STREAM
from sim import Component, Input, Kernel, Output

INNER = 2000  # columns of A, rows of B


def random_rows(rows, nonzeros, seed):
    """A matrix with as many nonzeros in each row, in CSR."""
    generator = random.Random(seed)
    columns = [k for _ in range(rows) for k in sorted(generator.sample(range(INNER), nonzeros))]
    values = [generator.uniform(-1, 1) for _ in columns]
    starts = range(0, len(columns) + 1, nonzeros)
    return sparse.csr_array((values, columns, starts), shape=(rows, INNER))


A = random_rows(8, 20, seed=1)
B = random_rows(8, 400, seed=2).T
PAIRS = [(row, column) for row in range(A.shape[0]) for column in range(B.shape[1])]


class Names(Component):
    """Names one fiber after the other, one a cycle."""

    PORTS = (Output("references", STREAM),)

    def __init__(self, name, fibers):
        super().__init__(name)
        self.fibers = list(reversed(fibers))

    def elaborate(self):
        self.references = self.channel("references")

    def tick(self, now):
        if not self.fibers:
            return self.idle()
        if not self.references.can_push():
            return self.wait_output(self.references)
        self.references.push(DATA, 0, self.fibers.pop(), 0.0)
        return self.busy(now + 1)


class PairMultiplier(Component):
    """Multiplies what comes side by side; all products of a fiber have coordinate 0, so that they add up."""

    PORTS = (Input("left", STREAM), Input("right", STREAM), Output("products", STREAM))

    def elaborate(self):
        self.left, self.right = self.channel("left"), self.channel("right")
        self.products = self.channel("products")

    def tick(self, now):
        if not (self.left.can_pop() and self.right.can_pop()):
            return self.idle()
        if not self.products.can_push():
            return self.wait_output(self.products)
        self.products.push(self.left.control(), 0, 0, self.left.value() * self.right.value())
        self.left.pop()
        self.right.pop()
        return self.busy(now + 1)


class Collector(Component):
    """Keeps the sum of each fiber, 0 where there is none."""

    PORTS = (Input("sums", STREAM),)

    def __init__(self, name):
        super().__init__(name)
        self.results = [0.0]

    def elaborate(self):
        self.sums = self.channel("sums")

    def tick(self, now):
        if not self.sums.can_pop():
            return self.idle()
        if self.sums.control() == DATA:
            self.results[-1] = self.sums.value()
        else:
            self.results.append(0.0)
        self.sums.pop()
        return self.busy(now + 1)


def level(matrix):
    """The fibers of a compressed matrix: rows of one in CSR, columns of one in CSC."""
    return Level(matrix.indptr, matrix.indices, matrix.data)


def multiply(intersector, *, told=False):
    """A x B with this intersector; prints cycles and what was read of B."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    kernel.add(intersector)
    products = kernel.add(PairMultiplier("multiplier"))
    sums = kernel.add(Accumulator("accumulator"))
    collector = kernel.add(Collector("collector"))
    for number, (side, matrix, port) in enumerate((("a", A, "left"), ("b", B, "right"))):
        names = kernel.add(Names(f"names_{side}", [pair[number] for pair in PAIRS]))
        scanner = kernel.add(LevelScanner(f"scanner_{side}", level(matrix), window=16))
        kernel.connect(names, "references", scanner, "references", capacity=2)
        kernel.connect(scanner, "elements", intersector, side, capacity=2)
        kernel.connect(intersector, f"matches_{side}", products, port, capacity=2)
        if told:
            kernel.connect(intersector, f"skips_{side}", scanner, "skips", capacity=2)
    kernel.connect(products, "products", sums, "products", capacity=5, latency=4)
    kernel.connect(sums, "sums", collector, "sums", capacity=6, latency=4)
    run = kernel.run()
    assert np.allclose(np.reshape(collector.results[:-1], (A.shape[0], -1)), (A @ B).toarray())
    counters = kernel.statistics()
    elements = counters["scanner_b"].counters["elements"]
    steps = counters[intersector.name].counters["intersect"]
    print(f"{intersector.name:26}{run.cycles:6} cycles {steps:6} steps {elements:6} elements of B read")


print(f"{A.nnz} nonzeros by {B.nnz}, {len(PAIRS)} inner products")
multiply(TwoFingerIntersector("two fingers"))
multiply(SkipAheadIntersector("skip ahead", window=16))
multiply(SkipAheadIntersector("skip ahead, scanners told", window=16), told=True)
