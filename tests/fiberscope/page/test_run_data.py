"""What the page of a run says of roofs and of costs: numbers of the report, and what it does not tell."""

from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest

import fiberscope
from fiberscope.page.costs import costs
from fiberscope.results.report.cost_parts import Area, AreaPart
from fiberscope.results.report.document import Report
from fiberscope.results.report.roofline import roofline

MATRIX = "uniform:rows=60,cols=60,nonzeros=400,seed=3"
COUNTED = {"gamma": "pe.multiplier x32", "outerspace": "tile.pe.multiplier x256", "extensor": "pe.core x128"}


@pytest.fixture(scope="module", params=COUNTED)
def report(request: pytest.FixtureRequest) -> Report:
    return fiberscope.simulate(request.param, MATRIX)


def known(report: Report) -> dict[str, Any]:
    found = roofline(report)
    assert found is not None
    return found


def test_no_run_is_over_its_roof(report: Report) -> None:
    told = known(report)
    assert told["workers"] == COUNTED[report.accelerator]
    assert told["rate"] <= min(told["intensity"] * told["bandwidth"], told["peak"]) * (1 + 1e-9)


def test_the_part_of_the_slope_that_is_reached_is_the_part_of_the_bandwidth_that_is_used(
    report: Report,
) -> None:
    told = known(report)
    reached = told["rate"] / (told["intensity"] * told["bandwidth"])
    moved = sum(one.moved_bytes for one in report.traffic.values()) / report.seconds
    assert reached == pytest.approx(moved / report.memory.peak_bytes_per_second)


def test_workers_that_were_always_busy_would_reach_the_flat_part() -> None:
    """A component that multiplies once in each of 3 busy cycles of 12 has a peak of one a cycle."""
    report = fiberscope.simulate("gamma", MATRIX)
    one = next(iter(report.components.values()))
    changed = {"cycles": 12, "busy": 3, "input_stall": 9, "output_stall": 0, "idle": 0}
    multiplier = one.model_copy(update={**changed, "counters": {"multiply": 3}})
    made = {"components": {"m.pe0.multiplier": multiplier}, "operations": {"multiply": 3}, "cycles": 12}
    assert known(report.model_copy(update=made))["peak"] == pytest.approx(1.0)


def test_workers_are_the_family_that_has_counted_all_of_the_work() -> None:
    report = fiberscope.simulate("gamma", MATRIX)
    one = next(iter(report.components.values()))
    counts = {"m.pe0.first": 1, "m.pe0.second": 2, "m.pe1.second": 1, "m.pe0.third": 2}
    parts = {name: one.model_copy(update={"counters": {"multiply": count}}) for name, count in counts.items()}
    told = known(report.model_copy(update={"components": parts, "operations": {"multiply": 3}}))
    assert "second" in told["workers"]


def test_the_work_is_the_most_frequent_operation_where_nothing_is_multiplied() -> None:
    report = fiberscope.simulate("gamma", MATRIX)
    told = known(report.model_copy(update={"operations": {"compare": 3, "add": 40, "merge": 5}}))
    assert (told["work"], told["rate"]) == ("add", 40 / report.cycles)


def test_roofs_that_are_not_known_are_none() -> None:
    report = fiberscope.simulate("gamma", MATRIX)
    told = known(report.model_copy(update={"memory": None, "components": {}}))
    assert (told["bandwidth"], told["peak"], told["workers"]) == (None, None, "")
    assert roofline(report.model_copy(update={"traffic": {}})) is None


def test_costs_add_up_to_those_of_the_report(report: Report) -> None:
    told = costs(report)
    energy, area = told["energy"], told["area"]
    assert sum(part[2] for part in energy["parts"]) == pytest.approx(report.energy.total_pj)
    assert sum(part[2] for part in area["parts"]) == pytest.approx(report.area.known)
    for sums in (energy, area):
        by_component = [
            (name, sum(part[2] for part in parts)) for name, parts in groupby(sums["parts"], itemgetter(0))
        ]
        assert by_component == sorted(by_component, key=lambda pair: -pair[1])
        assert all(
            known <= upper for _name, _part, known, upper, _basis in sums["parts"] if upper is not None
        )
    assert (energy["upper"], area["upper"]) == (report.energy.upper_pj, report.area.upper)
    assert (energy["without"], area["without"]) == ([*report.energy.without], [*report.area.without])


def test_a_part_that_may_cost_nothing_is_shown_with_its_upper_end() -> None:
    rows = ("switch", 9.0, "published"), ("wires", None, "none"), ("nothing", 0.0, "law")
    parts = [
        AreaPart(component="pe", part=name, known=0.0, upper=upper, basis=basis)
        for name, upper, basis in rows
    ]
    report = fiberscope.simulate("gamma", MATRIX).model_copy(update={"area": Area.from_parts(parts)})
    told = costs(report)["area"]
    assert told["parts"] == [("pe", "switch", 0.0, 9.0, "published")]
    assert (told["upper"], told["without"]) == (None, ["pe: wires"])


def test_a_report_without_costs_says_how_it_would_have_them() -> None:
    report = fiberscope.simulate("gamma", MATRIX).model_copy(update={"energy": None, "area": None})
    told = costs(report)
    assert (told["energy"], told["area"]) == (None, None)
    assert "costs.yaml" in told["unpriced"]
    assert "fiberscope rerun" in told["unpriced"]


def test_the_point_counts_useful_multiplications_and_the_flat_part_all_of_them() -> None:
    report = fiberscope.simulate("sigma", MATRIX)
    done, useful = report.operations["multiply"], report.operations["useful_multiply"]
    assert useful < done
    told = known(report)
    moved = sum(part.moved_bytes for part in report.traffic.values())
    assert told["work"] == "useful multiply"
    assert told["intensity"] == useful / moved
    assert told["rate"] == useful / report.cycles
    assert told["workers"]
    without = {name: count for name, count in report.operations.items() if name != "useful_multiply"}
    dense = known(report.model_copy(update={"operations": without}))
    assert dense["rate"] == done / report.cycles
    assert told["peak"] == dense["peak"]
