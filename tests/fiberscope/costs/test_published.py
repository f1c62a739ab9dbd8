"""Published areas, powers and energies beside ours: the errors, and the page that shows them."""

import json
from pathlib import Path

import pytest

import fiberscope
from fiberscope import cli
from fiberscope.accelerators import find
from fiberscope.explore.speedups import speedups
from fiberscope.workloads import WorkloadError

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")
PAGE = Path(__file__).parents[3] / "docs" / "energy.md"


SMALL = "uniform:rows=30,cols=30,nonzeros=90"


def figure(**values):
    from published.costs import CostFigure

    fields = {"machine": "gamma", "figure": "area, mm2", "run": "", "apart": (), "missing": (), "source": ""}
    return CostFigure(**{**fields, **values})


def test_an_area_is_that_of_the_machine_and_stands_on_the_page(capsys):
    assert cli.run(["compare", "costs", "gamma", "--json", "-"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    area = fiberscope.simulate("gamma", row["run"]).area
    assert row["ours"] == pytest.approx(area.known / 1e6)
    assert row["upper"] == (None if area.upper is None else pytest.approx(area.upper / 1e6))
    assert row["missing"] == [*area.without]
    assert row["error"] == (None if area.without else pytest.approx(row["ours"] / 30.6 - 1))
    line = f"| gamma | area, mm2 | {row['run']} | 30.6 | {row['ours']:.4g} |"
    assert line in PAGE.read_text("utf-8")


@pytest.mark.parametrize(
    ("ours", "upper", "place"),
    [(1.0, 3.0, "inside"), (2.5, 3.0, "below"), (1.0, 1.5, "above"), (1.0, None, "not below")],
)
def test_a_published_value_lies_somewhere_and_has_an_error_only_over_equal_parts(ours, upper, place):
    equal = figure(published=2.0, ours=ours, upper=upper)
    assert equal.interval_position == place
    assert equal.error == pytest.approx(ours / 2.0 - 1)
    assert len([*equal.comparable()]) == 1
    other = figure(published=2.0, ours=ours, upper=upper, missing=("crossbars",))
    assert (other.interval_position, other.error, [*other.comparable()]) == (place, None, [])


def of_one(monkeypatch, **values):
    """The row of one published value of Gamma."""
    from published import costs

    cost = costs.PublishedCost(machine="gamma", published=2.0, operands=(SMALL,), source="nobody", **values)
    monkeypatch.setattr(costs, "read_table", lambda *_of: costs.PublishedCosts(figures=(cost,)))
    (row,) = costs.costs(["gamma"], lambda _what: None)
    return row, fiberscope.simulate("gamma", SMALL)


def test_a_power_is_energy_on_chip_over_time(monkeypatch):
    row, report = of_one(monkeypatch, what="power, W")
    assert row.ours == pytest.approx(report.energy.on_chip.known * 1e-12 / report.seconds)
    assert row.apart == ("memory",)


def test_kinds_and_components_that_are_not_in_the_published_value_are_left_out(monkeypatch):
    row, report = of_one(
        monkeypatch, what="energy, mJ", kinds=("dynamic", "memory"), apart=("pe.*",), lacks=("a host",)
    )
    wanted = sum(
        part.known
        for part in report.energy.parts
        if part.kind in ("dynamic", "memory") and not part.component.startswith("pe.")
    )
    assert row.ours == pytest.approx(wanted / 1e9)
    assert row.apart == ("pe.*", "clock", "leakage")
    assert row.missing[-1] == "a host"
    assert not {"clock tree", "leakage"} & {*row.missing}
    assert not any(name.startswith("pe.") for name in row.missing)


def test_rows_of_matrices_that_are_not_here_are_left_out_unless_they_are_asked_for(tmp_path, monkeypatch):
    from published import costs

    monkeypatch.setenv("FIBERSCOPE_DATA", str(tmp_path))
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(tmp_path))
    cost = costs.PublishedCost(
        machine="gamma", published=2.0, operands=("web-Google",), source="nobody", what="area, mm2"
    )
    monkeypatch.setattr(costs, "read_table", lambda *_of: costs.PublishedCosts(figures=(cost,)))
    lines: list[str] = []
    assert not costs.costs(["gamma"], lines.append)
    assert [line.partition(":")[0] for line in lines] == ["web-Google is left out"]
    with pytest.raises(WorkloadError, match="web-Google: the exact matrix is not available"):
        speedups(find("graphicionado"), ["web-Google"])


def test_variants_of_a_converter_share_blocks_and_so_take_less():
    from published.costs import costs

    rows = costs(["mint"], lambda _what: None)
    assert [row.published for row in rows] == [0.95, 0.41, 0.23]
    assert rows[0].ours > rows[1].ours >= rows[2].ours > 0


def test_settings_are_refused_in_a_line(refusal):
    assert "costs are of machines as they ship" in refusal("compare", "costs", "--set", "pe.count=4")
