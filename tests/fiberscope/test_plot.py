"""Pictures: what they show is what the report says; formats, missing parts, missing matplotlib."""

import sys
from pathlib import Path

import pytest

import fiberscope
from fiberscope import cli
from fiberscope.results.report import pictures as plot
from fiberscope.results.report.document import Report
from fiberscope.results.report.families import group_families
from fiberscope.results.report.parts import Occupancy

pytest.importorskip("matplotlib")

MATRIX = "uniform:rows=80,cols=80,nonzeros=900,seed=5"


@pytest.fixture
def report(toy: str, here: Path) -> Report:
    made = fiberscope.simulate(toy, MATRIX, histograms=True)
    made.write("out.json")
    return made


def titled(figure, title):
    return next(axes for axes in figure.axes if axes.get_title(loc="left").startswith(title))


def test_the_bars_of_a_family_are_its_shares(report):
    axes = titled(plot.figure(report), "Where cycles went")
    kinds = list(group_families(report.components).values())
    assert [label.get_text() for label in axes.get_yticklabels()] == [kind.label for kind in kinds]
    busy = axes.containers[0]
    assert busy.get_label() == "busy"
    assert [bar.get_width() for bar in busy] == pytest.approx([100 * kind.share(kind.busy) for kind in kinds])
    for bars in zip(*axes.containers, strict=True):
        assert sum(bar.get_width() for bar in bars) == pytest.approx(100)


def test_traffic_stands_beside_the_minimum(report):
    axes = titled(plot.figure(report), "Traffic")
    read, written = axes.containers
    assert [label.get_text() for label in axes.get_yticklabels()] == [*report.traffic, "in all"]
    total = sum(part.read_bytes + part.write_bytes for part in report.traffic.values())
    assert (read[-1].get_width() + written[-1].get_width()) * 2**20 == pytest.approx(total)
    (line,) = axes.lines
    assert line.get_xdata()[0] * 2**20 == pytest.approx(report.traffic_minimum_bytes)


def test_the_area_under_the_curves_is_what_was_done(report):
    figure = plot.figure(report)
    bandwidth = titled(figure, "Over time")
    multiplies = figure.axes[figure.axes.index(bandwidth) + 1]
    heights, edges, _base = multiplies.patches[0].get_data()
    assert sum(heights * (edges[1:] - edges[:-1])) == pytest.approx(report.operations["multiply"])
    seconds_a_cycle = report.seconds / report.cycles
    for patch, name in zip(bandwidth.patches, ("read_bytes", "write_bytes"), strict=True):
        heights, edges, base = patch.get_data()
        moved = sum((heights - base) * (edges[1:] - edges[:-1]))  # GiB/s times cycles
        total = sum(getattr(part, name) for part in report.traffic.values())
        assert moved * 2**30 * seconds_a_cycle == pytest.approx(total)
        assert edges[-1] == report.cycles
    (peak,) = bandwidth.lines
    assert peak.get_ydata()[0] * 2**30 == pytest.approx(report.memory.peak_bytes_per_second)


def test_the_fullness_of_a_family_is_all_its_time(report):
    axes = titled(plot.figure(report), "Occupancy of")
    rows = axes.images[0].get_array()
    assert len(rows) == len(report.occupancies)
    for row in rows:
        assert sum(row) == pytest.approx(100)


def test_a_full_channel_is_at_the_end_whatever_its_capacity(report):
    for capacity in (1, 3, 7, 500):
        full = Occupancy(channels=1, capacity=capacity, cycles={0: 1, capacity: 3})
        given = report.model_copy(update={"occupancies": {"x": full}})
        (row,) = titled(plot.figure(given), "Occupancy of").images[0].get_array()
        assert (row[0], row[-1]) == (25, 75)


def test_what_the_report_does_not_have_is_left_out(report):
    bare = report.model_copy(update={"occupancies": {}, "timeline": None, "complete": False})
    figure = plot.figure(bare)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Where cycles went",
        "Traffic with the memory",
    ]
    assert not titled(figure, "Traffic").lines  # of a run that is not done the minimum says nothing


def test_a_run_without_cycles_has_nothing_over_time(report):
    drawn = plot.figure(fiberscope.simulate("sigma", "uniform:rows=1,cols=1,nonzeros=0"))
    assert plot.TITLE_OVER_TIME not in [axes.get_title(loc="left") for axes in drawn.axes]


@pytest.mark.parametrize(("name", "head"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_a_picture_is_the_same_every_time(report, name, head):
    plot.save(report, Path(name))
    first = Path(name).read_bytes()
    plot.save(Report.read("out.json"), Path(name))
    assert Path(name).read_bytes() == first
    assert first.startswith(head)


def test_the_picture_is_beside_the_report_if_not_said_otherwise(report, printed):
    assert printed("plot", "out.json") == "Pictures: out.png\n"
    assert Path("out.png").stat().st_size > 10_000
    assert cli.run(["plot", "out.json", "-o", "other.svg"]) == 0
    assert cli.run(["plot", "out.json", "-o", "other.pdf"]) == 0
    assert Path("other.svg").is_file()
    assert b"/CreationDate" not in Path("other.pdf").read_bytes()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("out.jpg", "out.jpg: pictures are .png, .svg or .pdf files"),
        ("none/out.png", "none/out.png: there is no folder none; make it first"),
    ],
)
def test_what_cannot_be_drawn_there_is_one_line(report, refusal, output, message):
    assert refusal("plot", "out.json", "-o", output) == f"fiberscope: {message}\n"


def test_a_missing_matplotlib_is_one_line_that_says_how_to_get_it(report, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cli.run(["plot", "out.json"]) == 2
    told = "matplotlib is not installed: pip install 'fiberscope[plots]', in a clone make .venv/plots"
    assert capsys.readouterr().err == f"fiberscope: {told}\n"
