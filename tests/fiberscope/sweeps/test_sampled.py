"""Points whose cycles are estimated: what they are found by, their rows, and what is refused."""

import json
from dataclasses import asdict, replace
from math import hypot
from pathlib import Path

import pytest

import fiberscope
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.outcome import execute_task
from fiberscope.explore.sweeps.plan import plan_tasks
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.search import Goal, Search
from fiberscope.explore.sweeps.suite import Suite, SuiteResult
from fiberscope.explore.sweeps.suite_figure import draw_suite
from fiberscope.explore.sweeps.suite_views import suite_table
from fiberscope.explore.sweeps.sweep import merge_study
from fiberscope.page import study_data
from fiberscope.results.store import Store
from fiberscope.results.store.columns import decode_row

MATRIX = "uniform:rows=900,cols=900,nonzeros=5000"
SMALL = {"pe.count": 2, "memory.channels": 2}
REQUEST = fiberscope.Sample(windows=5, window_cycles=100)


def point(sample: fiberscope.Sample | None = REQUEST) -> Point:
    return Point("sim", "gamma", MATRIX, SMALL, sample=None if sample is None else asdict(sample))


@pytest.fixture(scope="module")
def rows():
    """Those of a sampled run, of one with another seed and of a whole run."""
    tasks = plan_tasks([point(), point(fiberscope.Sample(windows=5, window_cycles=100, seed=1)), point(None)])
    return [(task, execute_task(asdict(task), None).content) for task in tasks]


@pytest.fixture
def store(rows, tmp_path):
    store = Store(tmp_path / "store", make=True)
    for task, content in rows:
        store.add(task.digest, content)
    return store


def test_a_sampled_run_another_seed_and_the_whole_run_are_three_rows(store):
    frame = store.frame()
    assert len(frame) == 3
    assert set(frame["status"]) == {"done"}
    assert frame["complete"].all()
    sampled = frame[frame["sampling"].notna()]
    assert sorted(json.loads(text)["seed"] for text in sampled["sampling"]) == [0, 1]
    assert ((sampled["cycles_low"] < sampled["cycles"]) & (sampled["cycles"] < sampled["cycles_high"])).all()
    assert frame["cycles_low"].isna().tolist() == frame["sampling"].isna().tolist()


def test_the_row_has_the_report_of_the_same_run_from_python(rows):
    report = fiberscope.Report.parse(decode_row(rows[0][1]).values["report"], "row")
    alone = fiberscope.simulate("gamma", MATRIX, settings=SMALL, sample=REQUEST)
    assert (report.complete, report.cycles) == ("sampled", alone.cycles)
    assert report.cycles_interval == alone.cycles_interval
    assert report.source is not None
    assert report.source.asked.sample == REQUEST


def test_a_point_without_a_sample_has_the_key_that_it_had(rows):
    task = plan_tasks([Point("sim", "gamma", MATRIX, SMALL)])[0]
    assert task.digest == rows[2][0].digest
    assert "sampling" not in task.row


def test_the_table_of_results_shows_intervals_and_requests(store, printed):
    lines = printed("results", store.address).splitlines()
    assert sum(" +- " in line for line in lines) == 2
    assert sum("5 windows of 100 cycles, seed 1" in line for line in lines) == 1
    assert lines[-1] == "Estimated cycles: 2 rows; the 95% interval is from cycles_low to cycles_high"
    out = printed("results", store.address, "--columns", "cycles")
    assert out.splitlines()[-1].startswith("Estimated cycles: 2 rows")


@pytest.mark.parametrize(
    "value", [True, "1%", 0.01, fiberscope.Sample(seed=2), {"half_width": "1%", "seed": 2}]
)
def test_python_and_a_study_file_ask_for_a_sample_as_simulate_does(value):
    points = list(merge_study("gamma", [MATRIX], {"sample": value, "grid": {"pe.count": [1, 2]}}).sweep())
    assert len(points) == 2
    wanted = {"half_width": 0.03 if value is True or isinstance(value, fiberscope.Sample) else 0.01}
    assert points[0].sample == asdict(fiberscope.Sample(**wanted, seed=points[0].sample["seed"]))


def test_drawn_points_can_be_sampled_runs():
    drawn_points = {"count": 3, "over": {"pe.count": {"from": 1, "to": 9}}}
    points = list(merge_study("gamma", [MATRIX], {"random": drawn_points, "sample": "1%"}).sweep())
    assert len(points) == 3
    assert {each.sample["half_width"] for each in points} == {0.01}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"accelerator": "weight_stationary"},
            "study.yaml:3:9: weight_stationary cannot be sampled; machines that can be: ",
        ),
        ({"command": "model"}, "study.yaml:3:9: only sim takes a sample; model always counts the whole run"),
        ({"sample": "90%"}, "study.yaml:3:9: sample is 90%; sample 90%: it should be a width"),
        ({"sample": "{window: 9}"}, "study.yaml:3:9: sample: sampled runs have no window; did you mean"),
        (
            {"sample": "{count: 2, over: {pe.count: [2, 4]}}"},
            "study.yaml:3:9: sample: sampled runs have no over; random designs are",
        ),
        (
            {"sample": "{windows: 2}"},
            "study.yaml:3:9: sample: sample.windows=2: it should be a whole number from 5 on",
        ),
    ],
)
def test_what_cannot_be_sampled_is_refused_where_the_file_says_it(keys, message, here):
    entries = {"accelerator": "gamma", "workloads": f"'{MATRIX}'", "sample": "true", **keys}
    Path("study.yaml").write_text("".join(f"{key}: {value}\n" for key, value in entries.items()))
    with pytest.raises((InputError, ConfigurationError)) as caught:
        plan_tasks(merge_study("study.yaml", [], {}).sweep())
    assert str(caught.value).startswith(message)


def test_a_search_knows_the_rows_of_its_own_request_alone(store):
    space = {"pe.count": [2, 4]}
    base = {key: value for key, value in SMALL.items() if key != "pe.count"}

    def known(sample):
        asked = Point("sim", "gamma", MATRIX, base, sample=None if sample is None else asdict(sample))
        search = Search([asked], space, [Goal("cycles")], store, 4)
        return len(search.designs("cycles")), search.list_spreads()

    assert known(None) == (1, [0])
    designs, (spread,) = known(REQUEST)
    assert (designs, 0 < spread < 1) == (1, True)
    assert known(fiberscope.Sample()) == (0, [])


def test_the_page_of_a_study_carries_the_error_of_each_run(store):
    data = study_data(store)
    assert "2 runs have cycles that are estimated from a sample" in data["notices"][0]
    frame = store.frame()
    widths = ((frame["cycles_high"] - frame["cycles_low"]) / 2 / frame["cycles"]).dropna()
    assert sorted(filter(None, data["spreads"])) == pytest.approx(sorted(widths), rel=0.01)
    requests = next(column for column in data["columns"] if column["name"] == "sampling")
    assert requests["words"] == ["5 windows of 100 cycles, seed 0", "5 windows of 100 cycles, seed 1"]


def test_the_page_of_whole_runs_has_no_errors(rows, tmp_path):
    store = Store(tmp_path / "whole", make=True)
    task, content = rows[2]
    store.add(task.digest, content)
    data = study_data(store)
    assert "spreads" not in data
    assert "sampling" not in {column["name"] for column in data["columns"]}


def test_the_speedups_of_a_suite_have_the_error_of_both_runs():
    runs = {
        ("x", "a"): SuiteResult("done", "", 1000, 4.0, interval=(970, 1030)),
        ("x", "b"): SuiteResult("done", "", 500, 2.0, interval=(480, 520)),
        ("y", "a"): SuiteResult("done", "", 1000, 4.0),
        ("y", "b"): SuiteResult("done", "", 250, 1.0),
    }
    suite = Suite(["a", "b"], ["x", "y"], "a", runs)
    assert suite.spread("x", "b") == pytest.approx(0.05)
    assert (suite.spread("x", "a"), suite.spread("y", "b")) == (0, 0)
    assert suite.compute_mean_spread("b") == pytest.approx(0.025)
    wide = replace(suite, runs={**runs, ("y", "a"): replace(runs["y", "a"], interval=(880, 1120))})
    assert wide.compute_mean_spread("b") == pytest.approx(hypot(0.05, 0.12) / 2)  # errors are independent
    made = suite_table(suite)
    assert made.rows[0] == ["x", "1,000 +- 3%", "1.00", "500 +- 4%", "2.00 +- 5%"]
    assert made.rows[1] == ["y", "1,000", "1.00", "250", "4.00"]
    mean = ["geometric mean of 2", "1,000 +- 1.5%", "1.00", "354 +- 2%", "2.83 +- 2.5%"]
    assert made.rows[2] == mean
    assert list(suite.frame()["cycles_low"].dropna()) == [970, 480]
    pytest.importorskip("matplotlib")
    assert len(draw_suite(suite).axes[0].containers) == 2  # bars of a machine, and their errors
