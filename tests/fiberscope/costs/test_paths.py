"""The clock of a machine's RTL: paths that were measured, and those that others bound."""

import json

import pytest

from fiberscope import cli
from fiberscope.results.costs import laws
from fiberscope.results.costs.netlists import PRICED, SHIPPED_NETLISTS, read_netlists
from fiberscope.results.costs.paths import SPEEDUPS, find_path


def test_the_ratio_of_both_libraries_covers_all_netlists_that_were_measured_in_both():
    rows = read_netlists(SHIPPED_NETLISTS)
    both = [(row, rows[call, PRICED]) for (call, _library), row in rows.items() if (call, PRICED) in rows]
    ratios = [row.path_ns / priced.path_ns for row, priced in both if row.library != PRICED]
    assert len(ratios) >= 10
    assert SPEEDUPS[0] <= min(ratios)
    assert max(ratios) <= SPEEDUPS[1]


def test_a_measured_path_is_what_it_is_and_bounds_that_of_larger_sizes():
    measured = find_path("merger(radix=16, stages=6)")
    assert (measured.ns, measured.basis) == (
        read_netlists(SHIPPED_NETLISTS)["merger(radix=16, stages=6)", PRICED].path_ns,
        "measured",
    )
    larger = find_path("merger(radix=64, stages=6)")
    assert larger.basis == "law"
    assert larger.ns >= measured.ns
    assert find_path("merger(radix=2, stages=6)") is None
    assert find_path("marger(radix=2)") is None


def test_a_path_in_other_cells_is_divided_by_the_larger_ratio(monkeypatch):
    (row, *_others) = (row for row in read_netlists(SHIPPED_NETLISTS).values() if row.library != PRICED)
    monkeypatch.setattr(laws, "read_measured_netlists", lambda: {(row.call, row.library): row})
    path = find_path(row.call)
    assert (path.ns, path.basis) == (pytest.approx(row.path_ns / 5.1), "law")


def test_a_report_has_the_clock_of_its_rtl_beside_the_one_that_it_assumes(capsys, tmp_path):
    report = tmp_path / "report.json"
    matrix = "uniform:rows=8,cols=8,nonzeros=9"
    assert cli.run(["sim", "gamma", matrix, "--set", "clock=2GHz", f"--json={report}"]) == 0
    clock = json.loads(report.read_text())["rtl_clock"]
    assert clock["assumed_hertz"] == 2e9
    assert clock["hertz"] == pytest.approx(1e9 / clock["path_ns"])
    assert "memory.channel" not in clock["without"]
    summary = " ".join(capsys.readouterr().out.split())
    slowest = f"{clock['part']} takes {clock['path_ns']:.2f} ns"
    reached = f"{clock['hertz'] / 1e9:.3g} GHz"
    assert f"Clock 2 GHz assumed; RTL, a guess for 45 nm: at most {reached}, {slowest}" in summary
