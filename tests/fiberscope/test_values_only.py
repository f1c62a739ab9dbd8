"""A machine that drops computed zeros: wrong by entries, right by values."""

import json
from pathlib import Path

import pytest

import fiberscope
from fiberscope import accelerators, cli
from fiberscope.accelerators.machine import EVENT
from fiberscope.results.errors import VerificationError

CANCELS = "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n1 2 1\n2 1 -1\n2 2 -1\n"  # squared: 0


@pytest.fixture
def dropping(monkeypatch, here):
    """Gamma, its product without explicit zeros."""
    machine = accelerators.find("gamma").models[EVENT]
    result = machine.result

    def without_zeros(self):
        product = result(self).copy()
        product.eliminate_zeros()
        return product

    monkeypatch.setattr(machine, "result", without_zeros)
    Path("zeros.mtx").write_text(CANCELS)
    return "gamma"


def test_zeros_that_are_dropped_matter_unless_values_alone_are_compared(dropping, capsys):
    order = ["sim", "gamma", "zeros.mtx", "--set=pe.count=1", "--json=out.json"]
    assert cli.run(order) == 3
    assert "relative error 0, 4 entries missing, 0 too many" in capsys.readouterr().err
    assert "zeros" not in json.loads(Path("out.json").read_text())["verification"]
    assert cli.run([*order, "--values-only"]) == 0
    said = (
        "equal to scipy; largest relative error 0; values only: 4 zeros that only one side has do not matter"
    )
    assert said in " ".join(capsys.readouterr().out.split())
    report = json.loads(Path("out.json").read_text())
    assert report["verification"]["zeros"] == 4
    assert cli.run(["rerun", "out.json"]) == 0


def test_it_is_an_argument_of_simulate(dropping):
    with pytest.raises(VerificationError, match="4 entries missing"):
        fiberscope.simulate(dropping, "zeros.mtx", pe__count=1)
    report = fiberscope.simulate(dropping, "zeros.mtx", pe__count=1, values_only=True)
    assert (report.verification.passed, report.verification.zeros) == (True, 4)


@pytest.mark.parametrize(
    ("order", "line"),
    [
        (
            ["gamma", "--chain=Y = A X", "A=zeros.mtx", "X=zeros.mtx"],
            "--values-only is for a single product, not for a chain; leave one out",
        ),
        (
            ["graphicionado", "zeros.mtx", "--set=problem.algorithm=pagerank"],
            "--values-only: the list of vertex properties of graphicionado has no entries to count",
        ),
        (["gamma", "zeros.mtx", "--sample"], "a comparison of values only needs"),
    ],
)
def test_where_entries_do_not_count_it_is_refused_in_a_line(order, line, here, refusal):
    Path("zeros.mtx").write_text(CANCELS)
    assert line in refusal("sim", *order, "--values-only")
