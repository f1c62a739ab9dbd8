"""A process or a thread that holds a simulation in one cycle, and does with it what a session asks.

The session talks to it by a connection. Asked to, a process forks: the copy holds the same cycle and
answers at a connection of its own. So a snapshot is a copy that waits, and to go back is to copy a snapshot.
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
from fiberscope.run.request import RunRequest as RequestedRun
from fiberscope.sim import DeadlockError, Kernel, Run, SimulationError
from fiberscope.sim.condition import Onset
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.lookahead import remove_lookahead
from fiberscope.sim.seek import seek
from fiberscope.sim.trigger import names_of

__all__ = ["Failure", "Names", "Stop", "serve", "serve_in_thread"]

SLICE_CYCLES = 4096  # at first, between two looks at the time of the host
SHORT_SECONDS = 0.1  # a slice that takes less is followed by a longer one

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Stop:
    """Cycle in which a machine has stopped, and the cause.

    Args:
        cycle: the cycle of the first clock; everything before it has ticked, and nothing at it.
        reason: ``cycle``, ``until``, ``break``, ``slice`` (the time for one request is over),
            ``interrupted``, ``done`` or ``deadlock``.
        text: the condition that holds, or what the deadlock is.
        number: of the breakpoint, as it was asked for.
        ended: whether the run is done or in a deadlock.
        phase: the phase, as in ``phase 1 of 2``; empty if the run has one phase only.
    """

    cycle: int
    reason: str
    text: str = ""
    number: int = 0
    ended: bool = False
    phase: str = ""


@dataclass(frozen=True)
class Names:
    """Names that commands take.

    Args:
        components: the components.
        channels: the ports of channels.
        quantities: what conditions compare, by component.
    """

    components: list[str]
    channels: list[str]
    quantities: dict[str, list[str]]


@dataclass(frozen=True)
class Failure:
    """A run that went wrong, with its report; an exception with a report does not pass between processes."""

    kind: type[FailedRunError] | type[UnwrittenFileError]
    message: str
    report: Any


class _InStep:
    """Stands for a tracer that never begins: the kernel then runs no component ahead of its clock."""


def serve(connection: Connection, run: RequestedRun, options: dict[str, Any]) -> NoReturn:
    """Run in a process of its own, driven by what comes over a connection; never returns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _serve(Host(connection, lambda: os._exit(0)), run, options)
    os._exit(0)


def serve_in_thread(connection: Connection, run: RequestedRun, options: dict[str, Any]) -> None:
    """Run in this thread, driven by what comes over a connection."""
    with suppress(SystemExit):
        _serve(Host(connection, sys.exit), run, options)


def _serve(host: Host, run: RequestedRun, options: dict[str, Any]) -> None:
    answer: tuple[str, object]
    try:
        answer = "report", run.run(**dict.fromkeys(run.drives, host.drive), **options)
    except SystemExit:
        raise
    except (FailedRunError, UnwrittenFileError) as error:
        answer = "report", Failure(type(error), str(error), error.report)
    except BaseException as error:
        answer = "error", _portable(error)
    with suppress(OSError):
        host.connection.send(answer)


def _portable(error: BaseException) -> BaseException:
    """The exception, or one with its text where it cannot go to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class Host:
    """The simulation of this process.

    Args:
        connection: to the session.
        leave: ends the process or the thread.
    """

    def __init__(self, connection: Connection, leave: Callable[[], object]) -> None:
        self.connection, self._leave = connection, leave
        self._children: list[int] = []
        self._begin = self.cycle = 0  # cycle of the session in which the phase begins; cycle of the phase
        self._request: tuple[str, Any] | None = None  # that goes on in the next phase

    def drive(
        self, machine: Machine, lookers: Sequence[Observer], cycle_limit: int | None, progress: Progress
    ) -> Run:
        """Do what the session asks until it wants the report; in the place of ``timeline.run``.

        It is called for each phase of a graph. It returns from a phase that is done when the session goes on.

        Raises:
            DeadlockError: the machine stands still.
        """
        self._machine, self._lookers = machine, list(lookers)
        self._limit, self._progress = cycle_limit, progress
        self._kernel: Kernel = machine.kernel
        self._period = self._kernel.clocks[0].period
        self._ended: Run | None = None
        self._deadlock: DeadlockError | None = None
        self._sliced: tuple[int, str | None, Sequence[str]] | None = None  # the request that a slice ended
        self._begin, self.cycle = self._begin + self.cycle, 0
        self._phase = Phase(machine, self._begin)
        remove_lookahead(self._kernel)
        self._kernel.trace(_InStep(), MAX_TIME)  # type: ignore[arg-type]
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
                answer = ("error", _portable(error))
            if self._request is not None and self._ended is not None:
                return self._ended
            self.connection.send(answer)

    def _receive(self) -> tuple[str, Any]:
        """Return the next request; leave if nobody can ask any more."""
        try:
            request: tuple[str, Any] = self.connection.recv()
        except (EOFError, OSError):
            self._leave()
        return request

    def _fork(self) -> None:
        """Make a copy, which answers at the connection that comes behind this request."""
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
        """Describe how the run ended, or where it was stopped."""
        if self._deadlock is not None:
            raise self._deadlock
        if self._ended and not self._phase.is_last:
            self._request = ("finish", ())
        return self._ended or self._kernel.run(cycle_limit=self.cycle)

    @property
    def _time(self) -> int:
        """The base tick before which everything has ticked."""
        return self._kernel.end if self._ended or self._deadlock else self.cycle * self._period

    def stop(self, reason: str, text: str = "", number: int = 0) -> Stop:
        """Return the stop at which the machine is."""
        is_over = bool(self._deadlock or (self._ended and self._phase.is_last))
        return Stop(self._begin + self.cycle, reason, text, number, is_over, str(self._phase))

    def advance(self, target: int | None, until: str | None, breaks: Sequence[str], seconds: float) -> Stop:
        """Run to a cycle, or the first at which a condition holds or a breakpoint's begins to hold.

        Args:
            target: a cycle of the first clock; None is the end.
            until: a condition.
            breaks: conditions.
            seconds: the seconds of the host after which to come back, as a ``slice``.

        Raises:
            SimulationError: what is said is no condition.
        """
        end = None if target is None else target - self._begin
        stop = self._advance(end, until, breaks, seconds)
        if stop.reason != "done" or self._phase.is_last:
            return stop
        if end is None or end > self.cycle:
            self._request = "advance", (target, until, breaks, seconds)
        return self.stop("cycle")

    def _advance(self, target: int | None, until: str | None, breaks: Sequence[str], seconds: float) -> Stop:
        """Advance within the phase; the target is a cycle of the phase.

        The first cycle of a later phase is that of the end of the phase before, which is what it shows.
        """
        is_shown = self.cycle > 0 or self._begin == 0
        if (self.cycle, until, breaks) != self._sliced:
            self._goal = None if until is None else self._phase.condition(until, later=is_shown)
            predicates = [self._phase.condition(text) for text in breaks]
            self._onsets = [predicate and Onset(predicate, self._time) for predicate in predicates]
        self._sliced = None
        goal, onsets = self._goal, self._onsets
        if is_shown and goal is not None and goal.holds(self._time):
            return self.stop("until", str(until))
        conditions = [condition for condition in (goal, *onsets) if condition is not None]
        ends, step = time.monotonic() + seconds, SLICE_CYCLES
        target = min(MAX_TIME if target is None else target, MAX_TIME if self._limit is None else self._limit)
        while self.cycle < target and not (self._ended or self._deadlock):
            upto, began = min(target, self.cycle + (step if is_shown else 1)), time.monotonic()
            if conditions and is_shown:
                upto = seek(self._kernel, self.cycle, min(upto, self._look()), conditions)
            interrupted, is_shown = self._run_to(upto), True
            for number, onset in enumerate(onsets):
                if onset is not None and onset.pause(self._time, 1) == 0:
                    return self.stop("break", breaks[number], number)
            if goal is not None and goal.holds(self._time):
                return self.stop("until", str(until))
            if self._ended or self._deadlock:
                break
            if interrupted:
                return self.stop("interrupted")
            if time.monotonic() > ends and self.cycle < target:
                self._sliced = self.cycle, until, breaks
                return self.stop("slice")
            step *= 2 if time.monotonic() - began < SHORT_SECONDS else 1
        if self._deadlock is not None:
            return self.stop("deadlock", str(self._deadlock))
        return self.stop("done" if self._ended else "cycle")

    def _look(self) -> int:
        """Have the lookers look that want to in this cycle; the next cycle in which one wants to."""
        for looker in self._lookers:
            if looker.next_look() == self.cycle:
                looker.look(self.cycle)
        return min(looker.next_look() for looker in self._lookers)

    def _run_to(self, cycle: int) -> bool:
        """Run to a cycle; whether that was interrupted, at another cycle."""
        try:
            run = timeline.run(self._machine, self._lookers, cycle, self._progress)
            interrupted = run.reason == "interrupted"
            if interrupted:
                cycle = self._kernel.cycle + 1
                run = timeline.run(self._machine, self._lookers, cycle, self._progress)
        except DeadlockError as error:
            self._deadlock, self.cycle = error, self._kernel.length(self._kernel.clocks[0])
            return False
        if run.reason in {"cycle limit", "interrupted"}:
            self.cycle = cycle
        else:
            self._ended, self.cycle = run, run.cycles
        return interrupted

    def observe(self, function: Callable[..., object], *arguments: object) -> object:
        """Return what a function says of the machine at the present base tick."""
        return function(self._machine, self._time, *arguments)

    def show(self, pattern: str) -> list[ComponentView]:
        """The components that a pattern means."""
        return self._phase.components(pattern, self._time)

    def queue(self, name: str) -> QueueView:
        """The tokens in a channel."""
        return self._phase.queue(name)

    def why(self, name: str) -> list[Wait]:
        """The chain of waits of a component."""
        return self._phase.chain(name, self._time)

    def value(self, expression: str) -> str:
        """A quantity of conditions, or a condition, as text."""
        return self._phase.value(expression, self._time)

    def check(self, condition: str) -> None:
        """Refuse what is no condition on this machine, in any phase."""
        self._phase.condition(condition)

    def names(self) -> Names:
        """Return the names of the machine, without its own in front."""
        parts, wiring = self._kernel.components, self._kernel.wiring
        shorts = {component.name.partition(".")[2] or component.name: component for component in parts}
        return Names(
            list(shorts),
            [
                f"{short}.{link.label}"
                for short, component in shorts.items()
                for link in wiring.links(component)
            ],
            {short: names_of(component, wiring) for short, component in shorts.items()},
        )

    def wave(self, path: Path, cycles: int | None, scopes: Sequence[str]) -> Stop:
        """Write a waveform from here on, and run for so many cycles or to the end."""
        from fiberscope.sim.trace import write_vcd  # noqa: PLC0415  (pyvcd is loaded when a waveform is wanted)

        self._require_running()
        self._kernel.trace(None)
        window = (self.cycle, MAX_TIME if cycles is None else self.cycle + cycles)
        with write_vcd(self._kernel, path, window=window, scopes=scopes):
            return self._advance(None if cycles is None else self.cycle + cycles, None, (), MAX_TIME)

    def timeline(self, path: Path, cycles: int | None) -> Stop:
        """Write what the components do from here on, for so many cycles or to the end."""
        self._require_running()
        files = StateFiles(path, window=(self.cycle, MAX_TIME if cycles is None else self.cycle + cycles))
        watch = files.watch(self._kernel)
        self._lookers.append(watch)
        stop = self._advance(None if cycles is None else self.cycle + cycles, None, (), MAX_TIME)
        if not self._ended and cycles is not None and watch.next_look() == self.cycle:
            watch.look(self.cycle)
        fault = files.write(watch)
        if fault:
            raise InputError(fault)
        return stop

    def _require_running(self) -> None:
        if self._ended or self._deadlock:
            what, cycle = str(self._phase) or "the run", self._begin + self.cycle
            raise InputError(f"{what} has ended in cycle {cycle:,}: nothing more can be recorded")
