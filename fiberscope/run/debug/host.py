"""Host of a debugged simulation: a process or thread that executes the requests of a session.

Requests and answers pass through a connection. A request is a pair: the name of a method of ``Host`` and its
arguments. An answer is a pair: ``ok``, ``error`` or ``report``, and a value. On request, the process forks:
the child holds the same cycle and has its own connection. A waiting child is a snapshot. To go back, the
session forks a snapshot.

The session counts cycles over all phases of a run. ``Host.cycle`` counts from the beginning of the phase.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from fiberscope.accelerators.machine import Machine
from fiberscope.base.errors import InputError
from fiberscope.results.errors import FailedRunError, UnwrittenFileError
from fiberscope.results.recording.files import StateFiles
from fiberscope.results.recording.waits import Wait
from fiberscope.results.report import timeline
from fiberscope.results.report.timeline import Observer
from fiberscope.run.debug.phases import Phase
from fiberscope.run.debug.views import ComponentView, QueueView
from fiberscope.run.request import RunRequest
from fiberscope.sim import DeadlockError, Kernel, Run, SimulationError
from fiberscope.sim.condition import Onset
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.lookahead import remove_lookahead
from fiberscope.sim.seek import seek
from fiberscope.sim.trigger import list_names

SLICE_CYCLES = 4096  # initial number of cycles between checks of the host time
SHORT_SECONDS = 0.1  # a shorter slice is followed by a longer one

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Stop:
    """Cycle in which a machine has stopped, and the cause.

    Args:
        cycle: the cycle of the first clock; all earlier cycles have been executed.
        reason: ``cycle``, ``until``, ``break``, ``slice`` (time slice used up), ``interrupted``, ``done`` or
            ``deadlock``.
        text: the condition that holds, or the deadlock.
        number: for ``break``, the index in the request; the session replaces it by the breakpoint's number.
        ended: whether the run is done or deadlocked.
        phase: the phase, as in ``phase 1 of 2``; empty for a run with one phase.
    """

    cycle: int
    reason: str
    text: str = ""
    number: int = 0
    ended: bool = False
    phase: str = ""


@dataclass(frozen=True)
class Names:
    """Names for commands and their completion.

    Args:
        components: the components.
        channels: the ports of channels.
        quantities: the quantities of conditions, by component.
    """

    components: list[str]
    channels: list[str]
    quantities: dict[str, list[str]]


@dataclass(frozen=True)
class Failure:
    """A failed run with its report, because an exception with a report cannot pass between processes."""

    kind: type[FailedRunError] | type[UnwrittenFileError]
    message: str
    report: Any


class _IdleTracer:
    """A tracer that never starts; its presence disables lookahead and deferred work in the kernel."""


def serve(connection: Connection, run: RunRequest, options: dict[str, Any]) -> NoReturn:
    """Serve requests in this process, then end it.

    Args:
        connection: the connection to the session.
        run: the request of the run.
        options: options of ``run.run``, without those that ``run.drive_options`` names.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _serve(Host(connection, lambda: os._exit(0)), run, options)
    os._exit(0)


def serve_in_thread(connection: Connection, run: RunRequest, options: dict[str, Any]) -> None:
    """Serve requests in this thread, then return; the arguments are those of ``serve``."""
    with suppress(SystemExit):
        _serve(Host(connection, sys.exit), run, options)


def _serve(host: Host, run: RunRequest, options: dict[str, Any]) -> None:
    answer: tuple[str, object]
    try:
        drives = dict.fromkeys(run.drive_options, host.drive)
        answer = "report", run.run(**drives, **options)
    except SystemExit:
        raise
    except (FailedRunError, UnwrittenFileError) as error:
        answer = "report", Failure(type(error), str(error), error.report)
    except BaseException as error:
        answer = "error", _make_picklable(error)
    with suppress(OSError):
        host.connection.send(answer)


def _make_picklable(error: BaseException) -> BaseException:
    """Return an exception that can be pickled: the exception itself, or one with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class Host:
    """The simulation of this process.

    Args:
        connection: the connection to the session.
        leave: a function that ends the process or thread.
    """

    def __init__(self, connection: Connection, leave: Callable[[], object]) -> None:
        self.connection, self._leave = connection, leave
        self._children: list[int] = []
        self._phase_start = self.cycle = 0  # start of the phase in session cycles; cycle of the phase
        self._request: tuple[str, Any] | None = None  # request that continues in the next phase

    def drive(
        self, machine: Machine, observers: Sequence[Observer], cycle_limit: int | None, progress: Progress
    ) -> Run:
        """Execute the requests of the session until it requests the report; replaces ``timeline.run``.

        The function is called for each phase of a graph. It returns from a finished phase when the session
        goes on.

        Raises:
            DeadlockError: the machine is deadlocked.
        """
        self._machine, self._observers = machine, list(observers)
        self._limit, self._progress = cycle_limit, progress
        self._kernel: Kernel = machine.kernel
        self._period = self._kernel.clocks[0].period
        self._result: Run | None = None
        self._deadlock: DeadlockError | None = None
        # Cycle, condition and breakpoints of a request whose last time slice is used up.
        self._interrupted_request: tuple[int, str | None, Sequence[str]] | None = None
        self._phase_start, self.cycle = self._phase_start + self.cycle, 0
        self._phase = Phase(machine, self._phase_start)
        remove_lookahead(self._kernel)
        self._kernel.trace(_IdleTracer(), MAX_TIME)  # type: ignore[arg-type]
        if self._request is None:
            self.connection.send(("ok", self.stop("cycle")))
        while True:
            method, arguments = self._request or self._receive()
            self._request = None
            if method == "finish":
                return self._finish()
            if method == "fork":
                self._fork()
                continue
            try:
                answer: tuple[str, object] = ("ok", getattr(self, method)(*arguments))
            except (SimulationError, ValueError, OSError) as error:
                answer = ("error", InputError(str(error)))
            except Exception as error:
                answer = ("error", _make_picklable(error))
            if self._request is not None and self._result is not None:
                return self._result
            self.connection.send(answer)

    def _receive(self) -> tuple[str, Any]:
        """Return the next request; leave if the session has closed its connection."""
        try:
            request: tuple[str, Any] = self.connection.recv()
        except (EOFError, OSError):
            self._leave()
        return request

    def _fork(self) -> None:
        """Fork a copy that serves the connection received after this request."""
        from multiprocessing.reduction import recv_handle  # noqa: PLC0415  (not every system has it)

        handle = recv_handle(self.connection)
        self._children = [pid for pid in self._children if os.waitpid(pid, os.WNOHANG)[0] == 0]
        child = os.fork()
        if child == 0:
            self.connection.close()
            self.connection, self._children = Connection(handle), []
            self.connection.send(("ok", os.getpid()))
        else:
            os.close(handle)
            self._children.append(child)

    def _finish(self) -> Run:
        """Return the result of the run, or of the run up to the current cycle."""
        if self._deadlock is not None:
            raise self._deadlock
        if self._result and not self._phase.is_last:
            self._request = ("finish", ())
        return self._result or self._kernel.run(cycle_limit=self.cycle)

    @property
    def _time(self) -> int:
        """Return the base tick before which all components have executed."""
        return self._kernel.end if self._result or self._deadlock else self.cycle * self._period

    def stop(self, reason: str, text: str = "", number: int = 0) -> Stop:
        """Return the current cycle and the cause of the stop; the arguments are fields of ``Stop``."""
        is_over = bool(self._deadlock or (self._result and self._phase.is_last))
        return Stop(self._phase_start + self.cycle, reason, text, number, is_over, str(self._phase))

    def advance(self, target: int | None, until: str | None, breaks: Sequence[str], seconds: float) -> Stop:
        """Run to a cycle, or to the first cycle in which a condition or breakpoint holds.

        Args:
            target: a cycle of the first clock; None for the end.
            until: a condition.
            breaks: conditions of breakpoints, which stop when they become true.
            seconds: host time after which to return with the reason ``slice``.

        Raises:
            SimulationError: a text is no condition.
        """
        end = None if target is None else target - self._phase_start
        stop = self._advance(end, until, breaks, seconds)
        if stop.reason != "done" or self._phase.is_last:
            return stop
        if end is None or end > self.cycle:
            self._request = "advance", (target, until, breaks, seconds)
        return self.stop("cycle")

    def _advance(self, target: int | None, until: str | None, breaks: Sequence[str], seconds: float) -> Stop:
        """Advance within the phase; the target is a cycle of the phase.

        The first cycle of a later phase is the last cycle of the previous phase and is not shown twice.
        """
        is_shown = self.cycle > 0 or self._phase_start == 0
        if (self.cycle, until, breaks) != self._interrupted_request:
            self._goal = None if until is None else self._phase.condition(until, later=is_shown)
            predicates = [self._phase.condition(text) for text in breaks]
            self._onsets = [predicate and Onset(predicate, self._time) for predicate in predicates]
        self._interrupted_request = None
        goal, onsets = self._goal, self._onsets
        if is_shown and goal is not None and goal.holds(self._time):
            return self.stop("until", str(until))
        conditions = [condition for condition in (goal, *onsets) if condition is not None]
        deadline, step = time.monotonic() + seconds, SLICE_CYCLES
        target = min(MAX_TIME if target is None else target, MAX_TIME if self._limit is None else self._limit)
        while self.cycle < target and not (self._result or self._deadlock):
            slice_end, slice_start = min(target, self.cycle + (step if is_shown else 1)), time.monotonic()
            if conditions and is_shown:
                slice_end = seek(
                    self._kernel, self.cycle, min(slice_end, self._sample_observers()), conditions
                )
            interrupted, is_shown = self._run_kernel(slice_end), True
            for number, onset in enumerate(onsets):
                if onset is not None and onset.pause(self._time, 1) == 0:
                    return self.stop("break", breaks[number], number)
            if goal is not None and goal.holds(self._time):
                return self.stop("until", str(until))
            if self._result or self._deadlock:
                break
            if interrupted:
                return self.stop("interrupted")
            if time.monotonic() > deadline and self.cycle < target:
                self._interrupted_request = self.cycle, until, breaks
                return self.stop("slice")
            step *= 2 if time.monotonic() - slice_start < SHORT_SECONDS else 1
        if self._deadlock is not None:
            return self.stop("deadlock", str(self._deadlock))
        return self.stop("done" if self._result else "cycle")

    def _sample_observers(self) -> int:
        """Call the observers that are due, and return the next cycle with a due observer."""
        for observer in self._observers:
            if observer.find_next_sample_cycle() == self.cycle:
                observer.take_sample(self.cycle)
        return min(observer.find_next_sample_cycle() for observer in self._observers)

    def _run_kernel(self, cycle: int) -> bool:
        """Run to a cycle; return whether the run was interrupted earlier."""
        try:
            run = timeline.run(self._machine, self._observers, cycle, self._progress)
            interrupted = run.reason == "interrupted"
            if interrupted:
                cycle = self._kernel.cycle + 1  # to the end of this cycle: a stop lies between cycles
                run = timeline.run(self._machine, self._observers, cycle, self._progress)
        except DeadlockError as error:
            self._deadlock, self.cycle = error, self._kernel.length(self._kernel.clocks[0])
            return False
        if run.reason in {"cycle limit", "interrupted"}:
            self.cycle = cycle
        else:
            self._result, self.cycle = run, run.cycles
        return interrupted

    def observe(self, function: Callable[..., object], *arguments: object) -> object:
        """Return the result of a function of the machine at the current base tick.

        Args:
            function: called with the machine, the base tick and the arguments; it can be pickled.
            arguments: further arguments.
        """
        return function(self._machine, self._time, *arguments)

    def show(self, pattern: str) -> list[ComponentView]:
        """Return the components whose names match a pattern, in the current cycle."""
        return self._phase.components(pattern, self._time)

    def queue(self, name: str) -> QueueView:
        """Return the tokens in a channel."""
        return self._phase.queue(name)

    def why(self, name: str) -> list[Wait]:
        """Return the wait chain of a component."""
        return self._phase.chain(name, self._time)

    def value(self, expression: str) -> str:
        """Return a quantity or condition as text."""
        return self._phase.value(expression, self._time)

    def check(self, condition: str) -> None:
        """Check that a text is a condition on this machine, in any phase."""
        self._phase.condition(condition)

    def names(self) -> Names:
        """Return the names of the machine, without the machine's name as prefix."""
        parts, wiring = self._kernel.components, self._kernel.wiring
        by_short_name = {component.name.partition(".")[2] or component.name: component for component in parts}
        return Names(
            list(by_short_name),
            [
                f"{name}.{link.label}"
                for name, component in by_short_name.items()
                for link in wiring.links(component)
            ],
            {name: list_names(component, wiring) for name, component in by_short_name.items()},
        )

    def wave(self, path: Path, cycles: int | None, scopes: Sequence[str]) -> Stop:
        """Run some cycles, or to the end of the phase (None), and write a waveform of these cycles."""
        from fiberscope.sim.trace import write_vcd  # noqa: PLC0415  (pyvcd is loaded when a waveform is wanted)

        self._require_running()
        self._kernel.trace(None)  # the idle tracer gives way to the waveform's
        window = (self.cycle, MAX_TIME if cycles is None else self.cycle + cycles)
        with write_vcd(self._kernel, path, window=window, scopes=scopes):
            return self._advance(None if cycles is None else self.cycle + cycles, None, (), MAX_TIME)

    def timeline(self, path: Path, cycles: int | None) -> Stop:
        """Run some cycles, or to the end of the phase (None), and write the component states.

        Raises:
            InputError: the phase has ended already, or the file cannot be written.
        """
        self._require_running()
        files = StateFiles(path, window=(self.cycle, MAX_TIME if cycles is None else self.cycle + cycles))
        watch = files.watch(self._kernel)
        self._observers.append(watch)
        stop = self._advance(None if cycles is None else self.cycle + cycles, None, (), MAX_TIME)
        if not self._result and cycles is not None and watch.find_next_sample_cycle() == self.cycle:
            watch.take_sample(self.cycle)
        fault = files.write(watch)
        if fault:
            raise InputError(fault)
        return stop

    def _require_running(self) -> None:
        if self._result or self._deadlock:
            scope, cycle = str(self._phase) or "the run", self._phase_start + self.cycle
            raise InputError(f"{scope} has ended in cycle {cycle:,}: nothing more can be recorded")
