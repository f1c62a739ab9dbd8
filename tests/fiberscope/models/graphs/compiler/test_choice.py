"""The choice of an order of loops, against runs of all of them."""

from pathlib import Path

import numpy as np
import pytest

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import compile_expression, run
from fiberscope.models.graphs.compiler.choice import candidates, list_text_candidates
from fiberscope.models.graphs.compiler.language import parse
from fiberscope.models.graphs.formats import format_of
from fiberscope.workloads.tensor import SparseTensor
from published import orders

ROOT = Path(__file__).parents[5]
PRODUCT = "X(i,j) = B(i,k) * C(k,j)"
SPARSE = {name: format_of("ss") for name in "XBC"}


def drawn(*shape, density=0.1, seed=0):
    draws = np.random.default_rng(seed)
    columns = np.nonzero(draws.random(shape) < density)
    return SparseTensor(shape, tuple(column.astype(np.int64) for column in columns), np.ones(len(columns[0])))


def operands():
    return {"B": drawn(40, 30), "C": drawn(30, 35, seed=1)}


def test_without_other_formats_only_legal_orders_are_estimated():
    found = candidates(parse(PRODUCT), SPARSE, operands())
    assert [one.order for one in found] == [("i", "k", "j")]


def test_each_order_is_stored_as_it_goes_and_computes_the_product():
    found = candidates(parse(PRODUCT), SPARSE, operands(), "BC")
    assert len(found) == 6
    for one in found:
        report = run(one.graph, operands(), {"depth": 0})
        assert report.verification.passed
        assert one.expected.cycles == pytest.approx(report.cycles, rel=0.1)


def test_the_order_chosen_is_the_best_of_all_where_tensors_are_uniform():
    found = candidates(parse(PRODUCT), SPARSE, operands(), "BC")
    cycles = [run(one.graph, operands(), {"depth": 0}).cycles for one in found]
    assert cycles[0] == min(cycles) < max(cycles) / 5


def test_a_result_that_is_sorted_first_is_estimated_too():
    found = candidates(parse(PRODUCT), {**SPARSE, "X": format_of("dd10")}, operands())
    report = run(found[0].graph, operands(), {"depth": 0})
    assert len(found[0].graph.phases) == 2
    assert found[0].expected.cycles == pytest.approx(report.cycles, rel=0.1)


def test_operands_come_as_a_run_takes_them():
    given = {"B": "uniform:rows=20,cols=20,nonzeros=60", "C": np.eye(20)}
    found = list_text_candidates(PRODUCT, ["X:ss,B:ss,C:ss"], given)
    assert len(found) == 6
    stored = list_text_candidates(PRODUCT, ["X:ss,B:ss:01,C:ss:10"], given)
    assert {one.order for one in stored} == {("i", "j", "k"), ("j", "i", "k")}


def test_loops_over_chunks_are_ordered_too():
    made = candidates(parse(PRODUCT), SPARSE, operands(), splits={"k": 8})
    assert {("i", "k_0", "k_1", "j"), ("k_0", "i", "k_1", "j")} < {one.order for one in made}
    best = made[0]
    again = compile_expression(PRODUCT, best.format_texts, best.order, split="k:8")
    assert again.graph == best.graph
    report = run(best.graph, operands(), {"depth": 0})
    assert report.verification.passed
    assert best.expected.cycles == pytest.approx(report.cycles, rel=0.1)


def test_what_has_no_estimate_is_refused_with_the_reason():
    none = np.zeros(0, np.int64)
    wide = {"B": SparseTensor((1 << 12, 1 << 20), (none, none), np.zeros(0))}
    with pytest.raises(InputError, match="no order of its loops can be estimated: 4,096 bit vectors of"):
        candidates(parse("x(i) = B(i,j)"), {"x": format_of("s"), "B": format_of("db")}, wide)


@pytest.mark.slow
def test_the_table_of_the_page_is_what_all_orders_give(capsys):
    orders.main()
    assert capsys.readouterr().out.strip() in (ROOT / "docs" / "graph_reference.md").read_text()


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("X(i,j) = B(i,j) * C(j,i)", ["X:ss,B:ss,C:ss"]),
        ("X(i,j) = B(i,j) * C(j,i)", ["X:ss,B:ss:01,C:ss"]),
        ("X(i,j) = B(i,k) * C(k,i) * D(i,j)", ["X:ss,B:ss:10,C:ss,D:ss"]),
    ],
)
def test_tensors_whose_order_is_free_are_stored_as_the_loops_go_if_their_natural_order_is_illegal(
    text: str, formats: list[str]
) -> None:
    tensors = {name: drawn(20, 20, seed=number) for number, name in enumerate("BCD") if f" {name}(" in text}
    found = list_text_candidates(text, formats, tensors)
    assert found
    for candidate in found:
        assert run(candidate.graph, tensors, {"depth": 0}).verification.passed


@pytest.mark.parametrize(
    ("formats", "message"),
    [
        (["X:ss,B:ss:01,C:ss:01"], "no order of the loops will do"),
        (["X:ss,B:ss:01,C:sss"], "C"),
        (["X:ss,B:ss:01,D:ss"], "D"),
    ],
)
def test_orders_that_are_given_stay_an_error(formats: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        list_text_candidates("X(i,j) = B(i,j) * C(j,i)", formats, {"B": drawn(9, 9), "C": drawn(9, 9)})
