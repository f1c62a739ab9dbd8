"""The runs that a page keeps of a large store: the front of each accelerator and workload."""

import math

import pytest

pytest.importorskip("duckdb", reason="the extra 'sweep' is not installed")

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st

from fiberscope.page.measures import add_rates, select_rows
from fiberscope.page.study import study_data
from fiberscope.results.store import Store
from fiberscope.results.store.columns import encode_row

Run = tuple[str, int, int]  # workload, cycles, traffic in bytes
RUNS = st.lists(
    st.tuples(st.sampled_from(["a.mtx", "b.mtx"]), st.integers(1, 5), st.integers(1, 5)), max_size=12
)


def front(runs: list[Run]) -> set[Run]:
    """The runs that no run of the same workload beats in one measure without losing in the other."""
    return {
        run
        for run in runs
        if not any(
            rival[0] == run[0] and rival != run and rival[1] <= run[1] and rival[2] <= run[2]
            for rival in runs
        )
    }


def frame_of(runs: list[Run], status: str = "done") -> pd.DataFrame:
    columns = ["workload", "cycles", "traffic_bytes"]
    return pd.DataFrame(runs, columns=columns).assign(accelerator="gamma", status=status)


@given(RUNS)
@example([("a.mtx", 3, 3), ("a.mtx", 3, 2), ("a.mtx", 2, 3)])  # equal in one measure, worse in the other
@example([("a.mtx", 2, 2), ("a.mtx", 2, 2)])
@example([("a.mtx", 1, 1), ("b.mtx", 4, 4)])  # another workload beats nobody
def test_the_front_of_each_workload_is_carried(runs: list[Run]) -> None:
    poor = [("a.mtx", 100, 100 + number) for number in range(200)] + [
        ("b.mtx", 100, 100 + number) for number in range(200)
    ]
    best = front([*runs, *poor])
    kept = select_rows(frame_of([*runs, *poor]), 2 * max(1, len(best)))
    assert best <= set(kept[["workload", "cycles", "traffic_bytes"]].itertuples(index=False, name=None))


@given(RUNS)
def test_no_beaten_run_takes_a_place_of_the_front(runs: list[Run]) -> None:
    """With room for the front alone (half of the places), a beaten run comes from the even sample."""
    from fiberscope.page.measures import _is_on_front

    table = frame_of(runs)
    marked = table[_is_on_front(table)] if runs else table
    rows = list(marked[["workload", "cycles", "traffic_bytes"]].itertuples(index=False, name=None))
    assert set(rows) == front(runs)
    assert len(rows) == len(set(rows)), "of equal runs the front has the first"


def test_a_failed_run_is_on_no_front() -> None:
    table = pd.concat(
        [frame_of([("a.mtx", 1, 1)], status="failed"), frame_of([("a.mtx", 2, 2)])], ignore_index=True
    )
    from fiberscope.page.measures import _is_on_front

    assert _is_on_front(table).tolist() == [False, True]


def store_of(folder, settings: list[dict[str, int]]) -> Store:
    store = Store(folder, make=True)
    for number, parameters in enumerate(settings):
        row = {"digest": f"{number:064x}", "status": "done", "accelerator": "gamma", "workload": "a.mtx"}
        measured = {"command": "sim", "fidelity": "event", "cycles": 10, "traffic_bytes": 10, "seconds": 1.0}
        store.add(str(row["digest"]), encode_row({**row, **measured, "config": "{}"}, parameters))
    return store


@pytest.mark.parametrize(
    ("settings", "distinguishing"),
    [
        ([{"pe.count": 8}, {}], ["pe_count"]),  # a run without a parameter differs from a run with it
        ([{}, {"pe.count": 8}, {}, {"pe.count": 8}], ["pe_count"]),
        ([{"pe.count": 8}, {"pe.count": 8}], []),
        ([{"pe.count": 8, "pe.radix": 2}, {"pe.count": 8}], ["pe_radix"]),
    ],
)
def test_a_parameter_that_some_runs_lack_distinguishes_them(tmp_path, settings, distinguishing) -> None:
    assert study_data(store_of(tmp_path, settings))["telling"] == distinguishing


def test_rates_count_useful_multiplications_and_the_peak_all_of_them() -> None:
    """The first run multiplies 100 times, 10 of them without a zero; the second does not tell them apart."""
    table = pd.DataFrame(
        {
            "seconds": [2.0, 2.0],
            "traffic_bytes": [50, 50],
            "traffic_minimum_bytes": [20, 0],
            "operations_multiply": [100, 100],
            "operations_useful_multiply": [10, None],
            "operations_add": [1000, 1000],
            **{state: [5, 5] for state in ("busy", "input_stall", "output_stall", "idle")},
        }
    )
    rates = add_rates(table)
    assert rates["operations_per_second"].tolist() == [5, 50]
    assert rates["intensity"].tolist() == [0.2, 2]
    assert rates["workers_peak_per_second"].tolist() == [200, 200]
    assert rates["workers_busy"].tolist() == [0.25, 0.25]
    over = rates["traffic_over_least"].tolist()
    assert over[0] == 2.5
    assert math.isnan(over[1]), "of nothing that has to move there is no multiple"


def test_rates_exist_if_and_only_if_their_divisors_are_not_0() -> None:
    zeros_and_least = [0, 1]
    table = pd.DataFrame(
        {
            "seconds": [1e-9, 1e-9],
            "traffic_bytes": zeros_and_least,
            "traffic_minimum_bytes": zeros_and_least,
            "operations_multiply": [6, 6],
            "operations_useful_multiply": [6, 6],
            "busy": zeros_and_least,
            **{state: [0, 0] for state in ("input_stall", "output_stall", "idle")},
        }
    )
    rates = add_rates(table)
    expected = {"intensity": 6, "traffic_over_least": 1, "workers_busy": 1, "workers_peak_per_second": 6e9}
    for name, value in expected.items():
        assert math.isnan(rates[name][0]), name
        assert rates[name][1] == pytest.approx(value), name
    assert add_rates(table.assign(seconds=[0.0, 1e-9]))["operations_per_second"].isna().tolist() == [
        True,
        False,
    ]
