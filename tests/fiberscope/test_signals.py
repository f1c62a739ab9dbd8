"""SIGTERM and SIGHUP, as batch systems and closed terminals send them, act as Ctrl-C does."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fiberscope import cli
from fiberscope.interrupts import terminations_interrupt

ROOT = Path(__file__).parents[2]
LONG = "uniform:rows=3000,cols=3000,nonzeros=60000,seed=1"  # some seconds


def started(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "fiberscope", *arguments]
    paths = {"PYTHONPATH": str(ROOT), **environment}
    environment = {**os.environ, **paths}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        preexec_fn=heeding,  # noqa: PLW1509  (no thread holds a lock that the child needs)
    )


def heeding() -> None:
    """In the child: signals are heeded, also where the tests themselves run under ``nohup``."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def wait_for_partial(folder: Path) -> None:
    for _ in range(600):
        if any(path.stat().st_size for path in folder.glob(".out.vcd.*.partial")):
            return
        time.sleep(0.1)
    pytest.fail("no waveform was begun within a minute")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_from_outside_leaves_its_report_and_no_litter(
    number: signal.Signals, tmp_path: Path
) -> None:
    with started(tmp_path, "sim", "gamma", LONG, "-q", "--json", "out.json", "--vcd", "out.vcd") as process:
        wait_for_partial(tmp_path)
        process.send_signal(number)
        _out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.startswith(b"fiberscope: INCOMPLETE: interrupted at cycle")
    document = json.loads((tmp_path / "out.json").read_text())
    assert (document["ending"], document["complete"]) == ("interrupted", False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.gtkw", "out.json", "out.vcd"]


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminations_interrupt():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_interrupted_study_has_no_table(toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ablate", toy, "uniform:rows=30,cols=30,nonzeros=90", "--set", "fault=interrupt"]
    assert cli.run([*arguments, "--set", "lane.count=1"]) == 130
    assert capsys.readouterr().out == ""
