"""Simulators of a debugging session: each holds the run in one cycle, and can be copied there.

Where the system can fork, a simulator is a process, and its copy a fork of it. Elsewhere it is a thread, and
its copy a new run up to the same cycle: runs are deterministic.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import warnings
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.run.debug.host import Stop, serve, serve_in_thread
from fiberscope.run.request import RunRequest
from fiberscope.sim.interrupt import interrupt_elsewhere, on_interrupt

__all__ = ["Simulator", "can_fork", "start_simulator"]


def can_fork() -> bool:
    """Return whether the system can fork a process."""
    return hasattr(os, "fork")


class Simulator:
    """A simulation that stands in one cycle, and the connection to it.

    Args:
        connection: to its host.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def ask(self, method: str, *arguments: object) -> Any:  # noqa: ANN401  (what the method gives)
        """Have it do something, and wait for the answer; Ctrl-C interrupts the machine meanwhile.

        Raises:
            InputError: what it was asked cannot be.
        """
        with on_interrupt(self.interrupt):
            self.connection.send((method, arguments))
            return self.answer()

    def answer(self) -> Any:  # noqa: ANN401
        """Return the next answer."""
        while True:
            try:
                self.connection.poll(None)
                kind, value = self.connection.recv()
                break
            except KeyboardInterrupt:
                self.interrupt()
            except EOFError:
                raise InputError("the simulation has ended: its process is gone; out of memory?") from None
        if kind == "error":
            raise value
        return value

    def interrupt(self) -> None:
        """Stop the machine in the cycle that it has come to."""
        raise NotImplementedError

    def copy(self) -> Simulator:
        """Return another simulator in the same cycle."""
        raise NotImplementedError

    def close(self) -> None:
        """End it: it goes when nobody can ask it any more."""
        self.connection.close()


class ForkedSimulator(Simulator):
    """A simulator in a process of its own.

    Args:
        connection: to its host.
        number: of the process.
    """

    def __init__(self, connection: Connection, number: int) -> None:
        super().__init__(connection)
        self.number, self.memory = number, 0

    def interrupt(self) -> None:
        """Send the process a Ctrl-C; a copy that is being made has nothing to stop."""
        if self.number:
            with suppress(ProcessLookupError):
                os.kill(self.number, signal.SIGINT)

    def copy(self) -> ForkedSimulator:
        """Fork the process."""
        from multiprocessing.reduction import send_handle  # noqa: PLC0415  (not every system has it)

        ours, theirs = Pipe()
        simulator = ForkedSimulator(ours, 0)
        with on_interrupt(simulator.interrupt):
            with theirs:
                self.connection.send(("fork", ()))
                send_handle(self.connection, theirs.fileno(), self.number)
            simulator.number = simulator.answer()
        return simulator

    def measure(self) -> None:
        """Set ``memory`` to the bytes that the process holds, shared pages divided by their holders.

        It stays zero where the system does not say. The system takes milliseconds to answer.
        """
        try:
            text = Path(f"/proc/{self.number}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            return
        match = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
        self.memory = 1024 * int(match[1]) if match else 0


class ReplayedSimulator(Simulator):
    """A simulator in a thread; a copy runs from the start again.

    Args:
        run: what is to be run.
        options: of its ``run``.
    """

    def __init__(self, run: RunRequest, options: dict[str, Any]) -> None:
        ours, theirs = Pipe()
        super().__init__(ours)
        self._request = run, options
        self._stop = Stop(0, "cycle")
        threading.Thread(target=serve_in_thread, args=(theirs, run, options), daemon=True).start()

    def ask(self, method: str, *arguments: object) -> Any:  # noqa: ANN401
        """Have it do something, and remember where it stops."""
        answer = super().ask(method, *arguments)
        if isinstance(answer, Stop):
            self._stop = answer
        return answer

    def interrupt(self) -> None:
        """Interrupt the run of the thread."""
        interrupt_elsewhere()

    def copy(self) -> ReplayedSimulator:
        """Run from the start to the same cycle.

        Raises:
            InputError: Ctrl-C.
        """
        simulator = ReplayedSimulator(*self._request)
        simulator.answer()
        cycle = None if self._stop.ended else self._stop.cycle
        stop = simulator.ask("advance", cycle, None, [], float("inf"))
        if stop.cycle != self._stop.cycle:
            simulator.close()
            raise InputError(f"interrupted on the way to cycle {self._stop.cycle:,}")
        return simulator


class UnstartedSimulator(ReplayedSimulator):
    """A simulator in front of the first cycle that costs nothing until it is copied."""

    def __init__(self, run: RunRequest, options: dict[str, Any]) -> None:
        self._request = run, options
        self._stop = Stop(0, "cycle")

    def close(self) -> None:
        """Do nothing: there is nothing to end."""


def start_simulator(run: RunRequest, options: dict[str, Any]) -> tuple[Simulator, Simulator]:
    """Start a run: return a simulator that stays in front of the first cycle, and one that may move.

    Raises:
        ConfigurationError, WorkloadError, InputError: what was asked for cannot be simulated.
    """
    if not can_fork():
        live = ReplayedSimulator(run, options)
        live.answer()
        return UnstartedSimulator(run, options), live
    ours, theirs = Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks in processes with threads
        child = os.fork()
    if child == 0:
        ours.close()
        serve(theirs, run, options)
    theirs.close()
    first = ForkedSimulator(ours, child)
    try:
        first.answer()
    except BaseException:
        first.close()
        os.waitpid(child, 0)
        raise
    return first, first.copy()
