"""No command that reads a report, a store, a timeline or a page runs code that these name."""

import json
from pathlib import Path
from typing import Any

import pytest

import fiberscope
from fiberscope import cli
from fiberscope.page.reports import _store_of
from fiberscope.results.report.document import Report

MATRIX = "uniform:rows=9,cols=9,nonzeros=20"
MARK = "was_run"
READERS = {
    "report": ["report", "r.json"],
    "diff": ["diff", "r.json", "other.json"],
    "plot": ["plot", "r.json", "-o", "r.svg"],
    "page": ["page", "r.json", "-o", "r.html"],
    "page with a timeline": ["page", "r.json", "--timeline", "states.json", "-o", "r.html"],
    "page of two": ["page", "r.json", "other.json", "-o", "r.html"],
    "page of a store": ["page", "store", "-o", "r.html"],
    "results": ["results", "store"],
    "results as a file": ["results", "store", "--csv", "-"],
}
NAMES = {
    "a file": {"accelerator": "./evil.py"},
    "a folder": {"accelerator": "./evil"},
    "the file of the source": {"path": "evil.py"},
    "the file of a machine that ships": {"accelerator": "gamma", "path": "./evil"},
}


def evil_report(names: dict[str, str], folder: Path) -> None:
    """Reports, a timeline and a store of a run whose machine is a file that leaves a mark when it is run."""
    run = f"from pathlib import Path\nPath({str(folder / MARK)!r}).touch()\n"
    (folder / "evil").mkdir()
    for file in (folder / "evil.py", folder / "evil" / "machine.py"):
        file.write_text(run)
    few = {"pe.count": 2, "memory.channels": 2}
    fiberscope.simulate("gamma", MATRIX, settings=few, timeline=folder / "states.json").write(
        folder / "r.json"
    )
    document: dict[str, Any] = json.loads((folder / "r.json").read_text())
    document["accelerator"] = names.get("accelerator", "evil")
    document["source"]["path"] = names.get("path")
    document["source"]["asked"]["machine"] = names.get("path", document["accelerator"])
    (folder / "r.json").write_text(json.dumps(document))
    (folder / "other.json").write_text(json.dumps({**document, "cycles": document["cycles"] + 1}))


@pytest.mark.parametrize("names", NAMES.values(), ids=list(NAMES))
def test_no_reader_runs_the_file_that_a_report_names(names: dict[str, str], here: Path) -> None:
    evil_report(names, here)
    (here / "store").mkdir()
    _store_of({"a" * 64: Report.read(here / "r.json")}, here / "store")
    for command in READERS.values():
        assert cli.run(command) in (0, 1), command
        assert not (here / MARK).exists(), command


def test_the_page_of_a_machine_whose_file_is_gone_has_no_drawing(here: Path) -> None:
    evil_report(NAMES["the file of the source"], here)
    (here / "evil.py").unlink()
    for options in ([], ["--run-sources"]):
        assert cli.run(["page", "r.json", "-o", "r.html", *options]) == 0
    assert "evil.py" in (here / "r.html").read_text(encoding="utf-8")


def test_the_file_is_run_on_request(here: Path) -> None:
    evil_report(NAMES["the file of the source"], here)
    assert cli.run(["page", "r.json", "-o", "r.html", "--run-sources"]) == 0
    assert (here / MARK).exists()
