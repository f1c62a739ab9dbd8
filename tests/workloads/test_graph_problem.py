"""Graph problems: their answers are scipy's, their counts those that were published beside the machine."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from fiberscope.workloads import GraphAlgorithm, WorkloadError, from_scipy, load, synchronous
from fiberscope.workloads.synchronous import GraphTask
from fiberscope.workloads.vertex_program import BFS, MIN, VertexProgram, from_root

# Of each: iterations, reached, sum of distances, edges visited, updates, blocks, activations.
COUNTS = {
    ("wiki-Vote", "bfs"): (5, 2_316, 4_050, 57_650, 6_448, 146, 2_316),
    ("wiki-Vote", "sssp"): (16, 2_316, 131_466, 190_716, 21_215, 461, 7_678),
    ("p2p-Gnutella31", "bfs"): (25, 60_826, 463_900, 143_766, 114_611, 3_919, 60_826),
    ("p2p-Gnutella31", "sssp"): (31, 60_826, 44_313_826, 355_563, 251_819, 5_285, 148_442),
}
FRONTIERS = {
    "wiki-Vote": [1, 893, 1117, 297, 8],
    "p2p-Gnutella31": [
        *(1, 78, 270, 808, 2585, 5995, 10091, 11690, 10742, 7822, 4826, 2656, 1373),
        *(655, 436, 301, 178, 128, 73, 47, 24, 17, 15, 11, 4),
    ],
}
ROOTS = {"wiki-Vote": 2564, "p2p-Gnutella31": 5319}


@pytest.mark.real
@pytest.mark.parametrize(("name", "algorithm"), COUNTS)
def test_counts_are_the_published_ones(name, algorithm):
    graph = load(name)
    if graph.source != "real":
        pytest.skip(f"{name} is not on FIBERSCOPE_DATA")
    problem = GraphAlgorithm([graph], {"algorithm": algorithm})
    outcome = synchronous.run(*problem.machine_inputs())
    distances = outcome.properties[np.isfinite(outcome.properties)]
    names = ("edges", "updates", "blocks", "frontier")
    counts = [len(outcome.iterations), len(distances), int(distances.sum()), *map(outcome.total, names)]
    assert (problem.task.root, tuple(counts)) == (ROOTS[name], COUNTS[name, algorithm])
    assert problem.check(outcome.properties).passed
    if algorithm == "bfs":
        assert [iteration.frontier for iteration in outcome.iterations] == FRONTIERS[name]


graphs = st.integers(1, 30).flatmap(
    lambda size: st.lists(
        st.tuples(st.integers(0, size - 1), st.integers(0, size - 1), st.integers(0, 9)), max_size=120
    ).map(lambda edges: _graph(size, edges))
)


def _graph(size, edges):
    """Self loops and parallel edges stay, and zeros are weights."""
    edges = sorted(edges)
    sources = np.array([edge[0] for edge in edges], dtype=np.int64)
    pointers = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=size))])
    columns = np.array([edge[1] for edge in edges], dtype=np.int64)
    values = np.array([edge[2] for edge in edges], dtype=float)
    return sparse.csr_array((values, columns, pointers), shape=(size, size))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(graphs, st.sampled_from(["bfs", "sssp"]), st.sampled_from(["rule", "file", "unit"]), st.data())
def test_the_synchronous_loop_gives_the_distances_of_scipy(graph, algorithm, weights, data):
    root = data.draw(st.integers(0, graph.shape[0] - 1))
    problem = GraphAlgorithm([from_scipy(graph)], {"algorithm": algorithm, "root": root, "weights": weights})
    outcome = synchronous.run(*problem.machine_inputs())
    assert outcome.ended
    assert problem.check(outcome.properties).passed
    wrong = outcome.properties.copy()
    wrong[root] += 1
    assert not problem.check(wrong).passed


@given(graphs)
def test_edges_are_taken_in_pieces_without_a_difference(graph):
    task = GraphTask(BFS, 0, graph.shape[0] + 1, "unit")
    whole = synchronous.run(graph, task)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synchronous, "EDGES_AT_ONCE", 3)
        pieces = synchronous.run(graph, task)
    assert whole.iterations == pieces.iterations
    assert np.array_equal(whole.properties, pieces.properties)


@given(graphs, st.integers(1, 6))
def test_pagerank_is_the_power_iteration(graph, iterations):
    problem = GraphAlgorithm([from_scipy(graph)], {"algorithm": "pagerank", "iterations": iterations})
    structure = problem.graph.copy()
    structure.data[:] = 1.0
    degrees = np.maximum(np.diff(structure.indptr), 1)
    ranks = np.ones(graph.shape[0])
    for _ in range(iterations):
        ranks = 0.15 + 0.85 * (structure.T @ (ranks / degrees))
    assert problem.check(ranks).passed
    assert not problem.check(ranks * (1 + 1e-5)).passed


def test_functions_of_ones_own_are_the_known_ones_edge_by_edge():
    graph = load("uniform:rows=60,cols=60,nonzeros=300").matrix
    own = VertexProgram(
        "hops",
        lambda hops, _weight: hops + 1,
        min,
        lambda old, best, _degree: min(old, best),
        np.inf,
        BFS.start,
    )
    known, ours = (synchronous.run(graph, GraphTask(program, 0, 61, "unit")) for program in (BFS, own))
    assert ours.iterations == known.iterations
    assert np.array_equal(ours.properties, known.properties)


def _problem(matrix, **parameters):
    return GraphAlgorithm([from_scipy(matrix)], parameters)


@pytest.mark.parametrize(
    ("matrix", "parameters", "message"),
    [
        (np.ones((2, 3)), {}, "a graph is a square matrix, and this is 2 x 3"),
        (np.eye(3), {"root": 3}, r"problem.root is 3, and there are 3 vertices: 0 to 2, or max-degree"),
        (np.eye(3), {"algorithm": "bsf"}, "problem.algorithm is bsf; .* did you mean bfs"),
        (np.eye(3), {"algorithm": "none.py"}, "none.py: there is no such file; a vertex program is"),
        (
            -np.ones((2, 2)),
            {"algorithm": "sssp", "weights": "file"},
            "a cycle of negative weight can be reached from the root",
        ),
    ],
)
def test_what_is_no_problem_is_refused(matrix, parameters, message):
    with pytest.raises(WorkloadError, match=message):
        _problem(matrix, **parameters)


def test_negative_weights_without_a_cycle_are_fine():
    graph = np.array([[0, 5, 2], [0, 0, 0], [0, -4, 0]])
    problem = _problem(graph, algorithm="sssp", weights="file", root=0)
    assert problem.check(np.array([0.0, -2.0, 2.0])).passed
    assert problem.reference == "a synchronous loop"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("PROGRAM = 3\n", "the file defines no VertexProgram named PROGRAM"),
    ],
)
def test_a_program_file_that_has_none_is_refused(text, message, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(text)
    with pytest.raises(WorkloadError, match=message):
        _problem(np.eye(3), algorithm=str(path))


def test_a_program_that_no_machine_could_run_is_refused():
    with pytest.raises(ValueError, match="process_edge is 'hopp'; it should be a function or one of hop, "):
        VertexProgram("x", "hopp", MIN, MIN, 0.0, from_root(0.0, 1.0))
    with pytest.raises(ValueError, match="three whole numbers, each at least 1"):
        VertexProgram("x", "hop", MIN, MIN, 0.0, from_root(0.0, 1.0), cycles=(0, 1, 1))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("reduce=lambda old, new: 1 // 0", "program.py: ZeroDivisionError: "),
        ("reduce=lambda old, new: undefined", "program.py: NameError: "),
        ("reduce=lambda old, new: None", "program.py: TypeError: "),
        ("apply=lambda old, new: old", r"program.py: TypeError: .* takes 2 positional arguments but 3"),
        ("process_edge=lambda width, capacity: None", "program.py: TypeError: "),
        ("start=lambda degrees, root: 5", "start returns 5; it should return an array, a number per vertex"),
        ("start=lambda degrees, root: [1.0] * len(degrees)", "start returns .* should return an array"),
        (
            "apply=lambda old, new, degree: old + 1",
            "apply changes the property of vertex 0 from 0 to 1, but no message reached this vertex",
        ),
        ("neutral=float('nan')", "neutral is nan; it should be a number"),
        ("neutral='none'", "neutral is 'none'; it should be a number"),
        ("cycles=(1, 1)", r"cycles is \(1, 1\); it should be three whole numbers, each at least 1"),
        ("cycles=(1, 1.5, 1)", r"cycles is \(1, 1.5, 1\); it should be three whole numbers"),
    ],
)
def test_a_program_is_tried_out_before_it_is_run(changed, message, tmp_path):
    path = tmp_path / "program.py"
    given = {
        "process_edge": "min",
        "reduce": "max",
        "apply": "lambda old, new, degree: max(old, new)",
        "neutral": "0.0",
        "start": "from_root(0.0, 9.0)",
    }
    key, value = changed.split("=", 1)
    lines = ", ".join(f"{name}={what}" for name, what in (given | {key: value}).items())
    path.write_text(
        "from fiberscope.workloads import VertexProgram, from_root\n"
        f"PROGRAM = VertexProgram('widest', {lines})\n"
    )
    with pytest.raises(WorkloadError, match=message):
        _problem(np.eye(3, k=1), algorithm=str(path), root=1)
