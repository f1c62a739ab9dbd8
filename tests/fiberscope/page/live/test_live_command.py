"""The option ``--live`` of commands: its line, the exit code, the files, Ctrl-C, and a missing extra."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from live_requests import order, path

from fiberscope import cli
from fiberscope.page.live import view as live_view

pytest.importorskip("starlette", reason="the extra live is not installed")
pytest.importorskip("uvicorn", reason="the extra live is not installed")
pytestmark = [
    pytest.mark.usefixtures("here"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork a process"),
]
ROOT = Path(__file__).parents[4]
SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"
LONG = "uniform:rows=3000,cols=3000,nonzeros=60000,seed=1"  # some seconds
ADDRESS = re.compile(r"Live view: (http://127\.0\.0\.1:\d+/[\w-]{22}/)\n")


def without_host(file: str) -> dict[str, Any]:
    document = json.loads(Path(file).read_text())
    del document["host"]
    return document


def test_the_report_and_the_exit_code_are_those_of_a_run_without(capsys: Any) -> None:
    for options in ([], ["--live"], ["--vcd", "a.vcd"], ["--vcd", "b.vcd", "--live", "0"]):
        assert cli.run(["sim", "gamma", SMALL, "-q", "--json", f"{len(options)}.json", *options]) == 0
        err = capsys.readouterr().err
        assert ADDRESS.fullmatch(err) if "--live" in options else err == ""
    assert without_host("0.json") == without_host("1.json") == without_host("4.json")
    assert Path("a.vcd").read_bytes() == Path("b.vcd").read_bytes()


def test_a_deadlock_exits_with_3_and_a_wrong_port_with_2(toy: str, capsys: Any, refusal) -> None:
    assert cli.run(["sim", toy, SMALL, "-q", "--live", "--set", "fault=deadlock", "--json", "out.json"]) == 3
    assert "fiberscope: deadlock at cycle" in capsys.readouterr().err
    assert without_host("out.json")["ending"] == "deadlock"
    for port in ("here", "-1", "65536", "\N{SUPERSCRIPT TWO}", "8e3", ""):
        error = refusal("sim", toy, SMALL, f"--live={port}")
        assert error == (
            f"fiberscope: --live {port}: a port is a number from 0 to 65535; leave it out for a free port\n"
        )


def test_ctrl_c_ends_a_paused_run_and_leaves_its_report() -> None:
    command = [sys.executable, "-m", "fiberscope", "sim", "gamma", LONG, "-q", "--json", "out.json", "--live"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    ) as process:
        assert process.stderr is not None
        found = ADDRESS.fullmatch(process.stderr.readline())
        assert found is not None
        run: Any = SimpleNamespace(address=found[1], port=urlsplit(found[1]).port)
        assert order(run, {"do": "pause"})[0] == 200
        connection = http.client.HTTPConnection("127.0.0.1", run.port, timeout=120)
        connection.request("GET", path(run, "events"))
        stream = connection.getresponse()
        while b'"status":"paused"' not in stream.readline():
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        rest = stream.read().decode()
        assert "interrupted" in rest
        connection.close()
    document = json.loads(Path("out.json").read_text())
    assert (document["complete"], document["ending"]) == (False, "interrupted")


def test_without_the_extra_a_line_names_it(monkeypatch: Any, refusal) -> None:
    monkeypatch.setattr(live_view, "find_spec", lambda _library: None)
    error = refusal("sim", "gamma", SMALL, "--live")
    assert error == (
        "fiberscope: starlette is not installed: pip install 'fiberscope[live]', in a clone make .venv/live\n"
    )
