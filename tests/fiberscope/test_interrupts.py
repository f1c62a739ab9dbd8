"""Ctrl-C at any moment of a command costs one line that says what was not written, and ends with 130."""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fiberscope import cli
from fiberscope.base.outputs import expect_output, expect_outputs, list_unwritten_outputs
from fiberscope.commands import report_output
from fiberscope.results.report import collect
from fiberscope.results.report.document import Report
from fiberscope.run import execute
from fiberscope.sim import partial_files

ROOT = Path(__file__).parents[2]
RUN = ["sim", "gamma", "uniform:rows=9,cols=9,nonzeros=20", "-q"]

# In the process of a command: sends Ctrl-C as MODULE:NAME is about to be imported or called.
PRELUDE = """
import importlib, os, signal, sys

place = sys.argv.pop(1)

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == place:
            interrupt()

sys.meta_path.insert(0, Finder())
if ":" in place:
    module, name, method = place.split(":")
    home = getattr(importlib.import_module(module), name)
    before = getattr(home, method)

    def interrupted(*arguments, **options):
        interrupt()
        return before(*arguments, **options)

    setattr(home, method, interrupted)
from fiberscope.cli import main
main()
"""


def outcome(place: str, folder: Path, *command: str) -> tuple[int, str]:
    """Return the exit code and stderr of a command that gets Ctrl-C at a place."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE, place, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "module", ["fiberscope.commands.command_line", "typer", "inspect", "fiberscope.base.interrupts"]
)
def test_an_interrupt_during_the_first_imports_costs_a_line(module: str, tmp_path: Path) -> None:
    line = "fiberscope: interrupted before the command began; nothing was written\n"
    assert outcome(module, tmp_path, *RUN) == (130, line)


@pytest.mark.parametrize("module", ["fiberscope.commands.sim", "numpy"])
def test_an_interrupt_during_the_imports_of_a_command_costs_a_line(module: str, tmp_path: Path) -> None:
    code, error = outcome(module, tmp_path, *RUN)
    assert (code, error) == (130, "fiberscope: interrupted before the end\n")


def test_importing_the_package_imports_little() -> None:
    code = "import sys, re; before = set(sys.modules); import fiberscope; print(*set(sys.modules) - before)"
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    names = {name for name in loaded.stdout.split() if name.startswith("fiberscope")}
    assert names == {
        "fiberscope",
        "fiberscope.workloads",
        "fiberscope.workloads.errors",
        "fiberscope.workloads.first_use",
    }


CLOSING = {
    "workers": "fiberscope.explore.sweeps.local_workers:_WorkerCommand:__exit__",
    "scheduler": "fiberscope.explore.sweeps.local_workers:SpecCluster:__exit__",
}


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(place, id=name, marks=pytest.mark.slow if name == "scheduler" else ())
        for name, place in CLOSING.items()
    ],
)
def test_an_interrupt_while_dask_closes_costs_a_line(place: str, tmp_path: Path) -> None:
    sweep = ["sweep", "gamma", RUN[2], "--grid", "pe.count=1,2", "--workers", "2", "--store", "st", "-q"]
    assert outcome(place, tmp_path, *sweep) == (130, "fiberscope: interrupted; 2 of 2 runs are in st\n")


def test_an_interrupted_sweep_says_what_it_has(here: Path, capsys, monkeypatch) -> None:
    from fiberscope.explore.sweeps import dispatch

    numbers = iter(range(9))

    def interrupted(*arguments):
        if next(numbers) == 1:
            raise KeyboardInterrupt
        return run_task(*arguments)

    run_task = dispatch.run_task
    monkeypatch.setattr(dispatch, "run_task", interrupted)
    sweep = ["sweep", "gamma", RUN[2], "--grid", "pe.count=1,2,4", "--workers", "1", "--store", "st", "-q"]
    assert cli.run(sweep) == 130
    line = "fiberscope: interrupted; 1 of 3 runs are in st; the same command runs the others\n"
    assert capsys.readouterr() == ("", line)


def interrupting(monkeypatch: pytest.MonkeyPatch, home: object, name: str, *, after: bool = False) -> None:
    """Have a function raise KeyboardInterrupt when it is called the first time, at its begin or its end."""
    function: Callable[..., object] = getattr(home, name)

    @functools.wraps(function)
    def raising(*arguments, **options):
        monkeypatch.setattr(home, name, function)
        if after:
            function(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(home, name, raising)


@pytest.mark.parametrize(
    ("home", "name", "after", "missing"),
    [
        (collect, "report", False, "out.json, z.mtx"),
        (Report, "write", False, "out.json, z.mtx"),
        (partial_files.os, "replace", True, "out.json, z.mtx"),  # that of the waveform
        (Report, "write", True, "z.mtx"),
        (report_output, "_print_summary", True, "z.mtx"),
    ],
)
def test_an_interrupt_after_the_simulation_names_the_files_that_are_missing(
    home: object, name: str, after: bool, missing: str, here: Path, monkeypatch, capsys
) -> None:
    Path("out.json").write_text("before")
    interrupting(monkeypatch, home, name, after=after)
    assert cli.run([*RUN, "--json", "out.json", "--product", "z.mtx", "--vcd", "out.vcd"]) == 130
    error = capsys.readouterr().err
    if name == "replace":
        assert error.startswith("fiberscope: interrupted; not written: out.json, z.mtx")
    else:
        assert error == f"fiberscope: interrupted; not written: {missing}\n"


def test_an_interrupted_verification_leaves_an_incomplete_report(here: Path, monkeypatch, capsys) -> None:
    interrupting(monkeypatch, execute.CheckedAnswer, "compare")
    assert cli.run([*RUN, "--json", "out.json", "--product", "z.mtx"]) == 130
    incomplete, no_product = capsys.readouterr().err.splitlines()
    assert incomplete.startswith("fiberscope: INCOMPLETE: interrupted at cycle ")
    assert no_product == "fiberscope: no product, as the run is incomplete"
    assert Report.read("out.json").ending == "interrupted"


def test_only_files_that_are_as_they_were_are_missing(tmp_path: Path) -> None:
    old, new, pipe = tmp_path / "old", tmp_path / "new", tmp_path / "pipe"
    old.write_text("a")
    os.mkfifo(pipe)
    with expect_outputs():
        for path in (old, new, pipe):
            expect_output(path)
        assert list_unwritten_outputs() == [old, new]
        new.write_text("b")
        assert list_unwritten_outputs() == [old]
        old.write_text("longer")
        assert list_unwritten_outputs() == []
    expect_output(tmp_path / "other")
    assert list_unwritten_outputs() == []
