"""A run is a problem, not A times B: a machine that searches a graph goes the whole way, without a memory."""

import json
from pathlib import Path

import numpy as np
import pytest

import fiberscope
from fiberscope import cli
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.results.errors import VerificationError
from fiberscope.results.report.difference import compare
from fiberscope.results.report.document import Report
from fiberscope.workloads import WorkloadError

RING = "structured:rows=8,cols=8,n=2,m=4,seed=1"


@pytest.fixture
def walker(toy: str) -> str:
    return "walker"


@pytest.fixture
def searched(walker: str) -> Report:
    return fiberscope.simulate(walker, RING, settings={"problem.root": 3})


def test_another_problem_is_checked_by_its_own_reference(searched: Report) -> None:
    assert searched.complete
    assert searched.verification.passed
    assert searched.verification.reference == "a plain search"
    assert searched.operations["visit"] > 0


def test_the_report_says_which_problem(searched: Report) -> None:
    document = json.loads(searched.to_json())
    assert document["problem"] == {
        "kind": "bfs",
        "parameters": {"root": 3},
        "title": "breadth-first search from 3",
    }
    assert (document["memory"], document["product"], document["traffic"]) == (None, None, {})
    assert document["host"]["multiplies_per_second"] is None
    assert Report.model_validate_json(searched.to_json()) == searched


def test_a_product_says_so_too(toy: str) -> None:
    report = fiberscope.simulate(toy, np.eye(2))
    assert report.problem is not None
    assert (report.problem.kind, report.problem.title) == ("spgemm", "A times A")


def test_the_timeline_counts_the_work_of_the_machine(searched: Report) -> None:
    document = json.loads(searched.to_json())["timeline"]
    assert sum(document["visit"]) == searched.operations["visit"]
    assert "multiply" not in document


def test_the_summary_leaves_out_what_is_not_known(searched: Report) -> None:
    text = searched.summary()
    assert "breadth-first search from 3" in text
    assert "equal to a plain search" in text
    assert "Memory" not in text
    assert "multiplies" not in text
    assert "Traffic" not in text
    assert "No part is near its peak:" in text or "Computation is the limit" in text


def test_a_wrong_answer_is_found(walker: str) -> None:
    with pytest.raises(VerificationError, match=r"list of levels is wrong: .* 1 entries missing"):
        fiberscope.simulate(walker, RING, settings={"problem.root": 0, "fault": "wrong"})


def test_diff_tells_the_problems_apart(walker: str, searched: Report) -> None:
    other = fiberscope.simulate(walker, RING, problem__root=0)
    assert ("problem.root", 3, 0) in [
        (setting.name, setting.before, setting.after) for setting in compare(searched, other).settings
    ]


def test_a_picture_leaves_out_what_is_not_known(walker: str, here: Path) -> None:
    pytest.importorskip("matplotlib")
    arguments = ["sim", walker, RING, "--set", "problem.root=3", "--json", "out.json", "-q"]
    assert cli.run(arguments) == 0
    assert cli.run(["plot", "out.json", "-o", "out.svg"]) == 0
    assert "visit" in Path("out.svg").read_text() or Path("out.svg").stat().st_size > 0


def test_a_model_of_another_fidelity_gives_the_same_report(walker: str) -> None:
    report = fiberscope.simulate(walker, RING, fidelity="analytical", problem__root=3)
    assert (report.fidelity, report.cycles, report.components) == ("analytical", 2 * 32, {})
    assert (report.verification.passed, report.bottleneck, report.timeline) == (None, "", None)
    assert report.host.ticks_per_second is None
    text = report.summary()
    assert "not verified" in text
    assert "Where cycles went" not in text
    assert compare(report, fiberscope.simulate(walker, RING, problem__root=3)).changes


def test_what_needs_components_is_refused_of_another_fidelity(walker: str) -> None:
    given = {"fidelity": "analytical", "problem__root": 0}
    with pytest.raises(InputError, match="cycle_limit is for the event model"):
        fiberscope.simulate(walker, RING, cycle_limit=5, **given)
    with pytest.raises(InputError, match="walker has no trace model; known: analytical, event"):
        fiberscope.simulate(walker, RING, fidelity="trace", problem__root=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ([], "bfs needs problem.root; give it by --set problem.root="),
        (
            ["problem.rot=1", "problem.root=1"],
            "--set: bfs has no parameter problem.rot; did you mean problem.root?",
        ),
        (["problem.root=x"], "--set: problem.root is x; it should be an integer"),
        (["problem.root=8"], "problem.root is 8, and there are 8 vertices"),
        (["problem.root=0", "problem.kind=sssp"], "--set: walker solves no problem.kind sssp; known: bfs"),
    ],
)
def test_what_a_problem_takes_is_checked(walker: str, settings: list[str], message: str, refusal) -> None:
    arguments = [part for setting in settings for part in ("--set", setting)]
    assert message in refusal("sim", walker, RING, *arguments)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--set", "problem.kind=graph"],
            "gamma solves no problem.kind graph; known: spgemm; graphicionado does",
        ),
        (
            ["--set", "problem.kind=sddmm"],
            "any expression is a graph (fiberscope graph run) or a specification",
        ),
        (["B=a.mtx", "C=a.mtx", "A=a.mtx"], "known: A, B; products one after another are a --chain"),
    ],
)
def test_what_a_machine_does_not_solve_is_said_with_what_does(words: list[str], told: str, refusal) -> None:
    operands = [RING] if words[0] == "--set" else []
    assert told in refusal("sim", "gamma", *operands, *words)


def test_operands_that_a_problem_does_not_take_are_refused(walker: str) -> None:
    with pytest.raises(WorkloadError, match=r"bfs takes 1 operand \(G\), and 2 were given"):
        fiberscope.simulate(walker, RING, RING, problem__root=0)


def test_a_product_takes_no_parameters(toy: str) -> None:
    with pytest.raises(ConfigurationError, match=r"spgemm takes no parameters, and so no problem\.root$"):
        fiberscope.simulate(toy, np.eye(2), problem__root=0)
