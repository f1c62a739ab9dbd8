"""The table of first numbers, as shipped and as published: each number is what its row's command gives."""

import re
from pathlib import Path

import pytest

import fiberscope
from fiberscope import accelerators
from fiberscope.explore.compare import read_published

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
SET = re.compile(r"--set ([\w.]+)=(\w+)")


def read_table():
    """Of each row by its first words the command and the cells, by (machine, matrix)."""
    lines = PAGE.read_text(encoding="utf-8").split("| cycles of |", 1)[1].split("\n\n", 1)[0].splitlines()
    runs = [tuple(cell.strip().split(", ")) for cell in lines[0].rstrip("| ").split("|")]
    rows = [line.strip("| ").split("|", 1) for line in lines[2:]]
    return {
        re.split(r"[:,]", label)[0].strip(): (
            label,
            dict(zip(runs, (cell.strip() for cell in cells.split("|")), strict=False)),
        )
        for label, cells in rows
    }


def cycles(cells):
    return {run: int(cell.replace(",", "")) for run, cell in cells.items() if cell}


TABLE = read_table()
RUN = [label for label in TABLE if "`fiberscope sim" in TABLE[label][0] or "--set" in TABLE[label][0]]


def test_the_rows_that_are_not_run_follow_from_those_that_are():
    shown = cycles(TABLE["as published"][1])
    ours = cycles(TABLE["with memory at its peak bandwidth"][1])
    ours |= cycles(TABLE["and A's rows in Gamma's order"][1])
    reported = cycles(TABLE["reported by the authors' simulators"][1])
    assert shown == ours
    assert reported.keys() == shown.keys()
    for (machine, matrix), number in reported.items():
        figures = read_published(accelerators.find(machine.lower())).find(matrix, "reported", "simple")
        assert number == figures.cycles
        error = shown[machine, matrix] / number - 1
        assert TABLE["error"][1][machine, matrix] == f"{100 * error:+.1f} %"


def test_the_last_settings_are_those_of_the_published_runs():
    labels = [TABLE[label][0] for label in RUN]
    for machine, used in (("gamma", labels), ("extensor", labels[:2])):
        figures = read_published(accelerators.find(machine))
        assert dict(SET.findall(" ".join(used))) == figures.settings | figures.models["simple"]


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("label", RUN)
def test_the_cycles_are_those_of_the_run(label):
    settings = dict(SET.findall(" ".join(TABLE[each][0] for each in RUN[: RUN.index(label) + 1])))
    shown = cycles(TABLE[label][1])
    seen = {
        (machine, matrix): fiberscope.simulate(machine.lower(), matrix, settings=settings, exact=True).cycles
        for machine, matrix in shown
    }
    assert seen == shown
