"""A file of the user's that is called as one of our packages is named, not met as a riddle."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("room", ["sim", "hw", "accelerators", "converters", "workloads"])
def test_a_file_in_the_way_is_named(room: str, tmp_path: Path) -> None:
    (tmp_path / f"{room}.py").write_text("")
    (tmp_path / "run.py").write_text("import fiberscope\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == (
        f"ImportError: {(tmp_path / room).resolve()}.py is in the way: "
        f"Fiberscope has a package called {room}, "
        "and Python finds this file first; give it another name, or run from another folder"
    )


def test_nothing_in_the_way_is_nothing_said(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("import fiberscope; print(fiberscope.__version__)\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "run.py"], cwd=tmp_path, env=environment, check=True)
