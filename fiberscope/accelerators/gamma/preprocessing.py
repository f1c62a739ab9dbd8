"""Preprocessing of A by Gamma's software: long rows are cut, and all rows are reordered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fiberscope.accelerators.gamma.configuration import GammaConfiguration
from fiberscope.accelerators.gamma.reorder import affinity_order, window_rows
from fiberscope.accelerators.gamma.tiling import subrows
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.sparse import sparse

__all__ = ["Preprocessed", "preprocess"]


@dataclass(frozen=True)
class Preprocessed:
    """A as the machine gets it.

    Args:
        a: its rows and subrows in the order in which they run.
        rows: by row or subrow, the number of the row of the product that it is part of: they are numbered in
            the order in which the last of each runs.
        order: by that number, the row of the product.
    """

    a: CompressedRows
    rows: Integers
    order: Integers


def preprocess(
    a: CompressedRows, b: CompressedRows, parameters: GammaConfiguration, element: int
) -> Preprocessed:
    """Cut and reorder A as the parameters say; an element of B has so many bytes."""
    rows = np.arange(a.rows)
    if parameters.tiling == "selective":
        pointers, rows = subrows(a, b, parameters.tile, element)
        a = CompressedRows(pointers, a.coordinates, a.values)
    if parameters.reorder == "affinity":
        window = window_rows(a, b, parameters.fibercache.size, element)
        order = affinity_order(a, b.rows, window)
        a, rows = _in_order(a, order), rows[order]
    return _numbered(a, rows)


def _in_order(a: CompressedRows, order: Integers) -> CompressedRows:
    columns = int(np.max(a.coordinates, initial=-1)) + 1
    matrix = sparse.csr_array((a.values, a.coordinates, a.pointers), shape=(a.rows, columns))[order]
    return CompressedRows(matrix.indptr, matrix.indices, matrix.data)


def _numbered(a: CompressedRows, rows: Integers) -> Preprocessed:
    last = np.zeros(rows.max(initial=-1) + 1, np.int64)  # by row, the place of its last subrow
    last[rows] = np.arange(len(rows))
    order = np.argsort(last)
    numbers = np.empty_like(order)
    numbers[order] = np.arange(len(order))
    return Preprocessed(a, numbers[rows], order)
