"""Graphicionado from the front door: its report by iteration, designs side by side, programs of one's own."""

import json

import pytest
from graphicionado_bench import TINY, problem_of, reference, small_graph
from scipy import sparse

import fiberscope
from fiberscope import cli
from fiberscope.accelerators.graphicionado import ACCELERATOR
from fiberscope.explore.speedups import read_designs, speedups
from fiberscope.results.report import pictures
from fiberscope.results.report.document import Report
from fiberscope.workloads import WorkloadError

GRAPH = "uniform:rows=120,cols=120,nonzeros=700,seed=3"
WIDEST = """
from fiberscope.workloads import VertexProgram, from_root

PROGRAM = VertexProgram(
    name="widest path",
    process_edge=lambda width, capacity: min(width, capacity),
    reduce=max,
    apply=lambda width, widest, degree: max(width, widest),
    neutral=0.0,
    start=from_root(elsewhere=0.0, at_root=float("inf")),
    cycles=(1, 1, 1),
)
"""


@pytest.fixture(scope="module")
def report() -> Report:
    return fiberscope.simulate("graphicionado", GRAPH, settings=TINY)


def test_the_report_tells_of_every_iteration(report):
    assert report.iterations[0].frontier == 1
    assert sum(one.frontier for one in report.iterations) == report.operations["activations"]
    assert sum(one.updates for one in report.iterations) == report.operations["updates"]
    ends = [0]
    for one in report.iterations:
        assert ends[-1] < one.began + 1 <= one.applied <= one.ended <= report.cycles
        ends.append(one.ended)
    assert f"{len(report.iterations)}, of up to " in report.summary()
    assert Report.model_validate_json(report.to_json()) == report


def test_a_picture_shows_iterations(report):
    pytest.importorskip("matplotlib")
    axes = [axes for axes in pictures.figure(report).axes if axes.get_title(loc="left") == "By iteration"]
    (drawn,) = axes
    assert drawn.patches[0].get_data().values.tolist() == [one.frontier for one in report.iterations]


def test_designs_side_by_side(refusal):
    table = read_designs(ACCELERATOR)
    (run,) = speedups(ACCELERATOR, [GRAPH], settings={**TINY, "problem.algorithm": "bfs"})[:1]
    assert run.cycles.keys() == table.designs.keys()
    assert run.speedups["graphicionado"] == 1.0
    assert run.speedups["csr_like"] == run.cycles["graphicionado"] / run.cycles["csr_like"]
    edges = fiberscope.simulate("graphicionado", GRAPH).operations["edges"]
    assert run.edges_per_ns["graphicionado"] == pytest.approx(
        edges / run.cycles["graphicionado"], rel=1e-3
    )  # the last cycle may be half over
    assert "no-such-graph" in refusal("compare", "graphicionado", "no-such-graph")


def test_a_program_of_ones_own_runs_and_is_checked(tmp_path):
    path = tmp_path / "widest.py"
    path.write_text(WIDEST)
    given = {"algorithm": str(path), "root": 5}
    outcome = reference(problem_of(small_graph(), **given))
    for design in ("graphicionado", "csr_like"):
        settings = {**TINY, "design": design, **{f"problem.{key}": value for key, value in given.items()}}
        found = fiberscope.simulate("graphicionado", small_graph(), settings=settings)
        assert found.verification.passed
        assert found.verification.reference == "a synchronous loop"
        assert found.problem.title == "widest path from vertex 5"
        assert found.operations["iterations"] == len(outcome.iterations)
        assert found.operations["updates"] == outcome.total("updates")


@pytest.mark.parametrize("design", ["graphicionado", "csr_like", "graphdyns"])
def test_messages_that_equal_neutral_change_only_the_count_of_updates(design, tmp_path):
    path = tmp_path / "widest.py"
    path.write_text(WIDEST)
    narrow = sparse.csr_array(([4.0, 4.0, 0.0, 0.0], ([0, 0, 1, 2], [1, 2, 3, 3])), shape=(4, 4))
    given = {"algorithm": str(path), "root": 0, "weights": "file"}
    outcome = reference(problem_of(narrow, **given))
    settings = {**TINY, "design": design, **{f"problem.{key}": value for key, value in given.items()}}
    found = fiberscope.simulate("graphicionado", narrow, settings=settings)
    assert found.verification.passed
    assert outcome.total("updates") == 3
    assert found.operations["updates"] == 4  # vertex 3 is found neutral twice
    if design == "csr_like":
        assert found.operations["applied"] == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["problem.root=120"], "problem.root is 120, and there are 120 vertices: 0 to 119, or max-degree"),
        (["problem.root=-1"], "problem.root is -1; "),
        (
            ["problem.algorithm=dfs"],
            "problem.algorithm is dfs; it should be a Python file, or one of bfs, sssp",
        ),
        (["problem.weights=none"], "problem.weights is none; it should be 'rule', 'file' or 'unit'"),
        (["problem.rot=1"], "graph has no parameter problem.rot; did you mean problem.root"),
        (["design=graphdyn"], "design is graphdyn; it should be 'graphicionado', "),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(settings, message, refusal):
    arguments = [part for setting in settings for part in ("--set", setting)]
    assert message in refusal("sim", "graphicionado", GRAPH, *arguments)


def test_a_graph_has_one_operand_that_is_square():
    with pytest.raises(WorkloadError, match=r"graph takes 1 operand \(G\), and 2 were given"):
        fiberscope.simulate("graphicionado", GRAPH, GRAPH)
    with pytest.raises(WorkloadError, match="a graph is a square matrix, and this is 3 x 4"):
        fiberscope.simulate("graphicionado", "uniform:rows=3,cols=4,nonzeros=5")


def test_values_that_are_no_numbers_are_refused(tmp_path):
    path = tmp_path / "nan.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 nan\n")
    with pytest.raises(WorkloadError, match="nan"):
        fiberscope.simulate("graphicionado", str(path), settings={"problem.algorithm": "sssp"})


def test_a_run_cut_short_tells_of_the_iterations_that_ended(tmp_path):
    target = tmp_path / "out.json"
    arguments = ["sim", "graphicionado", GRAPH, "--cycle-limit", "700", "--json", str(target), "-q"]
    assert cli.run(arguments) == 0
    document = json.loads(target.read_text())
    assert document["complete"] is False
    assert len(document["iterations"]) == document["operations"]["iterations"]
