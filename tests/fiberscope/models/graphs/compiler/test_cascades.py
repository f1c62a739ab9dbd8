"""Cascades of TeAAL as stream graphs: the counts of their traces, and what has no graph."""

from pathlib import Path

import pytest
from scipy import sparse

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import graph_from_text, gv_text, run
from fiberscope.models.graphs.compiler.cascades import build_cascade_graph, count_additions
from fiberscope.models.graphs.expression import list_expressions
from fiberscope.models.graphs.rewrites import apply_rewrites
from fiberscope.models.trace.api import load_outline, model
from published import cascades

MACHINES = ("gamma", "outerspace", "extensor")
LOOPS = {
    "gamma": {"T": "mkn", "Z": "mnk"},
    "outerspace": {"T0": "kmn", "T1": "mkn", "Z": "mnk"},
    "extensor": {"Z": "mnk"},
}


def matrices(seed, rows=20, middle=15, columns=18, density=0.15):
    shapes = ((rows, middle), (middle, columns))
    return [
        sparse.random_array(shape, density=density, rng=seed + number).tocsr()
        for number, shape in enumerate(shapes)
    ]


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("seed", [0, 7])
def test_multiplies_and_additions_are_those_of_the_trace(name, seed):
    a, b = matrices(seed)
    graph, trace = build_cascade_graph(load_outline(name, {})).graph, model(name, a, b)
    for one in (graph, apply_rewrites(graph)):
        report = run(one, {"A": a, "B": b}, {"depth": 0})
        assert report.verification.passed
        assert report.operations["multiply"] == trace.operations["multiply"] > 0
        assert count_additions(report) == trace.operations.get("add", 0) > 0


@pytest.mark.parametrize("name", MACHINES)
def test_loops_are_those_of_the_mapping_in_one_level(name):
    made = build_cascade_graph(load_outline(name, {}))
    assert {einsum: "".join(order) for einsum, order in made.orders.items()} == LOOPS[name]
    assert graph_from_text(gv_text(made.graph)) == made.graph


def test_what_the_graph_has_not_is_told():
    told = build_cascade_graph(load_outline("extensor", {})).left_out
    assert told == (
        "Z: K, M, N are cut into pieces, and the graph has one level",
        "Z: K1 runs in parallel, and the graph has each block once",
    )


def test_an_empty_matrix_has_an_empty_product():
    a, b = sparse.csr_array((6, 5)), matrices(1)[1][:5, :4]
    for name in MACHINES:
        report = run(build_cascade_graph(load_outline(name, {})).graph, {"A": a, "B": b}, {"depth": 0})
        assert report.verification.passed
        assert report.operations["multiply"] == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [("sigma", "flattened ranks"), ("graphicionado", "the cascade repeats"), ("gamma-figure", "nothing")],
)
def test_what_has_no_graph_is_named(name, reason):
    if reason == "nothing":
        assert build_cascade_graph(load_outline(name, {})).graph.phases
        return
    with pytest.raises(InputError, match=reason):
        build_cascade_graph(load_outline(name, {}))


EINSUM = """
symbols: {S: 3}
einsum:
  declaration: {A: [K, M], B: [K, N], Z: [M, N]}
  expressions: ["Z[m, n] = %s"]
"""


def graph_of(text, folder):
    path = folder / "einsum.yaml"
    path.write_text(EINSUM % text)
    return build_cascade_graph(load_outline(str(path), {})).graph


def test_numbers_and_negatives_of_an_einsum_are_of_the_graph_too(tmp_path):
    graph = graph_of("2 * A[k, m] * -B[k, n]", tmp_path)
    a, b = sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]]), sparse.csr_array([[5.0], [0.0], [7.0]])
    assert [str(one) for one in list_expressions(graph)] == ["Z(m,n) = sum[k] ((A(m,k) * 2) * (neg(B(k,n))))"]
    report = run(graph, {"A": a, "B": b}, {"depth": 0})
    assert report.verification.passed


def test_a_cascade_ends_in_a_scalar(tmp_path):
    (tmp_path / "norm.yaml").write_text(
        "einsum:\n  declaration: {A: [K, M], T: [M], Z: []}\n"
        '  expressions: ["T[m] = A[k, m] * A[k, m]", "Z[] = T[m] * T[m]"]\n'
    )
    graph = build_cascade_graph(load_outline(str(tmp_path / "norm.yaml"), {})).graph
    (a, _b) = matrices(3)
    report = run(graph, {"A": a}, {"depth": 0})
    assert report.verification.passed


def test_what_no_block_computes_is_named(tmp_path):
    with pytest.raises(
        InputError, match=r"the symbol S: no hardware .* number in the Einsum.* fiberscope model"
    ):
        graph_of("S * A[k, m] * B[k, n]", tmp_path)
    with pytest.raises(InputError, match="the function max: no graph computes it"):
        graph_of("max(A[k, m], A[k, m]) * B[k, n]", tmp_path)


@pytest.mark.slow
def test_the_table_of_the_page_is_what_all_ways_give(capsys):
    root = Path(__file__).parents[5]
    cascades.main()
    assert capsys.readouterr().out.strip() in (root / "docs" / "cascades.md").read_text()
