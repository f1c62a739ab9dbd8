"""Verification of a product: comparison with the product of scipy, entry by entry.

Two sums of the same n products in different orders differ by rounding: to first order by at most
2 n u (|A| |B|)_ij, with the unit roundoff u (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd
ed., section 3.1). The relative error of an entry is therefore relative to (|A| |B|)_ij, the magnitude of its
terms. The entry itself can be arbitrarily small because of cancellation. An entry exists if at least one
product does, even if the sum is zero.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.sparse import sparse

Numbers: TypeAlias = "npt.NDArray[Any]"

TOLERANCE = 1e-12  # about 9000 unit roundoffs of a double
DOUBLE_ROUNDOFF = 2.0**-53
PRODUCTS_PER_BLOCK = 1 << 18  # limits the memory of the reference


@dataclass(frozen=True)
class Comparison:
    """Comparison of an answer with the reference.

    Args:
        max_relative_error: largest error of a value, relative to the magnitude of its terms. It is infinite
            if a value is infinite or NaN without an overflow, or nonzero although all its terms are zero.
        missing: number of entries that the answer lacks.
        extra: number of entries that only the answer has.
        tolerance: the largest relative error that passes.
        overflows: number of values that are infinite or NaN because sums or products exceed their type.
        zeros: number of entries of value 0, up to rounding, that only one side has. None if such an entry
            counts as missing or extra.
    """

    max_relative_error: float
    missing: int = 0
    extra: int = 0
    tolerance: float = TOLERANCE
    overflows: int = 0
    zeros: int | None = None

    @property
    def differences(self) -> str:
        """Description of the differences from the reference, for a message."""
        overflows = f", {describe_overflows(self.overflows)}" if self.overflows else ""
        return (
            f"relative error {self.max_relative_error:.3g}, "
            f"{self.missing} entries missing, {self.extra} too many{overflows}"
        )

    @property
    def passed(self) -> bool:
        """Return whether the entries are the same and all values are within the tolerance."""
        return self.missing == 0 and self.extra == 0 and self.max_relative_error <= self.tolerance


def describe_overflows(count: int) -> str:
    """Describe the number of values that overflow."""
    return f"{count:,} value{'s' * (count != 1)} overflow{'s' * (count == 1)} to infinity"


class Precision(Protocol):
    """Precision of a value type.

    Attributes:
        floats: whether the type is a float; the others apply to floats.
        roundoff: the unit roundoff.
        least: the smallest positive normal number.
        most: the largest finite value.
    """

    floats: bool
    roundoff: float
    least: float
    most: float


@dataclass(frozen=True)
class Rounding:
    """Limits of rounding of a value.

    Args:
        tolerance: allowed error relative to the magnitude of the terms.
        floor: added to the magnitude of the terms, for underflow.
        largest: the largest finite value of the type.
    """

    tolerance: float = TOLERANCE
    floor: float = 0.0
    largest: float = sys.float_info.max

    @classmethod
    def estimate(cls, precision: Precision | None, terms: float, reads: int) -> Rounding:
        """Return an upper bound of rounding; ``DOUBLE_LIMITS`` without a precision and for integer types.

        ``DOUBLE_LIMITS`` is a fixed tolerance, which does not depend on ``terms``.

        Args:
            precision: precision of the values' type.
            terms: number of terms of the longest sum. Each addition rounds, in the reference too.
            reads: number of operands that are rounded before the sum. Each counts 16 roundoffs, to cover
                functions applied to it.

        Source: Jeannerod and Rump, "Improved error bounds for inner products in floating-point arithmetic",
        2013.
        """
        if precision is None or not precision.floats:
            return DOUBLE_LIMITS
        allowed = (terms + 16 * reads) * (precision.roundoff + DOUBLE_ROUNDOFF)
        # times the tolerance, the floor is at least ``least`` for each rounding, which may underflow to 0
        return cls(allowed, precision.least / precision.roundoff, precision.most)


DOUBLE_LIMITS = Rounding()


def compare(
    a: CsrArray,
    b: CsrArray,
    product: CsrArray,
    precision: Precision | None = None,
    *,
    values_only: bool = False,
) -> Comparison:
    """Compare ``product`` with scipy's ``a @ b``, block of rows by block of rows to limit memory.

    Args:
        a, b, product: the operands and the answer, in CSR.
        precision: the type of the answer's values; None for doubles.
        values_only: whether a missing entry equals an entry of value 0, up to rounding.

    Raises:
        ValueError: the product's shape is not that of ``a @ b``.
    """
    if product.shape != (a.shape[0], b.shape[1]):
        raise ValueError(f"the product has the shape {product.shape}, not {(a.shape[0], b.shape[1])}")
    rounding = Rounding.estimate(precision, _max_terms(a, b), 2)
    error, missing, extra, overflows, zeros = 0.0, 0, 0, 0, 0
    compute_reference = _positive_reference if _stays_positive(a, b) else _any_reference
    for rows in _row_blocks(a, b):
        expected, values, magnitudes = compute_reference(a[rows], b)
        scale = magnitudes + rounding.floor if rounding.floor else magnitudes
        answer = _sort_rows(product[rows])
        if values_only:
            answer, changes = _align_zeros(expected, values, scale, answer, rounding.tolerance)
            zeros += changes
        block = _compare_entries(expected, values, scale, answer, rounding)
        error = max(error, block.max_relative_error)
        missing += block.missing
        extra += block.extra
        overflows += block.overflows
    return Comparison(error, missing, extra, rounding.tolerance, overflows, zeros if values_only else None)


def _align_zeros(
    expected: CsrArray, reference: Numbers, scale: Numbers, product: CsrArray, tolerance: float
) -> tuple[CsrArray, int]:
    """Return a product with explicit zeros where the reference has them, and the number of changed entries.

    Unexpected entries of value 0 are removed. A missing entry is added, with its expected value, if that
    value is 0 up to rounding.
    """
    positions, product_positions = _positions(expected), _positions(product)
    is_absent = ~np.isin(positions, product_positions)
    is_zero = is_absent & (np.abs(reference) <= tolerance * scale)
    is_dropped = ~np.isin(product_positions, positions) & (product.data == 0)
    changes = int(np.count_nonzero(is_zero)) + int(np.count_nonzero(is_dropped))
    if not changes:
        return product, 0
    positions = np.concatenate([product_positions[~is_dropped], positions[is_zero]])
    values = np.concatenate([product.data[~is_dropped], reference[is_zero]])
    order = np.argsort(positions, kind="stable")  # keeps duplicate entries
    rows, columns = np.divmod(positions[order], product.shape[1])
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=product.shape[0]))])
    return sparse.csr_array((values[order], columns, starts), shape=product.shape), changes


def _max_terms(a: CsrArray, b: CsrArray) -> int:
    """Return an upper bound of the number of terms of an entry of a product."""
    longest_row, longest_column = np.diff(a.indptr), np.bincount(b.indices)
    return min(int(lengths.max(initial=0)) for lengths in (longest_row, longest_column))


def _stays_positive(a: CsrArray, b: CsrArray) -> bool:
    """Return whether every product of two values is above 0, so that no sum is 0."""
    least = [float(np.min(matrix.data, initial=1.0)) for matrix in (a, b)]
    return min(least) > 0 and least[0] * least[1] > 0


def _positive_reference(block: CsrArray, b: CsrArray) -> tuple[CsrArray, Numbers, Numbers]:
    """Return the entries of a block's product, their values, and the terms' magnitudes: the values again."""
    expected = _sort_rows(block @ b)
    return expected, expected.data, expected.data


def _any_reference(block: CsrArray, b: CsrArray) -> tuple[CsrArray, Numbers, Numbers]:
    """Return entries, values and magnitudes as ``_positive_reference`` does, for values of any sign.

    Products of ones keep the entries whose sum is 0.
    """
    expected = _sort_rows(ones_of(block) @ ones_of(b))
    return expected, _values_at(expected, block @ b), _values_at(expected, _absolute(block) @ _absolute(b))


def find_overflow(a: CsrArray, b: CsrArray) -> tuple[int, int] | None:
    """Return 0-based row and column of an entry of |A| |B| beyond the largest double; None if there is none.

    The sum of such an entry depends on the order of its terms, so that no reference exists.

    Args:
        a, b: A and B in CSR of doubles.
    """
    largest = [np.max(np.abs(matrix.data), initial=0.0) for matrix in (a, b)]
    with np.errstate(over="ignore"):
        # a sum has at most as many terms as A has columns
        if np.isfinite(largest[0] * largest[1] * a.shape[1]):
            return None
        for rows in _row_blocks(a, b):
            magnitudes = _absolute(a[rows]) @ _absolute(b)
            overflowed = np.flatnonzero(~np.isfinite(magnitudes.data))
            if overflowed.size:
                row, column = divmod(int(_positions(magnitudes)[overflowed[0]]), magnitudes.shape[1])
                return rows.start + row, column
    return None


def compare_entries(
    entries: CsrArray,
    values: CsrArray,
    magnitudes: CsrArray,
    product: CsrArray,
    rounding: Rounding = DOUBLE_LIMITS,
) -> Comparison:
    """Compare a product with its expected entries.

    Args:
        entries: a matrix with an entry at each expected position.
        values: the expected values; zeros may be omitted.
        magnitudes: the sums of the magnitudes of their terms; zeros may be omitted.
        product: the actual entries, in any order.
        rounding: limits of rounding of the values' type.
    """
    expected = _sort_rows(entries)
    scale = _values_at(expected, magnitudes) + rounding.floor
    comparison = _compare_entries(
        expected, _values_at(expected, values), scale, _sort_rows(product), rounding
    )
    return replace(comparison, tolerance=rounding.tolerance)


def _compare_entries(
    expected: CsrArray, reference: Numbers, scale: Numbers, product: CsrArray, rounding: Rounding
) -> Comparison:
    """Compare sorted matrices; values are compared where both have an entry."""
    positions, product_positions = _positions(expected), _positions(product)
    values = product.data
    if not np.array_equal(positions, product_positions):
        _common, expected_indices, indices = np.intersect1d(positions, product_positions, return_indices=True)
        reference, scale = reference[expected_indices], scale[expected_indices]
        values = values[indices]
    missing, extra = len(positions) - len(values), len(product_positions) - len(values)
    error, overflows = compare_values(reference, scale, values, rounding)
    return Comparison(error, missing, extra, overflows=overflows)


def compare_values(
    reference: Numbers, scale: Numbers, values: Numbers, rounding: Rounding = DOUBLE_LIMITS
) -> tuple[float, int]:
    """Return the largest error relative to the magnitude of the terms, and the number of overflows.

    The error is infinite if a value is not finite and no order of the sum overflows.

    Args:
        reference: the expected values.
        scale: the magnitudes of their terms, in the same shape.
        values: the actual values, in the same shape.
        rounding: limits of rounding of the values' type.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        errors = np.abs(values - reference) / scale
    errors[values == reference] = 0.0  # also if both are infinite, or both 0 with a scale of 0
    errors[np.isnan(errors)] = np.inf
    unbounded = ~np.isfinite(values)
    if not unbounded.any():
        return float(errors.max(initial=0.0)), 0
    overflowed = unbounded.copy()
    overflowed[unbounded] = _may_overflow(reference[unbounded], scale[unbounded], values[unbounded], rounding)
    errors[overflowed] = 0.0
    return float(errors.max(initial=0.0)), int(np.count_nonzero(overflowed))


def _may_overflow(reference: Numbers, scale: Numbers, values: Numbers, rounding: Rounding) -> Numbers:
    """Return whether sums with exact value ``reference`` may become infinite, or NaN, in some order.

    The positive terms of a sum add up to (scale + reference) / 2, the negative terms to
    (scale - reference) / 2. If the scale exceeds a double, every result is possible. NaN is possible if the
    sums of both signs can overflow. The smaller sum is a difference with a rounding error, hence the margin.
    """
    limit = rounding.largest * (1.0 - rounding.tolerance)
    is_unbounded = ~np.isfinite(scale)
    with np.errstate(invalid="ignore"):
        positive, negative = scale / 2 + reference / 2, scale / 2 - reference / 2
        margin = TOLERANCE * scale
        both_overflow = (positive + margin > limit) & (negative + margin > limit)
        same_sign_overflows = np.where(values > 0, positive, negative) > limit
    may_overflow: Numbers = is_unbounded | np.where(np.isnan(values), both_overflow, same_sign_overflows)
    return may_overflow


def _row_blocks(a: CsrArray, b: CsrArray) -> Iterator[slice]:
    """Yield consecutive rows of ``a`` with about ``PRODUCTS_PER_BLOCK`` products, at least one row."""
    lengths = np.diff(b.indptr)
    products_before = np.concatenate([[0], np.cumsum(lengths[a.indices])])
    products = products_before[a.indptr]
    first = 0
    while first < a.shape[0]:
        end = int(np.searchsorted(products, products[first] + PRODUCTS_PER_BLOCK, side="right")) - 1
        end = max(end, first + 1)
        yield slice(first, end)
        first = end


def ones_of(matrix: CsrArray) -> CsrArray:
    """Return a matrix with 1 for each entry of another, so that no sum of products is 0."""
    return _with_values(matrix, np.ones_like(matrix.data))


def _absolute(matrix: CsrArray) -> CsrArray:
    return _with_values(matrix, np.abs(matrix.data))


def _with_values(matrix: CsrArray, values: Numbers) -> CsrArray:
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _sort_rows(matrix: CsrArray) -> CsrArray:
    """Return the matrix with sorted rows, by two conversions in linear time."""
    return matrix if matrix.has_sorted_indices else matrix.tocsc().tocsr()


def _positions(matrix: CsrArray) -> Numbers:
    """Return row and column of each entry as one number, in storage order."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows * matrix.shape[1] + matrix.indices


def _values_at(structure: CsrArray, matrix: CsrArray) -> Numbers:
    """Return the values of ``matrix`` at the entries of ``structure``; scipy omits sums that are zero.

    Every entry of ``matrix`` must be an entry of ``structure``, whose rows must be sorted.
    """
    matrix = _sort_rows(matrix)
    if matrix.nnz == structure.nnz:  # therefore the entries are the same
        return matrix.data
    values = np.zeros(structure.nnz)
    values[np.searchsorted(_positions(structure), _positions(matrix))] = matrix.data
    return values
