"""``fiberscope check``: components and loops count the same, and the machine keeps to the bound."""

from dataclasses import replace
from types import SimpleNamespace

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


@pytest.mark.parametrize("accelerator", ["gamma", "outerspace", "sigma", "extensor", "graphicionado"])
def test_where_cycles_go_adds_up_to_all_of_them(accelerator: str) -> None:
    done = check(accelerator, OPERAND, explain=True)
    assert sum(done.parts.values()) == done.event.cycles
    assert any("memory" in part for part in done.parts)
    assert done.parts[study.WITHOUT] >= 0
    for part, cycles in done.parts.items():
        assert cycles >= 0 or part.startswith(("memory", "networks", "queues")), "work is never below zero"


def worker(busy: int, waits: int, held: int) -> SimpleNamespace:
    return SimpleNamespace(busy=busy, input_stall=waits, output_stall=held)


def test_a_machine_of_two_phases_by_hand() -> None:
    """100 cycles, of which two rungs take 40: 24 and 16 of work, 3 and 2 of imbalance, 8 of waiting."""
    components = {
        "m.a0": worker(21, 0, 9),
        "m.a1": worker(27, 4, 1),
        "m.b0": worker(18, 2, 1),
        "m.b1": worker(14, 0, 0),
        "m.c0": worker(17, 0, 9),  # one that does not bound its phase
    }
    last = SimpleNamespace(cycles=60, components=components)
    parts = study._parts([["a"], ["c", "b"]], {"memory": 45, "networks": -5}, last)
    assert list(parts.values()) == [24, 3, 4, 1, 16, 2, 2, 1, 7, 45, -5]
    assert sum(parts.values()) == 100


def test_each_rung_stands_on_those_before_it() -> None:
    asked: list[dict[str, object]] = []

    def run(settings: dict[str, object]) -> SimpleNamespace:
        asked.append(dict(settings))
        return SimpleNamespace(cycles=100 - 30 * len(settings))

    ladder = [
        study._Rung(part="first", settings={"x": 1}),
        study._Rung(part="second", settings={"y": 2, "z": 3}),
    ]
    saved, last = study._climbed(SimpleNamespace(cycles=100), ladder, run)
    assert asked == [{"x": 1}, {"x": 1, "y": 2, "z": 3}]
    assert saved == {"first": 30, "second": 60}
    assert last.cycles == 10


def test_the_command_says_where_cycles_go_unless_told_not_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", "gamma", OPERAND, "-q"]) == 0
    assert " works, on average" in capsys.readouterr().out
    assert cli.run(["check", "gamma", OPERAND, "-q", "--no-explain"]) == 0
    assert "works, on average" not in capsys.readouterr().out
