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
from fiberscope.results.recording.waits import Wait, wait_chain
from fiberscope.results.report import timeline
from fiberscope.results.report.timeline import Observer
from fiberscope.run.debug.views import ComponentView, QueueView, component_view, queue_view
from fiberscope.run.request import RunRequest as RequestedRun
from fiberscope.sim import DeadlockError, Kernel, Run, SimulationError
from fiberscope.sim.condition import Onset, Predicate
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.lookahead import remove_lookahead
from fiberscope.sim.scopes import choose, choose_one
from fiberscope.sim.seek import seek
from fiberscope.sim.trigger import Trigger, find_channel, gauges_of, names_of

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
    """

    cycle: int
    reason: str
    text: str = ""
    number: int = 0
    ended: bool = False


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
        answer = "report", run.run(drive=host.drive, **options)
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

    def drive(
        self, machine: Machine, lookers: Sequence[Observer], cycle_limit: int | None, progress: Progress
    ) -> Run:
        """Do what the session asks until it wants the report; in the place of ``timeline.run``.

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
        self.cycle = 0
        remove_lookahead(self._kernel)
        self._kernel.trace(_InStep(), MAX_TIME)  # type: ignore[arg-type]
        self.connection.send(("ok", self.stop("cycle")))
        while True:
            try:
                method, arguments = self.connection.recv()
            except (EOFError, OSError):
                self._leave()
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
            self.connection.send(answer)

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
        return self._ended or self._kernel.run(cycle_limit=self.cycle)

    @property
    def _time(self) -> int:
        """The base tick before which everything has ticked."""
        return self._kernel.end if self._ended or self._deadlock else self.cycle * self._period

    def stop(self, reason: str, text: str = "", number: int = 0) -> Stop:
        """Return the stop at which the machine is."""
        return Stop(self.cycle, reason, text, number, bool(self._ended or self._deadlock))

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
        if (self.cycle, until, breaks) != self._sliced:
            self._goal = None if until is None else self._condition(until)
            self._onsets = [Onset(self._condition(text), self._time) for text in breaks]
        self._sliced = None
        goal, onsets = self._goal, self._onsets
        if goal is not None and goal.holds(self._time):
            return self.stop("until", str(until))
        conditions = [*([goal] if goal else []), *onsets]
        ends, step = time.monotonic() + seconds, SLICE_CYCLES
        target = min(MAX_TIME if target is None else target, MAX_TIME if self._limit is None else self._limit)
        while self.cycle < target and not (self._ended or self._deadlock):
            upto, began = min(target, self.cycle + step), time.monotonic()
            if conditions:
                upto = seek(self._kernel, self.cycle, min(upto, self._look()), conditions)
            interrupted = self._run_to(upto)
            for number, onset in enumerate(onsets):
                if onset.pause(self._time, 1) == 0:
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

    def _condition(self, text: str) -> Predicate:
        return Trigger(text, self._kernel, "condition").predicate

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
        return [
            component_view(self._kernel, component, self._time)
            for component in choose(self._kernel.components, [pattern])
        ]

    def queue(self, name: str) -> QueueView:
        """The tokens in a channel."""
        return queue_view(self._kernel, find_channel(self._kernel, name))

    def why(self, name: str) -> list[Wait]:
        """The chain of waits of a component."""
        component = choose_one(self._kernel.components, name)
        return wait_chain(self._kernel, component, self._time)

    def value(self, expression: str) -> str:
        """A quantity of conditions, or a condition, as text."""
        words = expression.split()
        try:
            if len(words) <= 2:
                gauges = gauges_of(self._kernel, words, _refusal(expression))
                values = [(gauge.names, gauge.read(self._time)) for gauge in gauges]
                return ", ".join(names[value] if names else f"{value:,}" for names, value in values)
            return "yes" if Trigger(expression, self._kernel, "expression").holds(self._time) else "no"
        except SimulationError as error:
            raise InputError(str(error)) from error

    def check(self, condition: str) -> None:
        """Refuse what is no condition on this machine."""
        Trigger(condition, self._kernel, "condition")

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
            return self.advance(None if cycles is None else self.cycle + cycles, None, (), MAX_TIME)

    def timeline(self, path: Path, cycles: int | None) -> Stop:
        """Write what the components do from here on, for so many cycles or to the end."""
        self._require_running()
        files = StateFiles(path, window=(self.cycle, MAX_TIME if cycles is None else self.cycle + cycles))
        watch = files.watch(self._kernel)
        self._lookers.append(watch)
        stop = self.advance(None if cycles is None else self.cycle + cycles, None, (), MAX_TIME)
        if not self._ended and cycles is not None and watch.next_look() == self.cycle:
            watch.look(self.cycle)
        fault = files.write(watch)
        if fault:
            raise InputError(fault)
        return stop

    def _require_running(self) -> None:
        if self._ended or self._deadlock:
            raise InputError(f"the run has ended in cycle {self.cycle:,}: nothing more can be recorded")


def _refusal(expression: str) -> Callable[[str, bool], SimulationError]:
    return lambda what, _example: SimulationError(f"the expression {expression!r}: {what}")
