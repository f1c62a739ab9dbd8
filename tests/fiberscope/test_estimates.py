"""Whether two runs differ significantly, on reports with known intervals, and how an estimate is written."""

import json
import math

import numpy as np
import pytest

import fiberscope
from fiberscope.accelerators.sampling import half_width
from fiberscope.page.run import run_data
from fiberscope.results.report.difference import compare
from fiberscope.results.report.estimates import compare_cycles, format_interval
from fiberscope.results.report.parts import Sampling
from fiberscope.results.report.pictures import figure

MATRIX = "uniform:rows=60,cols=60,nonzeros=400,seed=5"
ROWS = tuple((10 * number, 10 * number + 4) for number in range(20))
DEGREES = 16


@pytest.fixture(scope="module")
def whole():
    return fiberscope.simulate("gamma", MATRIX)


def estimate(whole, cycles, deviations, rows=ROWS, degrees=DEGREES):
    """A sampled run with these cycles, whose windows deviate so much."""
    width = half_width(deviations, degrees)
    sampling = Sampling(
        windows=len(rows) + 2,
        window_cycles=4000,
        strata=len(rows),
        cycles_simulated=cycles // 10,
        fraction=0.1,
        confidence=0.95,
        half_width=width / cycles,
        seed=0,
        rows=rows,
        deviations=deviations,
        degrees=degrees,
        estimated=("cycles", "traffic.B"),
    )
    interval = (round(cycles - width), round(cycles + width))
    update = {"cycles": cycles, "cycles_interval": interval, "complete": "sampled", "sampling": sampling}
    return whole.model_copy(update=update | {"components": {}})


def drawn(seed, scale=1000.0):
    return tuple(np.random.default_rng(seed).normal(0, scale, len(ROWS)).tolist())


def test_two_whole_runs_are_counts_and_not_compared_so(whole):
    assert compare_cycles(whole, whole) is None
    assert "cycles" not in json.loads(compare(whole, whole).to_json())
    assert format_interval(whole) == ""


def test_runs_with_the_same_windows_are_compared_window_by_window(whole):
    common, own = drawn(1), drawn(2, scale=10)
    first = estimate(whole, 1_000_000, common)
    second = estimate(whole, 1_001_000, tuple(map(sum, zip(common, own, strict=True))))
    told = compare_cycles(first, second)
    assert (told.cycles, told.windows) == (1000, 20)
    assert told.half_width == pytest.approx(half_width(own, DEGREES))
    assert told.significant
    assert not compare_cycles(first, estimate(whole, 1_001_000, drawn(3))).significant


def test_fewer_cycles_are_as_significant_as_more(whole):
    first, second = (estimate(whole, cycles, drawn(1, scale=10)) for cycles in (1_001_000, 1_000_000))
    told = compare_cycles(first, second)
    assert (told.cycles, told.significant) == (-1000, True)
    assert str(told).startswith("-1,000 +- 0 cycles")


def test_the_difference_has_the_degrees_of_freedom_of_the_run_with_fewer(whole):
    deviations = drawn(1), drawn(2)
    runs = [estimate(whole, 1_000_000, each, degrees=n) for each, n in zip(deviations, (4, 16), strict=True)]
    changes = [b - a for a, b in zip(*deviations, strict=True)]
    for pair in (runs, runs[::-1]):
        assert compare_cycles(*pair).half_width == pytest.approx(half_width(changes, 4))


def test_runs_whose_windows_are_no_rows_are_compared_by_their_intervals(whole):
    runs = [estimate(whole, cycles, drawn(1), rows=()) for cycles in (1_000_000, 1_001_000)]
    told = compare_cycles(*runs)
    assert (told.windows, told.significant) == (0, False)
    assert told.half_width == pytest.approx(math.sqrt(2) * half_width(drawn(1), DEGREES), rel=1e-3)


@pytest.mark.parametrize("other", ["rows", "operands"])
def test_runs_with_other_windows_or_operands_are_compared_by_their_intervals(whole, other):
    first = estimate(whole, 1_000_000, drawn(1))
    second = estimate(whole, 1_001_000, drawn(1), ROWS if other == "operands" else (*ROWS[1:], (300, 304)))
    if other == "operands":
        second = second.model_copy(
            update={"workload": whole.workload.model_copy(update={"digest": "another"})}
        )
    told = compare_cycles(first, second)
    assert (told.windows, told.significant) == (0, False)
    assert told.half_width == pytest.approx(math.sqrt(2) * half_width(drawn(1), DEGREES), rel=1e-3)


def test_a_whole_run_has_no_error_of_its_own(whole):
    sampled = estimate(whole, 10 * whole.cycles, drawn(1, scale=1))
    told = compare_cycles(whole, sampled)
    assert told.half_width == pytest.approx(half_width(drawn(1, scale=1), DEGREES), abs=1)
    assert told.significant == (9 * whole.cycles > told.half_width)


def test_intervals_of_a_difference_contain_it_as_often_as_they_say(whole):
    covered = 0
    for seed in range(300):
        common, *own = (drawn([seed, number], scale) for number, scale in enumerate((5000, 500, 500)))
        deviations = [tuple(map(sum, zip(common, each, strict=True))) for each in own]
        runs = [estimate(whole, round(1e6 + sum(each)), each) for each in deviations]
        covered += not compare_cycles(*runs).significant
    assert 0.92 * 300 <= covered <= 0.99 * 300


def test_diff_shows_intervals_and_the_verdict_and_no_components(whole, here, printed):
    whole.write("whole.json")
    estimate(whole, 1_000_000, drawn(1)).write("a.json")
    estimate(whole, 1_100_000, drawn(1)).write("b.json")
    lines = printed("diff", "a.json", "b.json").splitlines()
    width = format_interval(estimate(whole, 1_000_000, drawn(1)))
    assert lines[0].startswith(f"Cycles: 1,000,000{width} before, 1,100,000")
    assert lines[0].endswith("1.10 times slower")
    assert lines[1] == "Difference: +100,000 +- 0 cycles (95%, the same 20 windows in both): significant"
    assert any(line.split()[:4] == ["cycles", "1,000,000", "+-", width.split()[1]] for line in lines)
    assert "Estimates from samples: cycles, traffic.B" in lines
    told = printed("diff", "whole.json", "a.json")
    assert "by the intervals of both): significant" in told
    assert " busy" not in told


def test_diff_says_not_how_much_faster_where_that_is_not_significant(whole, here, printed):
    estimate(whole, 1_000_000, drawn(1)).write("a.json")
    estimate(whole, 1_000_100, drawn(2)).write("b.json")
    told = printed("diff", "a.json", "b.json")
    assert "not significant" in told
    assert "times" not in told


def test_the_page_and_the_picture_of_a_run_show_the_interval(whole):
    sampled = estimate(whole, 1_000_000, drawn(1))
    width = format_interval(sampled).strip()
    data = run_data(sampled)
    assert data["facts"]["cycles"].startswith(f"1,000,000 {width}, ")
    assert data["facts"]["sampled"].startswith("22 windows of about 4,000 cycles, seed 0")
    assert "sampled" not in run_data(whole)["facts"]
    assert data["undrawn"] == "A sampled run has no components."
    assert "sampled run" in data["costs"]["unpriced"]
    pytest.importorskip("matplotlib")
    picture = figure(sampled)
    assert picture.get_suptitle().endswith(f": 1,000,000 {width} cycles")
    titles = {axes.get_title(loc="left"): axes for axes in picture.axes}
    bars = titles["Cycles and their 95 % interval"].containers
    assert [type(each).__name__ for each in bars] == ["ErrorbarContainer", "BarContainer", "BarContainer"]


def test_a_report_in_one_line_is_no_count(whole):
    sampled = estimate(whole, 1_000_000, drawn(1))
    assert f"1,000,000{format_interval(sampled)} cycles" in repr(sampled)
    assert (sampled.row()["cycles_low"], sampled.row()["complete"]) == (sampled.cycles_interval[0], True)
    assert "cycles_low" not in whole.row()
