"""How a search of ever larger graphs grows on Graphicionado: time for each edge visited, and memory.

    python benchmarks/graphs.py                     R-MAT graphs of 100,000 to ten million edges
    python benchmarks/graphs.py --largest           one of soc-LiveJournal1's size too: 69 million
    python benchmarks/graphs.py --design csr_like   another design, sssp or pagerank by --algorithm

The graphs have as many edges a vertex as soc-LiveJournal1 (14.2), and a tail of ten vertices. Each is drawn
and simulated in a process of its own; seconds are of its processor, from the drawn graph to the verified
report.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from typing import NamedTuple

from fiberscope import simulate
from fiberscope.workloads import load

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)  # edges
LARGEST = "soc-LiveJournal1"
EDGES_A_VERTEX = 68_993_773 / 4_847_571


class Figures(NamedTuple):
    """Of one run; ``drawn`` is how long the graph took, ``peak`` bytes of memory in all."""

    edges: int
    visited: int
    iterations: int
    cycles: int
    drawn: float
    seconds: float
    peak: int


def graph(edges: int) -> str:
    """An R-MAT graph of so many edges."""
    return f"rmat-graph:vertices={round(edges / EDGES_A_VERTEX)},edges={edges},tail=10"


def figures(text: str, settings: dict[str, str]) -> Figures:
    """Draw a graph and search it."""
    start = time.process_time()
    workload = load(text)
    drawn = time.process_time()
    report = simulate("graphicionado", workload, settings=settings)
    end = time.process_time()
    counts = report.operations
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Figures(
        workload.nonzeros,
        counts["edges"],
        counts["iterations"],
        report.cycles,
        drawn - start,
        end - drawn,
        peak,
    )


def growth(graphs: list[str], settings: dict[str, str]) -> None:
    """Print a line for each graph; the microseconds an edge should stay about the same."""
    print(", ".join(f"{key}={value}" for key, value in settings.items()))
    print("      edges     visited  iterations      cycles  drawn s    run s  us an edge  peak MB")
    for text in graphs:
        with multiprocessing.get_context("spawn").Pool(1) as own:
            found = own.apply(figures, (text, settings))
        print(
            f"{found.edges:11,} {found.visited:11,} {found.iterations:11,} {found.cycles:11,} "
            f"{found.drawn:8.1f} {found.seconds:8.1f} {found.seconds / found.visited * 1e6:11.2f} "
            f"{found.peak / 1e6:8.0f}",
            flush=True,
        )


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--largest", action="store_true", help="one of 69 million edges too")
    parser.add_argument("--only-largest", action="store_true", help="no other")
    parser.add_argument("--design", default="graphicionado", help="as the machine's key of this name")
    parser.add_argument("--algorithm", default="bfs", help="bfs, sssp or pagerank")
    given = parser.parse_args()
    sizes = [] if given.only_largest else [graph(size) for size in SIZES]
    if given.largest or given.only_largest:
        sizes.append(LARGEST)
    growth(sizes, {"problem.algorithm": given.algorithm, "design": given.design})


if __name__ == "__main__":
    main()
