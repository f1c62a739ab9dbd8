"""Graphicionado's specification: its counts are a synchronous loop's, its bytes those of the formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fiberscope.models.trace.api import model
from fiberscope.workloads import GraphAlgorithm, from_scipy, load, synchronous

SPECIFICATIONS = ("graphicionado", "graphicionado-csr_like")
# Bytes that the designs use: 8F + 12E + 8V + 8N in each iteration, and 16F + (4 + w)E + 4U + 4N + 8N.
BYTES = {
    ("graphicionado", "bfs"): 1_060_728,
    ("graphicionado", "sssp"): 3_473_448,
    ("graphicionado-csr_like", "bfs"): 321_228,
    ("graphicionado-csr_like", "sssp"): 1_825_560,
}


def moved(report):
    return sum(part.read_bytes + part.write_bytes for part in report.traffic.values())


@pytest.mark.real
@pytest.mark.parametrize(("name", "algorithm"), BYTES)
def test_bytes_of_a_real_graph_are_those_of_the_formulas(name, algorithm):
    graph = load("wiki-Vote")
    if graph.source != "real":
        pytest.skip("wiki-Vote is not on FIBERSCOPE_DATA")
    report = model(name, graph, settings={"problem.algorithm": algorithm})
    assert moved(report) == BYTES[name, algorithm]
    assert report.verification.passed


graphs = st.integers(2, 20).flatmap(
    lambda size: st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=80).map(
        lambda edges: from_scipy(drawn(size, sorted(edges)), name="drawn")
    )
)


def drawn(size, edges):
    rows, columns = np.array(edges, np.int64).reshape(-1, 2).T
    weights = 1.0 + (rows + 3 * columns) % 5
    return sparse.coo_array((weights, (rows, columns)), shape=(size, size)).tocsr()


SLICES = st.sampled_from([8, 16, 64])  # vertices


@settings(max_examples=10)
@given(graphs, st.sampled_from(SPECIFICATIONS), st.sampled_from(["bfs", "sssp"]), SLICES)
def test_counts_are_those_of_a_synchronous_loop(graph, name, algorithm, slice_vertices):
    problem = {"problem.algorithm": algorithm, "problem.weights": "file"}
    expected = synchronous.run(
        *GraphAlgorithm([graph], {"algorithm": algorithm, "weights": "file"}).machine_inputs()
    )
    report = model(name, graph, settings={**problem, "N": slice_vertices})
    told = report.teaal
    assert report.verification.passed
    assert told.rounds == len(expected.iterations)
    assert told.bodies["R"]["D0"] == expected.total("edges")
    assert told.elements["R"] == expected.total("updates")
    assert told.elements["A1"] == expected.total("changed")
    if slice_vertices >= graph.shape[0] and graph.nonzeros:  # else there are slices that no edge leads to
        assert told.bodies["SO"]["S0"] == expected.total("frontier")
    units = told.metrics["R"]  # that compute redefined operators
    assert units["ProcessEdge"]["add"] == expected.total("edges")
    assert units["Reduce"]["min"] == expected.total("edges") - expected.total("updates")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["graphicionado", "wiki-Vote", "--set", "problem.algorithm=pagerank"], "the cascade is that of bfs"),
        (
            ["graphicionado", "rmat-graph:vertices=64,edges=900,tail=0,duplicates=keep"],
            "parallel edges, and a tensor has one",
        ),
        (["gamma", "wiki-Vote", "--set", "problem.root=1"], "takes no parameters, and so no problem.root"),
        (["graphicionado", "wiki-Vote", "wiki-Vote"], "graph takes 1 operand (G), and 2 were given"),
        (["graphicionado"], "reads tensor G, which is not given; give G=FILE A0=FILE P0=FILE"),
    ],
)
def test_what_the_cascade_cannot_do_is_said_in_a_line(words, said, refusal):
    assert said in refusal("model", *words, "-q")
