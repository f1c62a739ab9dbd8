"""The search: what it learns from, where it goes on, and what it refuses."""

from pathlib import Path

import pytest

from fiberscope.accelerators import ConfigurationError
from fiberscope.errors import InputError
from fiberscope.store import Store
from fiberscope.sweeps.point import Point
from fiberscope.sweeps.runner import Limits
from fiberscope.sweeps.search import Goal, Search, read_space
from fiberscope.sweeps.where import Where

SPACE = "pe.count: {from: 1, to: 3}\nfibercache.ways: [8, 16]\n"
GOALS = [Goal("cycles"), Goal("pe_count * fibercache_ways")]


def searched(
    tmp_path: Path, small: str, points: int, goals: list[Goal] = GOALS, seed: int = 0, space: str = SPACE
) -> Search:
    file = tmp_path / "search.yaml"
    file.write_text(space)
    point = Point("sim", "gamma", small)
    return Search(point, read_space(file, point), goals, Store(tmp_path / "s", make=True), points, seed)


def test_a_search_goes_on_where_it_was_ended_and_ends_when_nothing_is_left(
    scheduler: str, small: str, tmp_path: Path
) -> None:
    where = Where(scheduler=scheduler)
    for points, there in ((2, 2), (4, 4), (4, 4), (50, 6)):  # the space has six
        search = searched(tmp_path, small, points)
        search.run(where, Limits(), quiet=True)
        assert len(search.store.frame()) == there
    frame = search.store.frame()
    measured = set(zip(frame["cycles"], frame["pe_count"] * frame["fibercache_ways"], strict=True))
    front = {
        one for one in measured if not any(o != one and o[0] <= one[0] and o[1] <= one[1] for o in measured)
    }
    assert {tuple(values) for _params, values in search.best()} == front
    assert {
        tuple(values) for _params, values in searched(tmp_path, small, 6).best()
    } == front  # of the store alone


def test_points_of_other_searches_and_failures_teach_nothing(
    scheduler: str, small: str, tmp_path: Path
) -> None:
    searched(tmp_path, small, 2).run(Where(scheduler=scheduler), Limits(0.001), quiet=True)
    point = Point("sim", "gamma", small, {"memory.channels": 8})
    other = Search(
        point,
        read_space(tmp_path / "search.yaml", point),
        GOALS,
        Store(tmp_path / "s"),
        2,
    )
    assert searched(tmp_path, small, 2).best() == other.best() == []


def test_a_size_is_measured_beside_points_that_are_refused(
    scheduler: str, small: str, tmp_path: Path
) -> None:
    search = searched(
        tmp_path, small, 2, [Goal("fibercache_size")], space='fibercache.size: ["2MiB", "3MiB"]'
    )
    search.run(Where(scheduler=scheduler), Limits(), quiet=True)
    assert sorted(search.store.frame()["status"]) == ["done", "refused"]
    assert search.best() == [({"fibercache.size": "3MiB"}, [3 << 20])]
    assert search.store.table("SELECT sum(fibercache_size) AS total FROM runs").to_pylist() == [
        {"total": 5 << 20}
    ]


def test_area_is_refused_with_what_there_is(small: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no area of a whole machine is known.*any column of the store"):
        searched(tmp_path, small, 2, [Goal("cycles"), Goal("area")])


def test_a_measure_that_is_none_costs_a_line(scheduler: str, small: str, tmp_path: Path) -> None:
    search = searched(tmp_path, small, 2, [Goal("cycels")])
    with pytest.raises(InputError, match=r'no measures of a run: .*Referenced column "cycels" not found'):
        search.run(Where(scheduler=scheduler), Limits(), quiet=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pe.count: 3\n", "search.yaml:1:11: pe.count is 3; it should be"),
        ("pe.count: {form: 1}\n", "search.yaml:1:12: there is no pe.count.form"),
        (
            "pe.count: {from: 9, to: 1}\n",
            "search.yaml:1:11: pe.count: from 9 to 1 there is nothing",
        ),
        ("pe.cuont: [1]\n", "search.yaml:1:11: gamma has no parameter pe.cuont; did you mean pe.count?"),
        ("pe.count: [1]\nmemory.model: [dram, x]\n", "search.yaml:2:15: memory.model is x; it should be"),
        ("pe.count: [[1]]\n", "search.yaml:1:11: pe.count is [1]; it should be"),
        ("pe.count: {from: 0, to: 9}\n", "search.yaml:1:11: pe.count is 0; it should be greater"),
        ("{}\n", "search.yaml: there is nothing to search in"),
        (
            "pe.count: {from: 1, to: 8, step: 2, scale: log}\n",
            "search.yaml:1:11: pe.count: a search takes a log scale or a step, not both",
        ),
    ],
)
def test_a_space_that_cannot_be_costs_a_line(small: str, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "search.yaml"
    file.write_text(text)
    with pytest.raises((ConfigurationError, InputError)) as raised:
        read_space(file, Point("sim", "gamma", small))
    assert str(raised.value).startswith(f"{tmp_path}/{message}")
    assert "\n" not in str(raised.value)
