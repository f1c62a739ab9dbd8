"""The formats of a graph's tensors in its report, and a note where a sparse tensor is stored dense."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from fiberscope import cli
from fiberscope.models.graphs import run
from fiberscope.models.graphs.compiler.compile import compile_expression

ROOT = Path(__file__).parents[4]
SPMV = "x(i) = B(i,j) * c(j)"
SIZE = 20


def matrix(nonzeros):
    entries = np.zeros(SIZE * SIZE)
    entries[:nonzeros] = 1
    return np.random.default_rng(0).permutation(entries).reshape(SIZE, SIZE)


def ran(formats, nonzeros, vector=SIZE):
    graph = compile_expression(SPMV, [formats]).graph
    return run(graph, {"B": matrix(nonzeros), "c": np.arange(SIZE) < vector})


@pytest.mark.parametrize("stored", ["dd", "ds", "sd", "ss", "bb", "ss:1,0", "dd:1,0"])
def test_the_report_and_the_summary_have_the_formats(stored):
    report = ran(f"x:d,B:{stored},c:d", 40)
    formats = dict(report.formats)
    if ":" in stored:  # rows are collected in a tensor between two phases
        assert formats.pop("T1") == "s"
    assert formats == {"x": "d", "B": stored, "c": "d"}
    texts = [f"{name}:{text}" for name, text in report.formats.items()]
    assert f"Formats     {', '.join(texts)}" in report.summary(200)


@pytest.mark.parametrize(("nonzeros", "noted"), [(39, True), (40, False), (0, True), (400, False)])
def test_a_note_names_a_tensor_of_which_a_tenth_is_not_nonzero(nonzeros, noted):
    for stored, compressed in (("dd", "ss"), ("dd:1,0", "ss:1,0")):
        report = ran(f"x:d,B:{stored},c:d", nonzeros)
        assert (report.workload.notice is not None) == noted
        if noted:
            assert f"B is stored dense (B:{stored})" in report.workload.notice
            assert f"{nonzeros} of its 400 values" in report.workload.notice
            assert f"B:{compressed} stores nonzeros only" in report.workload.notice
    for stored in ("ss", "ds", "bb", "ss:1,0"):
        assert ran(f"x:d,B:{stored},c:d", nonzeros).workload.notice is None


def test_each_operand_has_its_own_note():
    report = ran("x:d,B:ds,c:d", 30, vector=1)
    assert report.workload.notice is None
    assert "c is stored dense (c:d), and 1 of its 20 values are nonzero" in report.workload.b.notice
    assert report.summary().count("NOTICE") == 1


def test_rows_without_a_nonzero_do_not_count_as_stored():
    """Of the rows that ``sd`` stores a twentieth is nonzero: one value of twenty in each."""
    assert "B is stored dense (B:sd), and 20 of its 400" in ran_diagonal("sd").workload.notice
    assert ran_diagonal("ds").workload.notice is None


def ran_diagonal(stored):
    graph = compile_expression(SPMV, [f"x:d,B:{stored},c:d"]).graph
    return run(graph, {"B": np.eye(SIZE), "c": np.ones(SIZE)})


def graph_commands(page):
    """The commands of a page with which a graph runs, and those that make it, in their order."""
    text = (ROOT / page).read_text()
    return re.findall(r"fiberscope graph (?:compile|optimise|run) [^\n`]*", text)


@pytest.mark.parametrize("page", ["README.md", "docs/tour.md"])
def test_the_example_of_a_first_page_is_sparse_and_locates(page, here, capsys):
    commands = graph_commands(page)
    assert any("locate" in command for command in commands)
    for command in commands:
        words = shlex.split(command.replace("my.mtx", "uniform:rows=200,cols=200,nonzeros=1000"))
        capsys.readouterr()
        assert cli.run(words[1:]) == 0
    shown = capsys.readouterr().out
    assert "NOTICE" not in shown
    assert re.search(r"Formats +x:d, B:ds, c:d", shown)
    cycles = int(re.search(r"Cycles +([\d,]+)", shown)[1].replace(",", ""))
    multiplies = int(re.search(r"([\d,]+) multiply", shown)[1].replace(",", ""))
    assert cycles < 2 * multiplies
