"""The passes over A: which columns of B are held in each, and how much of them fits.

Each PE holds a column. A column that is longer than the buffer is cut along K; so are those beside it, since
A's slice is streamed to all. Source: MINT (IPDPS 2021), Section IV-A.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fiberscope.accelerators.weight_stationary.configuration import WeightStationaryConfiguration
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.sparse import sparse

__all__ = ["Pass", "passes"]


@dataclass(frozen=True)
class Pass:
    """One pass.

    Args:
        first, last: columns of B, a PE each.
        low, high: the low and high of the shared rank K.
        words: the words of B that the buffers hold.
        longest: words of the longest column.
    """

    first: int
    last: int
    low: int
    high: int
    words: int
    longest: int


def passes(b: CsrArray, parameters: WeightStationaryConfiguration) -> Iterator[Pass]:
    """The passes in their order: columns of B as many as there are PEs, and for them slices of K."""
    columns = sparse.csc_array(b)
    for first in range(0, b.shape[1], parameters.pe.count):
        last = min(first + parameters.pe.count, b.shape[1])
        group = sparse.csr_array(columns[:, first:last])
        for low, high in _slices(group, parameters):
            lengths = _lengths(group[low:high], high - low, parameters)
            yield Pass(first, last, low, high, int(lengths.sum()), int(lengths.max(initial=0)))


def _slices(group: CsrArray, parameters: WeightStationaryConfiguration) -> Iterator[tuple[int, int]]:
    """Slices of K so long that no column exceeds the buffer."""
    depth, buffer = group.shape[0], parameters.pe.buffer
    if parameters.acf.b == "dense":
        yield from ((low, min(low + buffer, depth)) for low in range(0, depth, buffer))
        return
    low = 0
    held = np.zeros(group.shape[1], np.int64)
    for row in range(depth):
        held[group.indices[group.indptr[row] : group.indptr[row + 1]]] += 1
        if held.max(initial=0) > buffer // 2:
            yield low, row
            low = row
            held[:] = 0
            held[group.indices[group.indptr[row] : group.indptr[row + 1]]] = 1
    yield low, depth


def _lengths(rows: CsrArray, depth: int, parameters: WeightStationaryConfiguration) -> np.ndarray:
    """Words of each column: all elements, or a value and an id for each nonzero."""
    if parameters.acf.b == "dense":
        return np.full(rows.shape[1], depth)
    return 2 * np.bincount(rows.indices, minlength=rows.shape[1])
