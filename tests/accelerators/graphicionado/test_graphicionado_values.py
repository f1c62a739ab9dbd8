"""Graphicionados whose properties are of a type: messages and ranks are rounded one by one."""

import numpy as np
import pytest
from graphicionado_bench import TINY, machine_of, problem_of, reference, small_graph
from hypothesis import given
from hypothesis import strategies as st
from typed_values import NUMPY

from fiberscope import simulate
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.testing import run_to_end

ALONE = TINY | {"streams": 1, "edge.readers_per_stream": 1}  # messages come in the order of their sources
graphs = st.builds(small_graph, st.integers(2, 40), st.integers(1, 150), st.integers(0, 99))


def ranks(graph, rounds, kind):
    """PageRank by a plain loop in the type: of each vertex its rank by its edges."""
    degrees = np.maximum(np.diff(graph.indptr), 1)
    rank = [kind(1.0 / degree) for degree in degrees]
    for _ in range(rounds):
        reduced = [kind(0.0)] * len(rank)
        for source in range(len(rank)):
            for destination in graph.indices[graph.indptr[source] : graph.indptr[source + 1]]:
                reduced[destination] = reduced[destination] + rank[source]
        rest, damping = kind(1.0 - 0.85), kind(0.85)
        rank = [(rest + damping * one) / kind(degree) for one, degree in zip(reduced, degrees, strict=True)]
    return [float(one) for one in rank]


@pytest.mark.parametrize("name", NUMPY)
@given(graphs, st.integers(1, 4))
def test_ranks_are_rounded_step_by_step(name, graph, rounds):
    problem = problem_of(graph, algorithm="pagerank", iterations=rounds)
    machine = run_to_end(machine_of(problem, ALONE | {"value": name}))
    found = np.concatenate([stream.vertices.properties for stream in machine.streams]).tolist()
    assert found == ranks(problem.graph, rounds, NUMPY[name])


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("algorithm", ["bfs", "sssp", "pagerank"])
def test_rounding_is_no_fault(name, algorithm):
    settings = TINY | {"value": name, "problem.algorithm": algorithm}
    assert simulate("graphicionado", small_graph(), settings=settings).verification.passed


@pytest.mark.parametrize("name", ["integer", "float32", "float64", "bfloat16"])
def test_hops_are_the_same_in_all_types(name):
    problem = problem_of(small_graph(), algorithm="bfs")
    machine = run_to_end(machine_of(problem, TINY | {"value": name}))
    assert np.array_equal(machine.result(), reference(problem).properties)


def test_weights_are_rounded_and_added_in_the_type():
    graph = small_graph()
    graph.data[:] = 0.1 * (1 + np.arange(graph.nnz) % 7)
    problem = problem_of(graph, algorithm="sssp", weights="file")
    found = run_to_end(machine_of(problem, TINY | {"value": "float32"})).result()
    assert np.array_equal(found, found.astype(np.float32))
    assert not np.array_equal(found, reference(problem).properties)


@pytest.mark.parametrize(
    ("algorithm", "name", "weight", "message"),
    [
        (
            "pagerank",
            "integer",
            1.0,
            "value is integer, but ranks are fractions; use float32, float64 or bfloat16",
        ),
        ("sssp", "integer", 0.5, "G: 0.5 is no integer; --set value names another type"),
        ("sssp", "float32", -1.0, "value is float32; with negative weights it should be auto or integer"),
    ],
)
def test_what_makes_no_sense_in_a_type_is_refused(algorithm, name, weight, message):
    acyclic = type(small_graph())(np.triu(small_graph().toarray(), 1))
    acyclic.data[0] = weight
    parameters = {} if algorithm == "pagerank" else {"weights": "file"}
    with pytest.raises(ConfigurationError, match=f"^{message}$"):
        machine_of(problem_of(acyclic, algorithm=algorithm, **parameters), TINY | {"value": name})
