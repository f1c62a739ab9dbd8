"""Figures of a store: what they show is what its rows and reports say, and a paper can print them."""

from math import prod
from pathlib import Path
from typing import Any

import pytest

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.study_figures import KINDS, draw_study
from fiberscope.results.figures.breakdowns import StackedBars, draw_stacked_bars, limit_parts
from fiberscope.results.figures.front import draw_front, pareto_front
from fiberscope.results.figures.study_runs import shorten_workloads
from fiberscope.results.figures.style import PATTERNS, SURROGATE_NOTE, add_legend, open_paper_figure
from fiberscope.results.store import Store
from tests.fiberscope.support.figures import layout_faults

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")

ONE, TWO = "uniform:rows=20,cols=20,nonzeros=60", "uniform:rows=30,cols=30,nonzeros=90"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of two machines, of which one has two settings, on two workloads."""
    folder = tmp_path_factory.mktemp("study")
    options: dict[str, Any] = {"store": folder / "study", "workers": 1, "progress": False}
    fiberscope.sweep("gamma", [ONE, TWO], grid={"pe.count": [4, 8]}, **options)
    fiberscope.sweep("outerspace", [ONE, TWO], **options)
    return folder


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def reports(where: str) -> list[fiberscope.Report]:
    rows = Store("study").table(f"SELECT digest FROM runs WHERE {where} ORDER BY workload").to_pylist()
    several = Store("study").reports([row["digest"] for row in rows])
    return [several[row["digest"]] for row in rows]


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_of_a_store_fits_a_column(kind: str) -> None:
    figure = draw_study("study", kind, width=3.33)
    assert layout_faults(figure) == []
    assert figure.get_figwidth() == 3.33


def test_machines_are_named_by_the_settings_in_which_they_differ() -> None:
    figure = draw_study("study", "speedup", against="outerspace")
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["gamma pe_count=4", "gamma pe_count=8"]
    ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert ticks == ["uniform 20,20,60", "uniform 30,30,90", "geomean"]
    gamma, base = (reports(f"accelerator = '{name}'") for name in ("gamma", "outerspace"))
    expected = {
        slow.seconds / fast.seconds for slow in base for fast in gamma if slow.workload == fast.workload
    }
    tops = [bar.get_y() + bar.get_height() for bar in figure.axes[0].patches]
    assert len(expected) == 4
    assert all(any(top == pytest.approx(speedup) for top in tops) for speedup in expected)


def test_a_front_shows_upper_ends_as_lines_and_lower_bounds_as_arrows() -> None:
    designs = {"a": [(1.0, 3.0), (2.0, 1.0)], "b": [(1.5, 2.5)]}
    axes = draw_front(designs, ("x", "y"), 3.5, ends={"a": [1.8, None], "b": [2.2]}).axes[0]
    lines = [[*line.get_xdata()] for line in axes.lines]
    assert [1.0, 1.8] in lines
    assert [1.5, 2.2] in lines
    assert [text.xy for text in axes.texts] == [(2.0, 1.0)]
    assert axes.get_xlim()[1] > 2.2


def test_bars_of_energy_and_traffic_are_as_high_as_their_totals() -> None:
    (report,) = reports(f"accelerator = 'outerspace' AND workload = '{ONE}'")
    only = f"accelerator = 'outerspace' AND workload = '{ONE}'"
    axes = draw_study("study", "energy", where=only).axes[0]
    assert axes.get_ylabel() == "Energy (uJ)"
    assert sum(bar.get_height() for bar in axes.patches) * 1e6 == pytest.approx(report.energy.total_pj)
    axes = draw_study("study", "traffic", where=only).axes[0]
    moved = sum(tensor.moved_bytes for tensor in report.traffic.values())
    assert sum(bar.get_height() for bar in axes.patches) * 2**10 == pytest.approx(moved)
    gamma = draw_study("study", "traffic", where="accelerator = 'gamma' AND pe_count = 4").axes[0]
    assert gamma.get_ylabel().split() == ["Traffic", "over", "gamma's", "minimum"]
    ratios = [
        sum(tensor.moved_bytes for tensor in each.traffic.values()) / each.traffic_minimum_bytes
        for each in reports("accelerator = 'gamma' AND pe_count = 4")
    ]
    assert sum(bar.get_height() for bar in gamma.patches) == pytest.approx(sum(ratios))


def test_points_of_a_roofline_are_under_the_roofs_of_their_machine() -> None:
    axes = draw_study("study", "roofline", where="accelerator = 'gamma' AND pe_count = 4").axes[0]
    roof, points = axes.lines
    several = reports("accelerator = 'gamma' AND pe_count = 4")
    rates = [each.operations["multiply"] / each.cycles for each in several]
    assert list(points.get_ydata()) == pytest.approx(rates)
    assert max(roof.get_ydata()) == 4  # multipliers
    assert max(rates) <= max(roof.get_ydata())
    assert axes.get_xlabel() == "Multiplies per byte of traffic"


def test_a_front_has_the_mean_of_times_over_a_machine() -> None:
    axes = draw_study("study", "front", against="gamma pe_count=8").axes[0]
    base, four = (reports(f"accelerator = 'gamma' AND pe_count = {count}") for count in (8, 4))
    mean = prod(slow.seconds / fast.seconds for slow, fast in zip(four, base, strict=True)) ** 0.5
    points = {line.get_xdata()[0]: line.get_ydata()[0] for line in axes.lines[1:]}
    assert points[four[0].area_um2 / 1e6] == pytest.approx(mean)
    assert points[base[0].area_um2 / 1e6] == pytest.approx(1)
    assert pareto_front([(1, 3), (2, 2), (3, 2.5), (4, 1)], [False, False]) == [(1, 3), (2, 2), (4, 1)]


def test_small_parts_are_joined_and_memory_comes_first() -> None:
    parts = {("a", "x"): {"p": 1.0, "memory": 8.0, "q": 0.5, "r": 0.5}, ("b", "x"): {"r": 5.0, "s": 0.1}}
    assert limit_parts(parts, 8)["a", "x"] == {"memory": 8.0, "p": 1.0, "q": 0.5, "r": 0.5}
    joined = limit_parts(parts, 3)
    assert joined == {
        ("a", "x"): {"memory": 8.0, "r": 0.5, "other": 1.5},
        ("b", "x"): {"r": 5.0, "other": 0.1},
    }


def test_bars_of_many_machines_continue_in_rows() -> None:
    machines, workloads = (
        [f"machine-{number}" for number in range(5)],
        [f"work-{number}" for number in range(10)],
    )
    parts = {(bar, group): {"A": 1.0, "B": 2.0} for bar in machines for group in workloads}
    del parts["machine-1", "work-1"]
    figure = draw_stacked_bars(StackedBars(workloads, machines, parts, "Traffic", SURROGATE_NOTE, 1.0), 3.5)
    assert layout_faults(figure) == []
    assert len(figure.axes) == 3
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["\N{MULTIPLICATION SIGN}"]


def test_a_legend_reads_row_by_row() -> None:
    with open_paper_figure(2.0, 1.0) as figure:
        figure.subplots()
        assert add_legend(figure, [f"machine-{number}" for number in range(5)]) == 3
    places = [text.get_window_extent() for text in figure.legends[0].get_texts()]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    by_place = sorted(zip(places, names, strict=True), key=lambda entry: (-round(entry[0].y0), entry[0].x0))
    assert [name for _, name in by_place] == [f"machine-{number}" for number in range(5)]


def test_names_of_generators_are_their_values() -> None:
    several = ["banded:rows=9,cols=9,bandwidth=2", "banded:rows=9,cols=9,bandwidth=20", "a/wiki-Vote.mtx"]
    assert shorten_workloads(several) == ["banded 2", "banded 20", "wiki-Vote"]
    assert len(set(shorten_workloads(["g:a=1,b=2", "g:a=1,c=2"]))) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--figure", "energi"], "no figure is called energi; did you mean energy?"),
        (["--against", "gama"], "gama is none of the machines of the figure; "),
        (["--where", "cycles < 0"], "study: has no rows to draw; see fiberscope results study"),
        (["--figure-width", "wide"], "a figure cannot be wide wide; column, page, "),
        (["--sql", "SELECT 1"], "--sql is a whole query; "),
    ],
)
def test_a_figure_that_cannot_be_is_one_line(words: list[str], message: str, refusal) -> None:
    assert refusal("results", "study", "--plot", "a.png", *words).startswith(f"fiberscope: {message}")


def test_the_command_writes_the_figure_and_says_so(refusal, printed) -> None:
    words = ["results", "study", "--figure", "front", "--figure-width", "column"]
    assert printed(*words, "--plot", "a.pdf") == "Figure: a.pdf\n"
    assert Path("a.pdf").read_bytes().startswith(b"%PDF")
    assert refusal(*words) == "fiberscope: --figure needs --plot FILE, the figure to draw\n"


def test_what_a_figure_has_no_room_for_is_refused() -> None:
    designs = {f"machine-{number}": [(1.0, 2.0)] for number in range(len(PATTERNS) + 1)}
    with pytest.raises(InputError, match="9 machines, and a figure has at most 8; choose with --where"):
        draw_front(designs, ("x", "y"), 3.5)
    with pytest.raises(InputError, match="no run has a known energy; nothing to draw"):
        draw_stacked_bars(StackedBars(["x"], ["a"], {}, "Energy (J)"), 3.5)
    with pytest.raises(InputError, match="holds no results"):
        draw_study("none")
