"""Live view of a debugging session: the current cycle, and progress while the machine runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any

from fiberscope.accelerators.machine import Machine
from fiberscope.base.errors import InputError
from fiberscope.base.progress import SIMULATING, Stage
from fiberscope.page.live.counters import MachineCounters
from fiberscope.page.live.view import LiveView
from fiberscope.run.debug.host import Stop
from fiberscope.run.debug.session import Session
from fiberscope.run.debug.shown import format_stop
from fiberscope.run.debug.simulators import Simulator
from fiberscope.sim import Kernel

WAIT_SECONDS = 0.1  # interval of checks for the end of the session


@contextmanager
def live_debugger(port: str, title: str) -> Iterator[Callable[[Session], LiveSession]]:
    """Yield a function that shows a session on a page; print the address to stderr.

    Start the session within the context, because its processes must not outlive the link to the server.

    Args:
        port: as for ``LiveView``.
        title: the title of the page.

    Raises:
        InputError: the errors of ``LiveView``.
    """
    with LiveView(port, title, "debugging") as view, view.failures_shown():
        yield partial(LiveSession, view)


class LiveSession:
    """Shows a session: receives its stops, and executes commands of the page in a thread.

    Args:
        view: the server of the page.
        session: the session.
    """

    def __init__(self, view: LiveView, session: Session) -> None:
        self._view, self._session = view, session
        self._stop, self._is_running = session.stop, False
        self._stage = Stage(SIMULATING, time.monotonic())
        self._selected = ""
        self._phase = session.stop.phase
        self._artists: list[Simulator] = []  # copies that draw the machine concurrently
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._take_commands, daemon=True)

    @property
    def address(self) -> str:
        """Return the address of the page."""
        return self._view.address

    def __enter__(self) -> LiveSession:
        """Show the current state of the machine."""
        self._show_machine()
        self._publish()
        self._session.followers.append(self._follow)
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        """Stop executing commands, and show the end of the session unless an error ended it."""
        self._has_ended.set()
        self._thread.join()
        for artist in self._artists:
            artist.close()
        self._session.followers.remove(self._follow)
        if raised[0] is None:
            self._view.end([f"The session has ended, in cycle {self._session.cycle:,}."])

    def _show_machine(self) -> None:
        """Send the names of the machine; the drawing follows when a page is open."""
        self._view.send("machine", self._session.observe(_names))
        self._artists.append(self._session.copy())

    def _follow(self, stop: Stop, is_running: bool) -> None:
        begins = is_running and not self._is_running
        self._stop, self._is_running = stop, is_running
        if stop.phase != self._phase:  # another machine
            self._phase = stop.phase
            self._show_machine()
        self._publish(begins)

    def _publish(self, begins: bool = False) -> None:
        """Send the counters of the current cycle; the estimate of the end starts at the command."""
        counts, (done, total) = self._session.observe(_counts, self._selected)
        now = time.monotonic()
        self._stage.reach(done, total)
        self._stage.reach_cycle(self._stop.cycle, 0)
        if begins:
            self._stage.restart(now)
        status = "running" if self._is_running else self._stop.reason if self._stop.ended else "paused"
        text = self._stage.text(now) if self._is_running else str(format_stop(self._stop, ()))
        state = {"status": status, "cycle": self._stop.cycle, "share": self._stage.share, "text": text}
        self._view.send("state", {**state, **counts, "recordings": []})

    def _take_commands(self) -> None:
        """Execute commands until the session ends, and draw each machine when a page is open."""
        last_artist, is_stale = None, False
        while not self._has_ended.is_set():
            for command in self._view.commands(WAIT_SECONDS):
                if command["do"] == "pause" and self._is_running:
                    self._session.interrupt()
                elif command["do"] == "select":
                    self._selected, is_stale = command["component"], True
            # The session reports the loss of the simulation.
            with suppress(InputError, OSError):
                artist = self._artists[-1]
                if self._view.viewers and artist is not last_artist:
                    while self._artists[0] is not artist:
                        self._artists.pop(0).close()
                    last_artist = artist
                    self._view.send("drawing", artist.ask("observe", _drawing))
                is_stale = is_stale and not self._has_published()

    def _has_published(self) -> bool:
        """Publish unless the session uses the simulation; return whether counters were published."""
        is_free = self._session.lock.acquire(blocking=False)
        if is_free:
            try:
                self._publish()
            finally:
                self._session.lock.release()
        return is_free


@cache
def _counters(kernel: Kernel) -> MachineCounters:
    """Return the cached counters of the machine of this process."""
    return MachineCounters(kernel)


def _names(machine: Machine, _time: int) -> dict[str, list[str]]:
    return _counters(machine.kernel).names


def _counts(machine: Machine, time: int, selected: str) -> tuple[dict[str, Any], tuple[int, int]]:
    """Return the counters with those of a component, and the progress."""
    return _counters(machine.kernel).read_with(selected, time), machine.progress()


def _drawing(machine: Machine, _time: int) -> dict[str, Any]:
    from fiberscope.page.drawing import bare_drawing  # noqa: PLC0415  (not needed by the simulation)

    svg, boxes = bare_drawing(machine.kernel)
    return {"svg": svg, "boxes": boxes}
