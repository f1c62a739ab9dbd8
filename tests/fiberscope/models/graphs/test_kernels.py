"""The expressions of SAM's Table 1 in all orders of loops, in drawn formats, against dense arrays."""

import numpy as np
import pytest
import scipy.sparse
from streams.compiled import dense, results_of
from streams.dense_evaluation import evaluated
from streams.kernels import KERNELS, Kernel, orders_of

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import compile_expression, run
from fiberscope.models.graphs.compiler.lower import lower
from fiberscope.models.graphs.compiler.sums import factor_sums

SUM_OUTSIDE = {"Residual": "i", "MatTransMul": "i", "accumulate": "j"}  # beside their sum: what comes first


def lowered(kernel, *, factor=False):
    """Its graph; factored where it is asked for."""
    if factor:
        return lower(*factor_sums(kernel.assignment, kernel.formats, kernel.order), kernel.order)
    return lower([kernel.assignment], kernel.formats, kernel.order)


def check(name, order, seed, *, factor=False, letters="sdb", settings=None):
    kernel = Kernel(name, order, seed, letters)
    graph = lowered(kernel, factor=factor)
    result = kernel.assignment.result.tensor
    found = dense(results_of(graph, kernel.arrays, settings)[result])
    wanted = evaluated([kernel.assignment], kernel.arrays, kernel.sizes)[result]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def is_legal(name, order):
    """Whether the order needs no temporary."""
    return name not in SUM_OUTSIDE or order[0] == SUM_OUTSIDE[name]


@pytest.mark.parametrize("name", KERNELS)
def test_every_order(name) -> None:
    orders = orders_of(name)
    for place, order in enumerate(orders[:: max(1, len(orders) // 6)]):
        check(name, order, place, factor=not is_legal(name, order))


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_every_order_in_many_formats(name) -> None:
    for order in orders_of(name):
        for seed in range(30):
            check(name, order, seed, factor=not is_legal(name, order))
            check(name, order, seed, factor=True)


@pytest.mark.parametrize("name", ["Residual", "MatTransMul"])
def test_a_sum_around_its_sibling_needs_a_temporary(name) -> None:
    with pytest.raises(
        InputError, match="order j,i: the sum over j is one of several terms, so j must come after i"
    ):
        lowered(Kernel(name, ("j", "i"), 0))


WIDE = [
    ("x(i) = b(i) * c(i)", "x:b,b:b,c:b"),
    ("x(i) = b(i) * c(i) + d(i)", "x:b,b:b,c:d,d:b"),
    ("X(i,j) = b(i) * c(j)", "X:bb,b:b,c:b"),
    ("X(j,i) = b(i) * c(j)", "X:bd,b:s,c:b"),
]


@pytest.mark.parametrize(("text", "formats"), WIDE)
@pytest.mark.parametrize("size", [64, 65, 150])
def test_bit_vectors_of_several_words(text, formats, size) -> None:
    numbers = np.random.default_rng(size)
    operands = {name: numbers.integers(1, 9, size) * (numbers.random(size) < 0.2) for name in "bcd"}
    made = compile_expression(text, [formats])
    report = run(made.graph, {name: operands[name] for name in "bcd" if f",{name}:" in formats})
    assert report.verification.passed


def test_bit_vectors_intersect_by_words_two_by_two() -> None:
    blocks = compile_expression("x(i) = b(i) * c(i) * d(i)", ["x:b,b:b,c:b,d:b"]).graph.counts()
    assert [blocks[name] for name in ("bvintersect", "bvexpand", "intersect", "bitvector")] == [1, 2, 1, 1]
    blocks = compile_expression("x(i) = b(i) + c(i) * d(i)", ["x:s,b:b,c:b,d:b"]).graph.counts()
    assert [blocks[name] for name in ("bvintersect", "bvexpand", "union")] == [1, 2, 1]


def test_bit_vectors_of_too_many_words_are_refused_before_a_run() -> None:
    made = compile_expression("x(i) = B(i,j) * c(j)", ["x:s,B:db,c:s"])
    matrix = scipy.sparse.coo_matrix((1 << 12, 1 << 20))
    words = "B=db01: 4,096 bit vectors of 1,048,576 coordinates, 67,108,864 words; at most 16,777,216"
    with pytest.raises(InputError, match=words):
        run(made.graph, {"B": matrix, "c": "ones"})


def test_a_cascade_reduces_into_temporaries() -> None:
    kernel = Kernel("SDDMM", ("i", "j", "k"), 0)
    statements, formats = factor_sums(kernel.assignment, kernel.formats, kernel.order)
    assert [str(one) for one in statements] == [
        "T1(i,j) = sum[k] (C(i,k) * D(j,k))",
        "X(i,j) = B(i,j) * T1(i,j)",
    ]
    assert str(formats["T1"]) == "ss01"
    assert lower(statements, formats, kernel.order).phases == [1, 2]


def test_factored_from_the_text() -> None:
    made = compile_expression("x(i) = b(i) - C(i,j) * d(j)", ["x:s,b:s,C:ss:10,d:s"], ["j", "i"], factor=True)
    assert made.order == ("j", "i")
    assert [str(one.assignment) for one in made.notations] == [
        "T1(i) = sum[j] (C(i,j) * d(j))",
        "x(i) = b(i) - T1(i)",
    ]
    assert run(made.graph, {"b": np.ones(3), "C": np.eye(3), "d": np.ones(3)}).verification.passed


def test_a_result_without_places_is_read_by_no_later_phase() -> None:
    made = compile_expression("x(i) = b(i) - C(i,j) * d(j)", ["x:s,b:s,C:ss,d:s"], factor=True)
    dropped_and_zero = np.array([[1.0, 0, 0], [0, 1, 1], [0, 0, 1]])
    operands = {"b": np.ones(3), "C": dropped_and_zero, "d": np.array([0.0, 1, -1])}
    assert run(made.graph, operands).verification.passed
    with pytest.raises(InputError, match="phase 2 cannot read it; run timing=machine"):
        run(made.graph, operands, {"timing": "sam"})
