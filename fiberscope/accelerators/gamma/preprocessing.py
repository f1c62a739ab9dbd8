"""Preprocessing of A by Gamma's software, which can split long rows into subrows and reorder rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fiberscope.accelerators.gamma.configuration import GammaConfiguration
from fiberscope.accelerators.gamma.reorder import affinity_order, window_rows
from fiberscope.accelerators.gamma.tiling import subrows
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.sparse import sparse


@dataclass(frozen=True)
class Preprocessed:
    """Operand A after tiling and reordering.

    Args:
        a: rows and subrows of A in the order of execution.
        rows: for each row or subrow of ``a``, the number of its product row. Product rows are numbered in the
            order in which their last subrows run.
        order: for each such number, the index of the row in the product.
    """

    a: CompressedRows
    rows: Integers
    order: Integers


def preprocess(
    a: CompressedRows, b: CompressedRows, parameters: GammaConfiguration, element_bytes: int
) -> Preprocessed:
    """Tile and reorder A as the configuration says. Source: Gamma (ASPLOS 2021).

    Args:
        a, b: the operands.
        parameters: the configuration, whose ``tiling``, ``tile``, ``reorder`` and ``fibercache.size`` apply.
        element_bytes: bytes of an element of B.
    """
    rows = np.arange(a.rows)
    if parameters.tiling == "selective":
        pointers, rows = subrows(a, b, parameters.tile, element_bytes)
        a = CompressedRows(pointers, a.coordinates, a.values)
    if parameters.reorder == "affinity":
        window = window_rows(a, b, parameters.fibercache.size, element_bytes)
        order = affinity_order(a, b.rows, window)
        a, rows = _permute_rows(a, order), rows[order]
    return _number_product_rows(a, rows)


def _permute_rows(a: CompressedRows, order: Integers) -> CompressedRows:
    columns = int(np.max(a.coordinates, initial=-1)) + 1
    matrix = sparse.csr_array((a.values, a.coordinates, a.pointers), shape=(a.rows, columns))[order]
    return CompressedRows(matrix.indptr, matrix.indices, matrix.data)


def _number_product_rows(a: CompressedRows, rows: Integers) -> Preprocessed:
    # Product rows are numbered in the order in which their last subrows run.
    last_subrow = np.zeros(rows.max(initial=-1) + 1, np.int64)  # position of each row's last subrow
    last_subrow[rows] = np.arange(len(rows))
    order = np.argsort(last_subrow)
    numbers = np.empty_like(order)
    numbers[order] = np.arange(len(order))
    return Preprocessed(a, numbers[rows], order)
