"""The lists of faults: each still applies, is there once, and has tests that are to find it."""

from collections import Counter

import plant
import pytest
from faults import ROOT, Fault, finders, read

FAULTS = read()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.file}, {fault.what}")
def test_every_fault_applies(fault):
    assert fault.source() != (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.what
    assert finders(fault)


def test_no_fault_is_there_twice():
    assert [key for key, times in Counter(fault.key for fault in FAULTS).items() if times > 1] == []


def test_a_survivor_has_its_reason_in_the_deviations():
    entries = (ROOT / "DEVIATIONS.md").read_text(encoding="utf-8")
    for fault in FAULTS:
        assert not fault.deviation or f"\n{fault.deviation}. " in entries, fault.what


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(plant, "HERE", tmp_path)
    monkeypatch.setattr(plant, "RESULTS", tmp_path / "results.jsonl")
    monkeypatch.setattr(plant, "_digest", lambda: "these")
    return tmp_path / "results.jsonl"


def test_a_run_that_was_killed_goes_on_and_another_source_begins_anew(results, monkeypatch):
    plant.Results().keep("one", plant.FOUND)
    with results.open("a") as file:
        file.write('{"digest": "these", "key": "two", "outc')  # killed while it wrote
    assert plant.Results().outcomes == {"one": plant.FOUND}
    plant.Results().keep("two", plant.SURVIVED)
    assert plant.Results().outcomes == {"one": plant.FOUND, "two": plant.SURVIVED}
    monkeypatch.setattr(plant, "_digest", lambda: "others")
    assert plant.Results().outcomes == {}


def test_what_survives_is_told_by_area_unless_a_deviation_says_why(results, capsys):
    one = Fault("sim", "sim/a.py", "x", "y", "a slip")
    known = Fault("hw", "hw/b.py", "x", "y", "nobody can see it", deviation=1)
    kept = plant.Results()
    for fault in (one, known):
        kept.keep(fault.key, plant.SURVIVED)
    assert not plant._tell([one, known], kept)
    told = capsys.readouterr().out
    assert "survived: sim: sim/a.py: a slip\n  'x' -> 'y'\n" in told
    assert "nobody can see it" not in told
    assert plant._tell([known], kept)


def test_a_fault_that_does_not_apply_is_refused():
    for old, message in (("no such text", "has 0 times"), ("import", "has .* times")):
        with pytest.raises(ValueError, match=message):
            Fault("sim", "sim/channel.py", old, "x", "").source()
    with pytest.raises(ValueError, match="invalid syntax"):
        Fault("sim", "sim/channel.py", "FIRST_CAPACITY = 16", "FIRST_ROOM = =", "").source()


def test_an_area_that_is_not_there_is_told(capsys):
    assert plant.main(["no such area"]) == 2
    assert capsys.readouterr().err.startswith("faults: there is no area no such area; it should be one of ")
