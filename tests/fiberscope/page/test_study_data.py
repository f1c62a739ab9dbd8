"""What a page carries of a store, and the file that is made of it."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb", reason="the extra 'sweep' is not installed")

import pandas as pd
from studies import BYTES, CLOCK, EVIL, MULTIPLIES, cycles, study, traffic

import fiberscope
from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.page import page, study_data
from fiberscope.page.measures import select_rows
from fiberscope.page.reports import compare_reports
from fiberscope.page.written import write_page
from fiberscope.results.report.document import Report
from fiberscope.results.store import Store

MOST_BYTES = 3_000_000  # of a page with 1,000 runs
MOST_SECONDS = 10  # of the processor, for a store with 1e5 rows


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return study_data(study(tmp_path_factory.mktemp("study")))


def column(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in data["columns"] if each["name"] == name)


def values(data: dict[str, Any], name: str) -> list[Any]:
    found = column(data, name)
    words = found.get("words")
    return found["values"] if words is None else [None if c < 0 else words[c] for c in found["codes"]]


def test_every_run_is_there_with_its_numbers(data: dict[str, Any]) -> None:
    assert (data["total"], data["failed"], len(data["ids"])) == (36, 3, 36)
    told = zip(*(values(data, name) for name in ("pe_count", "status", "cycles")), strict=True)
    assert all(ran == (cycles(int(pes)) if status == "done" else None) for pes, status, ran in told)
    moved = zip(*(values(data, name) for name in ("fibercache_size", "traffic_bytes")), strict=True)
    sizes = {of_bytes: name for name, of_bytes in BYTES.items()}
    assert all(bytes_ in (None, traffic(sizes[size])) for size, bytes_ in moved)


def test_parameters_have_their_dotted_names_and_units(data: dict[str, Any]) -> None:
    parameters = {each["label"]: each["unit"] for each in data["columns"] if each["role"] == "parameter"}
    assert parameters == {"fibercache.size": "bytes", "network.queue": "", "pe.count": ""}


def test_what_is_the_same_in_all_runs_tells_none_apart(data: dict[str, Any]) -> None:
    assert data["telling"] == ["workload", "fibercache_size", "pe_count"]


def test_rates_follow_from_the_counts(data: dict[str, Any]) -> None:
    at = values(data, "status").index("done")
    rate = MULTIPLIES / (values(data, "cycles")[at] / CLOCK)
    assert values(data, "operations_per_second")[at] == pytest.approx(rate, rel=1e-5)
    assert values(data, "intensity")[at] == pytest.approx(
        MULTIPLIES / values(data, "traffic_bytes")[at], rel=1e-5
    )
    assert values(data, "workers_busy")[at] == 0.5
    assert values(data, "workers_peak_per_second")[at] == pytest.approx(2 * rate, rel=1e-5)
    assert data["families"][at][1] == [1, values(data, "pe_count")[at], 5000, 2500, 1250, 1250]


def test_settings_of_a_run_are_those_of_most_and_its_own(data: dict[str, Any]) -> None:
    for at, own in enumerate(data["settings"]["own"]):
        settings = {**data["settings"]["common"]["gamma"], **own}
        assert settings["pe.count"] == values(data, "pe_count")[at]
        assert settings["fibercache.size"] == values(data, "fibercache_size")[at]
        assert "clock" not in own


def test_the_same_store_is_the_same_page(tmp_path: Path, data: dict[str, Any]) -> None:
    again = study_data(study(tmp_path / "again"), data["title"])
    assert page(again, "t") == page(data, "t")


def test_a_thousand_runs_are_a_small_file(tmp_path: Path) -> None:
    made = study_data(study(tmp_path, runs=1000))
    assert len(made["ids"]) == len(set(made["ids"])) == 1000
    assert len(page(made, "t").encode()) < MOST_BYTES


@pytest.mark.slow
def test_a_page_of_a_large_store_is_made_quickly(tmp_path: Path) -> None:
    made = study(tmp_path, runs=100_000)
    began = time.process_time()
    text = page(study_data(made), "t")
    assert time.process_time() - began < MOST_SECONDS
    assert len(text.encode()) < MOST_BYTES


def test_no_name_ends_the_element_that_holds_it(data: dict[str, Any]) -> None:
    text = page(data, EVIL)
    assert EVIL not in text
    held = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert held is not None
    assert EVIL in values(json.loads(held[1]), "workload")


def test_nothing_in_the_file_is_loaded_from_elsewhere(data: dict[str, Any]) -> None:
    text = page(data, "t")
    assert not re.search(r"<(link|img|iframe|script)[^>]*(src|href)=", text.replace(EVIL, ""))
    assert "default-src 'none'" in text


def many(runs: int) -> pd.DataFrame:
    """Runs of which those with fewer cycles move more, but for every tenth, which does both badly."""
    worse = pd.Series(range(runs)) % 10 != 0
    made = pd.DataFrame({"cycles": range(runs), "accelerator": "gamma", "workload": "w", "status": "done"})
    made["traffic_bytes"] = runs - made["cycles"] + worse * runs
    made.loc[made.index % 7 == 1, "status"] = "timeout"
    return made


def test_of_too_many_runs_the_best_some_failed_and_a_sample_are_carried() -> None:
    kept = select_rows(many(5000), 1500)
    assert len(kept) == 1500
    best = [number for number in range(0, 5000, 10) if number % 7 != 1]
    assert set(best) <= set(kept.index)
    assert (kept["status"] == "timeout").sum() == 150
    assert kept.index.is_monotonic_increasing


def test_of_few_all_are_carried() -> None:
    assert len(select_rows(many(100), 100)) == 100


def test_a_page_that_carries_a_part_says_so(tmp_path: Path) -> None:
    made = study_data(study(tmp_path), max_runs=20)
    assert len(made["ids"]) == 20
    assert made["notices"][0].startswith("This page has 20 of 36 runs: ")
    assert (made["total"], made["failed"]) == (36, 3)


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study(tmp_path / "study")
    assert cli.run(["page", str(tmp_path / "study"), "-o", str(tmp_path / "s.html"), "--title", "Sizes"]) == 0
    assert "<title>Sizes</title>" in (tmp_path / "s.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out.startswith(f"Page: {tmp_path / 's.html'} (")


@pytest.mark.parametrize("name", ["nowhere", "empty", "file"])
def test_what_is_no_store_is_refused_in_a_line(name: str, tmp_path: Path, refusal) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    assert str(tmp_path / name) in refusal("page", str(tmp_path / name), "-o", str(tmp_path / "s.html"))
    assert not (tmp_path / "s.html").exists()


def test_a_store_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no runs yet"):
        study_data(Store(tmp_path, make=True))


def test_reports_lie_side_by_side(tmp_path: Path, refusal) -> None:
    files = [str(tmp_path / f"{count}.json") for count in (2, 4)]
    for file, count in zip(files, (2, 4), strict=True):
        fiberscope.simulate(
            "gamma", "uniform:rows=30,cols=30,nonzeros=90", pe__count=count, pe__radix=4
        ).write(Path(file))
    made = compare_reports([Report.read(Path(file)) for file in files], "both")
    columns = {column["name"]: column for column in made["columns"]}
    assert made["total"] == 2
    assert {"pe_count", "cycles", "energy_pj"} <= columns.keys()
    assert "pe_radix" not in columns  # which both share
    assert write_page(files).title == "2.json and 4.json"
    first, second = made["view"]["run"], made["view"]["other"]
    assert values(made, "pe_count")[made["ids"].index(first)] == 2
    both = [
        sum(part[2] for part in made["costs"][which]["area"]["parts"] if part[0] == "pe.merger")
        for which in (first, second)
    ]
    assert both[1] == pytest.approx(2 * both[0])
    assert cli.run(["page", *files, "-o", str(tmp_path / "both.html")]) == 0
    assert "2.json and 4.json" in (tmp_path / "both.html").read_text()
    assert "4.json has several" in refusal("page", *files, "--timeline", files[0])
    assert "a page shows one study, or reports" in refusal("page", str(tmp_path), files[0])
