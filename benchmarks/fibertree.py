"""Speed of fiber tree transformations: seconds and memory of each pass over a large random matrix.

    python benchmarks/fibertree.py                        ten million nonzeros
    python benchmarks/fibertree.py --nonzeros 100000000   a hundred million: needs 18 GB of memory

Each pass runs twice on an existing tree. The minimum counts, in processor seconds of one core, because the
first allocation of memory can be slow.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.fibertree_format import RankFormat, count_subtree_bits, footprint

SIZE = 128  # coordinates or elements of a partition
ROUNDS = 2
ROW = 32  # mean nonzeros per row
COORDINATES = RankFormat("C", coordinate=32, payload=32)


def matrix(nonzeros: int) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the side of a random square matrix, with rows and columns of distinct sorted points."""
    side = max(ROW, nonzeros // ROW)
    generator = np.random.default_rng(1)
    places = np.sort(generator.integers(0, side * side, nonzeros))
    places = places[np.diff(places, prepend=-1) > 0]
    return side, places // side, places % side


def timed(name: str, make: Callable[[], object], nonzeros: int) -> object:
    """Run a pass, and print its time and memory."""
    seconds = float("inf")
    for _ in range(ROUNDS):
        result = None  # releases the memory
        begin = time.process_time()
        result = make()
        seconds = min(seconds, time.process_time() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{name:36s} {seconds:8.2f} {seconds / nonzeros * 1e9:13.1f} {peak / 1e9:9.1f}", flush=True)
    return result


def run(name: str, make: Callable[[], FiberTree], nonzeros: int) -> FiberTree:
    """Run a pass that returns a tree."""
    tree = timed(name, make, nonzeros)
    assert isinstance(tree, FiberTree)
    return tree


def build(nonzeros: int) -> FiberTree:
    """Build the tree of a matrix, from sorted and from unsorted points."""
    side, rows, columns = matrix(nonzeros)
    count, values = len(rows), np.ones(len(rows))
    shape = {"M": side, "K": side}
    print(f"{count:,} nonzeros, {side:,} x {side:,}")
    print("pass                                  seconds   ns a nonzero   peak GB")
    tree = run("from_coo, sorted", lambda: FiberTree.from_coo(shape, [rows, columns], values), count)
    shuffled = np.random.default_rng(2).permutation(count)
    points = [rows[shuffled], columns[shuffled]]
    run("from_coo, in any order", lambda: FiberTree.from_coo(shape, points, values), count)
    return tree


def transform(tree: FiberTree) -> FiberTree:
    """Run all transformations; return the tree in tiles, with four ranks."""
    count = tree.nonzeros
    run("swizzle of two ranks", lambda: tree.swizzle(("K", "M")), count)
    run("partition_by_occupancy", lambda: tree.partition_by_occupancy("K", SIZE, "K1", "K0"), count)
    leader = tree.boundaries("K", ROW // 2)
    timed("boundaries", lambda: tree.boundaries("K", ROW // 2), count)
    run("partition_by_leader", lambda: tree.partition_by_leader("K", leader, "K1", "K0"), count)
    pieces = run("partition_by_shape", lambda: tree.partition_by_shape("K", SIZE, "K1", "K0"), count)
    cut = run("the same of the upper rank", lambda: pieces.partition_by_shape("M", SIZE, "M1", "M0"), count)
    tiles = run("swizzle of four ranks", lambda: cut.swizzle(("K1", "M1", "M0", "K0")), count)
    run("flatten", lambda: tiles.flatten("M0", "K0", "MK"), count)
    return tiles


def measure(nonzeros: int) -> None:
    """Run all passes over a matrix."""
    tiles = transform(build(nonzeros))
    formats = dict.fromkeys(tiles.names, COORDINATES)
    timed("to_coo of four ranks", tiles.to_coo, tiles.nonzeros)
    timed("footprint", lambda: footprint(tiles, formats), tiles.nonzeros)
    timed("count_subtree_bits", lambda: count_subtree_bits(tiles, "K1", formats), tiles.nonzeros)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nonzeros", type=int, default=10_000_000)
    measure(parser.parse_args().nonzeros)


if __name__ == "__main__":
    main()
