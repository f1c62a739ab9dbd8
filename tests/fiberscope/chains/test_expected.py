"""The comparison of a chain with scipy: how far its products may be off, and which of its results count."""

import numpy as np
import pytest
from scipy import sparse

import fiberscope
from fiberscope.run.chains.chain import Chain
from fiberscope.run.chains.expected import compare_results
from fiberscope.workloads.verification import TOLERANCE

IDENTITY = sparse.csr_array(np.eye(3))


@pytest.mark.parametrize(("text", "products"), [("Y = A A", 1), ("Z = A A A", 2), ("Y = A A; Z = Y A Y", 3)])
def test_every_product_adds_its_own_rounding(text: str, products: int) -> None:
    chain = Chain.parse(text)
    (result,) = chain.results
    for error, passes in ((0.9 * products, True), (1.1 * products, False)):
        off = IDENTITY * (1 + error * TOLERANCE)
        comparison = compare_results(chain, {"A": IDENTITY}, {result: off})
        assert comparison.tolerance == pytest.approx(products * TOLERANCE, rel=1e-12)
        assert comparison.passed is passes
    report = fiberscope.simulate("outerspace", chain=text, A=IDENTITY, tile__count=4)
    assert report.verification.tolerance == pytest.approx(products * TOLERANCE, rel=1e-12)


def test_of_several_results_the_worst_counts_and_entries_add_up() -> None:
    chain = Chain.parse("Y = A A; Z = A A")
    less = sparse.csr_array(np.diag([1.0, 1.0, 0.0]))
    more = sparse.csr_array(np.eye(3) + np.eye(3, k=1))
    comparison = compare_results(chain, {"A": IDENTITY}, {"Y": less, "Z": more})
    assert (comparison.missing, comparison.extra) == (1, 2)
    for results in ({"Y": IDENTITY, "Z": IDENTITY * 1.5}, {"Y": IDENTITY * 1.5, "Z": IDENTITY}):
        assert compare_results(chain, {"A": IDENTITY}, results).max_relative_error == pytest.approx(0.5)


def test_errors_are_relative_to_the_sizes_of_what_was_added_up() -> None:
    """A row whose sum nearly cancels: the error is measured by 2, the sum of the sizes, not by the sum."""
    chain = Chain.parse("Y = A X")
    row, column = sparse.csr_array([[1.0, 1.0]]), sparse.csr_array([[1.0], [-1.0 + 2.0**-20]])
    result = sparse.csr_array([[2.0**-20 + 2.0**-30]])
    comparison = compare_results(chain, {"A": row, "X": column}, {"Y": result})
    assert comparison.max_relative_error == pytest.approx(2.0**-31, rel=1e-5)
