"""The machine of the examples: product, operations and traffic against a plain model of inner products."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inner_product_case import CASE, MACHINE

import fiberscope
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.testing import random_operands, run_to_end
from fiberscope.sim import import_mode

LINE, ELEMENT = 64, 12
ROOT = MACHINE.parents[2]


def inner_products(a, b):
    """Sums of products by place, and products of each; a place with no product is not there."""
    sums, products = {}, {}
    columns = b.tocsc()
    for m in range(a.shape[0]):
        row = dict(zip(a.indices[a.indptr[m] : a.indptr[m + 1]], a.data[a.indptr[m] :], strict=False))
        for n in range(b.shape[1]):
            for place in range(columns.indptr[n], columns.indptr[n + 1]):
                if columns.indices[place] in row:
                    product = row[columns.indices[place]] * columns.data[place]
                    sums[m, n] = sums.get((m, n), 0.0) + product
                    products[m, n] = products.get((m, n), 0) + 1
    return sums, products


@st.composite
def operands(draw):
    rows, inner, columns = (draw(st.integers(1, 12)) for _ in range(3))
    most = min(rows * inner, inner * columns)
    a, b = random_operands(rows, inner, columns, draw(st.integers(0, most)))
    return a, b


@given(operands(), st.sampled_from(sorted(CASE.variants)))
def test_every_run_is_that_of_the_plain_model(given_operands, variant):
    a, b = given_operands
    machine = run_to_end(CASE.build(variant, given_operands))
    sums, products = inner_products(a, b)
    found = machine.result().tocoo()
    assert dict(zip(zip(*found.coords, strict=True), found.data, strict=True)) == sums
    operations = machine.operations()
    assert operations["multiply"] == sum(products.values())
    assert operations["add"] == sum(products.values()) - len(sums)
    assert operations["intersect"] >= operations["multiply"]
    traffic, lanes = machine.traffic(), len(machine.lanes)
    shares = [lane[0].lengths for lane in machine.lanes]
    assert traffic["A"].read_bytes == sum(lines(sum(share)) for share in shares)
    assert traffic["B"].read_bytes == sum(lines(b.nnz) for share in shares if share) <= lanes * lines(b.nnz)
    assert 12 * len(sums) <= traffic["Z"].write_bytes < 12 * len(sums) + LINE * lanes


def lines(elements):
    """Bytes of the whole lines that hold so many elements."""
    return -(-elements * ELEMENT // LINE) * LINE


@pytest.mark.skipif(not import_mode.compiled(), reason="too slow uncompiled")
def test_skipping_ahead_is_worth_what_the_page_of_the_blocks_says():
    a, _ = random_operands(8, 2000, 8, 160)
    _, b = random_operands(8, 2000, 8, 3200)
    settings = {"lane.count": 1, "memory.model": "simple", "memory.bandwidth": "1 TB/s"}
    found = []
    for intersection in ("two_finger", "skip_ahead"):
        report = fiberscope.simulate(str(MACHINE), a, b, settings=settings, lane__intersection=intersection)
        elements = report.components["inner_product.lane00.scanner_b"].counters["elements"]
        steps = report.operations["intersect"]
        found.append(report.cycles)
        row = f"| `{intersection}` | {report.cycles} | {steps} | {elements} |"
        assert row in (ROOT / "docs" / "blocks.md").read_text(encoding="utf-8"), row
    assert found[0] > 3 * found[1]


def test_a_buffer_too_small_is_refused():
    with pytest.raises(ConfigurationError, match=r"lane\.buffer should hold B, which has 600 bytes"):
        fiberscope.simulate(str(MACHINE), *CASE.operands(), lane__buffer=599)


def test_the_machine_is_under_250_lines():
    files = [MACHINE, MACHINE.parent / "config.yaml"]
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) < 250
