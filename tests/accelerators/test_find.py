"""An accelerator is found by its name, or in a file of the user's; what is wrong with one costs a line."""

import json
import shutil
from pathlib import Path

import pytest

from fiberscope import accelerators
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.run.find_machine import is_machine

TEMPLATE = Path(__file__).parents[2] / "fiberscope" / "template" / "row_wise"


def test_an_accelerator_is_found_by_its_name() -> None:
    assert [accelerators.find(name).name for name in accelerators.names()] == accelerators.names()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A machine of one's own, of several files."""
    return shutil.copytree(TEMPLATE, tmp_path / "mine")


def changed(file: Path, old: str, new: str) -> None:
    """Change a file; a time of its own tells it from what was compiled of it in the same second."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_folder_is_found_by_its_place_and_by_its_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    for name in (str(folder), str(folder / "machine.py"), "./mine", "mine/", "mine/machine.py"):
        found = accelerators.find(name)
        assert (found.name, found.shipped.resolve()) == ("row_wise", folder / "config.yaml")


def test_its_modules_are_read_anew_each_time(folder: Path) -> None:
    before = accelerators.find(str(folder))
    changed(folder / "machine.py", 'workers="pe.multiplier"', 'workers="pe.sums"')
    changed(folder / "parts.py", 'COUNTERS = ("add",)', 'COUNTERS = ("add", "finished")')
    after = accelerators.find(str(folder))
    assert (before.workers, after.workers) == ("pe.multiplier", "pe.sums")
    assert [one.parts["sums"].COUNTERS for one in (before, after)] == [("add",), ("add", "finished")]


def test_two_folders_of_one_name_do_not_mix(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "elsewhere" / "mine")
    changed(other / "parts.py", 'COUNTERS = ("add",)', 'COUNTERS = ("add", "finished")')
    first, second = (accelerators.find(str(one)).parts["sums"] for one in (folder, other))
    assert (first.COUNTERS, second.COUNTERS) == (("add",), ("add", "finished"))
    assert first.__module__ != second.__module__


def test_what_is_wrong_in_a_file_beside_it_is_said_with_its_place(folder: Path) -> None:
    changed(folder / "parts.py", '("add",)', "(1 / 0,)")
    with pytest.raises(ConfigurationError, match=r"mine/parts\.py:\d+: ZeroDivisionError: division by zero"):
        accelerators.find(str(folder))


def test_a_package_that_is_installed_brings_a_machine(
    folder: Path, tmp_path: Path, monkeypatch, printed
) -> None:
    facts = tmp_path / "mine-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    names = "mine = mine.machine\ngamma = mine.machine\nlost = mine.lost\n"
    (facts / "entry_points.txt").write_text(f"[fiberscope.machines]\n{names}")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert accelerators.installed() == {"lost": "mine.lost", "mine": "mine.machine"}
    assert accelerators.find("mine").shipped == folder / "config.yaml"
    assert accelerators.summary("mine").startswith("row-wise product")
    assert is_machine("mine")
    assert accelerators.find("gamma").shipped != folder / "config.yaml"  # what ships goes first
    listed = {
        one["name"]: one["summary"] for one in json.loads(printed("list", "--json", "-"))["accelerators"]
    }
    assert listed["mine"] == accelerators.summary("mine")
    assert listed["lost"].endswith("has no module mine.lost")
    with pytest.raises(ConfigurationError, match="lost: the package that brings it cannot be imported: Mod"):
        accelerators.find("lost")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\n", "{file}: it should have an Accelerator, called ACCELERATOR"),
        ("ACCELERATOR = 'gamma'\n", "{file}: it should have an Accelerator, called ACCELERATOR"),
        ("x = 1\n\ny = x / 0\n", "{file}:3: ZeroDivisionError: division by zero"),
        ("\nraise SystemExit(5)\n", "{file}:2: SystemExit: 5"),
        ("x = 1\nclass A\n", "{file}:2: SyntaxError: expected ':' (machine.py, line 2)"),
        (
            "import nothing_of_the_kind\n",
            "{file}:1: ModuleNotFoundError: No module named 'nothing_of_the_kind'",
        ),
    ],
)
def test_a_file_that_is_no_machine_costs_one_line(tmp_path: Path, source: str, message: str) -> None:
    mine = tmp_path / "machine.py"
    mine.write_text(source)
    with pytest.raises(ConfigurationError) as raised:
        accelerators.find(str(mine))
    assert str(raised.value) == message.format(file=mine)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no such file"):
        accelerators.find(str(tmp_path / "mine.py"))
