"""Designs side by side: which settings each run has, and its speed, by hand."""

from types import SimpleNamespace

import pytest

from fiberscope.explore import speedups
from fiberscope.explore.speedups import Designs

TABLE = Designs.model_validate(
    {
        "designs": {"small": {"pe.count": 2, "queue": 4}, "large": {"pe.count": 8}},
        "problems": {"bfs": {"algorithm": "bfs"}, "sssp": {"algorithm": "sssp"}},
        "workloads": {"graph": ["sssp"]},
    }
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Return the settings of each run; a run takes 1000 cycles of half a nanosecond over its elements."""
    settings_of_runs: list[dict[str, object]] = []

    def simulate(
        _machine: object, _workload: object, *, settings: dict[str, object], parts: object
    ) -> object:
        settings_of_runs.append(settings)
        cycles = 1000 // int(str(settings["pe.count"]))
        workload = SimpleNamespace(source="real")
        return SimpleNamespace(
            cycles=cycles,
            seconds=cycles * 0.5e-9,
            operations={"edges": 200},
            iterations=(1, 2),
            workload=workload,
        )

    monkeypatch.setattr(speedups, "read_designs", lambda _machine: TABLE)
    monkeypatch.setattr(speedups, "load_available", lambda name, **_options: name)
    monkeypatch.setattr(speedups, "simulate_to_end", simulate)
    return settings_of_runs


def test_settings_of_the_user_go_before_those_of_design_and_problem(asked: list[dict[str, object]]) -> None:
    (row,) = speedups.speedups(SimpleNamespace(), ["graph"], settings={"queue": 9})
    assert asked == [
        {"pe.count": 2, "queue": 9, "algorithm": "sssp"},
        {"pe.count": 8, "queue": 9, "algorithm": "sssp"},
    ]
    assert row.cycles == {"small": 500, "large": 125}
    assert row.speedups == {"small": 1.0, "large": 4.0}
    assert row.edges_per_ns == pytest.approx({"small": 200 / 250, "large": 200 / 62.5})
    assert row.iterations == 2


def test_a_workload_that_the_table_does_not_have_is_run_with_every_problem(
    asked: list[dict[str, object]],
) -> None:
    rows = speedups.speedups(SimpleNamespace(), ["other"])
    assert [row.problem for row in rows] == ["bfs", "sssp"]
    assert len(asked) == 4


def test_a_workload_with_a_problem_that_does_not_exist_is_refused_with_the_nearest() -> None:
    table = TABLE.model_dump() | {"workloads": {"graph": ("sssp", "ssps")}}
    with pytest.raises(ValueError, match="graph: there is no problem ssps; did you mean sssp"):
        Designs.model_validate(table)
