"""What a product is and costs, counted plainly from the matrices, apart from Gamma's own parts."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse


@dataclass
class Combination:
    """One task: what it combines, and the coordinates of what comes out. Children are combinations."""

    row: int
    nonzeros: list[int]
    children: list[Combination]
    is_root: bool
    output: set[int] = field(default_factory=set)

    @property
    def merged(self) -> int:
        """Elements of partial fibers that it merges."""
        return sum(len(child.output) for child in self.children)


def combinations(a: Any, b: Any, radix: int, tile: Fraction | float = math.inf) -> list[Combination]:
    """All tasks of A times B: a tree for each row that is not empty, or one a subrow and one over these.

    Rows whose fibers have more than ``tile`` elements come in subrows, by tiles of so many elements of B.
    """
    tasks: list[Combination] = []
    for row in range(a.shape[0]):
        made = [_tree(row, subrow, a, b, radix, tasks) for subrow in subrows(a, b, row, tile)]
        if len(made) > 1:
            _tree(row, made, a, b, radix, tasks)
        if made:
            tasks[-1].is_root = True
    return tasks


def subrows(a: Any, b: Any, row: int, tile: Fraction | float) -> list[list[int]]:
    """The nonzeros of a row, by subrow."""
    nonzeros = range(a.indptr[row], a.indptr[row + 1])
    starts = [int(b.indptr[k]) for k in a.indices[nonzeros]]
    fibers = sum(int(b.indptr[k + 1] - b.indptr[k]) for k in a.indices[nonzeros])
    found: dict[int, list[int]] = {}
    for nonzero, start in zip(nonzeros, starts, strict=True):
        found.setdefault(int(start // tile) if fibers > tile else 0, []).append(nonzero)
    return list(found.values())


def _tree(row: int, fibers: Any, a: Any, b: Any, radix: int, tasks: list[Combination]) -> Combination:
    """Tasks that make one fiber of these, filled from the root's end; the root."""
    waiting: deque[int | Combination] = deque(fibers)
    spare = (1 - len(waiting)) % (radix - 1)  # inputs by which the first task falls short of the radix
    while True:
        taken = [waiting.popleft() for _ in range(min(radix - spare, len(waiting)))]
        nonzeros = [source for source in taken if not isinstance(source, Combination)]
        children = [source for source in taken if isinstance(source, Combination)]
        task = Combination(row, nonzeros, children, False)
        task.output = set().union(
            *(b.indices[b.indptr[k] : b.indptr[k + 1]].tolist() for k in a.indices[nonzeros]),
            *(child.output for child in children),
        )
        tasks.append(task)
        if not waiting:
            return task
        waiting.append(task)
        spare = 0


def multiplies(a: Any, b: Any) -> int:
    """Products: for each k, nonzeros of A's column times nonzeros of B's row."""
    return int(np.bincount(a.indices, minlength=a.shape[1]) @ np.diff(b.indptr))


def product(a: Any, b: Any) -> sparse.csr_array:
    """A times B by dense arithmetic, with an entry wherever there is a product, even if the sum is zero."""
    dense = a.toarray() @ b.toarray()
    entries = (pattern(a) @ pattern(b)) > 0
    rows, columns = np.nonzero(entries)
    pointers = np.concatenate([[0], np.cumsum(entries.sum(axis=1))])
    return sparse.csr_array((dense[rows, columns], columns, pointers), shape=dense.shape)


def pattern(matrix: Any) -> Any:
    """1 wherever an entry is stored."""
    ones = np.ones(len(matrix.indices))
    return sparse.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape).toarray()


def lines(items: int, item_bytes: int, line_bytes: int) -> int:
    """Lines that so many items, packed, take."""
    return -(-items * item_bytes // line_bytes)


def lines_of_b(a: Any, b: Any, element: int, pointer: int, line: int) -> int:
    """Distinct lines of B's nonzeros and row pointers that the rows selected by A lie in."""
    data: set[int] = set()
    pointers: set[int] = set()
    for row in set(a.indices.tolist()):
        first, last = int(b.indptr[row]), int(b.indptr[row + 1])
        data.update(range(first * element // line, -(-last * element // line) if last > first else 0))
        pointers.update(range(row * pointer // line, -(-(row + 2) * pointer // line)))
    return len(data) + len(pointers)
