"""A test that hangs is a failure of that test, in Python code and in compiled code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from time_limit import VARIABLE, TimeLimit

SUPPORT = Path(__file__).parent / "support"
CONFTEST = """
from time_limit import TimeLimit

def pytest_configure(config):
    config.pluginmanager.register(TimeLimit())
"""
TESTS = """
from itertools import repeat
import time
import pytest

@pytest.fixture
def endless():
    while True:
        pass

def test_python():
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            pass

def test_setup(endless):
    pass

def test_compiled():
    sum(repeat(1))

@pytest.mark.slow
def test_slow():
    time.sleep(0.5)

def test_quick():
    pass
"""


def run(folder: Path, *options: str, seconds: str = "0.3") -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_it.py").write_text(TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n", encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SUPPORT), VARIABLE: seconds, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_each_test_that_hangs_fails_in_one_line_and_the_others_run(tmp_path):
    pytest.importorskip("xdist")
    ran = run(tmp_path, "-n", "1")
    assert ran.returncode == 1
    lines = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED ", "ERROR ", "PASSED "))]
    outcomes = {line.partition("::")[2].partition(" ")[0]: line for line in lines}
    limit = "OverTimeLimit: not done after 0.3 s; FIBERSCOPE_TEST_SECONDS is 0.3"
    for name, outcome in {"test_python": "FAILED", "test_setup": "ERROR"}.items():
        assert outcomes[name].startswith(outcome)
        assert outcomes[name].endswith(limit)
    assert "crashed while running 'test_it.py::test_compiled'" in outcomes["test_compiled"]
    assert outcomes["test_slow"].startswith("PASSED")
    assert outcomes["test_quick"].startswith("PASSED")


def test_without_workers_a_compiled_loop_ends_the_run_and_says_where(tmp_path):
    ran = run(tmp_path, "-k", "compiled", seconds="0.2")
    assert ran.returncode == 1
    assert "Timeout" in ran.stderr
    assert "in test_compiled" in ran.stderr


@pytest.mark.parametrize("seconds", ["-1", "soon", "nan", "inf"])
def test_a_limit_that_is_no_number_of_seconds_is_refused(monkeypatch, seconds):
    monkeypatch.setenv(VARIABLE, seconds)
    with pytest.raises(pytest.UsageError, match=f"{VARIABLE} is {seconds}; it should be a number of seconds"):
        TimeLimit()
