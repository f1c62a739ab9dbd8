"""Published areas, powers and energies beside ours: the errors, and the page that shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fiberscope
from fiberscope import cli

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")
PAGE = Path(__file__).parents[3] / "docs" / "energy.md"


def test_an_area_is_that_of_the_machine_and_stands_on_the_page(capsys):
    assert cli.run(["compare", "costs", "gamma", "--json", "-"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    report = fiberscope.simulate("gamma", row["run"])
    assert row["ours"] == pytest.approx(report.area_um2 / 1e6)
    assert row["settings"] == f"{len(report.area.without)} parts excluded"
    assert row["error"] == pytest.approx(row["ours"] / 30.6 - 1)
    assert (
        f"| gamma | area, mm2 | {row['run']} | {row['settings']} | 30.6 | {row['ours']:.4g} |"
        in PAGE.read_text("utf-8")
    )


def test_a_power_is_energy_over_time(monkeypatch):
    from published import costs

    operands = ("uniform:rows=30,cols=30,nonzeros=90",)
    figure = costs.PublishedCost(
        machine="gamma", what="power, W", published=2.0, operands=operands, source="nobody"
    )
    monkeypatch.setattr(costs, "read_table", lambda *_of: costs.PublishedCosts(figures=(figure,)))
    (row,) = costs.costs(["gamma"], lambda _what: None)
    report = fiberscope.simulate("gamma", *figure.operands)
    assert row.ours == pytest.approx(report.energy.total_pj * 1e-12 / report.seconds)


def test_variants_of_a_converter_share_blocks_and_so_take_less():
    from published.costs import costs

    rows = costs(["mint"], lambda _what: None)
    assert [row.published for row in rows] == [0.95, 0.41, 0.23]
    assert rows[0].ours > rows[1].ours >= rows[2].ours > 0


def test_settings_are_refused_in_a_line(capsys):
    assert cli.run(["compare", "costs", "--set", "pe.count=4"]) == 2
    assert "costs are of machines as they ship" in capsys.readouterr().err
