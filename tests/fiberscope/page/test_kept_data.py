"""All data of a page is as kept: of reports of earlier releases, and of stores of runs that were never made.

No machine runs, so that these numbers change with the page alone.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb", reason="the extra 'sweep' is not installed")

from kept import check_kept_section
from studies import study

from fiberscope.page.document import page
from fiberscope.page.reports import compare_reports
from fiberscope.page.run import run_data
from fiberscope.page.study import study_data
from fiberscope.results.report.document import Report
from fiberscope.results.store import Store
from fiberscope.results.store.columns import encode_row

RELEASES = Path(__file__).parents[1] / "support" / "releases"
REPORTS = ("0.1.0/gamma", "0.2.0/gamma", "0.2.0/graph", "0.2.0/analyze")
STATES, CYCLES = ("busy", "input_stall", "output_stall", "idle"), (300, 100, 60, 40)
DONE = {
    "status": "done",
    "accelerator": "gamma",
    "command": "sim",
    "fidelity": "event",
    "seconds": 2e-6,
    **dict(zip(STATES, CYCLES, strict=True)),
    "worker_kind": "pe.merger",
    "kinds": json.dumps({"pe.merger": dict(zip(("count", *STATES), (2, *CYCLES), strict=True))}),
}
ROWS = [
    {**DONE, "workload": "a.mtx", "cycles": 2000, "traffic_bytes": 640, "operations_multiply": 7},
    {**DONE, "workload": "b.mtx", "cycles": 1000, "traffic_bytes": 0, "workload_source": "surrogate"},
    {**DONE, "workload": "b.mtx", "cycles": 900, "cycles_low": 800, "cycles_high": 1100, "traffic_bytes": 64,
     "sampling": json.dumps({"windows": 9, "seed": 3}), "workload_name": "the second"},
    {**DONE, "workload": "c.mtx", "status": "deadlock", "reason": "pe waits", "cycles": None, "busy": None},
    {**DONE, "workload": "a.mtx", "accelerator": "outerspace", "machine": "mine", "cycles": 12345678.5,
     "traffic_bytes": 64, "operations_multiply": 90, "operations_useful_multiply": 45, "operations_add": 8},
]  # fmt: skip
SETTINGS = [
    {"pe.count": 2, "fibercache.size": "3MiB"},
    {"pe.count": 4, "memory.bandwidth": "64GB/s"},
    {"pe.count": 2, "memory.refresh": False},
    {},
    {"clock": "1.5GHz"},
]


def check_kept(title: str, data: dict[str, Any]) -> None:
    """Compare data with the kept file, which has a line for each value of a dictionary or list."""
    data = json.loads(json.dumps(data, sort_keys=True))
    version = data.pop("made_by", None)
    assert version is None or re.match(r"\d+\.\d+", version)
    lines = (
        f"{key}: {json.dumps(value)}\n"
        if not isinstance(value, list | dict)
        else f"{key}:\n" + "".join(f"  {json.dumps(part)}\n" for part in _parts(value))
        for key, value in data.items()
    )
    check_kept_section(Path(__file__).parent / "kept_data.txt", title, "".join(lines))


def _parts(value: Any) -> Any:
    return value.items() if isinstance(value, dict) else value


def report(name: str) -> Report:
    return Report.model_validate_json(gzip.decompress((RELEASES / f"{name}.json.gz").read_bytes()))


@pytest.mark.parametrize("name", REPORTS)
def test_the_data_of_a_report(name: str) -> None:
    check_kept(name, run_data(report(name)))


def test_the_data_of_two_reports() -> None:
    new, old = (report(f"{version}/gamma") for version in ("0.2.0", "0.1.0"))
    check_kept("side by side", compare_reports([new, old, new], "Both"))


def test_the_data_of_a_study(tmp_path: Path) -> None:
    check_kept("study", study_data(study(tmp_path / "points", 72), "Points", 20))


def test_the_data_of_runs_of_all_kinds(tmp_path: Path) -> None:
    store = Store(tmp_path / "kinds", make=True)
    for number, (row, settings) in enumerate(zip(ROWS, SETTINGS, strict=True)):
        digest = f"{number}{0:063}"
        named = {
            "digest": digest,
            "config": json.dumps({"clock": 1, **settings}),
            "settings": json.dumps(settings),
        }
        store.add(digest, encode_row({**row, **named}, settings))
    check_kept("kinds", study_data(store, all_sources=True))


def test_the_document_around_the_data() -> None:
    text = page({"kind": "run", "text": "</script><!--"}, "A & <B>", connects=True)
    outline = re.sub(r"(?s)<(style|script)>\n(.{12}).*?</\1>", r"<\1> \2", text)
    check_kept("document", {"lines": outline.splitlines()})
