"""R-MAT graphs with any number of vertices and a tail: surrogates for graphs that are too large to ship.

All random numbers are words of Philox, a counter-based generator, by seed, purpose and draw number. They are
the same in every version of numpy. Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel
Random Numbers: As Easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import CsrArray, Integers, Values, check_shape, compressed
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.generators import check_probabilities, descend_quadrant

EDGES, ORDER, VALUES = range(3)  # purposes of draws
CANDIDATES = 2**18  # edges of one draw
_MAX_ROUNDS = 200  # a steep distribution may never yield enough existing or distinct edges


def draw_random_words(seed: int, purpose: int, draw_number: int, count: int) -> npt.NDArray[np.uint64]:
    """Return random 64-bit words. Equal arguments give equal words.

    Args:
        seed: key of the generator.
        purpose: ``EDGES``, ``ORDER`` or ``VALUES``.
        draw_number: number of the draw for this purpose.
        count: number of words.
    """
    return np.random.Philox(key=seed, counter=[0, 0, draw_number, purpose]).random_raw(count)


def rmat_graph(
    vertices: int,
    edges: int,
    tail: int = 0,
    duplicates: str = "drop",
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    seed: int = 0,
) -> CsrArray:
    """Draw an R-MAT graph of any number of vertices in random order, and a chain of ``tail`` vertices.

    Edges fall into quadrants of 2^scale vertices with probabilities ``a``, ``b``, ``c``, 1 - a - b - c. Edges
    of nonexistent vertices are drawn again. The chain starts at the vertex that a breadth-first search from
    the vertex of largest out-degree reaches last. Every search from there has ``tail`` more levels.

    Args:
        vertices: number of vertices without the tail.
        edges: number of edges without the tail.
        tail: number of vertices of the chain, which has as many edges.
        duplicates: ``drop`` draws duplicate edges again until all differ; ``keep`` keeps them, so that the
            result is not canonical.
        a: probability of the first quadrant; the defaults are those of Graph 500.
        b: probability of the upper right quadrant.
        c: probability of the lower left quadrant.
        seed: seed of all draws.

    Raises:
        WorkloadError: invalid probabilities, a shape that is too large, with ``drop`` more edges than
            positions, or too few existing or distinct edges.
    """
    check_probabilities(a, b, c, "rmat-graph")
    check_shape(vertices + tail, vertices + tail, edges, "rmat-graph")
    if duplicates == "drop" and edges > vertices * vertices:
        raise WorkloadError(
            f"edges={edges}; it should be at most {vertices * vertices}", location="rmat-graph"
        )
    stream = _Edges(vertices, (a, a + b, a + b + c), seed)
    keys = np.sort(stream.take(edges)) if duplicates == "keep" else _draw_distinct(stream, edges)
    return _build_matrix(keys, vertices, tail, seed)


class _Edges:
    """A stream of drawn edges, each as source times ``vertices`` plus destination."""

    def __init__(self, vertices: int, bounds: tuple[float, float, float], seed: int) -> None:
        self.vertices, self.seed = vertices, seed
        self.levels = (vertices - 1).bit_length()
        # Fixed point, which gives the same edges on every host; a cumulative probability of 1 does not fit 32
        # bits
        largest = 2**32 - 1
        first, second, third = (np.uint32(min(round(bound * 2**32), largest)) for bound in bounds)
        self.bounds = first, second, third
        sort_keys = draw_random_words(seed, ORDER, 0, vertices)
        self.order = np.argsort(sort_keys, kind="stable").astype(np.int64)
        self._batch_iterator = self._iterate_batches()
        self._surplus: Integers = np.empty(0, dtype=np.int64)

    def take(self, count: int) -> Integers:
        """Return the next ``count`` edges.

        Raises:
            WorkloadError: hardly any edge has existing vertices.
        """
        edges = np.empty(count, dtype=np.int64)
        length = 0
        while length < count:
            if not len(self._surplus):
                self._surplus = next(self._batch_iterator)
            batch = self._surplus[: count - length]
            edges[length : length + len(batch)] = batch
            length += len(batch)
            self._surplus = self._surplus[len(batch) :]
        return edges

    def _iterate_batches(self) -> Iterator[Integers]:
        """Yield the existing edges of each draw.

        Raises:
            WorkloadError: ``_MAX_ROUNDS`` draws in a row have no existing edge.
        """
        batch_number = empty_batches = 0
        while empty_batches < _MAX_ROUNDS:
            batch = self._draw_existing_edges(batch_number)
            empty_batches = 0 if len(batch) else empty_batches + 1
            batch_number += 1
            yield batch
        fault = f"of {CANDIDATES * empty_batches} edges drawn, none has both vertices below {self.vertices}"
        raise WorkloadError(fault, location="rmat-graph", fix="choose probabilities that differ less")

    def _draw_existing_edges(self, batch_number: int) -> Integers:
        """Return the candidates without edges of nonexistent vertices."""
        # Two draws of 32 bits in a word
        draws = draw_random_words(self.seed, EDGES, batch_number, CANDIDATES // 2 * self.levels).view(
            np.uint32
        )
        row: Integers = np.zeros(CANDIDATES, dtype=np.int64)
        col = row
        for draw in draws.reshape(self.levels, CANDIDATES):
            row, col = descend_quadrant(row, col, draw, self.bounds)
        exists = (row < self.vertices) & (col < self.vertices)
        keys: Integers = self.order[row[exists]] * self.vertices + self.order[col[exists]]
        return keys


def _draw_distinct(edge_stream: _Edges, edges: int) -> Integers:
    """Return ``edges`` distinct edges, sorted; duplicates are drawn again."""
    keys = np.empty(0, dtype=np.int64)
    for _ in range(_MAX_ROUNDS):
        fresh = edge_stream.take(edges - len(keys))
        fresh.sort()
        keys = np.concatenate([keys, fresh[_differs_from_previous(fresh) & ~_is_among(fresh, keys)]])
        keys.sort(kind="stable")  # two sorted runs, which are merged
        if len(keys) == edges:
            return keys
    fault = f"only {len(keys)} of {edges} distinct edges found: the distribution is too steep for so many"
    raise WorkloadError(fault, location="rmat-graph", fix="ask for fewer edges, or duplicates=keep")


def _differs_from_previous(keys: Integers) -> npt.NDArray[np.bool_]:
    """Return a mask of the sorted keys that differ from the key before."""
    return np.append(True, keys[1:] != keys[:-1])


def _is_among(keys: Integers, sorted_keys: Integers) -> npt.NDArray[np.bool_]:
    """Return a mask of the ``keys`` that are in ``sorted_keys``."""
    if not len(sorted_keys):
        return np.zeros(len(keys), dtype=bool)
    is_among: npt.NDArray[np.bool_] = (
        np.take(sorted_keys, np.searchsorted(sorted_keys, keys), mode="clip") == keys
    )
    return is_among


def _build_matrix(keys: Integers, vertices: int, tail: int, seed: int) -> CsrArray:
    """Return the matrix of sorted edges, followed by the chain; ``keys`` are overwritten with columns."""
    edges = len(keys)
    row_starts = np.arange(vertices + 1, dtype=np.int64) * vertices
    pointers: Integers = np.searchsorted(keys, row_starts).astype(np.int64)
    keys %= vertices
    values = _draw_values(seed, edges + tail)
    if tail:
        from scipy.sparse import csgraph  # noqa: PLC0415 - it brings scipy.linalg, which nothing else needs

        matrix = compressed((vertices, vertices), pointers, keys, values[:edges])
        last_reached = csgraph.breadth_first_order(
            matrix, vertex_of_largest_out_degree(matrix), return_predecessors=False
        )[-1]
        insertion_point = pointers[last_reached + 1]
        chain = np.arange(vertices, vertices + tail, dtype=np.int64)
        # The first vertex of the chain is the largest column of its row, so that it ends the row
        keys = np.concatenate([keys[:insertion_point], chain[:1], keys[insertion_point:], chain[1:]])
        pointers[last_reached + 1 :] += 1
        chain_pointers: Integers = np.minimum(
            np.arange(1, tail + 1, dtype=np.int64), tail - 1
        )  # the last vertex of the chain has no edge
        pointers = np.concatenate([pointers, pointers[-1] + chain_pointers])
    return compressed((vertices + tail, vertices + tail), pointers, keys, values)


def _draw_values(seed: int, count: int) -> Values:
    """Return values uniform from 0.5, which never occurs, to 1.5.

    The largest draw, 1 - 2^-53, gives 1.5 by rounding.
    """
    values = np.empty(count)
    for draw_number, start in enumerate(range(0, count, CANDIDATES)):
        piece = values[start : start + CANDIDATES]
        piece[:] = draw_random_words(seed, VALUES, draw_number, len(piece)) >> 11
    # A double has 53 bits, so that each draw of 53 bits is exact; a draw of 0 would give 0.5
    values *= 2.0**-53
    return np.maximum(values, np.finfo(float).eps, out=values) + 0.5


def vertex_of_largest_out_degree(matrix: CsrArray) -> int:
    """Return the vertex of largest out-degree, the smallest of several."""
    return int(np.argmax(np.diff(matrix.indptr)))
