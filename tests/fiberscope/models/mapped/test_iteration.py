"""Machines of cascades that repeat: their counts by Einsum and round are the trace's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped_runs import parameters
from scipy import sparse

import fiberscope
from fiberscope.models.from_spec.build import build_graphs
from fiberscope.models.from_spec.machine import MappedMachine
from fiberscope.models.from_spec.rounds import unrolled
from fiberscope.models.trace.api import prepare
from fiberscope.models.trace.evaluate import run
from fiberscope.workloads import from_scipy

SPECIFICATIONS = ("graphicionado", "graphicionado-csr_like")
WORKED = ((0, 1), (0, 2), (1, 3), (2, 3))


def graph(edges, size):
    sources, destinations = np.array(edges, np.int64).reshape(-1, 2).T
    weights = 1.0 + (sources + 3 * destinations) % 5
    matrix = sparse.coo_array((weights, (sources, destinations)), shape=(size, size)).tocsr()
    return from_scipy(matrix, name="drawn")


def counts(operations):
    """Operations of a stage by the names that the trace has for them."""
    return {"mul": operations["multiply"], "add": operations["add"], "sub": operations.get("sub", 0)}


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_a_search_of_four_vertices_takes_three_rounds(name):
    report = fiberscope.simulate(f"spec:{name}", graph(WORKED, 4), settings={"problem.root": 0})
    assert report.verification.passed
    applied = 12 if name == "graphicionado" else 4  # only vertices that an edge reaches: 2, 1 and 0
    if name == "graphicionado":
        assert report.operations["add"] == applied + 1
        assert report.operations["sub"] == applied
    assert report.operations["multiply"] == len(WORKED)
    assert report.traffic["G"].read_bytes > 0


@settings(max_examples=8, deadline=None)
@given(
    edges=st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40).map(sorted),
    name=st.sampled_from(SPECIFICATIONS),
    algorithm=st.sampled_from(["bfs", "sssp"]),
    vertices=st.sampled_from([8, 64]),
)
def test_each_einsum_of_each_round_counts_as_in_the_trace(edges, name, algorithm, vertices):
    asked = {"problem.algorithm": algorithm, "problem.weights": "file", "N": vertices}
    ready = prepare(name, graph(edges, 12), settings=asked)
    outcome = run(ready.specification, ready.trees)
    specification = unrolled(ready.specification, outcome.rounds)
    names = [einsum.name for einsum in specification.einsums]
    written = dict(zip(names, (one.stored for one in outcome.runs), strict=True))
    stages = build_graphs(specification, ready.trees, lambda: written)
    settings_ = parameters(memory="ideal")
    machine = MappedMachine(settings_, specification, stages, ready.trees, "drawn")
    assert machine.kernel.run().complete
    outputs = machine.result().outputs
    for stage, one in zip(machine.stages, outcome.runs, strict=True):
        own = {name: one.operations.get(name, 0) for name in ("mul", "add", "sub")}
        assert counts({"multiply": 0, "add": 0, **stage.operations()}) == own
        assert str(outputs[stage.graph.einsum.name].swizzle(one.stored.names)) == str(one.stored)


COMPONENTS = """\
einsum:
  declaration: {G: [D, S], L0: [S], C: [D], L1: [S]}
  expressions:
    - C[d] = G[d, s] * L0[s]
    - L1[v] = C[v] + L0[v]
  operators: {C: {"*": second, "+": min}, L1: {"+": min}}
  iterate: {carry: {L0: L1}}
mapping:
  spacetime:
    C: {space: [D], time: [S]}
"""


def test_a_cascade_ends_when_nothing_changes(tmp_path):
    """Labels of a path of four vertices, and of one alone: the least reaches the end in three rounds."""
    path = tmp_path / "components.yaml"
    path.write_text(COMPONENTS)
    edges = sparse.coo_array((np.ones(3), ([0, 1, 2], [1, 2, 3])), shape=(5, 5)).tocsr()
    tensors = {"G": edges + edges.T, "L0": sparse.csr_array(np.array([[4.0], [3], [2], [1], [9]]))}
    run, counted = (ask(str(path), tensors=tensors) for ask in (fiberscope.simulate, fiberscope.model))
    assert run.verification.passed
    assert run.result.toarray().ravel().tolist() == [1, 1, 1, 1, 9]
    assert len(run.stages) == 2 * counted.teaal.rounds == 2 * (3 + 1)
    for name in ("multiply", "add"):
        assert run.operations[name] == counted.operations[name]


def test_a_value_that_is_no_number_and_stays_so_does_not_change(tmp_path):
    """The root of -1 is NaN, and so is its root: the second round changes nothing, and is the last."""
    path = tmp_path / "roots.yaml"
    path.write_text(
        "einsum:\n  declaration: {R: [D], S: [D]}\n  expressions: ['S[d] = sqrt(R[d])']\n"
        "  iterate: {carry: {R: S}, limit: 9}\n"
    )
    for value in (-1.0, 1.0):
        report = fiberscope.model(str(path), tensors={"R": sparse.csr_array(np.full((3, 1), value))})
        assert report.teaal.rounds == 2 - (value == 1)


def test_functions_are_computed_where_an_operand_is(tmp_path):
    path = tmp_path / "larger.yaml"
    path.write_text(
        "einsum:\n  declaration: {A: [M], B: [M], Z: [M]}\n"
        "  expressions: ['Z[m] = max(A[m], B[m]) - min(A[m], B[m])']\n"
    )
    first, second = np.array([1.0, 0, 4, 0, -2]), np.array([3.0, 2, 0, 0, -2])
    tensors = {name: sparse.csr_array(values[:, None]) for name, values in (("A", first), ("B", second))}
    run = fiberscope.simulate(str(path), tensors=tensors)
    assert run.verification.passed
    assert run.result.toarray().ravel().tolist() == [2, 2, 4, 0, 0]
    assert (run.operations["max"], run.operations["min"]) == (4, 4)
