"""What ``make cosim`` and ``make rtl`` run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(*arguments):
    """What make does and says, as if not within another make."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], "FIBERSCOPE_BLOCK='' FIBERSCOPE_SIM='auto' .venv/bin/python -m pytest -q tests/cosim"),
        (
            ["BLOCK=merger", "SIM=x"],
            "FIBERSCOPE_BLOCK='merger' FIBERSCOPE_SIM='x' .venv/bin/python -m pytest",
        ),
        (
            [
                "BLOCK=merger",
                "ACC=gamma",
                "MTX=a.mtx",
                "B=b.mtx",
                "SET=pe.count=2 pe.radix=8",
                "AT=gamma.pe01.merger",
            ],
            ".venv/bin/fiberscope rtl loop 'merger' 'gamma' 'a.mtx' 'b.mtx' --set 'pe.count=2' "
            "--set 'pe.radix=8' --at 'gamma.pe01.merger' --sim 'auto' -o 'out/gamma-a-b-merger'",
        ),
        (
            ["BLOCK=merger", "ACC=gamma", "MTX=a.mtx", "VERILOG=a.v b.v", "MODULE=mine"],
            "--sim 'auto' --verilog 'a.v' --verilog 'b.v' --module 'mine' -o 'out/gamma-a-merger'",
        ),
        (
            ["BENCH=b.py", "BLOCK=gamma", "DUT=gamma", "MTX=a.mtx", "SET=pe.count=2"],
            "rtl bench 'b.py' --block 'gamma' --dut 'gamma' --sim 'auto' --matrix 'a.mtx' "
            "--set 'pe.count=2' -o 'out/bench-gamma'",
        ),
        (
            [
                "BLOCK=merger",
                "ACC=gamma",
                "MTX=a.mtx",
                "VCD=1",
                "WINDOW=1:9",
                "SCOPE=pe00",
                "TRIGGER=pe00 busy > 9",
            ],
            "--sim 'auto' --vcd 'out/gamma-a-merger.vcd' --vcd-window '1:9' --vcd-scope 'pe00' "
            "--vcd-trigger 'pe00 busy > 9' -o 'out/gamma-a-merger'",
        ),
    ],
)
def test_make_cosim_passes_everything_on(arguments, command):
    said = make("-n", "cosim", *arguments)
    assert said.returncode == 0
    assert command in " ".join(said.stdout.replace("\\\n", " ").split())


def test_make_rtl_passes_everything_on_and_says_what_is_missing():
    said = make(
        "-n", "rtl", "EXPR=x(i) = b(i)", "FORMAT=x:s", "ORDER=i", "TENSORS=b=ones:shape=3", "SET=depth=2"
    )
    command = (
        "graph rtl 'x(i) = b(i)' 'b=ones:shape=3' --format 'x:s' --order 'i' --set 'depth=2' --sim 'auto'"
    )
    assert command in " ".join(said.stdout.replace("\\\n", " ").split())
    refused = make("rtl")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("make: say which expression")


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "arguments", [["ACC=gamma"], ["ACC=gamma", "MTX=a.mtx"], ["BLOCK=merger", "MTX=a.mtx"]]
)
def test_make_cosim_says_what_is_missing_before_it_installs_anything(arguments, tmp_path):
    said = make("cosim", f"VENV={tmp_path}/none", *arguments)
    assert said.returncode == 2
    assert said.stdout == ""
    assert said.stderr.startswith("make: say which machine, block and matrix, as in make cosim ACC=")


@pytest.mark.parametrize("arguments", [[], ["BLOCK=merger"], ["BENCH=mine.py", "BLOCK=merger"]])
def test_make_cosim_refuses_a_waveform_of_no_machine(arguments, tmp_path):
    said = make("cosim", f"VENV={tmp_path}/none", "VCD=1", *arguments)
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith(
        "make: a waveform is of a machine with the block in it, as in make cosim ACC="
    )


def room(tmp_path, *options, **variables):
    """What pytest says of a file of this room, with an empty PATH, and its exit code."""
    file = "tests/cosim/test_hdl.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file, *options]
    environment = os.environ | {"PATH": str(tmp_path)} | variables
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return said.returncode, said.stdout + said.stderr


@pytest.mark.parametrize(
    ("variables", "options", "code", "message"),
    [
        slow(
            {"FIBERSCOPE_SIM": "icarus"},
            [],
            2,
            "the simulator icarus is not installed: no iverilog on the PATH",
        ),
        slow({"FIBERSCOPE_SIM": "verilator"}, [], 2, "the simulator verilator is not installed: "),
        slow({"FIBERSCOPE_SIM": "vcs"}, [], 2, "no HDL simulator vcs; known: auto, icarus, verilator"),
        slow(
            {"FIBERSCOPE_SIM": "pyrtl"},
            [],
            2,
            "benches run in icarus or verilator; SIM=pyrtl needs ACC=, BLOCK= and MTX=",
        ),
        ({"FIBERSCOPE_BLOCK": "mergr"}, [], 2, "no block mergr exists as RTL; known: "),
        slow({"FIBERSCOPE_BLOCK": "merger"}, ["-k", "nothing"], 5, "deselected"),
        ({"FIBERSCOPE_SIM": "icarus"}, ["-k", "no_vector"], 1, "no test passed in icarus"),
        slow({"FIBERSCOPE_SIM": ""}, ["-k", "no_vector"], 0, "1 skipped"),
    ],
)
def test_a_run_that_runs_no_bench_fails_and_says_why(variables, options, code, message, tmp_path):
    """But where nobody asked for a simulator, as in ``make test``, its benches are skipped."""
    found, said = room(tmp_path, *options, **({"FIBERSCOPE_SIM": "", "FIBERSCOPE_BLOCK": ""} | variables))
    assert message in said
    assert found == code
