"""Graphs with values of a type: products and sums are rounded to it, and verification allows for that."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import compile_expression, machine, run
from fiberscope.models.graphs.storage import round_values
from fiberscope.results.errors import VerificationError

SPMV = compile_expression("x(i) = B(i,j) * c(j)", ["x:d,B:ss,c:d"]).graph
TYPES = {"float32": np.float32, "float64": np.float64}
ROUNDOFF = {"float32": 2**-24, "float64": 2**-52, "bfloat16": 2**-8}


def drawn(seed, scale=0):
    """A matrix and a vector of any sign, of sizes that differ by so many powers of ten either way."""
    generator = np.random.default_rng(seed)
    matrix, vector = generator.standard_normal((9, 40)), generator.standard_normal(40)
    matrix *= 10.0 ** generator.integers(-scale, scale + 1, matrix.shape)
    return matrix * (generator.random(matrix.shape) < 0.7), vector


@pytest.mark.parametrize("name", TYPES)
@given(seed=st.integers(0, 10**6), scale=st.integers(0, 6))
def test_each_product_and_sum_is_rounded_in_the_order_of_the_machine(name, seed, scale):
    kind, (matrix, vector) = TYPES[name], drawn(seed, scale)
    report = run(SPMV, {"B": matrix, "c": vector}, {"value": name})
    for row, found in zip(matrix.astype(kind), report.result.toarray(), strict=True):
        total = None
        for one, other in zip(row, vector.astype(kind), strict=True):
            if one != 0:
                total = one * other if total is None else total + one * other
        assert found == (0.0 if total is None else float(total))


@pytest.mark.parametrize("name", ROUNDOFF)
@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("x(i) = B(i,j) * c(j)", "x:s,B:ss,c:s"),
        ("x(i) = B(i,j) + D(i,j) * c(j)", "x:s,B:ss,c:s,D:ss"),
        ("x(j) = B(i,j)", "x:s,B:ss"),
    ],
)
@given(seed=st.integers(0, 10**6), scale=st.integers(0, 20))
def test_rounding_is_no_fault(name, text, formats, seed, scale):
    graph = compile_expression(text, [formats]).graph
    (matrix, vector), (other, _) = drawn(seed, scale), drawn(seed + 1, scale)
    operands = {"B": matrix, "c": vector, "D": other}
    used = {operand: one for operand, one in operands.items() if f"{operand}(" in text}
    verification = run(graph, used, {"value": name}).verification
    assert verification.passed
    assert verification.tolerance < 200 * ROUNDOFF[name]


def test_what_is_too_small_for_a_type_is_no_fault():
    tiny = np.full((2, 3), 1e-30)
    report = run(SPMV, {"B": tiny, "c": tiny[0]}, {"value": "float32"})
    assert report.verification.passed
    assert not report.result.toarray().any()


@pytest.mark.parametrize(("name", "error"), [("float32", 1e-4), ("bfloat16", 2.0), ("auto", 1e-11)])
def test_planted_an_operand_that_is_off_by_more_is_found(name, error, monkeypatch):
    def off(value_type, tensors):
        found = round_values(value_type, tensors)
        return {one: replace(tensor, values=tensor.values * (1 + error)) for one, tensor in found.items()}

    monkeypatch.setattr(machine, "round_values", off)
    with pytest.raises(VerificationError, match="x is wrong: relative error"):
        run(SPMV, {"B": np.ones((3, 4)), "c": np.ones(4)}, {"value": name})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("integer", 0.5, "B: 0.5 is no integer; --set value names another type"),
        ("float32", 1e39, r"B: 1e\+39 is no float32; --set value names another type"),
    ],
)
def test_what_is_no_number_of_a_type_is_refused(name, value, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        run(SPMV, {"B": np.full((2, 2), value), "c": np.ones(2)}, {"value": name})


def test_integers_are_taken_as_they_are():
    matrix, vector = np.array([[1.0, -2.0], [0.0, 2.0**40]]), np.array([3.0, 2.0**10])
    report = run(SPMV, {"B": matrix, "c": vector}, {"value": "integer"})
    assert report.result.toarray().ravel().tolist() == [3 - 2.0**11, 2.0**50]
