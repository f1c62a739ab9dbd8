"""A wrong argument is reported as such where the tool that would do the work is missing too."""

from pathlib import Path

import pytest

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

SMALL = "uniform:rows=20,cols=20,nonzeros=60"
WRONG = ["--set", "pe.cuont=2"]
BENCH = str(Path(__file__).parents[2] / "examples" / "memory_bench.py")
PARAMETER = "gamma has no parameter pe.cuont; did you mean pe.count?"
NO_MATRIX = "none.mtx: no such file"
ON_GAMMA = ["--block", "gamma", "--dut", "gamma"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rtl", "loop", "merger", "gamma", SMALL, *WRONG, "--sim", "icarus"], PARAMETER),
        (["rtl", "loop", "merger", "gamma", "none.mtx", "--sim", "icarus"], NO_MATRIX),
        (["rtl", "loop", "machine", "gamma", SMALL, *WRONG, "--sim", "verilator"], PARAMETER),
        (["rtl", "bench", BENCH, *ON_GAMMA, "--matrix", SMALL, *WRONG], PARAMETER),
        (["rtl", "bench", BENCH, *ON_GAMMA, "--matrix", "none.mtx"], NO_MATRIX),
        (["rtl", "power", "merger", "gamma", SMALL, *WRONG], PARAMETER),
        (["rtl", "power", "gamma", SMALL, *WRONG], PARAMETER),
        (["rtl", "area", "gamma", *WRONG], PARAMETER),
        (["rtl", "netlists", "gamma", *WRONG], PARAMETER),
        (["convert", "csr", "csc", "none.mtx", "--rtl", "divider", "--sim", "icarus"], NO_MATRIX),
        (["graph", "rtl", "x(i) = b(i)", "--format", "x:s,b:s", "--set", "dpeth=2"], "depth"),
    ],
)
def test_the_argument_is_named(
    arguments: list[str], said: str, here: Path, monkeypatch: pytest.MonkeyPatch, refusal
) -> None:
    monkeypatch.setenv("PATH", str(here))
    assert said in refusal(*arguments)


def test_without_any_simulator_the_loop_runs_in_pyrtl(here, monkeypatch, printed) -> None:
    monkeypatch.setenv("PATH", str(here))
    out = printed("rtl", "loop", "merger", "gamma", SMALL, "--set=pe.count=2", "--set=pe.radix=4")
    assert "RTL in pyrtl at gamma.pe00.merger" in out
