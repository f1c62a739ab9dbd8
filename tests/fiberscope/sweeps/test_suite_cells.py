"""Cells of the tables of suites, and points, scales and names of figures, from a few values by hand."""

from math import nan
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")

from fiberscope.explore.sweeps import resources
from fiberscope.explore.sweeps.suite import build_suite_result
from fiberscope.explore.sweeps.suite_columns import CellFormat, choose_format, format_mean_cell, number_cell
from fiberscope.results.figures.front import pareto_front
from fiberscope.results.figures.roofline import _find_extent
from fiberscope.results.figures.study_runs import _name_series, _name_workloads, shorten_workloads
from fiberscope.results.report.estimates import format_half_width
from fiberscope.results.report.surrogates import DAGGER

PLAIN = CellFormat("", 1.0)
ACCOUNTS = ("busy", "input_stall", "output_stall", "idle")


def suite_of(values: dict[str, tuple[float, float]], measure: str) -> Any:
    """A suite of one machine, m: a value and its spread by workload."""
    runs = {
        (workload, "m"): SimpleNamespace(measures={measure: value}, spread=spread, done=True, status="done")
        for workload, (value, spread) in values.items()
    }
    return SimpleNamespace(
        runs=runs, compared=list(values), speedup=lambda *_pair: 2.0, spread=lambda *_pair: 0.2
    )


@pytest.mark.parametrize(
    ("mean", "spread"), [("arithmetic", 10 / 400), ("geometric", 0.1 / 2), ("harmonic", 0.1 * 0.75)]
)
def test_a_mean_has_the_interval_of_its_weights(mean: str, spread: float) -> None:
    suite = suite_of({"a": (100.0, 0.1), "b": (300.0, 0.0)}, "cycles")
    assert format_mean_cell(suite, "cycles", PLAIN, mean, "m").endswith(format_half_width(spread))


def test_a_speedup_has_the_interval_of_both_runs_and_a_count_its_own() -> None:
    suite = suite_of({"a": (100.0, 0.1)}, "cycles")
    assert number_cell(suite, "speedup", PLAIN, "a", "m") == f"2.00{format_half_width(0.2)}"
    assert number_cell(suite, "cycles", PLAIN, "a", "m") == f"100{format_half_width(0.1)}"


def test_the_unit_of_a_column_suits_the_median() -> None:
    values = {"a": (1e-6, 0.0), "b": (2e-6, 0.0), "c": (5e-3, 0.0)}
    assert choose_format(suite_of(values, "seconds"), "time").head == "time [us]"


def test_the_sram_of_a_family_goes_before_that_of_a_pattern() -> None:
    assert resources._size_of("pe.merger", {"pe.*": 1.0, "pe.merger": 2.0}) == 2.0
    assert resources._size_of("pe.reader", {"pe.*": 1.0, "*": 3.0}) == 1.0


def test_a_front_has_no_design_that_another_beats_in_one_measure_and_equals_in_the_other() -> None:
    designs = [(1, 3), (2, 3), (2, 2), (2, 2), (3, 1), (1, 4)]
    assert pareto_front(designs, [False, False]) == [(1, 3), (2, 2), (3, 1)]
    assert pareto_front([(1, 3), (2, 3), (2, 4)], [True, False]) == [(2, 3)]


def test_generators_with_equal_values_keep_their_keys() -> None:
    names = shorten_workloads(["uniform:rows=2,seed=1", "uniform:cols=2,seed=1"])
    assert len(set(names)) == 2
    assert any("rows" in name for name in names)


def test_a_ridge_far_from_all_runs_does_not_stretch_the_scale() -> None:
    assert _find_extent([1.0, 2.0], [1e9, None, 4.0]) == (0.5, 8.0)


def test_a_value_of_0_has_an_arithmetic_mean_alone() -> None:
    suite = suite_of({"a": (0.0, 0.0), "b": (3.0, 0.0)}, "cycles")
    cells = [
        format_mean_cell(suite, "cycles", PLAIN, mean, "m")
        for mean in ("arithmetic", "geometric", "harmonic")
    ]
    assert cells == ["1.50", "", ""]


@pytest.mark.parametrize(("value", "unit"), [(5e-16, "ps"), (5e-12, "ps"), (5e13, "Ts"), (5e17, "Ts")])
def test_a_value_beyond_all_prefixes_has_the_last(value: float, unit: str) -> None:
    assert choose_format(suite_of({"a": (value, 0.0)}, "seconds"), "time").head == f"time [{unit}]"


def test_workers_are_busy_for_a_share_of_all_their_cycles() -> None:
    row = dict.fromkeys(("cycles", "seconds", "cycles_high"), 0.0) | {"cycles_low": nan}
    row |= {"status": "done", "reason": "", "workload_source": "real", "digest": ""}
    done = build_suite_result({**row, "busy": 2.0, "input_stall": 3.0, "output_stall": 4.0, "idle": 1.0})
    assert done.measures["utilization"] == pytest.approx(0.2)
    assert "utilization" not in build_suite_result(row | dict.fromkeys(ACCOUNTS, 0.0)).measures


def test_runs_of_a_figure_have_their_own_names_and_the_settings_that_tell_them_apart() -> None:
    rows = [
        {
            "machine": "m",
            "workload": "x/a.mtx",
            "workload_name": "first",
            "workload_source": "real",
            "a": 1,
            "b": 2,
        },
        {
            "machine": "m",
            "workload": "x/b.mtx",
            "workload_name": None,
            "workload_source": "surrogate",
            "a": None,
            "b": 2,
        },
        {
            "machine": "n",
            "workload": "x/b.mtx",
            "workload_name": None,
            "workload_source": "real",
            "a": 3,
            "b": 4,
        },
    ]
    assert _name_workloads(rows) == {"x/a.mtx": "first", "x/b.mtx": f"b{DAGGER}"}
    assert _name_series(rows, ["a", "b"]) == ["m a=1", "m a=None", "n"]
