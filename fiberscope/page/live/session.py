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
def open_live_debugger(port: str, title: str) -> Iterator[Callable[[Session], LiveSession]]:
    """Yield a function that shows a session on a page; print the address to stderr.

    Start the session within the context, because its processes must not outlive the link to the server.

    Args:
        port: as for ``LiveView``.
        title: the title of the page.

    Raises:
        InputError: the errors of ``LiveView``.
    """
    with LiveView(port, title, "debugging") as view, view.show_failures():
        yield partial(LiveSession, view)


class LiveSession:
    """Shows a session: receives its stops, and executes commands of the page in a thread.

    Args:
        view: the server of the page.
    """

    def __init__(self, view: LiveView, session: Session) -> None:
        self._view, self._session = view, session
        self._stop, self._is_running = session.stop, False
        self._stage = Stage(SIMULATING, time.monotonic())
        self._selected = ""
        self._phase = session.stop.phase
        self._drawing_copies: list[Simulator] = []  # forked copies of the simulation, which draw the machine
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._execute_commands, daemon=True)

    @property
    def address(self) -> str:
        """Return the address of the page."""
        return self._view.address

    def __enter__(self) -> LiveSession:
        """Show the current state of the machine."""
        self._show_machine()
        self._publish()
        self._session.followers.append(self._show_stop)
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        """Stop executing commands, and show the end of the session unless an error ended it."""
        self._has_ended.set()
        self._thread.join()
        for copy in self._drawing_copies:
            copy.close()
        self._session.followers.remove(self._show_stop)
        if raised[0] is None:
            self._view.show_end([f"The session has ended, in cycle {self._session.cycle:,}."])

    def _show_machine(self) -> None:
        """Send the names of the machine; the drawing follows when a page is open."""
        self._view.send("machine", self._session.observe(_read_names))
        self._drawing_copies.append(self._session.copy())

    def _show_stop(self, stop: Stop, is_running: bool) -> None:
        """Show where the session has stopped or is running; called by the session."""
        is_start = is_running and not self._is_running
        self._stop, self._is_running = stop, is_running
        if stop.phase != self._phase:  # another machine
            self._phase = stop.phase
            self._show_machine()
        self._publish(is_start)

    def _publish(self, is_start: bool = False) -> None:
        """Send the counters of the current cycle; with ``is_start``, the estimate of the end starts anew."""
        counts, (done, total) = self._session.observe(_read_counts, self._selected)
        now = time.monotonic()
        self._stage.reach(done, total)
        self._stage.reach_cycle(self._stop.cycle, 0)
        if is_start:
            self._stage.restart(now)
        status = "running" if self._is_running else self._stop.reason if self._stop.ended else "paused"
        text = self._stage.text(now) if self._is_running else str(format_stop(self._stop, ()))
        state = {"status": status, "cycle": self._stop.cycle, "share": self._stage.share, "text": text}
        self._view.send("state", {**state, **counts, "recordings": []})

    def _execute_commands(self) -> None:
        """Execute commands until the session ends, and draw each machine when a page is open."""
        last_copy, is_stale = None, False
        while not self._has_ended.is_set():
            for command in self._view.commands(WAIT_SECONDS):
                if command["do"] == "pause" and self._is_running:
                    self._session.interrupt()
                elif command["do"] == "select":
                    self._selected, is_stale = command["component"], True
            # The session reports the loss of the simulation.
            with suppress(InputError, OSError):
                copy = self._drawing_copies[-1]
                if self._view.viewers and copy is not last_copy:
                    while self._drawing_copies[0] is not copy:
                        self._drawing_copies.pop(0).close()
                    last_copy = copy
                    self._view.send("drawing", copy.call("observe", _draw))
                is_stale = is_stale and not self._try_publish()

    def _try_publish(self) -> bool:
        """Publish the counters unless the session is using the simulation; return whether they were sent."""
        is_free = self._session.lock.acquire(blocking=False)
        if is_free:
            try:
                self._publish()
            finally:
                self._session.lock.release()
        return is_free


@cache
def _find_counters(kernel: Kernel) -> MachineCounters:
    """Return the cached counters of the machine of this process."""
    return MachineCounters(kernel)


def _read_names(machine: Machine, _time: int) -> dict[str, list[str]]:
    return _find_counters(machine.kernel).names


def _read_counts(machine: Machine, time: int, selected: str) -> tuple[dict[str, Any], tuple[int, int]]:
    """Return the counters with those of a component, and the progress."""
    return _find_counters(machine.kernel).read_with(selected, time), machine.progress()


def _draw(machine: Machine, _time: int) -> dict[str, Any]:
    from fiberscope.page.drawing import draw_kernel  # noqa: PLC0415  (not needed by the simulation)

    svg, boxes = draw_kernel(machine.kernel)
    return {"svg": svg, "boxes": boxes}
