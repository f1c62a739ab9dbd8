"""R-MAT graphs with a given number of vertices and a tail: stand-ins for graphs too large to come along.

All draws are words of Philox, a counter-based generator, by seed, purpose and number of the draw: they are
the same in every version of numpy. Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel
Random Numbers: As Easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import CsrArray, Integers, Values, check_shape, compressed
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.generators import check_chances, quadrant

__all__ = ["busiest", "rmat_graph", "words"]

EDGES, ORDER, VALUES = range(3)  # what draws are for
CANDIDATES = 2**18  # edges that are drawn together
_MOST_ROUNDS = 200


def words(seed: int, purpose: int, number: int, count: int) -> npt.NDArray[np.uint64]:
    """``count`` random words: those of draw ``number`` for a ``purpose``."""
    return np.random.Philox(key=seed, counter=[0, 0, number, purpose]).random_raw(count)


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
    """An R-MAT graph of any number of vertices, in random order, and behind it a chain of ``tail`` vertices.

    Edges fall into quadrants of 2^scale vertices with chances ``a``, ``b``, ``c``, 1 - a - b - c; those of a
    vertex that is not there are drawn again. The chain hangs on the vertex that a breadth-first search from
    the vertex of largest out-degree reaches last, so that every search from there has ``tail`` levels more.

    Args:
        vertices: without the tail, whose vertices come after them.
        edges: without the tail, which has one for each of its vertices.
        tail: the vertices of the chain.
        duplicates: ``drop`` draws edges that are there again until all differ; ``keep`` leaves them, and so
            the result is not canonical.
        a: the chance of the first quadrant; the defaults are Graph 500's.
        b: the chance of the upper right quadrant.
        c: the chance of the lower left quadrant.
        seed: the seed of all draws.

    Raises:
        WorkloadError: chances that are none, more edges than places, or more than come up in many draws.
    """
    check_chances(a, b, c, "rmat-graph")
    check_shape(vertices + tail, vertices + tail, edges, "rmat-graph")
    if duplicates == "drop" and edges > vertices * vertices:
        raise WorkloadError(f"edges={edges}; it should be at most {vertices * vertices}", where="rmat-graph")
    drawn = _Edges(vertices, (a, a + b, a + b + c), seed)
    keys = np.sort(drawn.take(edges)) if duplicates == "keep" else _distinct(drawn, edges)
    return _with_tail(keys, vertices, tail, seed)


class _Edges:
    """Edges as they are drawn, each as source times ``vertices`` plus destination."""

    def __init__(self, vertices: int, bounds: tuple[float, float, float], seed: int) -> None:
        self.vertices, self.seed = vertices, seed
        self.levels = (vertices - 1).bit_length()
        largest = 2**32 - 1
        first, second, third = (np.uint32(min(round(bound * 2**32), largest)) for bound in bounds)
        self.bounds = first, second, third
        shuffled = words(seed, ORDER, 0, vertices)
        self.order = np.argsort(shuffled, kind="stable").astype(np.int64)
        self.source = self._batches()
        self.left: Integers = np.empty(0, dtype=np.int64)

    def take(self, count: int) -> Integers:
        """The next ``count`` edges.

        Raises:
            WorkloadError: hardly any edge has vertices that are there.
        """
        taken = np.empty(count, dtype=np.int64)
        place = 0
        while place < count:
            if not len(self.left):
                self.left = next(self.source)
            part = self.left[: count - place]
            taken[place : place + len(part)] = part
            place += len(part)
            self.left = self.left[len(part) :]
        return taken

    def _batches(self) -> Iterator[Integers]:
        number = empty = 0
        while empty < _MOST_ROUNDS:
            batch = self._drawn(number)
            empty = 0 if len(batch) else empty + 1
            number += 1
            yield batch
        what = f"of {CANDIDATES * empty} edges drawn, none has both vertices below {self.vertices}"
        raise WorkloadError(what, where="rmat-graph", fix="take chances that are less steep")

    def _drawn(self, number: int) -> Integers:
        """Return the candidates without those of missing vertices."""
        chances = words(self.seed, EDGES, number, CANDIDATES // 2 * self.levels).view(np.uint32)
        row: Integers = np.zeros(CANDIDATES, dtype=np.int64)
        col = row
        for chance in chances.reshape(self.levels, CANDIDATES):
            row, col = quadrant(row, col, chance, self.bounds)
        there = (row < self.vertices) & (col < self.vertices)
        keys: Integers = self.order[row[there]] * self.vertices + self.order[col[there]]
        return keys


def _distinct(drawn: _Edges, edges: int) -> Integers:
    """Return this number of distinct edges, sorted; duplicates are drawn again."""
    keys = np.empty(0, dtype=np.int64)
    for _ in range(_MOST_ROUNDS):
        fresh = drawn.take(edges - len(keys))
        fresh.sort()
        keys = np.concatenate([keys, fresh[_differing(fresh) & ~_among(fresh, keys)]])
        keys.sort(kind="stable")  # two sorted runs, which are merged
        if len(keys) == edges:
            return keys
    what = f"only {len(keys)} of {edges} distinct edges found: the distribution is too steep for so many"
    raise WorkloadError(what, where="rmat-graph", fix="ask for fewer edges, or duplicates=keep")


def _differing(keys: Integers) -> npt.NDArray[np.bool_]:
    """Return which sorted keys differ from the key before."""
    return np.append(True, keys[1:] != keys[:-1])


def _among(keys: Integers, sorted_keys: Integers) -> npt.NDArray[np.bool_]:
    """Return which of ``keys`` are among ``sorted_keys``."""
    if not len(sorted_keys):
        return np.zeros(len(keys), dtype=bool)
    is_among: npt.NDArray[np.bool_] = (
        np.take(sorted_keys, np.searchsorted(sorted_keys, keys), mode="clip") == keys
    )
    return is_among


def _with_tail(keys: Integers, vertices: int, tail: int, seed: int) -> CsrArray:
    """The matrix of sorted edges, and the chain behind it."""
    edges = len(keys)
    firsts = np.arange(vertices + 1, dtype=np.int64) * vertices
    pointers: Integers = np.searchsorted(keys, firsts).astype(np.int64)
    keys %= vertices
    values = _values(seed, edges + tail)
    if tail:
        from scipy.sparse import csgraph  # noqa: PLC0415 - it brings scipy.linalg, which nothing else needs

        matrix = compressed((vertices, vertices), pointers, keys, values[:edges])
        end = csgraph.breadth_first_order(matrix, busiest(matrix), return_predecessors=False)[-1]
        cut = pointers[end + 1]
        chain = np.arange(vertices, vertices + tail, dtype=np.int64)
        keys = np.concatenate([keys[:cut], chain[:1], keys[cut:], chain[1:]])
        pointers[end + 1 :] += 1
        ends: Integers = np.minimum(
            np.arange(1, tail + 1, dtype=np.int64), tail - 1
        )  # the last vertex of the chain has no edge
        pointers = np.concatenate([pointers, pointers[-1] + ends])
    return compressed((vertices + tail, vertices + tail), pointers, keys, values)


def _values(seed: int, count: int) -> Values:
    """Values uniform in (0.5, 1.5)."""
    values = np.empty(count)
    for number, start in enumerate(range(0, count, CANDIDATES)):
        part = values[start : start + CANDIDATES]
        part[:] = words(seed, VALUES, number, len(part)) >> 11
    values *= 2.0**-53
    return np.maximum(values, np.finfo(float).eps, out=values) + 0.5


def busiest(matrix: CsrArray) -> int:
    """The vertex of largest out-degree, the smallest of several."""
    return int(np.argmax(np.diff(matrix.indptr)))
