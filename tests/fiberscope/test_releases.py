"""Every command that reads a report or a store reads those of each release, or names the release in a line.

The files in ``support/releases`` were written by these releases. ``0.1.0_first_day`` is of the days when
version 0.1.0 had Gamma alone, ``0.1.0`` of its last commit.
"""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import fiberscope
from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.results.report.document import Report
from fiberscope.results.store.store import Store

RELEASES = Path(__file__).parent / "support" / "releases"
REPORTS = sorted(RELEASES.glob("*/*.json.gz"))
STORES = sorted(RELEASES.glob("*/store"))
READERS = {
    "report": ["report", "r.json"],
    "diff": ["diff", "r.json", "new.json"],
    "plot": ["plot", "r.json", "-o", "r.svg"],
    "page": ["page", "r.json", "-o", "r.html"],
    "page of two": ["page", "r.json", "new.json", "-o", "r.html"],
}
STORE_READERS = {
    "results": ["results", "store"],
    "results by source": ["results", "store", "--sources"],
    "results as a file": ["results", "store", "--csv", "r.csv"],
    "page": ["page", "store", "-o", "r.html"],
}
FUTURE: dict[str, Any] = {"version": "9.1.0", "lanes": 4}


def unpacked(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def name_of(path: Path) -> str:
    return f"{path.parent.name} {path.name.removesuffix('.json.gz')}"


@pytest.fixture
def in_folder(here: Path) -> Path:
    fiberscope.simulate("weight_stationary", "uniform:rows=4,cols=4,nonzeros=5").write("new.json")
    return here


def test_reports_and_stores_of_each_release_are_kept() -> None:
    assert {path.parent.name for path in REPORTS} == {"0.1.0_first_day", "0.1.0", "0.2.0"}
    assert {path.parent.name for path in STORES} == {"0.1.0", "0.2.0"}
    for path in REPORTS:
        version = json.loads(unpacked(path))["version"]
        assert version.partition("+")[0] == path.parent.name.partition("_")[0]


@pytest.mark.parametrize("path", REPORTS, ids=name_of)
def test_every_command_reads_a_report_of_a_release(
    path: Path, in_folder: Path, capsys: pytest.CaptureFixture[str], refusal
) -> None:
    (in_folder / "r.json").write_text(unpacked(path))
    for name, command in READERS.items():
        assert cli.run(command) in (0, 1), (name, capsys.readouterr().err)
    capsys.readouterr()
    error = refusal("rerun", "r.json")
    if path.parent.name.startswith("0.1.0"):
        assert error.startswith("fiberscope: r.json: written by 0.1.0, which did not record the request; run")


def test_a_configuration_comes_from_a_report_of_each_release(
    in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = [path for path in REPORTS if path.name.startswith("gamma")]
    assert reports
    command = ["sim", "gamma", "uniform:rows=4,cols=4,nonzeros=5", "--config", "r.json", "--json", "o.json"]
    for path in reports:
        (in_folder / "r.json").write_text(unpacked(path))
        assert cli.run(command) == 0, capsys.readouterr().err
        assert Report.read("o.json").config["pe"]["count"] == 2


@pytest.mark.parametrize(("name", "total"), [("model", 8741.875), ("analyze", 19702.47)])
def test_the_energy_of_the_first_release_is_that_of_the_next(name: str, total: float) -> None:
    """The tables are equal, so 0.2.0 counts the same by component, though it divides it by action."""
    first, second = (
        Report.parse(unpacked(RELEASES / at / f"{name}.json.gz"), at) for at in ("0.1.0", "0.2.0")
    )
    assert first.energy is not None
    assert second.energy is not None
    assert first.energy.total_pj == pytest.approx(total)
    assert first.energy.without == second.energy.without
    assert first.edp == pytest.approx(second.edp)
    sums = [
        {part: pytest.approx(sum(actions.values())) for part, actions in report.energy.by_component.items()}
        for report in (first, second)
        if report.energy
    ]
    assert sums[0] == sums[1]
    assert Report.model_validate_json(first.to_json()) == first


def test_costs_of_earlier_releases_are_known_sums_without_upper_ends() -> None:
    for path in REPORTS:
        report = Report.parse(unpacked(path), name_of(path))
        if report.area is not None:
            assert report.area.known == pytest.approx(sum(report.area.by_component.values()))
            assert (report.area.upper, report.area.parts) == (None, ())
        if report.energy is not None:
            assert (report.energy.upper_pj, report.energy.dynamic, report.energy.parts) == (None, None, ())
        assert Report.model_validate_json(report.to_json()) == report


@pytest.mark.parametrize("path", STORES, ids=lambda path: path.parent.name)
def test_every_command_reads_a_store_of_a_release(
    path: Path, in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(path, in_folder / "store")
    for name, command in STORE_READERS.items():
        assert cli.run(command) == 0, (name, capsys.readouterr().err)
    store = Store(in_folder / "store")
    frame = store.frame()
    assert (
        sorted(frame["cycles"])
        == {"0.1.0": [5, 64, 280, 516, 546], "0.2.0": [5, 64, 284, 516, 546]}[path.parent.name]
    )
    reports = store.reports(frame["digest"])
    assert {digest: report.cycles for digest, report in reports.items()} == dict(
        zip(frame["digest"], frame["cycles"], strict=True)
    )
    assert all(report.energy for report in reports.values() if report.fidelity == "trace")


@pytest.mark.parametrize("schema", ["fiberscope-report-1", "fiberscope-report-2"])
def test_a_report_of_a_later_release_costs_a_line_with_its_version(
    schema: str, in_folder: Path, refusal
) -> None:
    document = json.loads((in_folder / "new.json").read_text())
    (in_folder / "r.json").write_text(json.dumps({**document, **FUTURE, "schema": schema}))
    for command in (*READERS.values(), ["rerun", "r.json"]):
        error = refusal(*command)
        assert error.startswith(f"fiberscope: r.json: written by 9.1.0, and version {fiberscope.__version__}")
        assert error.endswith("; run it again, or read it with 9.1.0\n")


def test_a_row_of_a_later_release_is_named(in_folder: Path) -> None:
    document = json.loads((in_folder / "new.json").read_text())
    for row in ({**document, **FUTURE}, {"energy_pj": 1.0}):
        with pytest.raises(InputError, match=r"s: row ab: (written by 9\.1\.0|not a report)"):
            Report.parse(json.dumps(row), "s: row ab")
