"""Operands of a GEMM: exact counts, the same however they are sliced, values as asked for; and the check."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import fiberscope
from fiberscope.workloads import Gemm, Spgemm, WorkloadError, dense_product, draw, from_scipy
from fiberscope.workloads.dense_product import choose_exact_kind
from fiberscope.workloads.gemm import SLICE, MatrixInMemory, slice_operand
from fiberscope.workloads.verification import Rounding


@st.composite
def gemms(draw_of):
    sizes = {key: draw_of(st.integers(1, 300)) for key in "mnk"}
    densities = {key: draw_of(st.floats(0, 1)) for key in "ab"}
    given_keys = {**sizes, **densities, "seed": draw_of(st.integers(0, 9))}
    return "gemm:" + ",".join(f"{key}={value}" for key, value in given_keys.items()), given_keys


@given(gemms())
def test_counts_are_exact_and_the_same_text_draws_the_same(drawn):
    text, keys = drawn
    for operand, shape, density in (
        (draw(text)[0], (keys["m"], keys["k"]), keys["a"]),
        (draw(text)[1], (keys["k"], keys["n"]), keys["b"]),
    ):
        assert operand.shape == shape
        assert operand.matrix.nnz == operand.nonzeros == round(density * shape[0] * shape[1])
    assert (draw(text)[0].matrix != draw(text)[0].matrix).nnz == 0
    assert draw(text)[0].digest == draw(text)[0].digest != draw(text)[1].digest


@given(gemms(), st.data())
def test_a_slice_is_that_part_of_the_whole(drawn, data):
    for axis, operand in zip((1, 0), draw(drawn[0]), strict=True):
        length = operand.shape[axis]
        first = data.draw(st.integers(0, length - 1))
        last = data.draw(st.integers(first + 1, length))
        whole = operand.matrix.toarray()
        part = whole[:, first:last] if axis else whole[first:last]
        for matrix in (operand, MatrixInMemory(operand.matrix, axis)):
            found = matrix.slice(first, last)
            assert np.array_equal(found.toarray(), part)
            assert found.has_sorted_indices


def test_places_are_drawn_evenly():
    operand = draw("gemm:m=64,n=1,k=4096,a=0.25,b=1")[0]
    by_slice = [operand.slice(first, first + 128).nnz for first in range(0, 4096, 128)]
    assert sum(by_slice) == 65_536
    assert 2048 - 5 * 39 < min(by_slice) < max(by_slice) < 2048 + 5 * 39  # 39: the standard deviation
    rows = np.diff(operand.matrix.indptr)
    assert 1024 - 5 * 28 < rows.min() < rows.max() < 1024 + 5 * 28


def test_values_are_small_integers_or_bf16():
    integers = draw("gemm:m=50,n=1,k=200,a=0.5,b=1")[0]
    assert set(np.unique(integers.matrix.data)) == {-4, -3, -2, -1, 1, 2, 3, 4}
    assert integers.integers == MatrixInMemory(integers.matrix, 1).integers == 4
    short = draw("gemm:m=50,n=1,k=200,a=0.5,b=1,values=bf16")[0]
    bits = short.matrix.data.astype(np.float32).view(np.uint32)
    assert not np.any(bits & 0xFFFF)
    assert 0.5 <= short.matrix.data.min() < short.matrix.data.max() < 1.5
    assert short.integers is MatrixInMemory(short.matrix, 1).integers is None


def test_what_is_too_large_to_hold_is_made_slice_by_slice():
    a = draw("gemm:m=1024,n=16,k=500000,a=0.2,b=0.9")[0]
    assert a.nonzeros == 102_400_000
    assert abs(a.slice(256_000, 256_128).nnz - 26_214) < 1000
    with pytest.raises(WorkloadError, match="102400000 nonzeros; at most 33554432 are held in memory"):
        _ = a.matrix


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gemm:m=2,n=2,a=1,b=1", r"k is missing"),
        ("gemm:m=2,n=2,k=0,a=1,b=1", r"k=0: input should be greater than or equal to 1"),
        ("gemm:m=2,n=2,k=2,a=1.5,b=1", r"a=1.5: input should be less than or equal to 1"),
        ("gemm:m=2,n=2,k=2,a=1,b=1,values=fp8", r"values=fp8: input should be 'integer' or 'bf16'"),
        ("gemm:m=2,n=2,k=2,a=1,c=1", r"no key 'c'"),
        ("gemm:m=40000,n=1,k=40000,a=0,b=1", r"A is 40000 x 40000, 1600000000 places; at most 999999999"),
    ],
)
def test_a_text_that_cannot_be_is_refused(text, message):
    with pytest.raises(WorkloadError, match=message):
        draw(text)


def test_a_gemm_stands_for_both_operands():
    text = "gemm:m=20,n=30,k=40,a=0.2,b=0.9"
    report = fiberscope.simulate("gamma", text)
    assert (report.workload.shape, report.workload.b.shape) == ((20, 40), (40, 30))
    assert (report.workload.nonzeros, report.workload.b.nonzeros) == (160, 1080)
    with pytest.raises(WorkloadError, match="gemm draws both operands; give no second one"):
        fiberscope.simulate("gamma", text, text)
    with pytest.raises(WorkloadError, match="gemm draws both operands; it stands alone"):
        fiberscope.simulate("gamma", "uniform:rows=2,cols=2,nonzeros=2", text)


def test_operands_that_do_not_go_together_are_refused():
    two, three = (from_scipy(np.ones((2, size)), name=f"W{size}") for size in (2, 3))
    with pytest.raises(WorkloadError, match=r"A \(W3\) is 2 x 3 and B \(W2\) is 2 x 2: B should have 3 rows"):
        Gemm([three, two])
    tall = draw("gemm:m=100000,n=100000,k=1,a=0,b=0")
    with pytest.raises(WorkloadError, match=r"A times B has 100000 x 100000 elements.*at most 268435456"):
        Gemm(tall)


def test_a_product_beyond_doubles_and_one_element_too_many_are_refused(monkeypatch):
    most, many = (from_scipy(np.full((1, 1), value)) for value in (1e200, 1e100))
    assert Gemm([many, most]).title == "A times B"
    with pytest.raises(WorkloadError, match=r"A times B: the products of row 1, column 1 overflow a double"):
        Gemm([most, most])
    monkeypatch.setattr(dense_product, "MOST_ELEMENTS", 6)
    ones = [from_scipy(np.ones(shape)) for shape in ((2, 1), (1, 3), (1, 4))]
    Gemm(ones[:2])
    with pytest.raises(
        WorkloadError, match="has 2 x 4 elements, each of which is written; at most 6 are held"
    ):
        Gemm(ones[::2])


@given(gemms(), st.sampled_from(["integer", "bf16"]), st.floats(1e-9, 10))
def test_the_check_passes_the_product_and_nothing_else(drawn, values, wrong):
    operands = draw(f"{drawn[0]},values={values}")
    problem = Gemm(operands)
    product = (operands[0].matrix @ operands[1].matrix).toarray()
    assert problem.check(product).passed
    assert problem.outline(product) == (product.shape, np.count_nonzero(product))
    place = np.unravel_index(np.argmax(np.abs(product)), product.shape)
    product[place] += wrong * max(1.0, abs(product[place]))
    assert not problem.check(product).passed
    product[place] = np.nan
    assert not problem.check(product).passed


def test_sums_of_integers_are_exact_up_to_the_precision():
    def kind(size, inner):
        matrix = sparse.csr_array(np.full((1, inner), float(size)))
        return choose_exact_kind(MatrixInMemory(matrix, 1), MatrixInMemory(sparse.csr_array(matrix.T), 0))

    assert kind(4096, 1) is np.float32
    assert kind(4096, 2) is np.float64
    assert kind(0.5, 1) is None


def test_values_beyond_fp32_are_not_cast_to_it_where_the_other_operand_is_empty():
    beyond, empty = (sparse.csr_array([[value]]) for value in (1e39, 0.0))
    assert choose_exact_kind(MatrixInMemory(beyond, 1), MatrixInMemory(empty, 0)) is None
    product = np.zeros((1, 1))
    assert Gemm([from_scipy(beyond), from_scipy(empty)]).check(product).passed


def test_a_drawn_operand_sliced_along_the_other_rank_is_held():
    a = draw("gemm:m=10,n=3,k=20,a=0.5,b=1")[0]
    assert slice_operand(a, 1) is a
    assert np.array_equal(slice_operand(a, 0).slice(2, 5).toarray(), a.matrix.toarray()[2:5])
    assert Spgemm(draw("gemm:m=10,n=3,k=20,a=0.5,b=1")).machine_inputs()[0].shape == (10, 20)


def test_the_tolerance_is_that_of_the_longest_row_over_all_slices():
    ones = np.ones((2, 2 * SLICE + 5))
    ones[1, :SLICE] = 0
    problem = Gemm([from_scipy(ones), from_scipy(np.ones((ones.shape[1], 1)))])
    problem.precision = SimpleNamespace(floats=True, roundoff=2.0**-11, least=2.0**-24, most=65504.0)
    rounding = Rounding.estimate(problem.precision, ones.shape[1], 2)
    assert problem.check(ones.sum(axis=1, keepdims=True)).tolerance == rounding.tolerance
