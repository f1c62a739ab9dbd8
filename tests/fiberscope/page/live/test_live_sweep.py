"""The live view of sweeps, suites and searches: counts and rows as points end, and their page."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fiberscope import cli
from fiberscope.page.live import sweep as live_sweep
from fiberscope.page.live.view import LiveView

pytest.importorskip("starlette", reason="the extra live is not installed")
pytest.importorskip("uvicorn", reason="the extra live is not installed")
pytest.importorskip("distributed", reason="the extra sweep is not installed")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork a process")
MATRIX = "uniform:rows=20,cols=20,nonzeros=40,seed=1"


class KeptView(LiveView):
    """A view that keeps what is sent."""

    sent: list[tuple[str, Mapping[str, Any]]]

    def send(self, event: str, data: Mapping[str, Any]) -> None:
        KeptView.sent.append((event, data))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch, here: Path) -> list[tuple[str, Mapping[str, Any]]]:
    monkeypatch.setattr(live_sweep, "LiveView", KeptView)
    KeptView.sent = []
    return KeptView.sent


COMMANDS = {
    "sweep": ["sweep", "gamma", MATRIX, "--grid", "pe.count=1,2"],
    "suite": ["suite", "gamma", "sigma", "--workloads", "list.txt"],
    "search": ["search", "gamma", MATRIX, "--over", "space.yaml", "--minimise", "cycles", "--points", "2"],
}


@pytest.mark.usefixtures("sweeps_here")
@pytest.mark.parametrize("command", COMMANDS)
def test_counts_and_rows_come_as_points_end(command: str, sent: Any, capsys: Any) -> None:
    Path("list.txt").write_text(f"{MATRIX}\n")
    Path("space.yaml").write_text("pe.count: [1, 2]\n")
    assert cli.run([*COMMANDS[command], "--quiet", "--live"]) == 0
    assert capsys.readouterr().err.startswith("Live view: http://127.0.0.1:")
    counts = [data for event, data in sent if event == "counts"]
    rows = [row for event, data in sent if event == "rows" for row in data["rows"]]
    assert (counts[0]["done"], counts[0]["total"]) == (0, 2)
    assert {name: counts[-1][name] for name in ("total", "done", "running", "failed")} == {
        "total": 2,
        "done": 2,
        "running": 0,
        "failed": 0,
    }
    assert [row["status"] for row in rows] == ["done", "done"]
    assert all(row["workload"] == MATRIX and row["cycles"] > 0 for row in rows)
    assert sent[-1] == ("end", {"lines": ["The last run has ended."]})


@pytest.mark.usefixtures("sweeps_here")
def test_a_point_that_fails_has_its_reason(sent: Any, toy: str) -> None:
    small = "uniform:rows=30,cols=30,nonzeros=90,seed=5"
    assert cli.run(["sweep", toy, small, "--set", "fault=deadlock", "--quiet", "--live"]) == 4
    (row,) = [row for event, data in sent if event == "rows" for row in data["rows"]]
    assert row["status"] != "done"
    assert row["reason"]
    assert row["cycles"] is None
    assert [data["failed"] for event, data in sent if event == "counts"][-1] == 1


def test_the_page_shows_counts_and_the_newest_row_first(browser: Any) -> None:
    from playwright.sync_api import expect

    faults: list[str] = []
    row = {"machine": "gamma", "workload": "a.mtx", "settings": {"pe.count": "2"}, "status": "done"}
    row |= {"cycles": 1234, "seconds": 0.5, "reason": ""}
    with LiveView("0", "sweep: study", "sweeping") as view:
        view.send("counts", {"total": 3, "done": 1, "running": 2, "failed": 0, "left": "about 0:00:09 left"})
        view.send("rows", {"rows": [row]})
        tab = browser.new_page()
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.goto(view.address)
        expect(tab.locator("#status")).to_have_text("1 of 3 runs done, 2 running, 0 failed")
        expect(tab.locator("#rate")).to_have_text("about 0:00:09 left")
        view.send(
            "rows", {"rows": [{**row, "status": "failed", "cycles": None, "reason": "<b>out of memory"}]}
        )
        view.send("counts", {"total": 3, "done": 2, "running": 1, "failed": 1, "left": ""})
        expect(tab.locator("#status")).to_have_text("2 of 3 runs done, 1 running, 1 failed")
        expect(tab.locator("#rows tbody tr")).to_have_count(2)
        assert "<b>out of memory" in tab.locator("#rows tbody tr").first.inner_text()
        assert "pe.count=2" in tab.locator("#rows tbody tr").last.inner_text()
        view.send("end", {"lines": ["The last run has ended."]})
        expect(tab.locator("#ended")).to_have_text("The last run has ended.")
    expect(tab.locator("#rows tbody tr")).to_have_count(2)
    tab.close()
    assert faults == []
