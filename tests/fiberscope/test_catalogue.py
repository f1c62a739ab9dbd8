"""Functions that list machines, matrices and parameters say what the commands say."""

import json
from pathlib import Path

import pytest

import fiberscope
from fiberscope import cli


def of_command(path: Path, *arguments: str) -> dict:
    assert cli.run([*arguments, "--json", str(path)]) == 0
    return json.loads(path.read_text())


def test_machines_and_matrices_are_those_of_the_list(tmp_path: Path) -> None:
    listed = of_command(tmp_path / "list.json", "list")
    assert fiberscope.machines().to_dict("records") == listed["accelerators"]
    matrices = fiberscope.matrices()
    assert matrices["name"].tolist() == [entry["name"] for entry in listed["matrices"]]
    assert matrices["here"].tolist() == [entry["here"] for entry in listed["matrices"]]
    vote = matrices.set_index("name").loc["wiki-Vote"]
    assert vote[["rows", "columns", "nonzeros"]].tolist() == [8297, 8297, 103689]


@pytest.mark.parametrize("machine", ["gamma", "outerspace", "spec:gamma"])
def test_parameters_are_those_of_info(machine: str, tmp_path: Path) -> None:
    described = of_command(tmp_path / "info.json", "info", machine)
    frame = fiberscope.parameters(machine)
    assert frame["parameter"].tolist() == [each["key"] for each in described["parameters"]]
    assert frame["default"].astype(str).tolist() == [str(each["default"]) for each in described["parameters"]]
    assert frame.attrs["sources"] == described["sources"]


def test_a_parameter_has_unit_range_description_and_source() -> None:
    frame = fiberscope.parameters("gamma").set_index("parameter")
    assert frame.columns.tolist() == ["default", "unit", "range", "description", "source"]
    assert frame.loc["pe.count"].tolist() == [32, "", "1 to 256", "processing elements", "T4"]
    assert frame.loc["fibercache.size"].tolist() == ["3 MiB", "MiB", "at least 1 B", "all banks", "T4"]
    assert frame.loc["fibercache.line"].tolist() == [
        *("64 B", "B", "2 B to 4 KiB"),
        *("the publications do not say", "ours"),
    ]
    assert frame.loc["pe.multiplier_latency", "unit"] == "cycles"


def test_the_default_of_every_parameter_is_taken_as_a_setting() -> None:
    frame = fiberscope.parameters("gamma")
    settings = dict(zip(frame["parameter"], frame["default"], strict=True))
    small = "uniform:rows=9,cols=9,nonzeros=20"
    report = fiberscope.simulate("gamma", small, settings=settings)
    assert report.config == fiberscope.simulate("gamma", small).config


def test_an_unknown_machine_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        fiberscope.ConfigurationError, match="no accelerator is called gama; did you mean gamma"
    ):
        fiberscope.parameters("gama")


@pytest.mark.parametrize(("width", "shows_kinds"), [(80, False), (100, True)])
def test_the_list_has_kinds_only_where_a_terminal_has_space_for_them(
    width: int, shows_kinds: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fiberscope.commands.list.find_terminal_width", lambda: width)
    assert cli.run(["list"]) == 0
    assert ("directed graph" in capsys.readouterr().out) == shows_kinds
