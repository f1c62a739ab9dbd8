"""``fiberscope check``: components and loops count the same, and the machine keeps to the bound."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from fiberscope import cli
from fiberscope.explore import check as study
from fiberscope.explore.check import check
from fiberscope.explore.stall_attribution import Group
from fiberscope.results.recording.document import ComponentStates, Domain, StateTimeline
from fiberscope.results.recording.files import StateFiles
from fiberscope.results.report.document import Report
from fiberscope.run.find_machine import find

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
    assert done.is_consistent
    assert [row.name for row in done.counts if row.event != row.trace] == []
    assert done.counts[0].event > 0
    assert all(row.event and row.trace for row in done.traffic)


def test_a_difference_without_a_reason_is_wrong() -> None:
    done = check("gamma", OPERAND)
    first, *others = done.counts
    wrong = replace(done, counts=(replace(first, trace=first.trace + 1), *others))
    assert done.is_consistent
    assert not wrong.is_consistent
    excused = replace(first, trace=first.trace + 1, reason="a reason")
    assert replace(done, counts=(excused, *others)).is_consistent


@pytest.mark.parametrize("accelerator", ["gamma", "spec:gamma"])
def test_additions_to_sums_that_cancel_are_told_apart(accelerator: str) -> None:
    """Products of 1 and -1 in equal numbers: the trace counts no addition to a sum that is 0."""
    signs = np.tile([[1.0, -1.0], [-1.0, 1.0]], (5, 5))
    done = check(accelerator, signs, np.abs(signs))
    (row,) = [row for row in done.counts if row.name == "add"]
    assert row.event == 10 * 10 * 9
    assert row.trace < row.event
    assert row.reason == study.ZERO_SUMS
    assert done.is_consistent


def test_additions_that_differ_by_more_than_the_sums_of_0_are_wrong() -> None:
    rule = study._Rule(name="add", event=("add",), trace=("add",))

    def compared(event: int, zero_sums: int, rule: study._Rule = rule) -> study.Comparison:
        counts = SimpleNamespace(bodies={}, elements={}, rounds=1, zero_sums=zero_sums)
        trace = SimpleNamespace(operations={"add": 5, "multiply": 5}, teaal=counts)
        return study._compare_count(
            rule, cast(Report, SimpleNamespace(operations={"add": event})), cast(Report, trace)
        )

    assert compared(8, 3).reason == study.ZERO_SUMS
    for event, zero_sums in ((8, 2), (4, 3), (6, 0)):
        assert not compared(event, zero_sums).is_accepted
    assert not compared(8, 3, rule.model_copy(update={"trace": ("multiply",)})).is_accepted


def test_a_run_below_the_bound_is_wrong() -> None:
    done = check("gamma", OPERAND)
    assert done.bound_holds
    assert replace(done, bound=done.event.seconds).is_consistent
    assert not replace(done, bound=math.nextafter(done.event.seconds, math.inf)).is_consistent
    assert not replace(done, bound=2 * done.event.seconds).is_consistent


def test_bytes_of_each_tensor_are_compared_for_a_specification_too(tmp_path: Path, printed) -> None:
    small = "uniform:rows=20,cols=20,nonzeros=60"
    shown = printed("check", "spec:gamma", small, "-q", "--json", str(tmp_path / "check.json"))
    rows = json.loads((tmp_path / "check.json").read_text())["traffic_bytes"]
    assert [row["name"] for row in rows] == ["A", "B", "Z"]
    table = shown[shown.index("Bytes with the memory") :].splitlines()
    for row in rows:
        assert row["event"] > row["trace"] > 0  # of whole lines
        (line,) = (line for line in table if line.split()[:1] == [row["name"]])
        assert f"{row['event']:,}" in line
        assert f"{row['trace']:,}" in line


def test_the_bound_is_of_all_components_but_those_that_are_left_out() -> None:
    sigma, gamma = check("sigma", OPERAND), check("gamma", OPERAND)
    assert sigma.bound == sigma.trace.seconds
    metrics = gamma.trace.teaal.metrics
    assert gamma.bound == sum(metrics[name]["MainMemory"]["time"] for name in ("T", "Z"))


def test_the_command_shows_both_and_fails_where_they_disagree(
    capsys: pytest.CaptureFixture[str], printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = printed("check", "gamma", OPERAND, "-q")
    assert "multiply" in shown
    assert "ns by the trace" in shown
    counted = study._collect_counts
    monkeypatch.setattr(study, "_collect_counts", lambda trace: {**counted(trace), "add": 7})
    assert cli.run(["check", "gamma", OPERAND, "-q"]) == 3
    assert "the two models disagree: add: " in capsys.readouterr().err


def test_a_machine_that_takes_no_cycle_is_checked(printed) -> None:
    out = printed("check", "sigma", "uniform:rows=1,cols=1,nonzeros=0", "-q")
    assert "0 ns by components, at least 0 ns by the trace\n" in out


def test_a_machine_without_rules_is_refused(refusal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "FILE", "absent.yaml")
    assert "gamma has no absent.yaml" in refusal("check", "gamma", OPERAND, "-q")


def test_a_design_without_a_specification_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["check", "graphicionado", OPERAND, "-q", "--set", "design=graphdyns"]) == 2
    said = "graphicionado has no specification of the design graphdyns; it has those of graphicionado and"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "accelerator",
    ["gamma", pytest.param("outerspace", marks=pytest.mark.slow), "sigma", "extensor", "graphicionado"],
)
def test_where_cycles_go_adds_up_to_all_of_them(accelerator: str) -> None:
    done = check(accelerator, OPERAND, explain=True)
    assert sum(done.parts.values()) == done.event.cycles
    assert any("memory" in part for part in done.parts)
    left = [cycles for part, cycles in done.parts.items() if part.endswith(": unexplained")]
    assert min(left) >= 0
    assert sum(left) < 0.1 * done.event.cycles
    for part, cycles in done.parts.items():
        assert cycles >= 0 or part.startswith(("memory", "networks", "queues")), "work is never below zero"


def component(busy: int) -> SimpleNamespace:
    return SimpleNamespace(busy=busy)


def states(spent: dict[str, dict[str, list[int]]], end: int) -> StateTimeline:
    components = {name: ComponentStates(clock="core", states=one) for name, one in spent.items()}
    clocks = {"core": Domain(hertz="1000000000", base_ticks=1)}
    return StateTimeline(start=0, end=end, interval=20, clocks=clocks, components=components)


def test_a_machine_of_two_phases_by_hand() -> None:
    """60 cycles: 24 and 16 of work, 3 and 2 of imbalance, 5 of waits, 4 of drain, 6 unexplained."""
    busy = {"m.a0": 21, "m.a1": 27, "m.b0": 18, "m.b1": 14, "m.c0": 17}
    components = {name: component(cycles) for name, cycles in busy.items()}
    seen = states(
        {
            "m.a1": {"busy": [15, 12, 0], "wait:replies": [5, 2, 0], "idle": [0, 6, 20]},
            "m.b0": {"busy": [0, 2, 16], "idle": [20, 18, 4]},
            "m.memory": {"busy": [4, 1, 0], "idle": [16, 19, 20]},
            "m.writer": {"busy": [0, 0, 12], "idle": [20, 20, 8]},
        },
        end=60,
    )
    groups = [Group(part="memory", kinds=("memory",)), Group(part="drain", kinds=("writer",))]
    last = SimpleNamespace(cycles=60, components=components)
    parts = study._split_cycles([["a"], ["c", "b"]], last, seen, groups)
    assert list(parts.values()) == [24, 3, 16, 2, 5, 2, 0, 4, 4]
    assert sum(parts.values()) == 60
    assert list(parts)[-1] == "while the busiest a and b are idle: unexplained"


def test_of_a_specification_with_two_stages_the_longest_is_explained() -> None:
    """The multipliers of OuterSPACE work longer than its mergers, which are the last stage."""
    assert find("spec:outerspace").stages == ("t.pe.mul", "z.pe.swap_T02_N.merger")
    one_tile = {"tile.count": 1, "l1.count": 1}
    done = check("spec:outerspace", "uniform:rows=30,cols=30,nonzeros=90", settings=one_tile, explain=True)
    works = [part for part in done.parts if part.endswith(" works, on average")]
    assert works == ["t.pe.mul works, on average"]
    assert sum(done.parts.values()) == done.event.stages["T0"] > done.event.stages["Z"]


def test_each_rung_stands_on_those_before_it_and_the_last_is_watched() -> None:
    asked: list[tuple[dict[str, object], bool]] = []
    files = StateFiles()

    def run(settings: dict[str, object], states: StateFiles | None) -> SimpleNamespace:
        asked.append((dict(settings), states is files))
        return SimpleNamespace(cycles=100 - 30 * len(settings))

    ladder = [
        study._Rung(part="first", settings={"x": 1}),
        study._Rung(part="second", settings={"y": 2, "z": 3}),
    ]
    saved, last = study._run_ladder(SimpleNamespace(cycles=100), ladder, run, files)
    assert asked == [({"x": 1}, False), ({"x": 1, "y": 2, "z": 3}, True)]
    assert saved == {"first": 30, "second": 60}
    assert last.cycles == 10
    assert study._run_ladder(SimpleNamespace(cycles=100), [], run, files)[0] == {}
    assert asked[-1] == ({}, True)


def test_the_command_says_where_cycles_go_unless_told_not_to(printed) -> None:
    assert " works, on average" in printed("check", "gamma", OPERAND, "-q")
    assert "works, on average" not in printed("check", "gamma", OPERAND, "-q", "--no-explain")


def test_the_numbers_are_written_as_they_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "check.json"
    assert cli.run(["check", "gamma", OPERAND, "-q", "--json", str(file)]) == 0
    shown, written = capsys.readouterr().out, json.loads(file.read_text())
    assert written["right"]
    assert sum(written["parts"].values()) == written["cycles"]
    for where, cycles in written["parts"].items():
        assert (f" {cycles:,} cycles," in shown and where in shown) == (
            abs(cycles) >= 0.005 * written["cycles"]
        )
    rows = [int(row.replace(",", "")) for row in re.findall(r"^ +(-?[\d,]+) cycles, ", shown, re.MULTILINE)]
    assert sum(rows) == written["cycles"]
    assert written["analytical"]["cycles"] == sum(one["cycles"] for one in written["analytical"]["phases"])
    assert f"at least {1e9 * written['bound_seconds']:,.0f} ns by the trace" in shown
    counted = study._collect_counts
    monkeypatch.setattr(study, "_collect_counts", lambda trace: {**counted(trace), "add": 7})
    assert cli.run(["check", "gamma", OPERAND, "-q", "--no-explain", "--json", "-"]) == 3
    wrong = json.loads(capsys.readouterr().out)
    assert not wrong["right"]
    assert [row["name"] for row in wrong["counts"] if row["trace"] == 7] == ["add"]
    assert wrong["parts"] == {}
