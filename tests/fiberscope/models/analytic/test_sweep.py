"""Sweeps over densities, and what a notebook and a picture show of an evaluation."""

from pathlib import Path

import pytest

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.models.analytic.inputs import read_case
from fiberscope.results.report.table import Table

SWEPT = [0.01, 0.1015625, 0.5]


def test_a_sweep_is_what_each_density_gives_alone(tmp_path: Path) -> None:
    sweep = fiberscope.density_sweep(["coordinate_list"], "A", SWEPT)
    text = (Path(read_case.__code__.co_filename).parent / "designs" / "coordinate_list.yaml").read_text()
    given = "densities: {A: 0.1015625,"
    assert given in text
    for density, point in zip(SWEPT, sweep.points, strict=True):
        path = tmp_path / "alone.yaml"
        uniform = f"{{distribution: hypergeometric, density: {density}}}"
        path.write_text(text.replace(given, f"densities: {{A: {uniform},"))
        alone = fiberscope.analyze(path)
        assert point.cycles == alone.cycles
        assert point.energy_pj == pytest.approx(alone.energy.total_pj, rel=1e-12)


def test_a_sweep_in_a_notebook() -> None:
    sweep = fiberscope.density_sweep(["matmul"], "A", SWEPT, distribution="fixed_structured")
    assert sweep._repr_html_().count("<tr>") == 1 + len(SWEPT)


def test_a_sweep_as_a_picture() -> None:
    pytest.importorskip("matplotlib")
    drawn = fiberscope.density_sweep(["coordinate_list"], "A", SWEPT).figure()
    assert [len(line.get_xdata()) for axes in drawn.axes for line in axes.lines] == [3, 3]


@pytest.mark.parametrize(
    ("tensor", "densities", "options", "fault"),
    [
        ("C", SWEPT, {}, "there is no data space C"),
        ("A", [1.5], {}, "a density is from 0 to 1, not 1.5"),
        ("A", SWEPT, {"distribution": "banded"}, "there is no distribution banded to sweep"),
    ],
)
def test_what_cannot_be_swept(
    tensor: str, densities: list[float], options: dict[str, str], fault: str
) -> None:
    with pytest.raises(InputError, match=fault):
        fiberscope.density_sweep(["matmul"], tensor, densities, **options)


def test_a_report_in_a_notebook_has_the_table_of_each_level() -> None:
    report = fiberscope.analyze("matmul")
    for name in report.levels:
        assert f"{name}: " in report._repr_html_()


def test_a_picture_of_levels() -> None:
    pytest.importorskip("matplotlib")
    from fiberscope.results.report.pictures import figure

    report = fiberscope.analyze("matmul")
    cycles, energies, *_ = figure(report).axes
    assert [bar.get_width() for bar in cycles.patches] == [
        *(level.cycles for level in report.levels.values()),
        report.analytical.compute.cycles,
    ]
    drawn = sum(bar.get_width() for bar in energies.patches)
    assert drawn == pytest.approx(report.energy.total_pj / 1e6)


def test_a_table_of_html_escapes_its_cells() -> None:
    table = Table("a < b", ("<", "n"))
    table.add("&", "1")
    assert table.html() == (
        "<table><caption>a &lt; b</caption><tr><th>&lt;</th><th>n</th></tr>"
        '<tr><td style="text-align:left">&amp;</td><td style="text-align:right">1</td></tr></table>'
    )
