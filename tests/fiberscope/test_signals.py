"""SIGTERM and SIGHUP, as batch systems and closed terminals send them, act as Ctrl-C does."""

import gc
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fiberscope import cli
from fiberscope.base.interrupts import interrupt_on_termination
from fiberscope.models.trace import evaluate
from fiberscope.results.recording import simulation
from fiberscope.results.report import timeline

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
        preexec_fn=heed,  # noqa: PLW1509  (no thread holds a lock that the child needs)
    )


def heed() -> None:
    """In the child: signals are heeded, also where the tests themselves run under ``nohup``."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def wait_for_partial(folder: Path) -> None:
    for _ in range(600):
        if any(path.stat().st_size for path in folder.glob(".out.vcd.*.partial")):
            return
        time.sleep(0.1)
    pytest.fail("no waveform was begun within a minute")


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
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
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out.enum",
        "out.gtkw",
        "out.json",
        "out.sucl",
        "out.vcd",
    ]


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupt_on_termination():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_interrupted_study_has_no_table(toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ablate", toy, "uniform:rows=30,cols=30,nonzeros=90", "--set", "fault=interrupt"]
    assert cli.run([*arguments, "--set", "lane.count=1"]) == 130
    assert capsys.readouterr().out == ""


def interrupted_in(monkeypatch: pytest.MonkeyPatch, wanted: int) -> None:
    """Have one of the following runs, counted from 1, come out as one that Ctrl-C ended."""
    run, number = timeline.run, itertools.count(1)

    def ended(*arguments, **options):
        done = run(*arguments, **options)
        return replace(done, complete=False, reason="interrupted") if next(number) == wanted else done

    monkeypatch.setattr(timeline, "run", ended)


@pytest.mark.parametrize("run", [1, 2, 3])
def test_a_check_of_which_a_run_was_interrupted_shows_no_table(run: int, monkeypatch, capsys) -> None:
    interrupted_in(monkeypatch, run)
    assert cli.run(["check", "gamma", "uniform:rows=30,cols=30,nonzeros=90", "-q"]) == 130
    out, error = capsys.readouterr()
    assert out == ""
    assert error.endswith("fiberscope: interrupted before the end\n")


@pytest.mark.parametrize("run", [1, 2])
def test_a_run_whose_conversion_was_interrupted_is_incomplete(
    run: int, tmp_path: Path, monkeypatch, capsys
) -> None:
    interrupted_in(monkeypatch, run)
    out, matrix = tmp_path / "out.json", "uniform:rows=30,cols=30,nonzeros=90"
    assert cli.run(["sim", "gamma", matrix, "-q", "--set", "memory.format.A=coo", "--json", str(out)]) == 130
    document = json.loads(out.read_text())
    assert (document["ending"], document["complete"]) == ("interrupted", False)
    assert document.get("conversions") is None


def ticking(number: signal.Signals, function, sent: list[float]):
    """The function, and a signal some time after it begins, unless it has ended; ``sent`` gets the CPU time.

    That is after 0.3 s of CPU time, so that a busy machine has come as far, or after 2 s of others' work.
    """

    def send(began: float, ended: threading.Event) -> None:
        late = time.monotonic() + 2
        while time.process_time() - began < 0.3 and time.monotonic() < late:
            if ended.wait(0.02):
                return
        sent.append(time.process_time())
        os.kill(os.getpid(), number)

    def ticked(*arguments, **options):
        ended = threading.Event()
        callbacks, gc.callbacks[:] = gc.callbacks[:], []  # an interrupt within Hypothesis's would be lost
        threading.Thread(target=send, args=(time.process_time(), ended)).start()
        try:
            return function(*arguments, **options)
        finally:
            ended.set()
            gc.callbacks[:] = callbacks

    return ticked


SIMULATIONS = {
    "sim gamma": f"sim gamma {LONG}",
    "sim outerspace": f"sim outerspace {LONG}",
    "sim extensor": f"sim extensor {LONG}",
    "sim sigma": "sim sigma uniform:rows=2000,cols=2000,nonzeros=60000,seed=1",
    "sim graphicionado": "sim graphicionado rmat:scale=16,nonzeros=1000000,seed=1",
    "sim weight_stationary": "sim weight_stationary uniform:rows=3000,cols=3000,nonzeros=300000,seed=1",
    "convert": "convert csr csc uniform:rows=3000,cols=3000,nonzeros=1000000,seed=1",
    "graph run": f"graph run {ROOT}/examples/graphs/fig12_ikj.gv B={LONG} C={LONG}",
    "model": "model extensor uniform:rows=3000,cols=3000,nonzeros=100000,seed=1",
}


@pytest.mark.usefixtures("heeding")
@pytest.mark.parametrize(
    ("command", "number"),
    [*((command, signal.SIGINT) for command in SIMULATIONS), ("sim gamma", signal.SIGTERM)],
)
def test_every_machine_stops_within_a_second_and_leaves_its_report(
    command: str, number: signal.Signals, tmp_path: Path, monkeypatch, capsys
) -> None:
    sent: list[float] = []
    where = evaluate.Nest if command == "model" else timeline
    assert simulation.timeline is timeline  # machines and graphs are run by it
    monkeypatch.setattr(where, "run", ticking(number, where.run, sent))
    out = tmp_path / "out.json"
    code = cli.run([*SIMULATIONS[command].split(), "-q", "--json", str(out)])
    took = time.process_time() - sent[0]
    assert code == 130, capsys.readouterr().err
    assert took < 1
    document = json.loads(out.read_text())
    assert (document["ending"], document["complete"]) == ("interrupted", False)
    assert document["verification"]["passed"] is None
    told = r"fiberscope: INCOMPLETE: interrupted at cycle [\d,]+\n"
    assert re.fullmatch(told, capsys.readouterr().err)


@pytest.mark.usefixtures("heeding")
def test_rtl_that_is_interrupted_is_not_called_different(tmp_path: Path, monkeypatch, capsys) -> None:
    from fiberscope.rtl import cosimulation

    sent: list[float] = []
    monkeypatch.setattr(cosimulation, "run_in_pyrtl", ticking(signal.SIGINT, cosimulation.run_in_pyrtl, sent))
    matrix = "uniform:rows=1000,cols=1000,nonzeros=40000"
    command = ["rtl", "loop", "merger", "gamma", matrix, "--sim", "pyrtl", "-o", str(tmp_path)]
    assert cli.run(command) == 130
    assert time.process_time() - sent[0] < 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("fiberscope: interrupted")
    assert error.count("\n") == 1


@pytest.mark.usefixtures("heeding")
def test_a_sweep_stops_with_points_at_work(tmp_path: Path, monkeypatch, capsys) -> None:
    pytest.importorskip("distributed")
    from fiberscope.explore.sweeps import dask_execution

    sent: list[float] = []
    run = dask_execution._Execution
    monkeypatch.setattr(run, "_process_event", ticking(signal.SIGINT, run._process_event, sent))
    long = "uniform:rows=9000,cols=9000,nonzeros=900000,seed=1"
    command = ["sweep", "gamma", long, "--grid", "pe.count=8,16", "--workers", "2", "-q"]
    before = time.monotonic()
    assert cli.run([*command, "--store", str(tmp_path / "store")]) == 130
    assert time.monotonic() - before < 60
    assert time.process_time() - sent[0] < 1
    line = f"interrupted; 0 of 2 runs are in {tmp_path / 'store'}; the same command runs the others"
    assert capsys.readouterr().err == f"fiberscope: {line}\n"


@pytest.mark.usefixtures("heeding")
def test_a_sweep_in_one_process_stops_with_a_point_at_work(tmp_path: Path, monkeypatch, capsys) -> None:
    pytest.importorskip("pyarrow")
    from fiberscope.explore.sweeps import dispatch

    sent: list[float] = []
    monkeypatch.setattr(dispatch, "run_task", ticking(signal.SIGINT, dispatch.run_task, sent))
    long = "uniform:rows=9000,cols=9000,nonzeros=900000,seed=1"
    command = ["sweep", "gamma", long, "--grid", "pe.count=8,16", "--workers", "1", "-q"]
    before = time.monotonic()
    assert cli.run([*command, "--store", str(tmp_path / "store")]) == 130
    assert time.monotonic() - before < 60
    assert sent
    line = f"interrupted; 0 of 2 runs are in {tmp_path / 'store'}; the same command runs the others"
    assert capsys.readouterr().err == f"fiberscope: {line}\n"
