"""``fiberscope check``: components and loops count the same, and the machine keeps to the bound."""

from dataclasses import replace

import pytest

from fiberscope import cli
from fiberscope.study import check as study
from fiberscope.study.check import check

OPERAND = "uniform:rows=60,cols=60,nonzeros=300"


@pytest.mark.parametrize(
    ("accelerator", "settings"),
    [
        *((name, {}) for name in ("gamma", "outerspace", "sigma", "extensor", "graphicionado")),
        ("graphicionado", {"design": "csr_like", "problem.algorithm": "sssp"}),
    ],
)
def test_the_two_models_agree(accelerator: str, settings: dict[str, object]) -> None:
    done = check(accelerator, OPERAND, settings=settings)
    assert done.right
    assert [row.name for row in done.counts if row.event != row.trace] == []
    assert done.counts[0].event > 0
    assert all(row.event and row.trace for row in done.traffic)


def test_a_difference_without_a_reason_is_wrong() -> None:
    done = check("gamma", OPERAND)
    first, *others = done.counts
    wrong = replace(done, counts=(replace(first, trace=first.trace + 1), *others))
    assert done.right
    assert not wrong.right
    excused = replace(first, trace=first.trace + 1, unless="a reason")
    assert replace(done, counts=(excused, *others)).right


def test_a_run_below_the_bound_is_wrong() -> None:
    done = check("gamma", OPERAND)
    assert done.bound_holds
    assert not replace(done, bound=2 * done.event.seconds).right


def test_the_bound_is_of_all_components_but_those_that_are_left_out() -> None:
    sigma, gamma = check("sigma", OPERAND), check("gamma", OPERAND)
    assert sigma.bound == sigma.trace.seconds
    metrics = gamma.trace.teaal.metrics
    assert gamma.bound == sum(metrics[name]["MainMemory"]["time"] for name in ("T", "Z"))


def test_the_command_shows_both_and_fails_where_they_disagree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.run(["check", "gamma", OPERAND, "-q"]) == 0
    shown = capsys.readouterr().out
    assert "multiply" in shown
    assert "ns by the trace" in shown
    counted = study._counts
    monkeypatch.setattr(study, "_counts", lambda trace: {**counted(trace), "add": 7})
    assert cli.run(["check", "gamma", OPERAND, "-q"]) == 3
    assert "the two models disagree: add: " in capsys.readouterr().err


def test_a_machine_without_rules_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "FILE", "absent.yaml")
    assert cli.run(["check", "gamma", OPERAND, "-q"]) == 2
    assert "gamma has no absent.yaml" in capsys.readouterr().err


def test_a_design_without_a_specification_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", "graphicionado", OPERAND, "-q", "--set", "design=graphdyns"]) == 2
    said = "graphicionado has no specification of the design graphdyns; it has those of graphicionado and"
    assert said in capsys.readouterr().err
