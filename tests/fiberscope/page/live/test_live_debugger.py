"""A debugging session under a live view: what the page shows at each stop, its buttons, and the report."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from live_requests import order, path

import fiberscope
from fiberscope import cli
from fiberscope.page.live.session import LiveSession
from fiberscope.run.debug import session as sessions
from fiberscope.run.debug.session import Session

pytest.importorskip("starlette", reason="the extra live is not installed")
pytest.importorskip("uvicorn", reason="the extra live is not installed")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork a process")
ROOT = Path(__file__).parents[4]
MATRIX = "uniform:rows=30,cols=30,nonzeros=150,seed=3"
TINY = {"pe.count": 2, "pe.radix": 4}


def test_the_end_is_estimated_from_the_last_command_on() -> None:
    """What was run before a long pause says nothing of how long the rest takes."""
    stops = [SimpleNamespace(phase=0, cycle=cycle, ended=False, reason="step") for cycle in (500, 600, 700)]
    done = iter([(50, 100), (60, 100), (70, 100)])
    session: Any = SimpleNamespace(stop=stops[0], observe=lambda *_arguments: ({}, next(done)))
    sent: list[Any] = []
    view: Any = SimpleNamespace(send=lambda name, values: sent.append((name, values)))
    live = LiveSession(view, session)
    live._stage.started_at = began = time.monotonic() - 1000
    live._show_stop(stops[0], True)  # a command
    first = live._stage.started_at
    assert first > began + 900
    assert (live._stage.first_share, live._stage.first_cycle) == (0.5, 500)
    live._show_stop(stops[1], True)  # of the same command
    assert (live._stage.started_at, live._stage.first_cycle) == (first, 500)
    live._show_stop(stops[2], True)
    assert [values["cycle"] for _name, values in sent] == [500, 600, 700]
    assert {values["status"] for _name, values in sent} == {"running"}


PATIENCE = 60  # seconds; a machine under load is slow
SCRIPT = "watch pe0.merger.phase\nstep 5\nback 2\nshow pe0.merger\nbreak cycle >= 90\nrun\ngoto 9\nrun\nrun\n"


class PageStub:
    """A view whose pages send what a test puts into ``orders``."""

    def __init__(self) -> None:
        self.orders: list[Mapping[str, Any]] = []
        self.sent: list[tuple[str, Mapping[str, Any]]] = []
        self.viewers = 0
        self.polls = 0

    def send(self, event: str, data: Mapping[str, Any]) -> None:
        self.sent.append((event, data))

    def commands(self, _seconds: float = 0.0) -> Sequence[Mapping[str, Any]]:
        self.polls += 1
        time.sleep(0.001)
        return [self.orders.pop(0)] if self.orders else []

    def show_end(self, lines: list[str]) -> None:
        self.send("end", {"lines": lines})

    def states(self) -> list[Mapping[str, Any]]:
        return [data for event, data in self.sent if event == "state"]


def wait(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


@contextmanager
def debugged(page: PageStub, matrix: str = MATRIX) -> Iterator[Session]:
    with (
        fiberscope.debug("gamma", matrix, settings=TINY) as session,
        LiveSession(page, session),  # type: ignore[arg-type]
    ):
        yield session


def without_host(file: str) -> dict[str, Any]:
    document = json.loads(Path(file).read_text())
    del document["host"]
    return document


def test_a_script_gives_the_same_answers_and_the_same_report_as_without(here: Path, capsys: Any) -> None:
    Path("s.txt").write_text(SCRIPT)
    outputs = []
    for options in ([], ["--live"]):
        command = ["debug", "gamma", MATRIX, "--set", "pe.count=2", "--script", "s.txt"]
        assert cli.run([*command, "--json", f"{len(options)}.json", *options]) == 0
        outputs.append(capsys.readouterr())
    assert outputs[0].out == outputs[1].out
    assert (outputs[0].err, outputs[1].err.count("Live view: http://127.0.0.1:")) == ("", 1)
    assert without_host("0.json") == without_host("1.json")
    assert cli.run(["rerun", "0.json", "--to", "5", "--script", "s.txt", "--json", "2.json", "--live"]) == 0
    assert capsys.readouterr().err.count("Live view: http://127.0.0.1:") == 1
    assert without_host("2.json") == without_host("0.json")


def test_each_stop_is_shown_also_behind_steps_back() -> None:
    page = PageStub()
    with debugged(page) as session:
        session.step(200)
        session.goto(100)
        session.add_break("cycle >= 150")
        session.run()
        session.back(50)
        session.run()
        session.run()
        cycles = session.cycle
    still = [state for state in page.states() if state["status"] != "running"]
    assert [(state["status"], state["cycle"]) for state in still] == [
        *(("paused", cycle) for cycle in (0, 200, 100, 150, 100, 150)),
        ("done", cycles),
    ]
    assert still[3]["text"] == "cycle 150: breakpoint 1, cycle >= 150"
    assert [state["status"] for state in page.states()[1:3]] == ["running", "paused"]
    states = ("states", "channels", "waits")
    assert [still[2][key] for key in states] == [still[4][key] for key in states]
    assert page.sent[-1] == ("end", {"lines": [f"The session has ended, in cycle {cycles:,}."]})


def test_a_component_is_chosen_while_the_machine_stands_and_keeps_being_shown() -> None:
    page = PageStub()
    with debugged(page) as session:
        session.goto(200)
        page.orders.append({"do": "select", "component": "gamma.pe00.reader"})
        wait(lambda: page.states()[-1]["selected"])
        assert page.states()[-1]["cycle"] == 200
        chain = session.why("pe0.reader").data
        assert page.states()[-1]["selected"]["chain"][0][1:] == [chain[0].text, chain[0].since]
        session.step()
        assert page.states()[-1]["selected"]["cycle"] == 201


def test_a_block_of_a_graph_is_shown_with_its_mode() -> None:
    page = PageStub()
    graph = str(ROOT / "examples" / "graphs" / "fig14_identity.gv")
    with (
        fiberscope.debug(graph, tensors={"B": MATRIX}) as session,
        LiveSession(page, session),  # type: ignore[arg-type]
    ):
        page.orders.append({"do": "select", "component": "graph.fiberlookup_B1_j"})
        wait(lambda: page.states()[-1]["selected"])
        for mode in ("in_fiber", "wants_fiber"):
            session.until(f"fiberlookup_B1_j.mode == {mode}")
            assert page.states()[-1]["selected"]["signals"]["mode"] == mode
    assert "graph.fiberlookup_B1_j" in page.sent[0][1]["components"]


def test_each_phase_of_a_graph_is_shown_also_behind_steps_back() -> None:
    page = PageStub()
    page.viewers = 1
    graph = str(ROOT / "examples" / "graphs" / "fig11_unfused.gv")
    tensors = {"B": "uniform:rows=9,cols=8,nonzeros=20", "C": "ones:shape=9x7", "D": "ones"}
    with (
        fiberscope.debug(graph, tensors=tensors) as session,
        LiveSession(page, session),  # type: ignore[arg-type]
    ):
        for number, move in enumerate((session.run, lambda: session.goto(5), session.run), 1):
            wait(lambda least=number: [event for event, _data in page.sent].count("drawing") >= least)
            move()
    machines = [data["components"] for event, data in page.sent if event == "machine"]
    assert ["graph.arrayvals_T" in components for components in machines] == [False, True, False, True]
    assert "phase 2 of 2" in page.states()[-1]["text"]


def test_the_pause_of_the_page_stops_a_command_and_not_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SLICE_SECONDS", 0.0)  # the page is told of every slice
    page = PageStub()
    with debugged(page, "uniform:rows=100,cols=100,nonzeros=1500,seed=1") as session:

        def pause(_stop: object, is_running: bool) -> None:
            if is_running:
                page.orders.append({"do": "pause"})
                wait(lambda: not page.orders)
                polls = page.polls
                wait(lambda: page.polls > polls)

        session.followers.append(pause)
        stop: Any = session.run().data
        assert (stop.reason, stop.ended) == ("interrupted", False)
        assert page.states()[-1]["status"] == "paused"
        assert page.states()[-1]["text"] == f"cycle {stop.cycle:,}: interrupted"
        session.followers.remove(pause)
        monkeypatch.undo()
        page.orders.append({"do": "pause"})  # nothing runs
        wait(lambda: not page.orders)
        done: Any = session.run().data
        assert done.reason == "done"


def test_a_page_is_served_while_the_prompt_waits() -> None:
    command = [sys.executable, "-m", "fiberscope", "debug", "gamma", MATRIX, "--live"]
    with subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        address = process.stderr.readline().removeprefix("Live view: ").strip()
        view: Any = SimpleNamespace(address=address, port=urlsplit(address).port)
        connection = http.client.HTTPConnection("127.0.0.1", view.port, timeout=PATIENCE)
        connection.request("GET", path(view, "events"))
        events = connection.getresponse()

        def state(text: bytes) -> dict[str, Any]:
            """The next state that has a text in it."""
            while not ((line := events.readline()).startswith(b'data: {"status"') and text in line):
                assert line
            told: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
            return told

        assert state(b"paused")["cycle"] == 0
        process.stdin.write("step 30\n")
        process.stdin.flush()
        assert process.stdout.readline() == "cycle 30\n"
        assert state(b'"cycle 30"')["status"] == "paused"
        assert order(view, {"do": "select", "component": "gamma.pe03.merger"})[0] == 200
        assert state(b'"selected":{')["selected"]["name"] == "gamma.pe03.merger"
        process.stdin.write("quit\n")
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
        assert b"The session has ended, in cycle 30." in events.read()
        connection.close()
