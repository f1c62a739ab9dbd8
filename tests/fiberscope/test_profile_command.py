"""``fiberscope profile``: what it writes can be drawn from, and what it cannot write is refused."""

import numpy as np
import pytest

from fiberscope.cli import run
from fiberscope.workloads import load
from fiberscope.workloads.profile import read_profile

MATRIX = "uniform:rows=60,cols=60,nonzeros=300,seed=2"


def test_a_profile_is_written_and_drawn_from(tmp_path, printed):
    file = tmp_path / "mine.json"
    shown = printed("profile", MATRIX, "--json", str(file))
    assert "60 x 60, square, 300 nonzeros" in shown
    assert f"locality {read_profile(file).locality:.3g}" in shown
    drawn, real = load(f"surrogate:profile={file}").matrix, load(MATRIX).matrix
    assert (drawn.shape, drawn.nnz) == (real.shape, real.nnz)
    assert np.abs(np.sort(np.diff(drawn.indptr)) - np.sort(np.diff(real.indptr))).sum() <= 4


def test_a_matrix_that_is_not_square_has_one_too(tmp_path):
    file = tmp_path / "mine.json"
    assert run(["profile", "uniform:rows=20,cols=90,nonzeros=150", "--json", str(file)]) == 0
    assert load(f"surrogate:profile={file}").matrix.shape == (20, 90)


def test_on_the_terminal_it_is_json_alone(capsys, tmp_path):
    assert run(["profile", MATRIX, "--json", "-"]) == 0
    file = tmp_path / "mine.json"
    file.write_text(capsys.readouterr().out)
    assert read_profile(file).nonzeros == 300


@pytest.mark.parametrize(
    "command", [["profile", "nope"], ["profile", MATRIX, "--json", "no/such/folder.json"]]
)
def test_what_cannot_be_is_one_line(command, refusal):
    assert len(refusal(*command).splitlines()) == 1
