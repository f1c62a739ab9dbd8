"""Synchronous execution of a vertex program: the reference for the results and counts of every machine.

An iteration reads only properties that the iteration before wrote. Therefore the order of vertices and edges
within an iteration does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import CsrArray, Integers, Values
from fiberscope.workloads.vertex_program import APPLY, PROCESS, REDUCE, VertexProgram

AnyIntegers: TypeAlias = npt.NDArray[np.integer[Any]]

BLOCK = 256  # consecutive vertices that share one bit of GraphDynS's bitmap
EDGES_AT_ONCE = 1 << 21  # limits the memory of an iteration
RULE_SOURCE, RULE_DESTINATION, RULE_MODULUS = 7919, 104729, 255  # of weights by ``rule``, see ``GraphTask``


@dataclass(frozen=True)
class GraphTask:
    """A problem on a graph.

    Args:
        program: the algorithm.
        root: 0-based vertex at which a search begins.
        iterations: the number of iterations if all vertices are always active, else the maximum number.
        weights: the weight of the edge from u to v: 1 + (7919 u + 104729 v) mod 255 (``rule``), its value in
            the graph (``file``), or 1 (``unit``).
    """

    program: VertexProgram
    root: int
    iterations: int
    weights: str


@dataclass(frozen=True)
class Iteration:
    """Counts of one iteration.

    Args:
        frontier: number of active vertices.
        edges: number of edges from active vertices.
        updates: number of distinct destinations of these edges.
        blocks: number of blocks of ``BLOCK`` vertices with at least one destination.
        changed: number of vertices whose property changed.
    """

    frontier: int
    edges: int
    updates: int
    blocks: int
    changed: int


@dataclass(frozen=True)
class ProgramResult:
    """Outcome of a vertex program.

    Args:
        properties: the final property of each vertex.
        iterations: the counts of every iteration.
        ended: false if the limit of iterations stopped a program that ends when no vertex is active; always
            true for a program whose vertices are always active.
    """

    properties: Values
    iterations: tuple[Iteration, ...]
    ended: bool

    def total(self, count: str) -> int:
        """Return the sum of a count over all iterations."""
        return sum(getattr(iteration, count) for iteration in self.iterations)


def weights_of(graph: CsrArray, task: GraphTask, sources: Integers, edge_indices: Integers) -> Values:
    """Return the weights of edges; 1 for a program without weights, except with ``weights`` of ``file``.

    Args:
        graph: the graph in CSR; rows are sources.
        task: the problem.
        sources: the source of each edge.
        edge_indices: the position of each edge in the arrays ``indices`` and ``data`` of the graph.
    """
    if task.weights == "file":
        values: Values = graph.data[edge_indices]
        return values
    if task.weights == "unit" or not task.program.uses_weights:
        return np.ones(len(edge_indices))
    sums = RULE_SOURCE * sources + RULE_DESTINATION * graph.indices[edge_indices].astype(np.int64)
    return np.asarray(1.0 + sums % RULE_MODULUS)


def run(graph: CsrArray, task: GraphTask) -> ProgramResult:
    """Run a program on a graph.

    Args:
        graph: the graph in CSR, which may have parallel edges; rows are sources, columns destinations.
        task: the problem.

    Returns:
        The final properties, and the counts of every iteration.
    """
    program, degrees = task.program, np.diff(graph.indptr)
    properties = program.start(degrees, task.root)
    active = np.arange(len(degrees)) if program.all_active else np.array([task.root])
    counts: list[Iteration] = []
    while len(active) and len(counts) < task.iterations:
        reduced, touched = _process(graph, task, properties, active)
        applied = _apply(program, properties, reduced, degrees)
        changed = np.flatnonzero(applied != properties)
        counts.append(
            Iteration(
                len(active),
                int(degrees[active].sum()),
                int(np.count_nonzero(touched)),
                int(np.add.reduceat(touched, np.arange(0, len(touched), BLOCK)).astype(bool).sum()),
                len(changed),
            )
        )
        properties = applied
        active = active if program.all_active else changed
    return ProgramResult(properties, tuple(counts), program.all_active or len(active) == 0)


def _process(
    graph: CsrArray, task: GraphTask, properties: Values, active: Integers
) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Return the reduced messages of all vertices, and a mask of the vertices with messages."""
    program = task.program
    reduced = np.full(len(properties), program.neutral)
    touched = np.zeros(len(properties), bool)
    for sources, edges in _yield_active_edges(graph, active):
        messages = _process_edges(program, properties[sources], weights_of(graph, task, sources, edges))
        destinations = graph.indices[edges]
        _reduce(program, reduced, destinations, messages)
        touched[destinations] = True
    return reduced, touched


def _yield_active_edges(graph: CsrArray, active: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield sources and CSR positions of the edges of active vertices, in parts of limited size."""
    ends = np.cumsum(graph.indptr[active + 1] - graph.indptr[active])
    first = 0
    while first < len(active):
        start = int(ends[first - 1]) if first else 0  # edges of earlier parts
        # A part has at least one vertex, even if the vertex has more than EDGES_AT_ONCE edges.
        end = max(first + 1, int(np.searchsorted(ends, start + EDGES_AT_ONCE, "right")))
        vertices, edge_ends = active[first:end], ends[first:end] - start
        degrees = np.diff(edge_ends, prepend=0)
        # For each edge, the start of its row minus the number of edges of earlier vertices of the part:
        # plus the edge's number in the part, this is the edge's position in CSR.
        offsets = np.repeat(graph.indptr[vertices] - (edge_ends - degrees), degrees)
        yield np.repeat(vertices, degrees), offsets + np.arange(len(offsets))
        first = end


def _process_edges(program: VertexProgram, properties: Values, weights: Values) -> Values:
    if isinstance(program.process_edge, str):
        return PROCESS[program.process_edge](properties, weights)
    return _map_rows(program.process_edge, properties, weights)


def _reduce(program: VertexProgram, reduced: Values, destinations: AnyIntegers, messages: Values) -> None:
    if isinstance(program.reduce, str):
        # ``at`` counts a destination as often as it appears, which an indexed assignment would not
        REDUCE[program.reduce].at(reduced, destinations, messages)
        return
    for destination, message in zip(destinations.tolist(), messages.tolist(), strict=True):
        reduced[destination] = float(program.reduce(float(reduced[destination]), message))


def _apply(program: VertexProgram, old: Values, reduced: Values, degrees: Integers) -> Values:
    if isinstance(program.apply, str):
        return APPLY[program.apply](old, reduced, degrees.astype(float))
    return _map_rows(program.apply, old, reduced, degrees.astype(float))


def _map_rows(function: Callable[..., float], *columns: Values) -> Values:
    """Apply a Python function of plain numbers to each row."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return np.fromiter((float(function(*row)) for row in rows), dtype=float)
