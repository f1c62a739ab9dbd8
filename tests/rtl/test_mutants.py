"""Faults planted in the twins, small ones and those that only large sizes show: all are found."""

import subprocess
import sys
from pathlib import Path

import pytest
from mutants import MUTANTS

MUTATION = Path(__file__).parent / "support" / "mutation.py"


def test_every_fault_is_of_text_that_is_there():
    for mutant in MUTANTS.values():
        assert mutant.source() != mutant.path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_planted_every_fault_is_found(name, tmp_path):
    run = subprocess.run(
        [sys.executable, MUTATION, name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
