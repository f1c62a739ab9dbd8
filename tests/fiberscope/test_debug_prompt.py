"""The debugger at a terminal: its prompt, completion by the tab key, Ctrl-C, and errors of a line."""

import os
import re
import select
import signal
import sys
import time
from pathlib import Path

import pytest

import fiberscope
from fiberscope.run.debug.interpreter import COMMANDS, completions

pty = pytest.importorskip("pty", reason="the system has no pseudo-terminals")
ROOT = Path(__file__).parents[2]
SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"
LARGE = "uniform:rows=9000,cols=9000,nonzeros=200000,seed=5"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")
PATIENCE = 60  # seconds; a machine under load is slow


class Terminal:
    """The debugger as the child of a pseudo-terminal."""

    def __init__(self, *arguments: str) -> None:
        self.text, self.seen = "", 0
        self.child, self.file = pty.fork()
        if self.child == 0:
            os.environ.update(TERM="xterm", COLUMNS="80", LINES="24", PROMPT_TOOLKIT_NO_CPR="1")
            os.execv(sys.executable, [sys.executable, "-m", "fiberscope", "debug", *arguments])

    def type(self, text: str) -> None:
        os.write(self.file, text.encode())

    def look(self, pattern: str, seconds: float) -> re.Match[str] | None:
        """Read on until a pattern comes behind what the last one matched, or the time is over."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            match = re.compile(pattern).search(self.text, self.seen)
            if match:
                self.seen = match.end()
                return match
            if select.select([self.file], [], [], 0.2)[0]:
                self.text += ESCAPES.sub("", os.read(self.file, 65536).decode(errors="replace"))
        return None

    def expect(self, pattern: str) -> re.Match[str]:
        match = self.look(pattern, PATIENCE)
        assert match, f"{pattern} does not come in {self.text[self.seen :]!r}"
        return match

    def end(self) -> int:
        """Return the exit code."""
        ends = time.monotonic() + PATIENCE
        while os.waitid(os.P_PID, self.child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            assert time.monotonic() < ends, self.text
            time.sleep(0.05)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


@pytest.fixture
def terminal():
    terminals = []

    def start(*arguments: str) -> Terminal:
        terminals.append(Terminal(*arguments))
        return terminals[-1]

    yield start
    for one in terminals:
        os.close(one.file)
        try:
            os.kill(one.child, signal.SIGKILL)
            os.waitpid(one.child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


def test_commands_are_typed_errors_cost_a_line_and_tab_completes(terminal):
    pytest.importorskip("prompt_toolkit")
    session = terminal("gamma", SMALL, "--set", "pe.count=2")
    session.expect("0>")
    session.type("sho\t")
    session.expect("show")
    session.type(" pe01.mult\t")
    session.expect("pe01.multiplier")
    session.type("\r")
    session.expect(r"gamma\.pe01\.multiplier \(")
    session.type("stpe 3\r")
    session.expect("stpe is no command; did you mean step")
    session.type("st 5\r")
    session.expect("cycle 5")
    session.expect("5>")
    session.type("\x03")  # Ctrl-C while nothing runs
    session.expect("5>")
    session.type("quit\r")
    assert session.end() == 0


def test_ctrl_c_stops_the_machine_and_not_the_session(terminal):
    pytest.importorskip("prompt_toolkit")
    session = terminal("gamma", LARGE)
    session.expect("0>")
    session.type("run\r")
    session.expect("run\n")
    time.sleep(1)  # the prompt lets go of the terminal
    for _ in range(5):  # one that comes while a copy is made stops nothing
        session.type("\x03")
        stopped = session.look(r"cycle ([\d,]+): (interrupted|the run is done)", 15)
        if stopped:
            break
    assert stopped
    assert stopped[2] == "interrupted"
    cycle = int(stopped[1].replace(",", ""))
    session.expect(f"{cycle:,}>")
    session.type("st 3\r")
    session.expect(f"cycle {cycle + 3:,}")
    session.expect(f"{cycle + 3:,}>")
    session.type("\x04")  # the end of input ends the session
    assert session.end() == 0


def test_a_line_is_completed_by_what_its_command_takes():
    with fiberscope.debug("gamma", SMALL, settings={"pe.count": 2}) as session:
        names = session.names()
    assert completions(names, "") == list(COMMANDS)
    assert completions(names, "br") == ["break", "breaks"]
    assert completions(names, "show pe01.me") == ["pe01.merger"]
    assert completions(names, "sh pe01.me") == ["pe01.merger"]
    assert completions(names, "s pe01.me") == []  # step or show
    assert completions(names, "queue pe00.merger.ways[1") == [
        f"pe00.merger.ways[{way}]" for way in (1, *range(10, 20))
    ]
    assert completions(names, "break pe00.merger input") == ["input_stall"]
    assert completions(names, "until cycle > 9 and pe00.merger.ph") == ["pe00.merger.phase"]
    assert completions(names, "run ") == []
    assert completions(names, "show pe00.merger ") == []
