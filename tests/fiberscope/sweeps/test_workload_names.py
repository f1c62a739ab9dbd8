"""Names of workloads: from a study or from Python to the store, and to what shows the store."""

from pathlib import Path
from typing import Any

import pytest

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.study import make_study, read_study
from fiberscope.explore.sweeps.suite import suite
from fiberscope.results.figures.study_runs import read_study_runs
from fiberscope.results.store import Store

SMALL, LARGE = "uniform:rows=20,cols=20,nonzeros=60", "uniform:rows=30,cols=30,nonzeros=90"


pytestmark = pytest.mark.usefixtures("here")


def stored_names(store: str) -> dict[str, str]:
    """The name of each workload of a store."""
    rows = Store(store).table("SELECT workload, workload_name FROM runs").to_pylist()
    return {row["workload"]: row["workload_name"] for row in rows}


@pytest.mark.parametrize(
    ("workloads", "named"),
    [
        (SMALL, {SMALL: ""}),
        ([SMALL, LARGE], {SMALL: "", LARGE: ""}),
        ({"small": SMALL, "large": LARGE}, {SMALL: "small", LARGE: "large"}),
        ([SMALL, {"large": LARGE}], {SMALL: "", LARGE: "large"}),
    ],
)
def test_a_study_names_workloads(workloads: Any, named: dict[str, str]) -> None:
    study = make_study({"accelerator": "gamma", "workloads": workloads})
    assert study.list_named_workloads() == named
    assert {point.workload: point.workload_name for point in study.sweep()} == named


@pytest.mark.parametrize(
    ("workloads", "fault"),
    [
        (f"[{{a: '{SMALL}'}}, {{a: '{LARGE}'}}]", "two workloads are called a"),
        (f"{{a: '{SMALL}', b: '{SMALL}'}}", f"{SMALL} is called a and b; give it one name"),
    ],
)
def test_names_are_unique(workloads: str, fault: str, here: Path) -> None:
    path = here / "study.yaml"
    path.write_text(f"accelerator: gamma\nworkloads: {workloads}\n")
    with pytest.raises(InputError) as error:
        read_study(Path("study.yaml"))
    assert fault in str(error.value)
    assert str(error.value).startswith("study.yaml:2:")


def test_names_are_in_the_store_and_follow_the_study() -> None:
    settings = {"pe.count": 2}
    suite(["gamma"], {SMALL: "small", LARGE: ""}, store="study", settings=settings, workers=1)
    assert stored_names("study") == {SMALL: "small", LARGE: None}
    assert read_study_runs(Store("study")).workloads == ["small", "uniform"]
    frame = fiberscope.sweep(
        "gamma", {SMALL: "renamed"}, store="study", settings=settings, workers=1, progress=False
    )
    assert list(frame["workload_name"]) == ["renamed"]
    assert stored_names("study") == {SMALL: "renamed", LARGE: None}
    assert len(Store("study").digests()) == 2  # a name repeats no run


def test_tables_and_pages_show_names(printed) -> None:
    fiberscope.sweep("gamma", {SMALL: "small"}, store="study", settings={"pe.count": 2}, workers=1)
    assert "small" in printed("results", "study")
    fiberscope.write_page("study", "study.html")
    assert f'"{SMALL}": "small"' in Path("study.html").read_text(encoding="utf-8").replace('":"', '": "')
