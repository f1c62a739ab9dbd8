"""Is the product that a machine wrote the product of its operands?

Two doubles that are sums of the same products in different orders differ by rounding, and by at most
2 n u (|A| |B|)_ij to first order, for n products and unit roundoff u (Higham, "Accuracy and Stability of
Numerical Algorithms", 2nd ed., section 3.1). So the relative error of an entry is taken against
(|A| |B|)_ij, the size of what was added up, and not against the entry itself, which cancellation can make
arbitrarily small. An entry exists where at least one product does, even if its sum is zero.
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

__all__ = [
    "EXACT",
    "TOLERANCE",
    "Comparison",
    "Precision",
    "Rounding",
    "compare",
    "compare_entries",
    "compare_values",
    "ones_of",
    "overflow",
    "overflows_in_words",
]

Numbers: TypeAlias = "npt.NDArray[Any]"

TOLERANCE = 1e-12  # a few thousand unit roundoffs of a double,
DOUBLE_ROUNDOFF = 2.0**-53  # and one
PRODUCTS_A_BLOCK = 1 << 18  # so the reference is never held in full, and checking takes little memory


@dataclass(frozen=True)
class Comparison:
    """Comparison of an answer with the reference.

    Args:
        max_relative_error: infinite where a value is not finite without an overflow, or should be exactly
            zero and is not.
        missing: entries that the answer lacks.
        extra: entries that it should not have.
        tolerance: the largest relative error that passes.
        overflows: values that are infinite, or no number, because sums or products exceed their type.
        zeros: explicit zeros that only one side has, where values alone are compared; None where entries are.
    """

    max_relative_error: float
    missing: int = 0
    extra: int = 0
    tolerance: float = TOLERANCE
    overflows: int = 0
    zeros: int | None = None

    @property
    def differences(self) -> str:
        """Describe the differences of the answer from the reference, for a message."""
        overflows = f", {overflows_in_words(self.overflows)}" if self.overflows else ""
        return (
            f"relative error {self.max_relative_error:.3g}, "
            f"{self.missing} entries missing, {self.extra} too many{overflows}"
        )

    @property
    def passed(self) -> bool:
        """Return whether all entries are there, no others, and all values within the tolerance."""
        return self.missing == 0 and self.extra == 0 and self.max_relative_error <= self.tolerance


def overflows_in_words(count: int) -> str:
    """Describe the number of values that overflow."""
    return f"{count:,} value{'s' * (count != 1)} overflow{'s' * (count == 1)} to infinity"


class Precision(Protocol):
    """Precision of a value type: whether it is a float, its roundoff, least value above 0 and largest."""

    floats: bool
    roundoff: float
    least: float
    most: float


@dataclass(frozen=True)
class Rounding:
    """Limits of rounding of a value.

    Args:
        tolerance: error that passes, relative to the size of what was added up,
        floor: and to this, for what was too small for the type.
        most: the largest finite value of the type.
    """

    tolerance: float = TOLERANCE
    floor: float = 0.0
    most: float = sys.float_info.max

    @classmethod
    def estimate(cls, precision: Precision | None, terms: float, reads: int) -> Rounding:
        """The most that it explains; of values that are doubles as they come, as of None, the default.

        Args:
            precision: the precision of the values' type.
            terms: of the longest sum, each of which is rounded as it is added; the reference, in doubles,
                too.
            reads: of operands, which are rounded before, and in functions; 16 roundoffs each are room for
                both.

        Source: Jeannerod and Rump, "Improved error bounds for inner products in floating-point arithmetic",
        2013.
        """
        if precision is None or not precision.floats:
            return EXACT
        allowed = (terms + 16 * reads) * (precision.roundoff + DOUBLE_ROUNDOFF)
        return cls(allowed, precision.least / precision.roundoff, precision.most)


EXACT = Rounding()  # of doubles as they come


def compare(
    a: CsrArray,
    b: CsrArray,
    product: CsrArray,
    precision: Precision | None = None,
    *,
    values_only: bool = False,
) -> Comparison:
    """Compare ``product``, of a precision, with scipy's ``a @ b``, block of rows by block of rows.

    Args:
        a, b, product, precision: the operands, the answer, and the type of its values.
        values_only: whether an entry that is absent equals an entry whose value is 0, up to rounding.

    Raises:
        ValueError: the product's shape is not that of ``a @ b``.
    """
    if product.shape != (a.shape[0], b.shape[1]):
        raise ValueError(f"the product has the shape {product.shape}, not {(a.shape[0], b.shape[1])}")
    rounding = Rounding.estimate(precision, _most_terms(a, b), 2)
    error, missing, extra, overflows, zeros = 0.0, 0, 0, 0, 0
    reference_of = _positive_reference if _stays_positive(a, b) else _any_reference
    for rows in _blocks(a, b):
        expected, values, sizes = reference_of(a[rows], b)
        scale = sizes + rounding.floor if rounding.floor else sizes
        answer = _sorted(product[rows])
        if values_only:
            answer, added = _with_zeros(expected, values, scale, answer, rounding.tolerance)
            zeros += added
        part = _compare_entries(expected, values, scale, answer, rounding)
        error, missing, extra, overflows = (
            max(error, part.max_relative_error),
            missing + part.missing,
            extra + part.extra,
            overflows + part.overflows,
        )
    return Comparison(error, missing, extra, rounding.tolerance, overflows, zeros if values_only else None)


def _with_zeros(
    expected: CsrArray, reference: Numbers, scale: Numbers, product: CsrArray, tolerance: float
) -> tuple[CsrArray, int]:
    """Return a product with the zeros that are expected, without others, and the number of changes."""
    places, product_places = _places(expected), _places(product)
    is_absent = ~np.isin(places, product_places)
    is_zero = is_absent & (np.abs(reference) <= tolerance * scale)
    is_left_out = ~np.isin(product_places, places) & (product.data == 0)
    changes = int(np.count_nonzero(is_zero)) + int(np.count_nonzero(is_left_out))
    if not changes:
        return product, 0
    places = np.concatenate([product_places[~is_left_out], places[is_zero]])
    values = np.concatenate([product.data[~is_left_out], reference[is_zero]])
    order = np.argsort(places, kind="stable")  # an entry that is there twice stays so
    rows, columns = np.divmod(places[order], product.shape[1])
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=product.shape[0]))])
    return sparse.csr_array((values[order], columns, starts), shape=product.shape), changes


def _most_terms(a: CsrArray, b: CsrArray) -> int:
    """No entry of a product is a sum of more."""
    longest_row, longest_column = np.diff(a.indptr), np.bincount(b.indices)
    return min(int(lengths.max(initial=0)) for lengths in (longest_row, longest_column))


def _stays_positive(a: CsrArray, b: CsrArray) -> bool:
    """Return whether every product of two values is above 0, so that no sum of them is 0."""
    least = [float(np.min(matrix.data, initial=1.0)) for matrix in (a, b)]
    return min(least) > 0 and least[0] * least[1] > 0


def _positive_reference(block: CsrArray, b: CsrArray) -> tuple[CsrArray, Numbers, Numbers]:
    """Entries of a block's product, their values, and the sizes of what was added up: the values again."""
    expected = _sorted(block @ b)
    return expected, expected.data, expected.data


def _any_reference(block: CsrArray, b: CsrArray) -> tuple[CsrArray, Numbers, Numbers]:
    """The same where sums may be 0, which scipy leaves out: of ones none is."""
    expected = _sorted(ones_of(block) @ ones_of(b))
    return expected, _on(expected, block @ b), _on(expected, _sizes(block) @ _sizes(b))


def overflow(a: CsrArray, b: CsrArray) -> tuple[int, int] | None:
    """Row and column of an entry of |A| |B| that is beyond the largest double, None if there is none.

    There the sum of products depends on their order, so that there is nothing to compare with.
    """
    largest = [np.max(np.abs(matrix.data), initial=0.0) for matrix in (a, b)]
    with np.errstate(over="ignore"):
        if np.isfinite(largest[0] * largest[1] * a.shape[1]):
            return None
        for rows in _blocks(a, b):
            sizes = _sizes(a[rows]) @ _sizes(b)
            beyond = np.flatnonzero(~np.isfinite(sizes.data))
            if beyond.size:
                row, column = divmod(int(_places(sizes)[beyond[0]]), sizes.shape[1])
                return rows.start + row, column
    return None


def compare_entries(
    entries: CsrArray, values: CsrArray, sizes: CsrArray, product: CsrArray, rounding: Rounding = EXACT
) -> Comparison:
    """Compare a product with what is expected of it.

    Args:
        entries: a matrix with an entry wherever one is expected.
        values, sizes: the values expected, and the sizes of what these are sums of; zeros may be left out.
        product: the entries that were found, in any order.
        rounding: of the values' type.
    """
    expected = _sorted(entries)
    scale = _on(expected, sizes) + rounding.floor
    comparison = _compare_entries(expected, _on(expected, values), scale, _sorted(product), rounding)
    return replace(comparison, tolerance=rounding.tolerance)


def _compare_entries(
    expected: CsrArray, reference: Numbers, scale: Numbers, product: CsrArray, rounding: Rounding = EXACT
) -> Comparison:
    places, product_places = _places(expected), _places(product)
    values = product.data
    if not np.array_equal(places, product_places):
        _common, here, there = np.intersect1d(places, product_places, return_indices=True)
        reference, scale, values = reference[here], scale[here], values[there]
    missing, extra = len(places) - len(values), len(product_places) - len(values)
    error, overflows = compare_values(reference, scale, values, rounding)
    return Comparison(error, missing, extra, overflows=overflows)


def compare_values(
    reference: Numbers, scale: Numbers, values: Numbers, rounding: Rounding = EXACT
) -> tuple[float, int]:
    """Return the largest error against the size of what was added up, and the number of overflows.

    The error is infinite where a value is not finite and no order of the sum explains it by an overflow.

    Args:
        reference, scale, values: arrays of one shape: the values expected, the sizes of the sums, the answer.
        rounding: the rounding of the values' type.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        errors = np.abs(values - reference) / scale
    errors[values == reference] = 0.0
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

    The positive terms of a sum add up to (scale + reference) / 2, the negative ones to
    (scale - reference) / 2. Where the size exceeds a double, the reference is no help: anything may be.
    Where the terms of one sign are far larger, this difference is rounded: then NaN may be.
    """
    most = rounding.most * (1.0 - rounding.tolerance)
    beyond = ~np.isfinite(scale)
    with np.errstate(invalid="ignore"):
        positive, negative = scale / 2 + reference / 2, scale / 2 - reference / 2
        rounded = TOLERANCE * scale
        both = (positive + rounded > most) & (negative + rounded > most)
        same_sign = np.where(values > 0, positive, negative) > most
    may_overflow: Numbers = beyond | np.where(np.isnan(values), both, same_sign)
    return may_overflow


def _blocks(a: CsrArray, b: CsrArray) -> Iterator[slice]:
    """Consecutive rows of ``a`` with about ``PRODUCTS_A_BLOCK`` products, at least one row."""
    lengths = np.diff(b.indptr)
    before_entry = np.concatenate([[0], np.cumsum(lengths[a.indices])])
    products = before_entry[a.indptr]
    first = 0
    while first < a.shape[0]:
        last = int(np.searchsorted(products, products[first] + PRODUCTS_A_BLOCK, side="right")) - 1
        last = max(last, first + 1)
        yield slice(first, last)
        first = last


def ones_of(matrix: CsrArray) -> CsrArray:
    """A matrix with a one wherever another has an entry, so that no sum of products is 0."""
    return _with_values(matrix, np.ones_like(matrix.data))


def _sizes(matrix: CsrArray) -> CsrArray:
    return _with_values(matrix, np.abs(matrix.data))


def _with_values(matrix: CsrArray, values: Numbers) -> CsrArray:
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _sorted(matrix: CsrArray) -> CsrArray:
    """The same with the entries of each row in order: there and back by columns, which is linear."""
    return matrix if matrix.has_sorted_indices else matrix.tocsc().tocsr()


def _places(matrix: CsrArray) -> Numbers:
    """Row and column of each entry as one number, in the order stored."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows * matrix.shape[1] + matrix.indices


def _on(structure: CsrArray, matrix: CsrArray) -> Numbers:
    """The values of ``matrix`` on the entries of ``structure``; scipy leaves out sums that are zero."""
    matrix = _sorted(matrix)
    if matrix.nnz == structure.nnz:
        return matrix.data
    values = np.zeros(structure.nnz)
    values[np.searchsorted(_places(structure), _places(matrix))] = matrix.data
    return values
