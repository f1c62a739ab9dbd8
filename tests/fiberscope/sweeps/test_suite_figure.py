"""The speed-ups of a suite as a figure: what the bars show, and that a paper can print it as it is."""

import io
import re
from math import prod

import pytest
from matplotlib.patches import Rectangle

from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.suite import Suite, SuiteResult
from fiberscope.explore.sweeps.suite_figure import draw_suite
from fiberscope.results.figures.grouped_bars import MISSING, GroupedBars, plan_panels
from fiberscope.results.figures.style import PATTERNS, WIDTHS, parse_width
from fiberscope.results.report.pictures import save_figure
from tests.fiberscope.support.figures import layout_faults

pytest.importorskip("matplotlib")

MACHINES = ("gamma", "outerspace", "./mine", "spec:gamma", "gamma-16", "extensor", "sigma", "matraptor-wide")
WORKLOADS = (
    *("wiki-Vote", "p2p-Gnutella31", "ca-CondMat", "email-Enron", "2cubes_sphere", "m133-b3", "web-Google"),
    *(f"uniform:rows=300,cols=300,nonzeros=2000,seed={seed}" for seed in range(1, 14)),
)


def suite_of(machines: int, workloads: int, step: float = 1.2, *, source: str = "real") -> Suite:
    """A suite in which each machine is slower than the one before by a factor, and the last fails once."""
    runs = {
        (workload, machine): SuiteResult("done", "", 1000, step**number * (1 + place % 3), source)
        for place, workload in enumerate(WORKLOADS[:workloads])
        for number, machine in enumerate(MACHINES[:machines])
    }
    if machines > 1:
        runs[WORKLOADS[1], MACHINES[machines - 1]] = SuiteResult("timeout", "too long")
    return Suite(MACHINES[:machines], WORKLOADS[:workloads], MACHINES[0], runs)


def tops(figure: object) -> list[float]:
    """The ends of all bars, which begin at 0 or, on a logarithmic scale, at 1."""
    bars = [bar for axes in figure.axes for bar in axes.patches if isinstance(bar, Rectangle)]  # type: ignore[attr-defined]
    return [bar.get_y() + bar.get_height() for bar in bars]


@pytest.mark.parametrize(
    ("machines", "workloads", "width"),
    [(1, 2, "column"), (8, 20, "acm-column"), (5, 10, "column"), (2, 20, "page")],
)
def test_any_suite_fits_a_column_and_a_page(machines: int, workloads: int, width: str) -> None:
    figure = draw_suite(suite_of(machines, workloads, source="surrogate"), parse_width(width))
    assert layout_faults(figure) == []
    assert figure.get_figwidth() == WIDTHS[width]
    assert figure.get_figheight() < 9.0  # of a page


def test_bars_end_at_the_speedups_and_the_machine_compared_with_has_none() -> None:
    suite = suite_of(3, 2)
    figure = draw_suite(suite)
    speedups = [suite.speedup(workload, machine) for machine in MACHINES[1:3] for workload in WORKLOADS[:2]]
    means = [suite.mean(machine) for machine in MACHINES[1:3]]
    assert sorted(tops(figure)) == pytest.approx(sorted(filter(None, [*speedups, *means])))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["outerspace", "mine"]
    axes = figure.axes[0]
    assert axes.get_ylabel() == "Speedup over gamma"
    assert [label.get_text() for label in axes.get_xticklabels()] == [*WORKLOADS[:2], "geomean"]
    assert [text.get_text() for text in axes.texts] == [MISSING]  # the run that failed
    assert tops(draw_suite(suite_of(1, 2))) == [1, 1, 1]


@pytest.mark.parametrize(("step", "scale"), [(1.5, "linear"), (0.7, "linear"), (30.0, "log"), (0.03, "log")])
def test_the_scale_is_logarithmic_where_the_range_needs_it(step: float, scale: str) -> None:
    suite = suite_of(2, 2, step)
    figure = draw_suite(suite)
    assert figure.axes[0].get_yscale() == scale
    assert tops(figure) == pytest.approx([1 / step, 1 / step])
    low, high = figure.axes[0].get_ylim()
    assert low <= min(1, *tops(figure)) <= max(1, *tops(figure)) <= high


def test_surrogates_have_a_dagger_and_a_note() -> None:
    figure = draw_suite(suite_of(2, 3, source="surrogate"))
    assert figure.get_supxlabel() == "† surrogate of the real matrix"
    assert figure.axes[0].get_xticklabels()[0].get_text() == "wiki-Vote†"
    assert figure.get_suptitle() == ""  # the caption is the paper's


def test_rows_of_groups_keep_bars_wide_enough() -> None:
    panels = plan_panels(["x"] * 21, 8, 3.5, 3.0)
    assert [len(row) for row in panels.rows] == [7, 7, 7]
    assert panels.pitch * 0.82 / 8 >= 3.0
    assert len(plan_panels(["x"] * 11, 4, 3.5, 3.0).rows) == 1
    empty = GroupedBars(["x"], ["a"], [[None]], [[0.0]], "Speedup")
    assert not empty.is_logarithmic


def test_fonts_are_embedded_and_the_same_suite_is_the_same_file(tmp_path) -> None:
    suite = suite_of(3, 3)
    for name in ("a.pdf", "a.svg", "a.png"):
        for file in (tmp_path / name, tmp_path / f"again-{name}"):
            save_figure(lambda: draw_suite(suite, WIDTHS["column"]), file)
        assert (tmp_path / name).read_bytes() == (tmp_path / f"again-{name}").read_bytes()
    pdf = (tmp_path / "a.pdf").read_bytes()
    assert b"/Type3" not in pdf
    assert b"/TrueType" in pdf or b"/CIDFontType2" in pdf
    assert re.search(rb"/MediaBox \[ ?0 0 252 ", pdf)  # 3.5 inches
    from PIL import Image

    with Image.open(io.BytesIO((tmp_path / "a.png").read_bytes())) as image:
        assert image.size[0] == 3.5 * 300


@pytest.mark.parametrize("text", ["colum", "0.5", "nan", "1e9"])
def test_a_width_that_is_none_is_one_line(text: str) -> None:
    with pytest.raises(InputError, match=f"a figure cannot be {text} wide; column, page, acm-column"):
        parse_width(text)
    assert parse_width("3.25") == 3.25


def test_no_two_patterns_share_a_hatch_or_a_marker() -> None:
    assert len({pattern.hatch for pattern in PATTERNS}) == len(PATTERNS) == 8
    assert len({pattern.marker for pattern in PATTERNS}) == 8
    assert prod(len(pattern.colour) == 7 for pattern in PATTERNS)
