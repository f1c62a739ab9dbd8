"""The search: what it learns from, where it goes on, and what it refuses."""

from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution, IntDistribution

from fiberscope.accelerators import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.executors import ExecutorChoice
from fiberscope.explore.sweeps.plan import Task, plan_tasks
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.point_process import Limits
from fiberscope.explore.sweeps.search import Goal, Limit, Search
from fiberscope.explore.sweeps.search_plot import draw_designs
from fiberscope.explore.sweeps.search_space import build_distribution, read_space
from fiberscope.explore.sweeps.space import Range
from fiberscope.explore.sweeps.task_status import TaskOutcome
from fiberscope.results.figures.front import pareto_front
from fiberscope.results.provenance.source_digest import Roots
from fiberscope.results.store import Store
from fiberscope.results.store.columns import encode_row

SPACE = "pe.count: {from: 1, to: 3}\nfibercache.ways: [8, 16]\n"
GOALS = [Goal("cycles"), Goal("pe_count * fibercache_ways")]


def searched(
    tmp_path: Path,
    small: str,
    points: int,
    goals: Sequence[Goal] = GOALS,
    seed: int = 0,
    space: str = SPACE,
    limits: Sequence[Limit] = (),
) -> Search:
    file = tmp_path / "search.yaml"
    file.write_text(space)
    point = Point("sim", "gamma", small)
    return Search(
        [point], read_space(file, point), goals, Store(tmp_path / "s", make=True), points, limits, seed
    )


def test_a_search_goes_on_where_it_was_ended_and_ends_when_nothing_is_left(
    scheduler: str, small: str, tmp_path: Path
) -> None:
    where = ExecutorChoice(scheduler=scheduler)
    for points, there in ((2, 2), (4, 4), (4, 4), (50, 6)):  # the space has six
        search = searched(tmp_path, small, points)
        search.run(where, Limits(), quiet=True)
        assert len(search.store.frame()) == there
    frame = search.store.frame()
    measured = set(zip(frame["cycles"], frame["pe.count"] * frame["fibercache.ways"], strict=True))
    front = {
        one for one in measured if not any(o != one and o[0] <= one[0] and o[1] <= one[1] for o in measured)
    }
    assert {tuple(values) for _params, values in search.find_best()} == front
    assert {
        tuple(values) for _params, values in searched(tmp_path, small, 6).find_best()
    } == front  # of the store alone


def test_points_of_other_searches_and_failures_teach_nothing(
    scheduler: str, small: str, tmp_path: Path
) -> None:
    searched(tmp_path, small, 2).run(ExecutorChoice(scheduler=scheduler), Limits(0.001), quiet=True)
    point = Point("sim", "gamma", small, {"memory.channels": 8})
    other = Search([point], read_space(tmp_path / "search.yaml", point), GOALS, Store(tmp_path / "s"), 2)
    assert searched(tmp_path, small, 2).find_best() == other.find_best() == []


def rewritten(original: Store, folder: Path, **changes: object) -> Store:
    """A store with the rows of another, some columns changed."""
    store = Store(folder, make=True)
    for number, row in enumerate(original.table("SELECT * FROM runs").to_pylist()):
        digest = f"{number:064x}"
        values = {**row, "digest": digest, **changes}
        keys = {name: values.pop(name) for name in ("pe_count", "fibercache_ways")}
        store.add(
            digest, encode_row(values, {name.replace("_", ".", 1): value for name, value in keys.items()})
        )
    return store


@pytest.fixture(scope="module")
def three_designs(scheduler: str, small: str, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The store of a search for three designs."""
    search = searched(tmp_path_factory.mktemp("three"), small, 3)
    search.run(ExecutorChoice(scheduler=scheduler), Limits(), quiet=True)
    return search.store


@pytest.mark.parametrize(
    ("changes", "counted"),
    [
        ({}, 3),
        ({"source": "0" * 64}, 0),  # designs that other sources ran
        ({"settings": '{"pe.count": 2}'}, 0),  # a searched parameter has its default value
        ({"settings": '{"pe.count": 2, "fibercache.ways": 8, "memory.channels": 8}'}, 0),
        ({"settings": '{"pe.count": 9, "fibercache.ways": 8}'}, 0),  # outside of the space
        ({"command": "model"}, 0),
        ({"accelerator": "extensor"}, 0),
        ({"workload": "another.mtx"}, 0),
    ],
    ids=["same", "sources", "fewer", "more", "outside", "command", "machine", "workload"],
)
def test_a_search_counts_the_designs_of_its_own_space_and_sources_alone(
    three_designs: Store, small: str, tmp_path: Path, changes: dict[str, object], counted: int
) -> None:
    rewritten(three_designs, tmp_path / "s", **changes)
    again = searched(tmp_path, small, 3)
    assert len(again.designs("cycles")) == counted
    assert (again.find_best() != []) == bool(counted)
    assert (again.store.hidden(), len(again.store.frame())) == ((3, 0) if "source" in changes else (0, 3))


def ran(store: Store, *points: Point, status: str = "done") -> None:
    """Add the rows of points to a store, as if they had run for 5 cycles each."""
    for task in plan_tasks(points):
        store.add(task.digest, encode_row({**task.row, "status": status, "cycles": 5}, task.parameters))


SPACE_OF_PES: dict[str, list[int]] = {"pe.count": [1, 2]}


def test_a_design_counts_where_all_workloads_have_run(small: str, tmp_path: Path) -> None:
    workloads = (small, "uniform:rows=9,cols=9,nonzeros=9")
    store = Store(tmp_path / "s", make=True)
    points = [Point("sim", "gamma", workload) for workload in workloads]

    def designs() -> int:
        return len(Search(points, SPACE_OF_PES, [Goal("cycles")], store, 9).designs("cycles"))

    for workload, counted in zip(workloads, (0, 1), strict=True):
        ran(store, Point("sim", "gamma", workload, {"pe.count": 2}))
        assert designs() == counted


@pytest.mark.parametrize(
    ("settings", "counted"),
    [
        ({"memory.channels": 8}, 1),
        ({"memory.channels": 16}, 0),
        ({}, 0),
        ({"memory.channels": 8, "pe.radix": 32}, 0),
        ({"pe.radix": 32}, 0),
    ],
    ids=["same", "another value", "default", "one more", "another parameter"],
)
def test_a_design_counts_with_the_fixed_settings_of_the_search_alone(
    small: str, tmp_path: Path, settings: dict[str, object], counted: int
) -> None:
    store = Store(tmp_path / "s", make=True)
    ran(store, Point("sim", "gamma", small, {**settings, "pe.count": 2}))
    point = Point("sim", "gamma", small, {"memory.channels": 8})
    search = Search([point], SPACE_OF_PES, [Goal("cycles")], store, 9)
    assert len(search.designs("cycles")) == counted


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ({}, 1),
        ({"name": "mine"}, 0),
        ({"parts": {"merger": "fiberscope.hw.fibers.merge:HighRadixMerger"}}, 0),
    ],
    ids=["same", "another name", "another part"],
)
def test_a_design_counts_for_the_same_name_and_parts(
    small: str, tmp_path: Path, options: dict[str, Any], counted: int
) -> None:
    store = Store(tmp_path / "s", make=True)
    ran(store, Point("sim", "gamma", small, {"pe.count": 2}))
    search = Search([Point("sim", "gamma", small, **options)], SPACE_OF_PES, [Goal("cycles")], store, 9)
    assert len(search.designs("cycles")) == counted


@pytest.mark.parametrize("status", ["failed", "timeout", "refused"])
def test_a_design_that_failed_is_not_measured(small: str, tmp_path: Path, status: str) -> None:
    store = Store(tmp_path / "s", make=True)
    ran(store, Point("sim", "gamma", small, {"pe.count": 2}), status=status)
    search = Search([Point("sim", "gamma", small)], SPACE_OF_PES, [Goal("cycles")], store, 9)
    assert (search.designs("cycles"), search.find_best()) == ([], [])


def test_a_size_is_measured_beside_points_that_are_refused(
    scheduler: str, small: str, tmp_path: Path
) -> None:
    search = searched(
        tmp_path, small, 2, [Goal("fibercache_size")], space='fibercache.size: ["2MiB", "3MiB"]'
    )
    search.run(ExecutorChoice(scheduler=scheduler), Limits(), quiet=True)
    assert sorted(search.store.frame()["status"]) == ["done", "refused"]
    assert search.find_best() == [({"fibercache.size": "3MiB"}, [3 << 20])]
    assert search.store.table("SELECT sum(fibercache_size) AS total FROM runs").to_pylist() == [
        {"total": 5 << 20}
    ]


def test_energy_and_area_are_measures(scheduler: str, small: str, tmp_path: Path) -> None:
    goals = [Goal("edp"), Goal("area_um2")]
    search = searched(tmp_path, small, 2, goals, space="pe.count: [1, 2]")
    search.run(ExecutorChoice(scheduler=scheduler), Limits(), quiet=True)
    rows = search.store.frame()
    assert (rows["edp"] == rows["energy_pj"] * 1e-12 * rows["seconds"]).all()
    assert (rows["ed2p"] == rows["edp"] * rows["seconds"]).all()
    smallest = min(values[1] for _params, values in search.find_best())
    assert smallest == rows["area_um2"].min() < rows["area_um2"].max()


def test_a_measure_that_is_none_costs_a_line(scheduler: str, small: str, tmp_path: Path) -> None:
    search = searched(tmp_path, small, 2, [Goal("cycels")])
    with pytest.raises(InputError, match=r'no measures of a run: .*Referenced column "cycels" not found'):
        search.run(ExecutorChoice(scheduler=scheduler), Limits(), quiet=True)


@pytest.mark.parametrize(("sign", "kept"), [("<", 1), ("<=", 2), (">", 1), (">=", 2)])
def test_a_design_over_a_limit_is_none_of_the_best(
    scheduler: str, small: str, tmp_path: Path, sign: str, kept: int
) -> None:
    """Of the two goals of one each, no design beats another: the best are all that keep the limit."""
    goals = [Goal("pe_count"), Goal("pe_count", is_maximised=True)]
    limit = Limit.parse(f"pe_count {sign} 2")
    search = searched(tmp_path, small, 9, goals, space="pe.count: [1, 2, 3]", limits=[limit])
    search.run(ExecutorChoice(scheduler=scheduler), Limits(), quiet=True)
    counts = {"<": [1], "<=": [1, 2], ">": [3], ">=": [2, 3]}[sign]
    for one in (search, searched(tmp_path, small, 9, goals, space="pe.count: [1, 2, 3]", limits=[limit])):
        assert [params["pe.count"] for params, _values in one.find_best()] == counts
        assert sorted(one.designs("pe_count")) == [([count], count in counts) for count in (1, 2, 3)]
    assert len(counts) == kept


@pytest.mark.parametrize("text", ["area_um2", "a < b < c", "< 4", "a == 4", ""])
def test_a_limit_that_is_none_costs_a_line(text: str) -> None:
    with pytest.raises(InputError, match="is no limit; write it as 'area_um2 < 40e6'"):
        Limit.parse(text)


def test_of_several_workloads_a_measure_is_the_geometric_mean_and_a_limit_is_kept_on_each(
    scheduler: str, small: str, tmp_path: Path
) -> None:
    points = [Point("sim", "gamma", workload) for workload in (small, "uniform:rows=40,cols=40,nonzeros=300")]
    (tmp_path / "search.yaml").write_text("pe.count: [1, 2]")
    space = read_space(tmp_path / "search.yaml", points[0])

    def found(limits: Sequence[Limit]) -> Search:
        return Search(points, space, [Goal("cycles")], Store(tmp_path / "s", make=True), 9, limits)

    search = found(())
    search.run(ExecutorChoice(scheduler=scheduler), Limits(), quiet=True)
    frame = search.store.frame()
    assert len(frame) == 4
    means = {count: geometric_mean(rows["cycles"]) for count, rows in frame.groupby("pe.count")}
    ((params, (value,)),) = search.find_best()
    assert (params["pe.count"], value) == (min(means, key=lambda count: means[count]), min(means.values()))
    smaller = sorted(frame.groupby("pe.count")["cycles"].max())[
        0
    ]  # of the design that is better at its worst
    assert [len(found([Limit.parse(f"cycles {sign} {smaller}")]).find_best()) for sign in ("<", "<=")] == [
        0,
        1,
    ]


def test_a_search_goes_through_the_sources_once_however_often_a_design_is_suggested(
    scheduler: str, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = searched(tmp_path, small, 9, [Goal("cycles")], space="pe.count: [1, 2]")
    walks: list[object] = []
    monkeypatch.setattr(Roots, "sources", walks.append)
    search.run(ExecutorChoice(scheduler=scheduler), Limits(), quiet=True)
    assert (len(search.store.frame()), walks) == (2, [])


class Deaf:
    """A progress that nobody looks at."""

    def record_end(self, task: Task, outcome: TaskOutcome) -> None:
        """Nothing."""


def test_a_design_is_not_run_again_while_one_of_its_workloads_is_left(small: str, tmp_path: Path) -> None:
    points = [Point("sim", "gamma", workload) for workload in (small, "uniform:rows=9,cols=9,nonzeros=9")]
    (tmp_path / "search.yaml").write_text("pe.count: [1, 2]")
    space = read_space(tmp_path / "search.yaml", points[0])
    search = Search(points, space, [Goal("cycles")], Store(tmp_path / "s", make=True), 9)
    search._progress = Deaf()  # type: ignore[assignment]
    seen = []
    for number, task in enumerate(search._suggest_tasks(9)):
        seen.append(task.digest)
        if number % 2 == 0:  # the first workload of each design ends, and the second does not
            row = {"digest": task.digest, "status": "done", "cycles": 5}
            search.record_end(task, TaskOutcome("done", 0.0, encode_row(row, {})))
    assert len(seen) == len(set(seen)) == 4


@pytest.mark.parametrize("nothing", ["NULL", "'nan'::DOUBLE"])
def test_a_measure_that_is_null_is_refused(scheduler: str, small: str, tmp_path: Path, nothing: str) -> None:
    search = searched(tmp_path, small, 2, [Goal(f"cycles * {nothing}")])
    with pytest.raises(InputError, match=r"cycles \* .*: is null for gamma, which has no such number"):
        search.run(ExecutorChoice(scheduler=scheduler), Limits(), quiet=True)


def test_a_measure_without_a_geometric_mean_is_refused(scheduler: str, small: str, tmp_path: Path) -> None:
    points = [Point("sim", "gamma", workload) for workload in (small, "uniform:rows=9,cols=9,nonzeros=9")]
    (tmp_path / "search.yaml").write_text("pe.count: [1]")
    space = read_space(tmp_path / "search.yaml", points[0])
    search = Search(points, space, [Goal("pe_count - 1")], Store(tmp_path / "s", make=True), 1)
    with pytest.raises(InputError, match="pe_count - 1: is 0 on a workload; a geometric mean is of numbers"):
        search.run(ExecutorChoice(scheduler=scheduler), Limits(), quiet=True)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6))), st.booleans(), st.booleans())
@example([(6, 1), (1, 6), (6, 6), (1, 1)], True, True)
def test_the_front_is_of_those_that_no_other_beats(
    designs: list[tuple[int, int]], first: bool, second: bool
) -> None:
    def beats(one: tuple[int, int], other: tuple[int, int]) -> bool:
        pairs = zip(one, other, (first, second), strict=True)
        return one != other and all((a >= b) if large else (a <= b) for a, b, large in pairs)

    plain = {one for one in designs if not any(beats(other, one) for other in designs)}
    found = pareto_front(designs, [first, second])
    assert (set(found), len(found)) == (plain, len(plain))


def test_the_picture_has_every_design_and_the_front(scheduler: str, small: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    search = searched(tmp_path, small, 6, limits=[Limit.parse("pe_count < 3")])
    search.run(ExecutorChoice(scheduler=scheduler), Limits(), quiet=True)
    axes = draw_designs(search).axes[0]
    shown = {
        text.get_text(): len(drawn.get_offsets())
        for text, drawn in zip(axes.get_legend().get_texts(), axes.collections, strict=False)
    }
    assert shown == {"over a limit": 2, "designs": 4}
    assert {tuple(point) for point in axes.lines[0].get_xydata()} == {
        tuple(values) for _params, values in search.find_best()
    }
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("cycles", "pe_count * fibercache_ways")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pe.count: 3\n", "search.yaml:1:11: pe.count is 3; it should be"),
        ("pe.count: {form: 1}\n", "search.yaml:1:12: there is no pe.count.form"),
        ("pe.count: {from: 9, to: 1}\n", "search.yaml:1:11: pe.count: no number lies between 9 and 1"),
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


@pytest.mark.parametrize(
    ("keys", "kind", "low", "high", "step", "log"),
    [
        ({"from": 1, "to": 9, "step": 3}, IntDistribution, 1, 7, 3, False),
        ({"from": 2, "to": 8, "step": 3}, IntDistribution, 2, 8, 3, False),
        ({"from": 1, "to": 64, "scale": "log"}, IntDistribution, 1, 64, 1, True),
        ({"from": 0.5, "to": 2}, FloatDistribution, 0.5, 2.0, None, False),
        ({"from": 0.5, "to": 2.0, "scale": "log"}, FloatDistribution, 0.5, 2.0, None, True),
    ],
)
def test_a_range_is_drawn_between_its_ends_in_its_steps(
    keys: dict[str, object], kind: type, low: float, high: float, step: float | None, log: bool
) -> None:
    drawn = build_distribution("pe.count", Range.model_validate(keys))
    assert isinstance(drawn, kind)
    assert vars(drawn) == {"low": low, "high": high, "step": step, "log": log}
