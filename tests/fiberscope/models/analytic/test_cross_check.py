"""One matrix and one nest by statistics, walked by the trace model, and run event by event."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import fiberscope

EXAMPLES = Path(__file__).parents[4] / "examples"
FOLDER = EXAMPLES / "cross_check"
SMALL, TRACE = FOLDER / "small.mtx", str(FOLDER / "trace.yaml")
ELEMENT = 12  # bytes
SURROGATE = "{distribution: hypergeometric, density: 0.1}"


@pytest.fixture(scope="module")
def by_statistics():
    return fiberscope.analyze(FOLDER / "analytic.yaml", settings={"joint": "exact"})


@pytest.fixture(scope="module")
def walked():
    return fiberscope.model(TRACE, str(SMALL))


@pytest.fixture(scope="module")
def run():
    machine = str(EXAMPLES / "inner_product" / "machine.py")
    return fiberscope.simulate(machine, str(SMALL), settings={"lane.count": 1})


def test_all_three_do_the_same_products(by_statistics, walked, run):
    buffer = by_statistics.levels["Buffer"].tensors
    statistics = by_statistics.analytical.compute.actual, buffer["A"].reads.actual, buffer["B"].reads.actual
    assert statistics == (261, 261, 261)
    assert buffer["Z"].updates.actual == walked.operations["multiply"] == run.operations["multiply"] == 261


@pytest.mark.parametrize("operand", ["A", "B"])
def test_all_three_read_the_same_of_memory(by_statistics, walked, run, operand):
    reads = by_statistics.levels["Memory"].tensors[operand].reads.actual
    assert reads == by_statistics.levels["Buffer"].tensors[operand].fills.actual == 80
    for report in (by_statistics, walked, run):
        assert report.traffic[operand].read_bytes == reads * ELEMENT


def test_the_walk_intersects_and_adds_as_the_run_does(walked, run):
    assert walked.operations == run.operations
    assert walked.operations["add"] == 261 - run.product.nonzeros == 39


def test_where_they_part(by_statistics, walked, run):
    written = [report.traffic["Z"].write_bytes for report in (by_statistics, walked, run)]
    assert written == [24 * 24 * ELEMENT, 222 * ELEMENT, 2_688]  # dense; what there is; in whole bursts
    assert by_statistics.levels["Buffer"].tensors["Z"].reads.actual == 250
    assert [report.cycles for report in (by_statistics, walked, run)] == [553, 1_694, 3_433]


def test_without_joint_statistics_the_products_are_a_mean():
    report = fiberscope.analyze(FOLDER / "analytic.yaml")
    assert report.analytical.compute.actual == round(80 * 80 / 24) == 267


def test_a_uniform_surrogate_is_within_two_percent_of_the_walk(tmp_path):
    text = (FOLDER / "analytic.yaml").read_text().replace("24", "200")
    path = tmp_path / "surrogate.yaml"
    path.write_text(text.replace("{distribution: actual, data: small.mtx}", SURROGATE))
    report = fiberscope.analyze(path)
    rng = np.random.default_rng(7)
    a, b = (sparse.random_array((200, 200), density=0.1, format="csr", rng=rng) for _factor in "ab")
    products = fiberscope.model(TRACE, a, b).operations["multiply"]
    assert report.analytical.compute.actual == pytest.approx(products, rel=0.02)
    assert report.traffic["A"].read_bytes == ELEMENT * a.nnz
