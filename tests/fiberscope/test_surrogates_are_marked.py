"""A surrogate of a real matrix is marked wherever its name is shown."""

import csv
import json
from pathlib import Path

import pytest

from fiberscope import cli
from fiberscope.page.run import run_data
from fiberscope.page.study import study_data
from fiberscope.results.report.document import Report
from fiberscope.results.report.pictures import figure
from fiberscope.results.report.surrogates import format_footnote
from fiberscope.results.store import Store

NAME = "LFAT5"
FAST = ["--set", "memory.model=simple"]
FEW = ["--set", "pe.count=2", "--set", "memory.channels=2"]
REAL = "uniform:rows=9,cols=9,nonzeros=20,seed=1"
NOTE = format_footnote([NAME])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("surrogates")


@pytest.fixture(autouse=True)
def nothing_at_hand(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of matrices lead to surrogates, as nothing is at hand and nothing can be downloaded."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(folder / "cache"))
    monkeypatch.delenv("FIBERSCOPE_DATA", raising=False)


@pytest.fixture(scope="module")
def runs(folder: Path) -> tuple[Path, Path]:
    """The files of the reports of a run of the surrogate, and of a run of a generated matrix."""
    patch = pytest.MonkeyPatch()
    nothing_at_hand.__wrapped__(folder, patch)
    files = folder / "surrogate.json", folder / "drawn.json"
    for file, matrix in zip(files, (NAME, REAL), strict=True):
        assert cli.run(["sim", "gamma", matrix, *FAST, "--quiet", "--json", str(file)]) == 0
    patch.undo()
    return files


def test_summary_quiet_line_and_python_mark_the_name(runs: tuple[Path, Path]) -> None:
    surrogate, drawn = map(Report.read, runs)
    assert f"gamma on {NAME}†, A times A: " in " ".join(surrogate.summary().split())
    assert f"gamma on {NAME}†, " in repr(surrogate)
    assert "†" not in drawn.summary() + repr(drawn)
    assert [report.row()["workload_source"] for report in (surrogate, drawn)] == ["surrogate", "generated"]
    workload = drawn.workload.model_copy(update={"b": surrogate.workload})
    both = surrogate.model_copy(update={"workload": workload})
    assert both.row()["workload_source"] == "surrogate"  # the second operand counts too
    assert f"; {NAME}†: " in " ".join(both.summary().split())


def test_figures_pages_and_differences_mark_the_name(runs: tuple[Path, Path], printed) -> None:
    pytest.importorskip("matplotlib")
    surrogate, drawn = map(Report.read, runs)
    titles = [figure(report).get_suptitle() for report in (surrogate, drawn)]
    assert titles[0].startswith(f"gamma on {NAME}†: ")
    assert titles[0].endswith(NOTE)
    assert "†" not in titles[1]
    page = run_data(surrogate)
    assert (page["title"], page["notices"]) == (f"gamma on {NAME}†", [NOTE])
    assert page["facts"]["operands"].startswith(f"{NAME}†, ")
    assert run_data(drawn)["notices"] == []
    out = printed("diff", *map(str, runs))
    assert f"{NAME}† (" in out
    assert NOTE in out.splitlines()
    assert "†" not in printed("diff", str(runs[1]), str(runs[1]))


def test_suites_sweeps_results_and_studies_mark_the_name(folder: Path, printed) -> None:
    pytest.importorskip("pyarrow")
    Path("list.txt").write_text(f"{NAME}\n{REAL}\n")
    common = ["--store", "store", "--workers", "1", *FAST, "--quiet"]
    command = ["suite", "gamma", "--workloads", "list.txt", *common]
    for shown in ([], ["--markdown"]):
        out = printed(*command, *shown, "--csv", "suite.csv")
        assert f"{NAME}†" in out
        assert NOTE in out.splitlines()
        assert f"{REAL}†" not in out
    rows = list(csv.DictReader(Path("suite.csv").read_text().splitlines()))
    assert [(row["workload"], row["workload_source"]) for row in rows] == [
        (NAME, "surrogate"),
        (REAL, "generated"),
    ]
    out = printed("results", "store")
    assert f"{NAME}†" in out
    assert NOTE in out.splitlines()
    text = printed("results", "store", "--columns", "workload", "--json", "-")
    assert {row["workload"] for row in json.loads(text)} == {NAME, REAL}
    assert NOTE in printed("results", "store", "--columns", "cycles").splitlines()
    data = study_data(Store("store"))
    workloads = next(column for column in data["columns"] if column["name"] == "workload")
    assert workloads["words"] == sorted([f"{NAME}†", REAL])
    assert data["notices"] == [NOTE]
    command = ["sweep", "gamma", NAME, "--store", "store", "--workers", "1", *FAST]
    assert NOTE in printed(*command).splitlines()


def test_an_ablation_marks_the_name(folder: Path, printed) -> None:
    for matrix, marked in ((NAME, True), (REAL, False)):
        file = folder / "ablation.json"
        lines = printed("ablate", "gamma", matrix, *FAST, *FEW, "--json", str(file)).splitlines()
        assert any(f"gamma on {matrix}{'†' if marked else ''}" in line for line in lines[:2])
        assert (NOTE in lines) == marked
        surrogates = (NAME,) if marked else ()
        assert {tuple(row["surrogates"]) for row in json.loads(file.read_text())} == {surrogates}


def test_a_surrogate_runs_with_a_machine_as_one_module_too() -> None:
    pytest.importorskip("pyrtl", reason="the extra rtl is not installed")
    from fiberscope.rtl.cosim_request import CosimRequest
    from fiberscope.rtl.machine_module import compose_parts

    settings = (
        "pe.count=2",
        "pe.radix=4",
        "fibercache.banks=2",
        "fibercache.size=16KiB",
        "memory.channels=2",
    )
    settings += ("format.element=8", "format.value=4", "format.dense=none")
    _kernel, composition = compose_parts(CosimRequest(("machine",), "gamma", NAME, settings=settings))
    assert "scheduler" in composition.parts
