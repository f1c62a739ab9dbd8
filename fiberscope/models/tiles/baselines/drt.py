"""DRT: tiles that grow from microtiles while the kernel runs, up to the capacity of the buffers.

B is stationary. In a panel of some columns of microtiles, rows of microtiles are added while they fit B's
buffer. Then rows of microtiles of A, in the matching columns, are added while they fit A's buffer. A group
has at least one row, even if the row does not fit. A pair of groups is a task, whose partial output is
written.

Source: DRT (Odemuyiwa et al., ASPLOS 2023); the order of growth is that of its public simulator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import count_csf_words
from fiberscope.workloads.tiles.tiling import TiledTensor, tile

MICROTILE = 32  # coordinates of a side, as in the public simulator
PANEL = 128  # columns of microtiles of a panel, as in the public simulator

Span = tuple[int, int]  # of microtiles: the first, and the first beyond


@dataclass(frozen=True)
class Task:
    """A group of A's microtiles times a group of B's microtiles.

    Args:
        i, k, j: spans of the groups, in microtiles: A's group is i x k, B's group k x j.
        a_words, b_words: words of the groups, of 4 bytes.
    """

    i: Span
    k: Span
    j: Span
    a_words: int
    b_words: int


@dataclass(frozen=True)
class Dynamic:
    """Traffic of DRT: A's group counts at each task, B's group once for consecutive tasks.

    Args:
        microtile: side of a microtile.
        panel: initial columns of microtiles of a panel.
        tasks: in the order of execution.
        a_words, b_words, output_words: total traffic, in words of 4 bytes.
    """

    microtile: int
    panel: int
    tasks: Sequence[Task]
    a_words: int
    b_words: int
    output_words: int

    def count_words_by_operand(self) -> dict[str, int]:
        """Return the words by operand, of the output as ``O``, and in total."""
        total = self.a_words + self.b_words + self.output_words
        return {"A": self.a_words, "B": self.b_words, "O": self.output_words, "total": total}


def grow_dynamic_tiles(
    a: SparseTensor, b: SparseTensor, capacity: int, microtile: int = MICROTILE, panel: int = PANEL
) -> Dynamic:
    """Grow tiles for A times B, with loops in the order i, k, j.

    A group without nonzeros belongs to no task, and moves nothing.

    Args:
        a, b: matrices; A has as many columns as B has rows.
        capacity: words of A's buffer, and of B's buffer. A single row of microtiles may exceed it.
        microtile: side of a microtile, in coordinates.
        panel: initial columns of microtiles of a panel; a panel widens while all rows fit.
    """
    micro_a, micro_b = (_Microtiles(tile(matrix, (microtile, microtile))) for matrix in (a, b))
    patterns = (a.matrix().astype(np.bool_), b.matrix().astype(np.bool_))
    traffic, tasks = np.zeros(3, np.int64), []  # words of A, B and the output
    for k, j, b_words in _iterate_b_groups(micro_b, capacity, panel):
        # B's group stays while A's groups with the same span of k pass
        groups = list(_iterate_groups(micro_a.count_row_words(k), capacity))
        inner_tasks = [Task(i, k, j, words, b_words) for i, words in groups if words]
        if inner_tasks and b_words:
            tasks.extend(inner_tasks)
            rows = np.array([task.i for task in inner_tasks]) * microtile
            output_words = _count_partial_words(*_cut_patterns(patterns, k, j, microtile), rows)
            traffic += (sum(task.a_words for task in inner_tasks), b_words, output_words)
    return Dynamic(microtile, panel, tasks, *map(int, traffic))


class _Microtiles:
    """Words of a matrix's microtiles, by column of microtiles."""

    def __init__(self, tiled: TiledTensor) -> None:
        self.height, self.width = tiled.grid
        rows, columns = tiled.ids
        # by column, so that the microtiles in a span of columns are one slice
        order = np.argsort(columns, kind="stable")
        self.rows, self.words = rows[order], tiled.words[order]
        self.first = np.append(0, np.cumsum(np.bincount(columns, minlength=self.width)))

    def count_row_words(self, columns: Span) -> Integers:
        """Return the words of the microtiles of each row in a span of columns."""
        span = slice(*self.first[list(columns)])
        return np.bincount(self.rows[span], self.words[span], self.height).astype(np.int64)


def _iterate_b_groups(micro: _Microtiles, capacity: int, panel: int) -> Iterator[tuple[Span, Span, int]]:
    """Yield the spans of rows and columns, and the words, of B's groups, which are stationary."""
    j = 0
    while j < micro.width:
        end = min(j + panel, micro.width)
        # the panel widens while all its rows fit B's buffer as one group
        while end < micro.width and micro.count_row_words((j, end + 1)).sum() <= capacity:
            end += 1
        for k, words in _iterate_groups(micro.count_row_words((j, end)), capacity):
            yield k, (j, end), words
        j = end


def _iterate_groups(words: Integers, capacity: int) -> Iterator[tuple[Span, int]]:
    """Yield spans of as many rows as fit, at least one, and the words of each span."""
    sums = np.append(0, np.cumsum(words))
    start = 0
    while start < len(words):
        # the last end whose sum fits; a row that does not fit alone is a group all the same
        end = max(start + 1, int(np.searchsorted(sums, sums[start] + capacity, side="right")) - 1)
        yield (start, end), int(sums[end] - sums[start])
        start = end


def _cut_patterns(
    patterns: tuple[CsrArray, CsrArray], k: Span, j: Span, side: int
) -> tuple[CsrArray, CsrArray]:
    """Return the pattern of A in a span of k, and of B in a span of k and a span of j."""
    ks, js = slice(k[0] * side, k[1] * side), slice(j[0] * side, j[1] * side)
    return patterns[0][:, ks], patterns[1][ks, js]


def _count_partial_words(a: CsrArray, b: CsrArray, rows: Integers) -> int:
    """Return the words of the partial outputs A B of spans of rows; only nonzeros count, not their values."""
    product = a @ b
    ends = np.minimum(rows, product.shape[0])  # the last microtile may extend beyond the matrix
    nonzeros = np.diff(product.indptr[ends], axis=1)
    nonempty_rows = np.append(0, np.cumsum(np.diff(product.indptr) > 0))
    words = count_csf_words(nonzeros, np.diff(nonempty_rows[ends], axis=1), 2)
    return int(words[nonzeros > 0].sum())  # an empty output is not written, not even its segments
