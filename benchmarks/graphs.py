"""Growth of graph searches on Graphicionado: time per visited edge, and memory.

    python benchmarks/graphs.py                     R-MAT graphs of 100,000 to ten million edges
    python benchmarks/graphs.py --largest           also the size of soc-LiveJournal1: 69 million
    python benchmarks/graphs.py --design csr_like   another design, sssp or pagerank by --algorithm

The graphs have the edges per vertex of soc-LiveJournal1 (14.2), and a tail of ten vertices. Each graph is
generated and simulated in a separate process; seconds are processor time from the generated graph to the
verified report.
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
    """Figures of one run: ``drawn`` in seconds of generation, ``peak`` in bytes of memory."""

    edges: int
    visited: int
    iterations: int
    cycles: int
    drawn: float
    seconds: float
    peak: int


def graph(edges: int) -> str:
    """Return the text of an R-MAT graph with ``edges`` edges."""
    return f"rmat-graph:vertices={round(edges / EDGES_A_VERTEX)},edges={edges},tail=10"


def figures(text: str, settings: dict[str, str]) -> Figures:
    """Generate a graph and search it."""
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
    """Print a line for each graph; the microseconds per edge should be nearly constant."""
    print(", ".join(f"{key}={value}" for key, value in settings.items()))
    print("      edges     visited  iterations      cycles  drawn s    run s  us an edge  peak MB")
    for text in graphs:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            run = pool.apply(figures, (text, settings))
        print(
            f"{run.edges:11,} {run.visited:11,} {run.iterations:11,} {run.cycles:11,} "
            f"{run.drawn:8.1f} {run.seconds:8.1f} {run.seconds / run.visited * 1e6:11.2f} "
            f"{run.peak / 1e6:8.0f}",
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
    arguments = parser.parse_args()
    sizes = [] if arguments.only_largest else [graph(size) for size in SIZES]
    if arguments.largest or arguments.only_largest:
        sizes.append(LARGEST)
    growth(sizes, {"problem.algorithm": arguments.algorithm, "design": arguments.design})


if __name__ == "__main__":
    main()
