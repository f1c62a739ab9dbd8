"""What changed between two runs: which things are told, in which order, with which numbers."""

import json
from pathlib import Path

import pytest

import fiberscope
from fiberscope.results.report.difference import compare
from fiberscope.results.report.document import Report
from fiberscope.results.report.parts import TensorTraffic

MATRIX = "uniform:rows=60,cols=60,nonzeros=400,seed=5"


@pytest.fixture
def before(toy: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.setenv("COLUMNS", "80")
    report = fiberscope.simulate(toy, MATRIX)
    report.write("before.json")
    return report


def test_a_run_does_not_differ_from_itself_repeated(before, toy):
    difference = compare(before, fiberscope.simulate(toy, MATRIX))
    assert (difference.settings, difference.changes) == ((), ())


def test_the_settings_that_differ_are_told_by_key(before, toy):
    after = fiberscope.simulate(toy, "uniform:rows=60,cols=60,nonzeros=400,seed=6", lane__count=4)
    difference = compare(before, after)
    settings = {setting.name: (setting.before, setting.after) for setting in difference.settings}
    assert settings == {"lane.count": (before.config["lane"]["count"], 4)}
    assert [one.name for one in difference.provenance] == ["A"]


def test_changes_are_ranked_by_effect(before):
    doubled = before.operations | {"multiply": 4 * before.operations["multiply"]}
    after = before.model_copy(update={"cycles": 2 * before.cycles, "operations": doubled})
    changes = compare(before, after).changes
    assert [(change.name, change.effect) for change in changes] == [
        ("operations multiply", 0.75),
        ("cycles", 0.5),
    ]
    assert (changes[1].before, changes[1].after, changes[1].unit) == (
        before.cycles,
        2 * before.cycles,
        "count",
    )


def test_traffic_counts_by_its_part_of_all_bytes(before):
    def moving(**tensors):
        traffic = {name: TensorTraffic(read_bytes=read, write_bytes=0) for name, read in tensors.items()}
        return before.model_copy(update={"traffic": traffic})

    changes = compare(moving(A=100, B=700), moving(A=200, B=600, Z=200)).changes
    assert [(change.name, change.effect) for change in changes] == [
        ("traffic Z read", 0.2),
        ("traffic A read", 0.1),
        ("traffic B read", 0.1),
    ]
    assert compare(moving(A=200), moving(A=100)).changes[0].effect == 0.5
    assert compare(moving(A=100), moving(A=200)).changes[0].effect == 0.5


def test_families_count_by_the_time_spent_otherwise(before):
    components = {
        name: part.model_copy(update={"busy": part.busy + part.idle // 2, "idle": part.idle - part.idle // 2})
        for name, part in before.components.items()
    }
    changes = compare(before, before.model_copy(update={"components": components})).changes
    assert {change.name.split()[-1] for change in changes} == {"busy", "idle"}
    busy = next(change for change in changes if change.name == "lane.multiplier busy")
    idle = next(change for change in changes if change.name == "lane.multiplier idle")
    assert busy.effect == pytest.approx(busy.after - busy.before) == pytest.approx(idle.effect)
    assert busy.effect > 0


def test_a_family_that_only_one_run_has_is_told(before):
    some = {name: part for name, part in before.components.items() if "multiplier" not in name}
    names = [
        change.name for change in compare(before, before.model_copy(update={"components": some})).changes
    ]
    assert "lane.multiplier busy" in names


def test_the_terminal_shows_the_headline_settings_and_ranked_changes(before, toy, run_command):
    fiberscope.simulate(toy, MATRIX, lane__count=1).write("after.json")
    code, out, err = run_command("diff", "before.json", "after.json")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"Cycles: {before.cycles:,} before, ")
    assert lines[0].endswith("slower")
    assert any(line.split() == ["lane.count", str(before.config["lane"]["count"]), "1"] for line in lines)
    assert max(map(len, lines)) <= 80
    told = [line.split()[0] for line in lines if line.endswith("points")]
    assert len(told) == len(set(told)) > 0


def test_nothing_changed_is_said(before, run_command):
    code, out, _err = run_command("diff", "before.json", "before.json")
    assert (code, out.splitlines()[-1]) == (0, "Nothing changed.")


def test_json_has_all_changes(before, toy, run_command):
    after = fiberscope.simulate(toy, MATRIX, lane__count=1)
    after.write("after.json")
    assert (
        run_command("diff", "before.json", "after.json", "--json", "-")[1] == compare(before, after).to_json()
    )
    assert run_command("diff", "before.json", "after.json", "--json", "changes.json")[0] == 0
    document = json.loads(Path("changes.json").read_text())
    assert document["schema"] == "fiberscope-diff-1"
    effects = [change["effect"] for change in document["changes"]]
    assert effects == sorted(effects, reverse=True)
    assert len(effects) > 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema": "fiberscope-report-9"}', "other.json: not a report of the schema fiberscope-report-1"),
        ("[]", "other.json: not a report"),
        ("\x00", "other.json: not a report"),
        (None, "other.json: cannot read the report: No such file or directory"),
    ],
)
def test_what_is_no_report_is_refused_in_one_line(before, refusal, text, message):
    if text is not None:
        Path("other.json").write_text(text)
    for command in (["diff", "before.json", "other.json"], ["plot", "other.json"]):
        err = refusal(*command)
        assert err.startswith(f"fiberscope: {message}")


def test_a_place_that_cannot_be_written_is_one_line(before, run_command):
    code, _out, err = run_command("diff", "before.json", "before.json", "--json", "none/x.json")
    assert (code, err) == (2, "fiberscope: none/x.json: there is no folder none; make it first\n")


def test_energy_and_area_are_compared_over_equal_parts_alone() -> None:
    few, many = (fiberscope.simulate("gamma", MATRIX, pe__count=count) for count in (2, 4))
    changes = {change.name: (change.before, change.after) for change in compare(few, many).changes}
    assert changes["area, um2"] == (round(few.area.known), round(many.area.known))
    assert changes["energy, pJ"] == (round(few.energy.total_pj), round(many.energy.total_pj))
    for kind in ("area", "energy"):
        runs = [
            run.model_copy(update={kind: getattr(run, kind).model_copy(update={"without": (part,)})})
            for run, part in ((few, "pe"), (many, "network"))
        ]
        assert not [change for change in compare(*runs).changes if change.name.startswith(kind)]
    area = many.area.model_copy(update={"without": ("pe.merger: merger(radix=63)",)})
    difference = compare(few, many.model_copy(update={"area": area}))
    assert "area, um2" not in {change.name for change in difference.changes}
    assert ("area without", "", "pe.merger: merger(radix=63)") in {
        (setting.name, setting.before, setting.after) for setting in difference.provenance
    }
