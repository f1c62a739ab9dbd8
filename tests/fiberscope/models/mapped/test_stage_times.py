"""Cycles of each stage of a machine from a specification, in the report and by ``fiberscope check``."""

import re
from types import SimpleNamespace

import pytest

import fiberscope
from fiberscope.explore.stages import find_longest, find_window

LAYERS = """\
einsum:
  declaration: {A: [M, K], X: [K, N], H: [M, N], W: [N, O], Z: [M, O]}
  expressions: ["H[m, n] = A[m, k] * X[k, n]", "Z[m, o] = H[m, n] * W[n, o]"]
mapping:
  loop-order: {H: [M, K, N], Z: [M, N, O]}
"""
SMALL, LARGE = "uniform:rows=20,cols=20,nonzeros=30", "uniform:rows=20,cols=20,nonzeros=300"
WORK = {"first": {"A": LARGE, "X": LARGE, "W": SMALL}, "second": {"A": SMALL, "X": SMALL, "W": LARGE}}


def write(tmp_path):
    path = tmp_path / "layers.yaml"
    path.write_text(LAYERS)
    return str(path)


@pytest.mark.parametrize("longer", ["first", "second"])
def test_the_report_has_the_cycles_of_each_stage(tmp_path, longer):
    report = fiberscope.simulate(write(tmp_path), tensors=WORK[longer])
    assert list(report.stages) == ["H", "Z"]
    assert sum(report.stages.values()) == report.cycles
    assert max(report.stages, key=report.stages.get) == {"first": "H", "second": "Z"}[longer]
    written = report.components["layers.h.pe00.fiberwrite_H_vals"]
    waiting = report.components["layers.z.pe00.arrayvals_W"]
    assert written.cycles - written.idle <= report.stages["H"]
    assert waiting.busy <= report.stages["Z"]
    both = "H {H:,} cycles; Z {Z:,} cycles".format(**report.stages)
    assert f"Stages      {both}" in report.summary()


def test_a_single_stage_is_the_whole_run_and_has_no_line():
    report = fiberscope.simulate("spec:gamma", LARGE)
    assert report.stages == {}
    assert "Stages" not in report.summary()


@pytest.mark.parametrize("longer", ["first", "second"])
def test_the_longest_stage_is_explained_and_each_has_a_row(tmp_path, longer, printed):
    operands = [f"{name}={text}" for name, text in WORK[longer].items()]
    shown = printed("check", write(tmp_path), *operands, "-q")
    total = number(re.search(r"([\d,]+) ns by components", shown)[1])
    rows = {name: number(cycles) for cycles, name in re.findall(r"([\d,]+) cycles, .*: stage (\w)", shown)}
    assert set(rows) == {"H", "Z"}
    assert sum(rows.values()) == total
    longest = max(rows, key=rows.get)
    assert f"stage {longest}, of which" in shown
    parts = re.findall(r"^ {4} *([\d,]+) cycles, .*: (.*)$", shown.split("of which")[1], re.MULTILINE)
    assert sum(number(cycles) for cycles, _part in parts) == rows[longest]
    workers = {part.split()[0] for _cycles, part in parts if "works" in part}
    assert workers == {f"{longest.lower()}.pe.mul"}


def number(text):
    return int(text.replace(",", ""))


def test_stages_of_a_machine_with_a_faster_walk_add_up(tmp_path):
    settings = {"timing.walk": 4}
    report = fiberscope.simulate(write(tmp_path), tensors=WORK["first"], settings=settings)
    assert sum(report.stages.values()) == report.cycles
    assert report.stages["H"] > report.stages["Z"] > 0


def test_a_stage_begins_where_the_one_before_ends():
    report = SimpleNamespace(stages={"H": 10, "T": 5, "Z": 7})
    assert [find_window(report, name) for name in "HTZ"] == [(0, 10), (10, 15), (15, 22)]
    assert (find_longest(report), find_longest(SimpleNamespace(stages={}))) == ("H", "")
