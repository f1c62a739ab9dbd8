"""The command answers at once: nothing heavy is imported until a command needs it."""

import os
import subprocess
import sys

import fiberscope

LIMIT_SECONDS = 0.5
HEAVY = ("scipy", "numpy", "pydantic", "rich", "sim", "accelerators", "workloads")


def test_help_comes_within_half_a_second() -> None:
    """In time of the processor, which is that of the clock on a machine that does nothing else."""
    command = [sys.executable, "-m", "fiberscope", "--help"]
    assert min(processor_seconds(command) for _ in range(3)) < LIMIT_SECONDS


def processor_seconds(command: list[str]) -> float:
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def test_the_command_line_loads_nothing_heavy() -> None:
    code = f"import sys, fiberscope.cli; print([name for name in {HEAVY} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert loaded.stdout == "[]\n"


def test_version() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "fiberscope", "--version"], check=True, capture_output=True, text=True
    )
    assert shown.stdout == f"fiberscope {fiberscope.__version__}\n"


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"{sys.executable} -m fiberscope list | head -n 1"
    environment = {**os.environ, "COLUMNS": "80"}
    shown = subprocess.run(
        ["bash", "-c", command], check=True, capture_output=True, text=True, env=environment
    )
    assert "Traceback" not in shown.stderr
