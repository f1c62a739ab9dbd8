"""Small graphs and small Graphicionados, for their tests."""

from typing import Any

import numpy as np
from scipy import sparse

from fiberscope.accelerators.configuration import load
from fiberscope.accelerators.graphicionado import ACCELERATOR, Graphicionado, GraphicionadoConfiguration
from fiberscope.workloads import GraphAlgorithm, Workload, from_scipy
from fiberscope.workloads.synchronous import ProgramResult, run

DESIGNS = ("graphicionado", "sparse_access", "csr_like", "graphdyns")
ALGORITHMS = ("bfs", "sssp", "pagerank")
# Short of everything: few buffers, short queues, narrow blocks, a memory without rows.
TINY = {
    "streams": 4,
    "queue.depth": 2,
    "prefetch.lines": 2,
    "edge.readers_per_stream": 2,
    "block.vertices": 64,
    "memory.channels": 1,
    "memory.model": "simple",
}


def small_graph(vertices: int = 150, edges: int = 900, seed: int = 1) -> sparse.csr_array:
    """Skewed, with self loops and vertices that nothing reaches."""
    generator = np.random.default_rng(seed)
    sources = (vertices * generator.random(edges) ** 2).astype(np.int64)
    destinations = (vertices * generator.random(edges) ** 1.5).astype(np.int64)
    return sparse.csr_array((np.ones(edges), (sources, destinations)), shape=(vertices, vertices))


def configured(settings: dict[str, Any]) -> GraphicionadoConfiguration:
    """The configuration with these settings."""
    return load(GraphicionadoConfiguration, ACCELERATOR.shipped, name=ACCELERATOR.name, settings=settings)


def problem_of(graph: Any, **parameters: Any) -> GraphAlgorithm:
    """A problem on a graph."""
    operand = graph if isinstance(graph, Workload) else from_scipy(graph)
    return GraphAlgorithm([operand], parameters)


def machine_of(
    problem: GraphAlgorithm, settings: dict[str, Any] | None = None, **options: Any
) -> Graphicionado:
    """A machine with a problem loaded."""
    return Graphicionado(
        configured(TINY if settings is None else settings), *problem.machine_inputs(), **options
    )


def reference(problem: GraphAlgorithm) -> ProgramResult:
    """What the plain loop makes of it."""
    return run(*problem.machine_inputs())


def useful_bytes(design: str, outcome: ProgramResult, weighted: bool) -> int:
    """By the formulas of a machine with widths of 4 bytes; graphicionado writes all vertices."""
    vertices, total = len(outcome.properties), outcome.total
    listed = 8 * total("changed")
    if design == "graphicionado":
        dense = 8 * vertices * len(outcome.iterations)
        return 8 * total("frontier") + 12 * total("edges") + dense + listed
    changed = 4 * total("changed")
    if design == "sparse_access":
        return 8 * total("frontier") + 12 * total("edges") + 4 * total("updates") + changed + listed
    edges = (8 if weighted else 4) * total("edges")
    read = 1024 * total("blocks") if design == "graphdyns" else 4 * total("updates")
    return 16 * total("frontier") + edges + read + changed + listed
