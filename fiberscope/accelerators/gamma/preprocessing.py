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
class PreprocessedOperand:
    """Operand A after the configured preprocessing; unchanged if none is configured.

    Args:
        a: rows and subrows of A in the order of execution.
        product_rows: for each row or subrow of ``a``, the number of its product row. Product rows are
            numbered in the order in which their last subrows run.
        product_order: for each number of a product row, the index of this row in the product.
    """

    a: CompressedRows
    product_rows: Integers
    product_order: Integers


def preprocess(
    a: CompressedRows, b: CompressedRows, parameters: GammaConfiguration, element_bytes: int
) -> PreprocessedOperand:
    """Tile and reorder A as the configuration says. Source: Gamma (ASPLOS 2021).

    Args:
        a, b: the operands.
        parameters: the configuration; ``tiling``, ``tile``, ``reorder`` and ``fibercache.size`` apply.
        element_bytes: bytes of an element of B.
    """
    row_of_subrow = np.arange(a.rows)
    if parameters.tiling == "selective":
        pointers, row_of_subrow = subrows(a, b, parameters.tile, element_bytes)
        a = CompressedRows(pointers, a.coordinates, a.values)
    if parameters.reorder == "affinity":
        window = window_rows(a, b, parameters.fibercache.size, element_bytes)
        run_order = affinity_order(a, b.rows, window)
        a, row_of_subrow = _permute_rows(a, run_order), row_of_subrow[run_order]
    return _number_product_rows(a, row_of_subrow)


def _permute_rows(a: CompressedRows, order: Integers) -> CompressedRows:
    # ``CompressedRows`` has no column count; the last used column suffices here.
    columns = int(np.max(a.coordinates, initial=-1)) + 1
    matrix = sparse.csr_array((a.values, a.coordinates, a.pointers), shape=(a.rows, columns))[order]
    return CompressedRows(matrix.indptr, matrix.indices, matrix.data)


def _number_product_rows(a: CompressedRows, row_of_subrow: Integers) -> PreprocessedOperand:
    last_subrow = np.zeros(row_of_subrow.max(initial=-1) + 1, np.int64)  # position of each row's last subrow
    last_subrow[row_of_subrow] = np.arange(len(row_of_subrow))  # later subrows overwrite earlier ones
    product_order = np.argsort(last_subrow)
    numbers = np.empty_like(product_order)
    numbers[product_order] = np.arange(len(product_order))
    return PreprocessedOperand(a, numbers[row_of_subrow], product_order)
