"""GEMM as a problem: the dense product of two matrices, for machines that write every element."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.gemm import SLICE, SlicedMatrix, slice_operand
from fiberscope.workloads.problem import MatrixProduct
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.verification import Comparison, Rounding, compare_values
from fiberscope.workloads.workload import Workload

Dense = npt.NDArray[np.floating[Any]]

MOST_ELEMENTS = 1 << 28  # elements of a product
FP32_INTEGERS = 1 << 24  # FP32 represents every integer up to this limit
ELEMENTS_A_BLOCK = 1 << 20
# A sparse multiplication is faster below either limit.
FEW_PRODUCTS = 1 << 22  # products
SPARSE = 0.03  # density


class Gemm(MatrixProduct):
    """The product of two matrices as a dense array. Operands may be drawn slice by slice."""

    kind = "gemm"
    reference = "numpy"

    def machine_inputs(self) -> tuple[SlicedMatrix, SlicedMatrix]:
        """Return the two matrices, sliced along K."""
        first, second = self.both
        return slice_operand(first, 1), slice_operand(second, 0)

    def check_operands(self) -> None:
        """Refuse two matrices without a product, or with a product that is too large.

        Raises:
            WorkloadError: the inner dimensions differ, the product has too many elements, or a value
                overflows a double.
        """
        super().check_operands()
        first, second = self.both
        rows, columns = first.shape[0], second.shape[1]
        if rows * columns > MOST_ELEMENTS:
            fault = f"{self.title} has {rows} x {columns} elements, each of which is written; at most"
            raise WorkloadError(f"{fault} {MOST_ELEMENTS} are held", fix="give smaller matrices")
        if isinstance(first, Workload) and isinstance(second, Workload):  # drawn values are small
            self.refuse_overflow(first.matrix, second.matrix)

    def check(self, answer: Dense) -> Comparison:
        """Compare with the product of the operands, added up slice by slice in another order.

        Raises:
            ValueError: the answer has another shape than the product.
        """
        a, b = self.machine_inputs()
        shape = (a.shape[0], b.shape[1])
        if answer.shape != shape:
            raise ValueError(f"the product has the shape {answer.shape}, not {shape}")
        rounds = self.precision is not None and self.precision.floats
        kind = None if rounds else choose_exact_kind(a, b)
        expected = np.zeros(shape, kind or np.float64)
        sizes = None if kind else np.zeros(shape)
        terms = np.zeros(shape[0], np.int64)
        for first in range(0, a.shape[1], SLICE):
            last = min(first + SLICE, a.shape[1])
            left, right = a.slice(first, last), b.slice(first, last)
            accumulate(expected, left, right)
            terms += np.diff(left.indptr)
            if sizes is not None:
                accumulate(sizes, abs(left), abs(right))
        rounding = Rounding.estimate(self.precision, int(terms.max(initial=0)), 2)
        if sizes is not None:
            sizes += rounding.floor
        error, overflows = _compute_error(answer, expected, sizes, rounding)
        return Comparison(error, 0, 0, rounding.tolerance, overflows)

    def outline(self, answer: Dense) -> tuple[tuple[int, ...], int]:
        """Return the shape and the number of nonzero elements."""
        return answer.shape, int(np.count_nonzero(answer))


def choose_exact_kind(a: SlicedMatrix, b: SlicedMatrix) -> type[np.floating[Any]] | None:
    """Return the narrower of FP32 and double that represents all values and sums exactly; None if neither."""
    if a.integers is None or b.integers is None:
        return None
    # No sum exceeds the product of the largest magnitudes times the number of terms, K
    largest = max(a.integers, 1) * max(b.integers, 1) * a.shape[1]
    if largest <= FP32_INTEGERS:
        return np.float32
    return np.float64 if largest <= FP32_INTEGERS**2 else None


def accumulate(target: Dense, left: CsrArray, right: CsrArray | Dense) -> None:
    """Add a product to a dense array in place, in the array's precision.

    Args:
        target: the sum so far, of shape M x N.
        left: the first factor, of shape M x K.
        right: the second factor, of shape K x N.
    """
    dense = right.toarray() if sparse.issparse(right) else right
    dense = dense.astype(target.dtype, copy=False)
    factor = left.astype(target.dtype, copy=False)
    is_small = left.nnz * dense.shape[1] < FEW_PRODUCTS or left.nnz < SPARSE * left.shape[0] * left.shape[1]
    target += factor @ dense if is_small else factor.toarray() @ dense


def _compute_error(
    answer: Dense, expected: Dense, sizes: Dense | None, rounding: Rounding
) -> tuple[float, int]:
    """Return the largest relative error of an element, and the number of overflows.

    The error is relative to ``sizes``, the sum of the magnitudes of the element's terms; without ``sizes``,
    to the magnitude of the expected element. Blocks of rows limit the memory for temporary arrays.
    """
    worst, overflows, step = 0.0, 0, max(1, ELEMENTS_A_BLOCK // answer.shape[1])
    for row in range(0, len(answer), step):
        rows = slice(row, row + step)
        scale = np.abs(expected[rows]) if sizes is None else sizes[rows]
        block = answer[rows].astype(np.float64)
        error, overflowed = compare_values(expected[rows], scale, block, rounding)
        worst, overflows = max(worst, error), overflows + overflowed
    return worst, overflows
