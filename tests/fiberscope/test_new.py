"""``fiberscope new machine``: what it writes runs, is verified, and passes its own tests as it stands."""

import subprocess
import sys
from pathlib import Path

import pytest

import fiberscope
from fiberscope.cli import run
from fiberscope.template.new import TEMPLATE

SMALL = "uniform:rows=30,cols=30,nonzeros=100"


def test_a_new_machine_has_every_file_under_its_own_name(here: Path) -> None:
    assert run(["new", "machine", "my_machine"]) == 0
    made = {file.name: file.read_text(encoding="utf-8") for file in (here / "my_machine").iterdir()}
    names = {file.name for file in TEMPLATE.iterdir() if file.is_file()}
    assert made.keys() == {name.replace("row_wise", "my_machine") for name in names}
    assert "class MyMachine(Composition[MyMachineParameters])" in made["machine.py"]
    assert not any("row_wise" in text or "RowWise" in text for text in made.values())


def test_a_machine_that_cannot_be_written_whole_is_not_there(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def full(self: Path, *arguments: str, **options: str) -> int:
        if self.name == "spec.yaml":
            raise OSError(28, "No space left on device")
        return write(self, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", full)
    assert run(["new", "machine", "mine"]) == 2
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        ["sim", "./mine", SMALL, "--checked"],
        ["sim", "spec:./mine", SMALL],
        ["info", "./mine", "pe.count"],
        ["model", "./mine", SMALL],
        ["check", "./mine", SMALL],
        ["ablate", "mine/machine.py", SMALL],
        ["sim", "./mine", "--chain", "Y = A A; Z = Y A", f"A={SMALL}"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_what_takes_a_machine_takes_its_folder(here: Path, command: list[str]) -> None:
    assert run(["new", "machine", "mine"]) == 0
    assert run(command) == 0


def test_what_takes_a_report_of_it_finds_it_again(here: Path) -> None:
    assert run(["new", "machine", "mine"]) == 0
    assert run(["sim", "mine/machine.py", SMALL, "--json", "out.json"]) == 0
    assert run(["rerun", "out.json"]) == 0
    assert run(["page", "out.json", "--run-sources", "-o", "out.html"]) == 0
    assert "mine: its components and where their cycles went" in (here / "out.html").read_text(
        encoding="utf-8"
    )


def test_its_costs_are_in_its_reports(here: Path) -> None:
    assert run(["new", "machine", "mine"]) == 0
    found = []
    for machine in ("./mine", "gamma"):
        report = fiberscope.simulate(machine, SMALL)
        spent = report.energy.by_component["pe.multiplier"]["multiply"]
        found.append(spent / report.operations["multiply"])
        assert report.area_um2 > 0
    assert found[0] == pytest.approx(found[1])  # a multiplication of doubles, at the same voltage


@pytest.mark.slow
def test_workers_of_a_sweep_have_its_modules(here: Path, printed) -> None:
    assert run(["new", "machine", "mine"]) == 0
    assert run(["sweep", "./mine", SMALL, "--grid", "pe.count=2,4", "--store", "study", "--quiet"]) == 0
    assert printed("results", "study").count("done") == 2


def test_its_own_tests_pass(here: Path) -> None:
    assert run(["new", "machine", "mine", "--in", "."]) == 0
    command = [sys.executable, "-m", "pytest", "-q", "mine"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "34 passed" in done.stdout


def test_a_report_says_which_of_its_files_it_was_made_by(here: Path) -> None:
    assert run(["new", "machine", "mine"]) == 0
    reports = [fiberscope.simulate("./mine", SMALL)]
    parts = here / "mine" / "parts.py"
    parts.write_text(parts.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    reports.append(fiberscope.simulate("./mine", SMALL))
    first, second = (report.source for report in reports)
    assert first.path == second.path == "./mine"
    differ = {name for name in first.modules if first.modules[name] != second.modules[name]}
    assert differ == {"mine.parts"}
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gamma"], "gamma is a machine that ships; choose another name"),
        (["class"], "class is not a name for a machine; it should be a name of a package, such as "),
        (["My-Machine"], "My-Machine is not a name for a machine; "),
        (["there"], "there exists already; choose another name, or another folder by --in"),
        (["mine", "--in", "nowhere"], "nowhere is not a folder; mine is written into a folder that exists"),
    ],
)
def test_what_is_refused_costs_a_line_and_writes_nothing(
    here: Path, refusal, words: list[str], said: str
) -> None:
    (here / "there").write_text("mine\n")
    assert said in refusal("new", "machine", *words)
    assert [file.name for file in here.iterdir()] == ["there"]
