"""Counts of real matrices: many random ones against the mean, one that is there against all of it."""

from math import sqrt

import numpy as np
import pytest
from changed_designs import UNIFORM, design, skipped

from fiberscope.models.analytic.api import analyze
from fiberscope.models.analytic.evaluate import evaluate_many
from fiberscope.models.analytic.inputs import read_case

DRAWS = 200


def drawn(rng, size, nonzeros):
    matrix = np.zeros(size * size, bool)
    matrix[rng.choice(size * size, nonzeros, replace=False)] = True
    return matrix.reshape(size, size)


def check_mean(counts, expected):
    error = np.std(counts, ddof=1) / sqrt(len(counts))
    assert abs(np.mean(counts) - expected) <= 3 * error, (np.mean(counts), expected, error)


def test_columns_that_are_empty(tmp_path):
    rng = np.random.default_rng(1)
    left_out, reads = skipped(tmp_path, "[M, K, N]", latched=True)
    counts = [4 * (~drawn(rng, 4, 4).any(axis=0)).sum() for _draw in range(DRAWS)]
    assert reads == 16
    check_mean(counts, 16 * 0.2719780219780)
    assert left_out == int(16 * 0.2719780219780)


DENSITIES = f"densities: {{A: {UNIFORM}, B: {UNIFORM.replace('0.25', '0.5')}}}"


def test_products_and_rows_of_uniform_matrices(tmp_path):
    rng = np.random.default_rng(2)
    case = read_case([design(tmp_path, "matmul", "densities: {A: 0.25, B: 0.5}", DENSITIES)])
    found = evaluate_many(case.design, case.mapping.batch())
    pairs = [(drawn(rng, 8, 16), drawn(rng, 8, 32)) for _draw in range(DRAWS)]
    products = [int((a.sum(axis=0) * b.sum(axis=0)).sum()) for a, b in pairs]
    check_mean(products, found.counts.computes.actual[0])
    pieces = [(a.reshape(4, 2, 8).any(axis=1)).sum() for a, _b in pairs]  # tiles of two rows
    density = case.design.problem.densities[0]
    check_mean(pieces, 32 * (1 - float(density.probability_empty([2, 1]))))


INPUT = np.array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 1]])
WEIGHTS = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1]])


def with_data(folder, a, b):
    """The design ``matmul`` with A and B from files; B is stored as N x K."""
    for name, matrix in (("a", a), ("b", b)):
        (folder / f"{name}.txt").write_text("\n".join("".join(map(str, row)) for row in matrix))
    data = "densities: {A: {distribution: actual, data: a.txt}, B: {distribution: actual, data: b.txt}}"
    m, k, n = a.shape[0], a.shape[1], b.shape[0]
    return design(
        folder,
        "matmul",
        *("M: 8, N: 8, K: 8, densities: {A: 0.25, B: 0.5}", f"M: {m}, N: {n}, K: {k}, {data}"),
        *("M=8, N=8, K=8", f"M={m}, N={n}, K={k}"),
    )


@pytest.mark.parametrize(("joint", "products"), [("exact", 11), ("independent", 10.5)])
def test_products_of_matrices_that_are_there(tmp_path, joint, products):
    report = analyze(with_data(tmp_path, INPUT, WEIGHTS.T), settings={"joint": joint})
    assert report.analytical.compute.actual == pytest.approx(products, abs=0.5)


def test_a_vector_with_itself(tmp_path):
    vector = np.array([[1, 0, 0, 1, 0, 0, 0, 1]])
    path = with_data(tmp_path, vector, vector)
    assert analyze(path, settings={"joint": "exact"}).analytical.compute.actual == 3
    assert analyze(path).analytical.compute.actual < 3


def test_every_count_of_a_walk_over_matrices_that_are_there(tmp_path):
    rng, walks = np.random.default_rng(3), 0
    for _draw in range(8):
        m, k, n = (int(one) for one in rng.integers(2, 9, 3))
        a, b = (rng.random(shape) < 0.4 for shape in ((m, k), (n, k)))
        if not (a.any() and b.any()):
            continue
        walks += 1
        report = analyze(with_data(tmp_path, a.astype(int), b.astype(int)), settings={"joint": "exact"})
        products = int((a.sum(axis=0) * b.sum(axis=0)).sum())
        buffer = report.levels["Buffer"].tensors
        assert report.analytical.compute.actual == products
        assert buffer["B"].reads.actual == products
        assert buffer["Z"].updates.actual == products
        assert report.levels["BackingStore"].tensors["A"].reads.actual == products
        assert buffer["B"].fills.actual == b.sum()
        assert buffer["B"].format_reads.actual[0][0] == products
    assert walks > 4
