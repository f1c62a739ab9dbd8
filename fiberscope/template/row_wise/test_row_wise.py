"""The laws of all machines, and a comparison of the product and the counts with a plain model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import fiberscope
from fiberscope.accelerators.testing import check_laws, random_operands, run_to_end

from .case import CASE


@pytest.mark.parametrize("variant", CASE.variants)
def test_the_laws_of_all_machines(variant: str) -> None:
    check_laws(CASE, variant)


def pattern(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return a matrix with 1 for each stored entry, explicit zeros included."""
    return sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


@pytest.mark.parametrize("variant", CASE.variants)
@pytest.mark.parametrize("seed", range(10))
def test_product_and_counts_are_those_of_the_plain_model(variant: str, seed: int) -> None:
    rows, inner, columns, nonzeros = np.random.default_rng(seed).integers(5, 25, 4).tolist()
    a, b = random_operands(rows, inner, columns, nonzeros, seed)
    machine = run_to_end(CASE.build(variant, (a, b)))
    expected, pairs = a @ b, pattern(a) @ pattern(b)
    products = int(np.diff(b.indptr)[a.indices].sum())
    assert abs(machine.result() - expected).max() == 0
    assert machine.operations() == {"multiply": products, "add": products - pairs.nnz}
    assert machine.traffic()["A"].read_bytes >= 12 * a.nnz


def test_a_run_is_verified_and_its_requests_are_checked() -> None:
    report = fiberscope.simulate(CASE.accelerator, *CASE.operands(), checked=True)
    assert report.verification is not None
    assert report.verification.passed
