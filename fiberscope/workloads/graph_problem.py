"""Graph algorithms as a problem: BFS, SSSP, PageRank, or a user's vertex program."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field

from fiberscope.workloads import synchronous
from fiberscope.workloads.canonical import CsrArray, Integers, Values
from fiberscope.workloads.errors import WorkloadError, suggest
from fiberscope.workloads.problem import Problem, ProblemParameters
from fiberscope.workloads.program_file import check_program, read_program
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.synchronous import GraphTask
from fiberscope.workloads.verification import Comparison, Rounding
from fiberscope.workloads.vertex_program import BFS, PAGERANK, SSSP, VertexProgram

MAX_DEGREE = "max-degree"
MAX_VERTICES = 1 << 31  # tokens carry vertex numbers as C's int
PROGRAMS = {"bfs": BFS, "sssp": SSSP, "pagerank": PAGERANK}
RANK_TOLERANCE = 1e-6  # relative error that passes if all vertices are active: sums in another order differ


def _validate_root(root: object) -> int | str:
    """Return a valid vertex number, or ``MAX_DEGREE``.

    Raises:
        ValueError: the root is neither.
    """
    if root == MAX_DEGREE:
        return MAX_DEGREE
    if isinstance(root, bool) or not isinstance(root, int) or root < 0:
        raise ValueError(f"it should be a vertex, counted from 0, or {MAX_DEGREE}")
    return root


class GraphParameters(ProblemParameters):
    """Parameters of a graph problem.

    Args:
        algorithm: ``bfs``, ``sssp``, ``pagerank``, or a Python file with a ``PROGRAM``.
        root: a 0-based vertex, or ``max-degree``: the first vertex with the largest out-degree.
        weights: see ``GraphTask``.
        iterations: the number of iterations of a program whose vertices are all active, such as PageRank.
    """

    algorithm: str = "bfs"
    root: Annotated[int | str, BeforeValidator(_validate_root)] = MAX_DEGREE
    weights: Literal["rule", "file", "unit"] = "rule"
    iterations: Annotated[int, Field(ge=1, le=10_000)] = 10


class GraphAlgorithm(Problem):
    """An algorithm on a graph, whose rows are sources and whose columns are destinations.

    ``check_operands`` sets ``task``, ``reference`` and ``tolerance``, which the other methods read.

    The answer is a number for each vertex: a rank, or the distance from the root, infinite if unreachable.
    """

    kind = "graph"
    answer = "list of vertex properties"
    tensors = ("G",)
    Parameters = GraphParameters
    inputs = ("G", "A0", "P0")
    parameters: GraphParameters

    @property
    def title(self) -> str:
        """The algorithm, and its root or iterations."""
        program = self.task.program
        if program.all_active:
            return f"{program.name}, {self.task.iterations} iterations"
        return f"{program.name} from vertex {self.task.root}"

    @property
    def graph(self) -> CsrArray:
        """The matrix of the graph."""
        return self.operands["G"].matrix

    def check_operands(self) -> None:
        """Check the graph, the root and the weights; set ``task``, ``reference`` and ``tolerance``.

        Raises:
            WorkloadError: not square, too many vertices, an unknown root or algorithm, a program that fails
                (see ``check_program``), or a cycle of negative weight that the root reaches.
        """
        shape, name = self.operands["G"].shape, self.operands["G"].name
        if shape[0] != shape[1]:
            fault = f"a graph is a square matrix, and this is {shape[0]} x {shape[1]}"
            raise WorkloadError(fault, location=name, fix="give an adjacency matrix")
        if shape[0] > MAX_VERTICES:
            fault = f"{shape[0]} vertices; graphs here have 2^31 at the most"
            raise WorkloadError(fault, location=name, fix="give a part of the graph")
        self.task = self._build_task(_find_program(self.parameters.algorithm), shape[0])
        if self.task.program not in PROGRAMS.values():
            check_program(self.graph, self.task, self.parameters.algorithm)
        self.reference, self.tolerance = self._choose_reference()
        if self._has_negative_weights():
            self._refuse_endless()

    def _build_task(self, program: VertexProgram, vertices: int) -> GraphTask:
        """Return the task with its root and its largest number of iterations.

        Raises:
            WorkloadError: the root is no vertex of the graph.
        """
        parameters = self.parameters
        degrees = np.diff(self.graph.indptr)
        root = int(np.argmax(degrees)) if parameters.root == MAX_DEGREE else int(parameters.root)
        if root >= vertices:
            raise WorkloadError(
                f"problem.root is {root}, and there are {vertices} vertices: 0 to {vertices - 1}, "
                f"or {MAX_DEGREE}"
            )
        # A shortest path visits each vertex at most once; the last iteration finds no change.
        iterations = parameters.iterations if program.all_active else vertices + 1
        return GraphTask(program, root, iterations, parameters.weights)

    def _choose_reference(self) -> tuple[str, float]:
        """Return the name of the reference, and the relative error that passes."""
        if self.task.program in (BFS, SSSP):
            loop = self._has_negative_weights()  # for which Dijkstra's algorithm is not valid
            return ("a synchronous loop" if loop else "scipy.sparse.csgraph"), 0.0
        return "a synchronous loop", RANK_TOLERANCE if self.task.program.all_active else 0.0

    def _has_negative_weights(self) -> bool:
        reads_weights = self.task.program is SSSP and self.task.weights == "file"
        return reads_weights and bool(np.any(self.graph.data < 0))

    def _refuse_endless(self) -> None:
        """Raise ``WorkloadError`` if distances still change after as many iterations as a path can have."""
        if not synchronous.run(self.graph, self.task).ended:
            fault = "a cycle of negative weight can be reached from the root: no distance is the least"
            raise WorkloadError(fault, location=self.operands["G"].name, fix="use problem.weights=rule")

    def machine_inputs(self) -> tuple[CsrArray, GraphTask]:
        """Return the graph as CSR of doubles, which may have parallel edges, and the task."""
        return self.graph, self.task

    def matrices(self) -> dict[str, CsrArray]:
        """Return weights by destination and source (1 for BFS), the root's property, and all properties.

        Raises:
            WorkloadError: the algorithm is neither BFS nor SSSP, or the graph has parallel edges.
        """
        graph, task = self.machine_inputs()
        if task.program not in (BFS, SSSP):
            fault = f"the cascade is that of bfs and sssp, and this is {task.program.name}"
            raise WorkloadError(fault, fix="give problem.algorithm=bfs or sssp")
        sources = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
        weights = np.ones(graph.nnz)
        if task.program.uses_weights:
            weights = synchronous.weights_of(graph, task, sources, np.arange(graph.nnz))
        edges = sparse.coo_array((weights, (graph.indices, sources)), shape=graph.shape).tocsr()
        edges.sum_duplicates()
        if edges.nnz < graph.nnz:
            fault = f"{graph.nnz - edges.nnz} parallel edges, and a tensor has one value at a place"
            raise WorkloadError(fault, location=self.operands["G"].name, fix="give a graph without")
        properties = task.program.start(np.diff(graph.indptr), task.root)
        vertices = np.arange(len(properties))
        return {
            "G": edges,
            "A0": _build_column(properties, vertices[task.root : task.root + 1]),
            "P0": _build_column(properties, vertices),
        }

    def check(self, answer: Values) -> Comparison:
        """Compare with scipy's distances, or with the properties of a synchronous loop."""
        return _compare(answer, self._compute_expected(), self._find_tolerance())

    def cut_to(self, iterations: int) -> Self:
        """Return a copy of the problem that ends after ``iterations`` iterations, to check its answer."""
        shortened = copy(self)  # shallow: the copy shares the graph
        shortened.task = replace(self.task, iterations=iterations)
        return shortened

    def _find_tolerance(self) -> float:
        """Return the largest relative error that passes; for floats, that of rounding in nonnegative sums.

        A path has fewer edges than the graph has vertices. In an iteration with all vertices active, a vertex
        receives as many messages as it has edges, and its rank is rounded again.
        """
        if self.precision is None or not self.precision.floats:
            return self.tolerance
        if not self.task.program.all_active:
            return Rounding.estimate(self.precision, self.graph.shape[0], 1).tolerance
        rounds, max_in_degree = self.task.iterations, np.bincount(self.graph.indices).max(initial=0)
        return Rounding.estimate(self.precision, rounds * int(max_in_degree), rounds).tolerance

    def _compute_expected(self) -> Values:
        """Return the answer of the reference for each vertex."""
        task, graph = self.task, self.graph
        if self.reference == "scipy.sparse.csgraph":
            return _count_hops(graph, task.root) if task.program is BFS else _find_distances(graph, task)
        properties = synchronous.run(graph, task).properties  # PageRank: the rank over the out-degree
        return properties * np.maximum(np.diff(graph.indptr), 1) if task.program is PAGERANK else properties

    def outline(self, answer: Any) -> None:  # noqa: ANN401 - as of the base
        """Return None, as the answer is no tensor."""


def _find_program(algorithm: str) -> VertexProgram:
    if algorithm.endswith(".py"):
        return read_program(Path(algorithm))
    if algorithm not in PROGRAMS:
        fault = f"problem.algorithm is {algorithm}; it should be a Python file, or one of "
        raise WorkloadError(fault + ", ".join(PROGRAMS), fix=suggest(algorithm, PROGRAMS))
    return PROGRAMS[algorithm]


def _build_column(values: Values, rows: Integers) -> CsrArray:
    """Return values, including zeros and infinities, as a matrix with one column."""
    # from coordinates, as a conversion of a dense column would drop the zeros
    column = np.zeros(len(rows), np.int64)
    return sparse.coo_array((values[rows], (rows, column)), shape=(len(values), 1)).tocsr()


def _count_hops(graph: CsrArray, root: int) -> Values:
    """Return the edges from the root, by scipy's breadth-first search; infinite for unreachable vertices."""
    from scipy.sparse import csgraph  # noqa: PLC0415 - it brings scipy.linalg, which nothing else needs

    order, predecessors = csgraph.breadth_first_order(graph, root)
    positions = np.empty(graph.shape[0], np.int64)
    positions[order] = np.arange(len(order))
    # For each vertex of ``order`` but the root, the position of the vertex that discovered it. The positions
    # do not fall, so a level ends before the first vertex that the next level has discovered.
    parents = positions[predecessors[order[1:]]]
    hops = np.full(graph.shape[0], np.inf)
    hops[root], first, end, level = 0.0, 0, 1, 0.0
    while first < end:
        first, end, level = end, 1 + int(np.searchsorted(parents, end)), level + 1.0
        hops[order[first:end]] = level
    return hops


def _find_distances(graph: CsrArray, task: GraphTask) -> Values:
    from scipy.sparse import csgraph  # noqa: PLC0415 - it brings scipy.linalg, which nothing else needs

    sources = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    weights = synchronous.weights_of(graph, task, sources, np.arange(graph.nnz))
    weighted = sparse.csr_array((weights, graph.indices, graph.indptr), shape=graph.shape)
    return np.asarray(csgraph.dijkstra(weighted, indices=np.array([task.root]))[0])


def _compare(answer: Values, expected: Values, tolerance: float) -> Comparison:
    """Compare the vertices that both have reached; count the vertices that only one has reached.

    The error is relative to the expected value; a difference from an expected 0 is infinite.
    """
    reached, expected_reached = np.isfinite(answer), np.isfinite(expected)
    both = reached & expected_reached
    difference, size = np.abs(answer[both] - expected[both]), np.abs(expected[both])
    error = np.divide(difference, size, out=np.where(difference > 0, np.inf, 0.0), where=size > 0)
    missing = np.count_nonzero(expected_reached & ~reached)
    extra = np.count_nonzero(reached & ~expected_reached)
    return Comparison(float(error.max(initial=0.0)), int(missing), int(extra), tolerance)
