"""What ``make cosim`` runs."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], "FIBERSCOPE_BLOCK='' FIBERSCOPE_SIM='icarus' .venv/bin/python -m pytest -q tests/cosim"),
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
                "AT=gamma.pe1.merger",
            ],
            ".venv/bin/fiberscope rtl loop 'merger' 'gamma' 'a.mtx' --b 'b.mtx' --set 'pe.count=2' "
            "--set 'pe.radix=8' --at 'gamma.pe1.merger' --sim 'icarus' -o 'out/gamma-a-b-merger'",
        ),
        (
            ["BLOCK=merger", "ACC=gamma", "MTX=a.mtx", "VERILOG=a.v b.v", "MODULE=mine"],
            "--sim 'icarus' --verilog 'a.v' --verilog 'b.v' --module 'mine' -o 'out/gamma-a-merger'",
        ),
    ],
)
def test_make_cosim_passes_everything_on(arguments, command):
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    said = subprocess.run(
        ["make", "-n", "cosim", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert command in " ".join(said.stdout.replace("\\\n", " ").split())
