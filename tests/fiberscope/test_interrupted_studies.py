"""Ctrl-C in a run of a command that compares several: nothing is said of a run that is not whole."""

import os
import signal
from pathlib import Path

import pytest

from fiberscope import cli

SMALL = "uniform:rows=16,cols=16,nonzeros=60"
# A command, and a run in this process that Ctrl-C ends, by its number.
STUDIES = [
    ("check gamma $M --set pe.count=2 --no-explain --json out.json", 0),
    ("check gamma $M --set pe.count=2 --no-explain --json out.json", 1),
    ("ablate gamma $M --set pe.count=2 --json out.json", 0),
    ("ablate gamma $M --set pe.count=2 --json out.json", 1),
    ("rtl loop merger gamma $M --set pe.radix=4 --sim=pyrtl -o out.json", 0),
]


@pytest.mark.parametrize(("command", "number"), STUDIES)
def test_an_interrupted_run_is_not_compared(
    command: str, number: int, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if command.startswith("rtl"):
        pytest.importorskip("pyrtl", reason="the extra rtl is not installed")
    runs, process = [], os.getpid()

    def interrupt_one() -> None:
        """Called at the end of each run, which is short."""
        if len(runs) == number and os.getpid() == process:
            signal.raise_signal(signal.SIGINT)
        runs.append(None)

    monkeypatch.setattr("fiberscope.sim.kernel.give_way", interrupt_one)
    assert cli.run(command.replace("$M", SMALL).split()) == 130
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[-1].startswith("fiberscope: interrupted")
    assert not Path("out.json").exists()
