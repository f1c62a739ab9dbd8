"""Expected tokens against those of the event simulation, stream by stream."""

import random
from pathlib import Path

import numpy as np
import pytest
from streams.random_graphs import RandomGraph

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import compile_expression, read_gv, run
from fiberscope.models.graphs.compiler.choice import list_text_candidates
from fiberscope.models.graphs.cost import estimate_graph, statistics_of
from fiberscope.models.graphs.execution import prepare
from fiberscope.models.graphs.expression import list_accesses, list_expressions
from fiberscope.models.graphs.formats import format_of
from fiberscope.models.graphs.machine import block_names
from fiberscope.models.graphs.rewrites import apply_rewrites
from fiberscope.models.graphs.storage import store
from fiberscope.models.graphs.streams import stream_counts
from fiberscope.workloads import load
from fiberscope.workloads.tensor import SparseTensor

EXAMPLES = Path(__file__).parents[4] / "examples" / "graphs"
RANDOM = {
    "B": "sam-random:shape=250x100,sparsity=0.95,seed=0",
    "C": "sam-random:shape=100x250,sparsity=0.95,seed=1",
}


def both(graph, operands):
    """The expected stream and the measured counts of every output, the estimate and the report."""
    expected = estimate_graph(prepare(graph, operands))
    report = run(graph, operands)
    counts = {(one.block, one.output): one for one in stream_counts(report)}
    names = block_names(graph.nodes.values())
    pairs = {}
    for (name, output), stream in expected.streams.items():
        port = graph.nodes[name].primitive.output_port(graph.nodes[name], output).removeprefix("out_")
        if (names[name], port) in counts:
            pairs[graph.nodes[name].label, output] = stream, counts[names[name], port]
    return pairs, expected, report


def token_error(pairs):
    """How far all tokens together are off."""
    measured = sum(one.data + one.stops + one.empties for _stream, one in pairs.values())
    return abs(sum(stream.tokens for stream, _one in pairs.values()) / measured - 1)


def test_statistics_count_the_elements_of_each_level_at_each_coordinate():
    matrix = np.array([[0, 1, 2], [0, 0, 0], [0, 3, 0]])
    outer, inner = statistics_of(
        store(SparseTensor.from_matrix(load_matrix(matrix)), format_of("ss01"))
    ).levels
    assert (outer.elements, inner.elements, inner.fibers) == (2, 3, 2)
    assert list(outer.spread[0]) == [1, 0, 1]
    assert list(inner.spread[0]) == [2, 0, 1]
    assert list(inner.spread[1]) == [0, 2, 1]


def load_matrix(matrix):
    from scipy import sparse

    from fiberscope.workloads import from_scipy

    return from_scipy(sparse.csr_array(matrix), "m").matrix


@pytest.mark.parametrize("order", ["ijk", "ikj", "jik", "jki", "kij", "kji"])
def test_products_of_uniform_matrices_in_six_orders(order):
    pairs, expected, report = both(read_gv(EXAMPLES / f"fig12_{order}.gv"), RANDOM)
    assert token_error(pairs) < 0.005
    assert expected.cycles == pytest.approx(report.cycles, rel=0.06)


def test_what_one_tensor_alone_decides_is_exact():
    pairs, _expected, _report = both(read_gv(EXAMPLES / "fig12_ikj.gv"), RANDOM)
    exact = [pair for (label, _output), pair in pairs.items() if not label.startswith("spaccumulator")]
    assert len(exact) > 10
    for stream, one in exact:
        assert stream.count == pytest.approx(one.data, rel=1e-9)
        assert stream.stops == pytest.approx(one.stops, rel=0.01)


def hypersparse(shape, *places):
    """A tensor of few points, most of whose fibers have none."""
    made = np.zeros(shape)
    for number, place in enumerate(places, start=1):
        made[place] = number
    return made


MATRIX = hypersparse((6, 8), (1, 2), (4, 0), (4, 5), (4, 7))
TENSOR = hypersparse((4, 5, 6), (1, 2, 3), (1, 2, 4), (3, 0, 0))
HYPERSPARSE = [
    ("x(i) = B(i,j) * c(j)", ["B:ds", "c:s", "x:s"], {"B": MATRIX, "c": np.ones(8)}),
    ("x(i) = B(i,j) * c(j)", ["B:ds", "c:d", "x:d"], {"B": MATRIX, "c": np.ones(8)}),
    ("X(i,j) = B(i,j) * C(i,j)", ["B:ds", "C:ds", "X:ds"], {"B": MATRIX, "C": np.ones((6, 8))}),
    ("X(i,j) = B(i,j) + C(i,j)", ["B:ds", "C:ds", "X:ds"], {"B": MATRIX, "C": np.ones((6, 8))}),
    ("X(i,j,k) = T(i,j,k)", ["T:dds", "X:ddd"], {"T": TENSOR}),
    ("X(i,j,k) = T(i,j,k)", ["T:dss", "X:sss"], {"T": TENSOR}),
    ("X(i,j,k) = T(i,j,k)", ["T:sds", "X:sds"], {"T": TENSOR}),
]


@pytest.mark.parametrize(("text", "formats", "operands"), HYPERSPARSE, ids=lambda given: str(given)[:30])
def test_empty_fibers_and_their_stops_are_counted_exactly(text, formats, operands):
    """Of one tensor, and of what is full beside it; what goes through a dropper has fibers by chance."""
    pairs, _expected, _report = both(compile_expression(text, formats).graph, operands)
    for (label, output), (stream, one) in pairs.items():
        assert (stream.count, stream.missing) == pytest.approx((one.data, one.empties)), (label, output)
        if (label.partition(" ")[0], output) != ("crddrop", "inner"):
            assert stream.stops == pytest.approx(one.stops), (label, output)


def test_located_levels_are_estimated_too():
    graph = apply_rewrites(read_gv(EXAMPLES / "fig11_coiterate.gv"))
    operands = {"B": RANDOM["B"], "C": "ones:shape=250x3", "D": "ones:shape=100x3"}
    pairs, expected, report = both(graph, operands)
    assert token_error(pairs) < 1e-9
    assert expected.cycles == pytest.approx(report.cycles, rel=0.06)


SQUARE = {name: f"sam-random:shape=100x100,sparsity=0.95,seed={seed}" for seed, name in enumerate("BC")}


@pytest.mark.parametrize("letters", ["ss", "sb", "bs", "bb", "db"])
@pytest.mark.parametrize("text", ["B(i,k) * C(k,j)", "B(i,j) * C(i,j)", "B(i,j) + C(i,j)"])
def test_bit_vectors_are_estimated_as_compressed_levels_are(text, letters):
    graph = compile_expression(f"X(i,j) = {text}", [f"X:sb,B:{letters},C:{letters}"]).graph
    pairs, expected, report = both(graph, SQUARE)
    assert token_error(pairs) < 0.02
    assert expected.cycles == pytest.approx(report.cycles, rel=0.03)


def test_an_order_is_chosen_for_bit_vectors():
    given = {name: text.replace("100x100", "40x40") for name, text in SQUARE.items()}
    found = list_text_candidates("X(i,j) = B(i,k) * C(k,j)", ["X:bb,B:bb,C:bb"], given)
    cycles = [run(one.graph, given).cycles for one in found]
    assert len(found) == 6
    assert cycles[0] == min(cycles)


def drawn(seed):
    graph, draws, numbers = RandomGraph(seed).graph, random.Random(seed), np.random.default_rng(seed)
    sizes = {variable: draws.randrange(20, 60) for variable in "ij"}
    density = draws.choice((0.02, 0.1, 0.3, 0.6))
    operands = {}
    for access in list_accesses(list_expressions(graph)):
        shape = tuple(sizes[variable] for variable in access.variables)
        operands[access.tensor] = numbers.integers(1, 9, shape) * (numbers.random(shape) < density)
    return graph, operands


def test_random_graphs_of_unions_and_intersections():
    errors = [token_error(both(*drawn(seed))[0]) for seed in range(30)]
    assert np.mean(errors) < 0.01
    assert max(errors) < 0.05


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize(("order", "most"), [("ikj", 0.01), ("kij", 0.02)])
def test_a_product_of_a_real_matrix(order, most):
    if load("wiki-Vote").source != "real":
        pytest.skip("wiki-Vote is not on FIBERSCOPE_DATA")
    operands = {"B": "wiki-Vote", "C": "wiki-Vote"}
    pairs, expected, report = both(read_gv(EXAMPLES / f"fig12_{order}.gv"), operands)
    assert token_error(pairs) < most
    assert expected.cycles == pytest.approx(report.cycles, rel=0.05)


def test_what_cannot_be_estimated_is_named():
    vectors = {"b": np.ones(70), "c": np.ones(70)}
    with pytest.raises(InputError, match=r"fig13_bv has no estimate: .* cannot be estimated"):
        estimate_graph(prepare(EXAMPLES / "fig13_bv.gv", vectors))
