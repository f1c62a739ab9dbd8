"""Views of a workload as a graph: ``graph:order=degree,duplicates=least,of=wiki-Vote``.

The edges are those of the workload after ``of``, which is last and may be any text that names a workload.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from fiberscope.workloads.canonical import (
    Coordinates,
    CsrArray,
    Duplicates,
    Integers,
    Values,
    from_coordinates,
)
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.graphs import ORDER, draw_random_words
from fiberscope.workloads.spec import Spec, format_spec, parse_parameters, split_view

GRAPH = "graph"


class GraphView(Spec):
    """View of a matrix as a graph.

    Args:
        loops: whether to keep edges from a vertex to itself.
        edges: ``directed`` keeps the edges; ``undirected`` adds the reverse of each edge.
        duplicates: whether values of parallel edges are added, reduced to the smallest, or all kept.
        order: numbering of the vertices: as in the matrix (``given``), by falling sum of in- and out-degree
            (``degree``), or ``random`` by the seed. Degrees are counted after ``loops`` and ``edges``, and
            before ``duplicates``.
    """

    loops: Literal["keep", "drop"] = "keep"
    edges: Literal["directed", "undirected"] = "directed"
    duplicates: Duplicates = "sum"
    order: Literal["given", "degree", "random"] = "given"


def graph_view(text: str) -> tuple[GraphView, str]:
    """Parse the text of a view; return the view, and the text of the workload after ``of``.

    Raises:
        WorkloadError: no workload, an unknown key (naming the nearest), or an invalid value.
    """
    head, of = split_view(text)
    return parse_parameters(head, GraphView), of


def full_view(view: GraphView, of: str) -> str:
    """Return the text of a view with all its parameters, those with default values too."""
    return f"{format_spec(GRAPH, view)},of={of}"


def apply_view(matrix: CsrArray, view: GraphView, location: str) -> CsrArray:
    """Return the adjacency matrix of a view; it is not canonical if parallel edges are kept.

    Args:
        matrix: a square matrix; a nonzero at (u, v) is an edge from u to v.
        view: the operations on the graph.
        location: name in errors.

    Raises:
        WorkloadError: the matrix is not square.
    """
    if matrix.shape[0] != matrix.shape[1]:
        fault = f"a graph is a square matrix, and this is {matrix.shape[0]} x {matrix.shape[1]}"
        raise WorkloadError(fault, location=location, fix="give an adjacency matrix")
    rows: Coordinates = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    cols: Coordinates = matrix.indices
    values: Values = matrix.data
    if view.loops == "drop":
        differ = rows != cols
        rows, cols, values = rows[differ], cols[differ], values[differ]
    if view.edges == "undirected":
        has_reverse = rows != cols  # a loop is its own reverse
        reverse_rows, reverse_cols = cols[has_reverse], rows[has_reverse]
        rows, cols = np.concatenate([rows, reverse_rows]), np.concatenate([cols, reverse_cols])
        values = np.concatenate([values, values[has_reverse]])
    if view.order != "given":
        numbers = _renumber(rows, cols, matrix.shape[0], view)
        rows, cols = numbers[rows], numbers[cols]
    return from_coordinates(rows, cols, values, matrix.shape, location, view.duplicates)


def _renumber(rows: Coordinates, cols: Coordinates, vertices: int, view: GraphView) -> Integers:
    """Return the new number of each vertex."""
    if view.order == "random":
        order = np.argsort(draw_random_words(view.seed, ORDER, 0, vertices), kind="stable")
    else:
        degrees = np.bincount(rows, minlength=vertices) + np.bincount(cols, minlength=vertices)
        order = np.argsort(-degrees, kind="stable")  # equal degrees keep their order
    # ``order`` has the old numbers by new number; the inverse permutation is needed
    numbers: Integers = np.empty(vertices, dtype=np.int64)
    numbers[order] = np.arange(vertices)
    return numbers
