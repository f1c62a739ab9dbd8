"""Reference products of a chain, computed by scipy.

An error is relative to the sum of absolute terms, |A| |X| |W|. Each product of a chain may add its own
rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.run.chains.chain import Chain
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.verification import TOLERANCE, Comparison, compare_entries, compare_values, ones_of

Dense: TypeAlias = "npt.NDArray[Any]"


@dataclass(frozen=True)
class _Expected:
    """An expected matrix of a chain.

    Args:
        entries: a matrix with a 1 at each position that has an entry, also if its sum is zero.
        values: the values; scipy drops sums that are zero.
        magnitudes: for each entry, the sum of the absolute values of its terms, by which errors are divided.
    """

    entries: CsrArray
    values: CsrArray
    magnitudes: CsrArray

    @classmethod
    def of_operand(cls, matrix: CsrArray) -> _Expected:
        """Return the expected values of an operand."""
        return cls(ones_of(matrix), matrix, abs(matrix))

    def times(self, factor: _Expected) -> _Expected:
        """Return the expected values of the product."""
        entries = ones_of(self.entries @ factor.entries)
        return _Expected(entries, self.values @ factor.values, self.magnitudes @ factor.magnitudes)


def compare_results(
    chain: Chain, operands: Mapping[str, CsrArray], results: Mapping[str, CsrArray | Dense]
) -> Comparison:
    """Compare a chain's results with scipy's products of its operands; return one comparison for all results.

    It has the largest error of a result, and the sums of missing entries, extra entries and overflows. The
    tolerance is that of a product times the number of products.

    Args:
        chain: the chain.
        operands: matrices by name, in canonical CSR.
        results: the machine's results by name, at least one; only values are compared of a dense result.
    """
    matrices = {name: _Expected.of_operand(matrix) for name, matrix in operands.items()}
    for product in chain.products:
        matrices[product.name] = matrices[product.left].times(matrices[product.right])
    comparisons = [_compare_result(matrices[name], result) for name, result in results.items()]
    return Comparison(
        max(comparison.max_relative_error for comparison in comparisons),
        sum(comparison.missing for comparison in comparisons),
        sum(comparison.extra for comparison in comparisons),
        TOLERANCE * len(chain.products),
        sum(comparison.overflows for comparison in comparisons),
    )


def _compare_result(expected: _Expected, result: CsrArray | Dense) -> Comparison:
    """Compare a result; entries are compared unless the result is dense."""
    if isinstance(result, np.ndarray):
        values, magnitudes = expected.values.toarray(), expected.magnitudes.toarray()
        error, overflows = compare_values(values, magnitudes, result)
        return Comparison(error, overflows=overflows)
    return compare_entries(expected.entries, expected.values, expected.magnitudes, result)
