"""How much of a buffer fibers fill."""

from __future__ import annotations

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.fibertree import FiberTree

__all__ = ["lines_below", "lines_of"]


def lines_of(tree: FiberTree, rank: str, elements_per_line: int) -> Integers:
    """Lines of each fiber of a rank: every one begins a line."""
    occupancies = np.diff(tree.segments[tree.level(rank)])
    return -(-occupancies // elements_per_line)


def lines_below(tree: FiberTree, root: str, rank: str, elements_per_line: int) -> Integers:
    """Lines that the fibers of ``rank`` fill, by the fiber of ``root`` that they are below."""
    upper, lower = tree.level(root), tree.level(rank)
    bounds = np.arange(len(tree.segments[upper]))
    for level in range(upper, lower):
        bounds = tree.segments[level][bounds]
    total = np.concatenate(([0], np.cumsum(lines_of(tree, rank, elements_per_line))))
    return np.asarray(np.diff(total[bounds]))
