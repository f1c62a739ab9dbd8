"""Simulators of a debugging session: each holds the run in one cycle and can be copied.

If the system supports forks, a simulator is a process and its copy a fork. Otherwise a simulator is a thread
and its copy a new run up to the same cycle, because runs are deterministic.
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


def can_fork() -> bool:
    """Return whether the system can fork a process."""
    return hasattr(os, "fork")


class Simulator:
    """A simulation that is stopped in one cycle, with a connection to its host.

    Args:
        connection: the connection to the host.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401  (the method's result)
        """Send a request and wait for the answer; Ctrl-C interrupts the machine.

        Args:
            method: the name of a method of ``Host``, or ``finish`` for the report.
            arguments: its arguments, which can be pickled.

        Raises:
            InputError: see ``receive``.
        """
        with on_interrupt(self.interrupt):
            self.connection.send((method, arguments))
            return self.receive()

    def receive(self) -> Any:  # noqa: ANN401
        """Wait for the next answer, and return its value.

        Raises:
            InputError: the request is invalid, or the process of the host is gone. Any other exception of
                the host is raised too.
        """
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
        """Stop the machine in its current cycle."""
        raise NotImplementedError

    def copy(self) -> Simulator:
        """Return another simulator in the same cycle."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection. The host then ends."""
        self.connection.close()


class ForkedSimulator(Simulator):
    """A simulator in a separate process.

    Args:
        connection: the connection to the host.
        process_id: the process identifier; 0 while the process is being forked.

    Attributes:
        memory_bytes: the last result of ``measure_memory``.
    """

    def __init__(self, connection: Connection, process_id: int) -> None:
        super().__init__(connection)
        self.process_id, self.memory_bytes = process_id, 0

    def interrupt(self) -> None:
        """Send the process SIGINT; a copy under construction has no process to interrupt."""
        if self.process_id:
            with suppress(ProcessLookupError):
                os.kill(self.process_id, signal.SIGINT)

    def copy(self) -> ForkedSimulator:
        """Fork the process of the host, and return a simulator of the new process."""
        from multiprocessing.reduction import send_handle  # noqa: PLC0415  (not every system has it)

        local_end, remote_end = Pipe()
        simulator = ForkedSimulator(local_end, 0)
        with on_interrupt(simulator.interrupt):
            with remote_end:
                self.connection.send(("fork", ()))
                send_handle(self.connection, remote_end.fileno(), self.process_id)
            simulator.process_id = simulator.receive()
        return simulator

    def measure_memory(self) -> None:
        """Set ``memory_bytes`` to the proportional set size of the process in bytes.

        The value stays zero if the system does not report the size. The query takes milliseconds.
        """
        try:
            text = Path(f"/proc/{self.process_id}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            return
        match = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
        self.memory_bytes = 1024 * int(match[1]) if match else 0


class ReplayedSimulator(Simulator):
    """A simulator in a thread; a copy runs again from the start.

    Args:
        run: the request of the run.
        options: options of the request's ``run``.
    """

    def __init__(self, run: RunRequest, options: dict[str, Any]) -> None:
        local_end, remote_end = Pipe()
        super().__init__(local_end)
        self._arguments = run, options
        self._stop = Stop(0, "cycle")
        threading.Thread(target=serve_in_thread, args=(remote_end, run, options), daemon=True).start()

    def call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401
        """Send a request, and record the last stop."""
        answer = super().call(method, *arguments)
        if isinstance(answer, Stop):
            self._stop = answer
        return answer

    def interrupt(self) -> None:
        """Interrupt the run of the thread."""
        interrupt_elsewhere()

    def copy(self) -> ReplayedSimulator:
        """Return a simulator that has run from the start to the same cycle.

        Raises:
            InputError: the user interrupted the run.
        """
        simulator = ReplayedSimulator(*self._arguments)
        simulator.receive()
        cycle = None if self._stop.ended else self._stop.cycle
        stop = simulator.call("advance", cycle, None, [], float("inf"))
        if stop.cycle != self._stop.cycle:
            simulator.close()
            raise InputError(f"interrupted on the way to cycle {self._stop.cycle:,}")
        return simulator


class UnstartedSimulator(ReplayedSimulator):
    """A simulator before the first cycle, without a thread or a connection: only ``copy`` it."""

    def __init__(self, run: RunRequest, options: dict[str, Any]) -> None:
        self._arguments = run, options
        self._stop = Stop(0, "cycle")

    def close(self) -> None:
        """Do nothing, because no thread runs."""


def start_simulator(run: RunRequest, options: dict[str, Any]) -> tuple[Simulator, Simulator]:
    """Start a run; return a simulator that the caller keeps before the first cycle, and one to advance.

    Args:
        run: the request of the run.
        options: options of ``run.run``.

    Raises:
        ConfigurationError, WorkloadError, InputError: the request is invalid.
    """
    if not can_fork():
        live = ReplayedSimulator(run, options)
        live.receive()
        return UnstartedSimulator(run, options), live
    local_end, remote_end = Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork in a process with threads
        child = os.fork()
    if child == 0:
        local_end.close()
        serve(remote_end, run, options)  # does not return
    remote_end.close()
    origin = ForkedSimulator(local_end, child)
    try:
        origin.receive()
    except BaseException:
        origin.close()
        os.waitpid(child, 0)
        raise
    return origin, origin.copy()
