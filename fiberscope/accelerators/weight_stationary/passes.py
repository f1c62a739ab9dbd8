"""The passes over A: the columns of B and the slice of K that the processing elements hold in each pass.

Each PE holds one column of B. A column that does not fit in the buffer is divided into slices of K. All
columns of a pass are divided at the same coordinates, since the same slice of A is streamed to all PEs.
Source: MINT (IPDPS 2021), Section IV-A.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fiberscope.accelerators.weight_stationary.configuration import WeightStationaryConfiguration
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.sparse import sparse


@dataclass(frozen=True)
class Pass:
    """A pass: one slice of A is streamed past the columns ``first`` to ``last`` - 1 of B.

    Args:
        first, last: range of the columns of B; each PE holds one of these columns.
        low, high: range of coordinates of the shared rank K.
        words: number of words of B in the buffers of all PEs.
        longest: number of words of the longest column.
    """

    first: int
    last: int
    low: int
    high: int
    words: int
    longest: int


def passes(b: CsrArray, parameters: WeightStationaryConfiguration) -> Iterator[Pass]:
    """Yield the passes in order: for each group of as many columns of B as there are PEs, the slices of K."""
    columns = sparse.csc_array(b)
    for first in range(0, b.shape[1], parameters.pe.count):
        last = min(first + parameters.pe.count, b.shape[1])
        group = sparse.csr_array(columns[:, first:last])
        for low, high in _slices(group, parameters):
            lengths = _lengths(group[low:high], high - low, parameters)
            yield Pass(first, last, low, high, int(lengths.sum()), int(lengths.max(initial=0)))


def _slices(group: CsrArray, parameters: WeightStationaryConfiguration) -> Iterator[tuple[int, int]]:
    """Yield the ranges of K of the longest slices in which every column of the group fits in its buffer."""
    depth, buffer = group.shape[0], parameters.pe.buffer
    if parameters.acf.b == "dense":
        yield from ((low, min(low + buffer, depth)) for low in range(0, depth, buffer))
        return
    low = 0
    counts = np.zeros(group.shape[1], np.int64)
    for row in range(depth):
        columns = group.indices[group.indptr[row] : group.indptr[row + 1]]
        counts[columns] += 1
        # Half of the buffer holds ids, the other half values. It has at least two words: one row always fits.
        if counts.max(initial=0) > buffer // 2:
            yield low, row
            low = row
            counts[:] = 0
            counts[columns] = 1
    yield low, depth


def _lengths(rows: CsrArray, depth: int, parameters: WeightStationaryConfiguration) -> np.ndarray:
    """Return the number of words of each column: one per element if B is dense, else two per nonzero."""
    if parameters.acf.b == "dense":
        return np.full(rows.shape[1], depth)
    return 2 * np.bincount(rows.indices, minlength=rows.shape[1])
