"""The server of the live view: who may ask it for what, on this computer alone."""

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from typing import Any

import pytest
from live_requests import ask, order, path

from fiberscope.base.errors import InputError
from fiberscope.page.live.history import MAX_POINTS, MAX_ROWS, History
from fiberscope.page.live.view import LiveView

pytest.importorskip("starlette", reason="the extra live is not installed")
pytest.importorskip("uvicorn", reason="the extra live is not installed")


@pytest.fixture(scope="module")
def view() -> Iterator[LiveView]:
    with LiveView("0", "<b>gamma</b> on a.mtx") as opened:
        yield opened


def test_the_page_is_one_file_that_nobody_may_keep_or_frame(view: LiveView) -> None:
    status, text, headers = ask(view, "GET", path(view))
    assert status == 200
    assert "&lt;b&gt;gamma" in text
    assert "connect-src 'self'" in text
    assert "src=" not in text.partition("<script>")[0]
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"


def test_it_listens_on_this_computer_alone(view: LiveView) -> None:
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)} - {"127.0.0.1", "::1"}
    for address in others:
        with pytest.raises(OSError):  # noqa: PT011  (refused, or no way there)
            socket.create_connection((address, view.port), timeout=5)


@pytest.mark.parametrize("name", ["", "events", "command"])
def test_the_token_is_needed(view: LiveView, name: str) -> None:
    token = path(view).strip("/")
    assert len(token) >= 22
    for wrong in ("x", token[:-1], f"{token}x", "%C3%A9"):
        method = "POST" if name == "command" else "GET"
        assert ask(view, method, f"/{wrong}/{name}", "{}")[0] == 403
    assert ask(view, "GET", "/")[0] == 404
    assert view.commands() == []


def test_two_views_have_different_tokens(view: LiveView) -> None:
    with LiveView("0", "another") as other:
        assert path(other) != path(view)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", ""]
)
def test_a_name_that_leads_here_is_refused(view: LiveView, host: str) -> None:
    for method, name in (("GET", ""), ("GET", "events"), ("POST", "command")):
        told = ask(view, method, path(view, name), "{}", Host=host.format(port=view.port))
        assert told[:2] == (403, "the Host of the request is not this computer")


def test_localhost_is_this_computer(view: LiveView) -> None:
    here = f"localhost:{view.port}"
    assert ask(view, "GET", path(view), Host=here)[0] == 200
    assert order(view, {"do": "pause"}, Host=here, Origin=f"http://{here}")[0] == 200
    assert view.commands(30) == [{"do": "pause", "cycles": 1, "kind": "waveform", "component": ""}]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"]
)
def test_another_site_is_refused(view: LiveView, origin: str) -> None:
    for method, name in (("GET", ""), ("GET", "events"), ("POST", "command")):
        told = ask(view, method, path(view, name), "{}", Origin=origin.format(port=view.port))
        assert told[:2] == (403, "the Origin of the request is another site")


def test_a_command_comes_by_post_and_says_where_it_is_from(view: LiveView) -> None:
    assert ask(view, "GET", path(view, "command"))[0] == 405
    connection = http.client.HTTPConnection("127.0.0.1", view.port, timeout=60)
    connection.request("POST", path(view, "command"), '{"do": "pause"}')
    assert connection.getresponse().status == 403
    connection.close()
    assert view.commands() == []


@pytest.mark.parametrize(
    "command",
    [
        {},
        {"do": "quit"},
        {"do": "record", "kind": "report"},
        {"do": "record", "kind": "waveform", "file": "/etc/passwd"},
        {"do": "record", "path": "x.vcd"},
        {"do": "step", "cycles": 0},
        {"do": "step", "cycles": -1},
        {"do": "step", "cycles": 10**10},
        {"do": "select", "component": "x" * 301},
        ["pause"],
        "pause",
        None,
    ],
)
def test_what_is_no_command_is_refused_and_a_file_name_is_none(view: LiveView, command: object) -> None:
    status, text = order(view, command)
    assert status == 400
    assert json.loads(text)["error"]
    assert view.commands() == []


def test_a_command_that_is_long_or_no_json_is_refused(view: LiveView) -> None:
    assert order(view, {"do": "select", "component": "x" * 5000})[0] == 413
    assert ask(view, "POST", path(view, "command"), "{")[0] == 400
    assert view.commands() == []


def events(stream: http.client.HTTPResponse, count: int) -> list[tuple[str, Any]]:
    """The next events of a stream: names and data."""
    read, name = [], ""
    while len(read) < count:
        line = stream.readline().decode().rstrip("\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            read.append((name, json.loads(line.removeprefix("data: "))))
    return read


def test_who_comes_later_sees_what_was_before_and_the_run_learns_of_it() -> None:
    with LiveView("0", "t") as view:
        view.send("machine", {"families": ["a"]})
        for cycle in (0, 5, 9):
            view.send("state", {"cycle": cycle, "states": [cycle, 0, 0, 0]})
        connection = http.client.HTTPConnection("127.0.0.1", view.port, timeout=60)
        connection.request("GET", path(view, "events"))
        stream = connection.getresponse()
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        machine, points, state = events(stream, 3)
        assert machine == ("machine", {"families": ["a"]})
        assert points == ("points", {"points": [[0, [0] * 4], [5, [5, 0, 0, 0]], [9, [9, 0, 0, 0]]]})
        assert state[1]["cycle"] == 9
        while not view.viewers:
            assert view.commands(60) == []
        view.send("end", {"lines": ["done"]})
        assert events(stream, 1) == [("end", {"lines": ["done"]})]
    assert stream.read().strip() == b""  # and then the server is gone
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", view.port))


def test_events_during_the_history_reach_a_page_once_and_in_order() -> None:
    from fiberscope.page.live.server import OpenPages

    link, _run = Pipe()
    pages = OpenPages(link)
    pages.publish("machine", {})
    pages.publish("state", {"cycle": 1, "states": []})
    pages.publish("rows", {"rows": [1]})

    async def read() -> list[str]:
        stream = pages.events()
        texts = [await anext(stream), await anext(stream)]
        pages.publish("state", {"cycle": 2, "states": []})
        pages.publish("rows", {"rows": [2]})
        pages.publish("done", {})
        pages.end()
        return [*texts[1:], *[text async for text in stream]]

    with ThreadPoolExecutor(1) as pool:  # the browser of other tests leaves a running loop in this thread
        texts = pool.submit(lambda: asyncio.run(read())).result()
    read_events = [text.split("\n")[:2] for text in texts]
    assert [(event[7:], json.loads(data[6:])) for event, data in read_events] == [
        ("machine", {}),
        ("points", {"points": [[1, []]]}),
        ("state", {"cycle": 1, "states": []}),
        ("rows", {"rows": [1]}),
        ("state", {"cycle": 2, "states": []}),
        ("rows", {"rows": [2]}),
        ("done", {}),
    ]


def test_a_port_in_use_costs_a_line(view: LiveView) -> None:
    with pytest.raises(
        InputError, match=rf"^--live {view.port}: the port is in use; give another one, or none"
    ):
        LiveView(str(view.port), "t")


def test_the_history_has_a_bounded_size_its_ends_and_the_last_of_each() -> None:
    history = History()
    history.add("machine", {"families": []})
    for cycle in range(1000):
        history.add("state", {"cycle": cycle, "states": []})
        history.add("rows", {"rows": [cycle]})
    (_machine, (_name, kept), (_state, state), (_rows, last)) = history.events()
    cycles = [cycle for cycle, _states in kept["points"]]
    assert MAX_POINTS // 2 <= len(cycles) <= MAX_POINTS
    assert cycles == sorted(set(cycles))
    assert (cycles[-1], state["cycle"]) == (999, 999)
    assert last["rows"] == list(range(1000 - MAX_ROWS, 1000))
    assert cycles[0] < 20
    history.add("machine", {"families": ["b"]})
    assert list(history.events())[1] == ("points", {"points": []})
    assert [event for event, _data in history.events()] == ["machine", "points", "rows"]


def test_the_history_forgets_what_is_behind_a_step_back() -> None:
    history = History()
    history.add("machine", {"families": []})
    for cycle in (0, 10, 20, 30, 15):
        history.add("state", {"cycle": cycle, "states": [cycle]})
    assert list(history.events())[1] == ("points", {"points": [(0, [0]), (10, [10]), (15, [15])]})


def test_the_history_always_has_the_first_point_and_the_newest() -> None:
    history = History()
    history.add("machine", {"families": []})
    for cycle in range(3 * MAX_POINTS):
        history.add("state", {"cycle": cycle, "states": [0]})
        history.add("state", {"cycle": cycle, "states": [cycle]})  # the same cycle, while the run is paused
        points = list(history.events())[1][1]["points"]
        assert (points[0], points[-1]) == ((0, [0]), (cycle, [cycle]))
        assert len({point[0] for point in points}) == len(points) <= MAX_POINTS
