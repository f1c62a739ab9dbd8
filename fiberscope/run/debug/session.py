"""Debugging session: ``session = fiberscope.debug("gamma", "wiki-Vote")``.

The simulation is a separate process (``fiberscope.run.debug.host``). Stopped copies of the process are
snapshots, indexed by cycle. To go back, the session copies the nearest snapshot and runs the copy forward.
Runs are deterministic, so a replay is identical. Without forks, the only snapshot is the start
(``fiberscope.run.debug.simulators``).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sortedcontainers import SortedDict

from fiberscope.base.errors import InputError
from fiberscope.results.report.document import Report
from fiberscope.run.debug.host import Failure, Names, Stop
from fiberscope.run.debug.shown import Shown, format_chain, format_components, format_queue, format_stop
from fiberscope.run.debug.simulators import ForkedSimulator, Simulator, start_simulator
from fiberscope.run.request import RunRequest

if TYPE_CHECKING:
    import pandas as pd

SNAPSHOTS = 16  # maximum, in addition to the start
VISITED = 4  # number of recently visited cycles near which snapshots are retained
NEAR_CYCLES = 32  # minimum distance of snapshots; a shorter replay is faster than a fork
SLICE_SECONDS = 1.0  # host time between two snapshots of a long run


class Session:
    """A run that can be stopped, inspected, and moved back; a context manager that ends the run.

    ``cycle`` is the current cycle of the first clock; all earlier cycles have been executed. ``stop`` is the
    last stop. ``followers`` are called with the last stop and whether the machine runs: at the start of a
    command that moves the machine, periodically during the run, and at the stop. ``lock`` is held during
    requests; a thread that inspects the session must hold the lock.

    Args:
        run: the request of the run.
        options: options of the request's ``run``, such as ``cycle_limit`` and ``parts``.
        snapshots: maximum number of snapshots, in addition to the start.
        snapshot_memory: maximum bytes of the snapshots; half of the host's memory by default.

    Raises:
        ConfigurationError, WorkloadError, InputError: the request is invalid.
    """

    def __init__(
        self,
        run: RunRequest,
        options: dict[str, Any] | None = None,
        snapshots: int = SNAPSHOTS,
        snapshot_memory: int | None = None,
    ) -> None:
        origin, self._live = start_simulator(run, options or {})
        self.lock = threading.RLock()
        self.followers: list[Callable[[Stop, bool], None]] = []
        self._is_interrupted = False
        # Number of the process that is the snapshot of the start; 0 without forks.
        self._root = origin.process_id if isinstance(origin, ForkedSimulator) else 0
        self.stop: Stop = self._live.call("stop", "cycle")
        self._max_snapshots = snapshots if self._root else 0  # besides the start; forks are required
        self._snapshot_limit = snapshot_memory or _compute_half_of_memory()  # bytes
        self._visited: deque[int] = deque(maxlen=VISITED)
        self._breaks: dict[int, str] = {}
        self._last_break = 0
        self._watches: list[str] = []
        self._snapshots: Any = SortedDict({0: origin})  # simulators by cycle
        self._newest: Any = origin

    def __enter__(self) -> Session:
        """Return the session."""
        return self

    def __exit__(self, *_raised: object) -> None:
        """End the session."""
        self.close()

    def close(self) -> None:
        """End all processes of the session."""
        for simulator in [self._live, *self._snapshots.values()]:
            simulator.close()
        self._snapshots.clear()
        if self._root:
            with suppress(ChildProcessError):
                os.waitpid(self._root, 0)
            self._root = 0

    @property
    def cycle(self) -> int:
        """Return the current cycle."""
        return self.stop.cycle

    def run(self, cycle: int | None = None) -> Shown:
        """Run to the end, to a cycle, or to a breakpoint.

        Raises:
            InputError: the cycle is in the past.
        """
        if cycle is not None and cycle < self.cycle:
            raise InputError(
                f"cycle {cycle:,} is past: the machine is in cycle {self.cycle:,}; goto goes back"
            )
        return self._advance(cycle, None, list(self._breaks))

    def step(self, cycles: int = 1) -> Shown:
        """Run for a number of cycles, or to a breakpoint.

        Raises:
            InputError: the number is less than 1.
        """
        return self._advance(self.cycle + _check_cycles(cycles), None, list(self._breaks))

    def until(self, condition: str) -> Shown:
        """Run to the first cycle in which a condition holds, or to a breakpoint.

        Raises:
            InputError: the text is no condition on this machine.
        """
        return self._advance(None, condition, list(self._breaks))

    def back(self, cycles: int = 1) -> Shown:
        """Go back by a number of cycles, at most to the start; ``InputError`` for a number below 1."""
        return self.goto(max(0, self.cycle - _check_cycles(cycles)))

    def goto(self, cycle: int) -> Shown:
        """Go to an earlier or later cycle, at most to the end, without stops at breakpoints.

        Raises:
            InputError: the cycle is negative.
        """
        if cycle < 0:
            raise InputError(f"there is no cycle {cycle}: the first one is 0")
        position = self._snapshots.bisect_right(cycle) - 1
        nearest = self._snapshots.keys()[position]
        if cycle < self.cycle or nearest > self.cycle:
            with self.lock:
                simulator = self._snapshots[nearest].copy()
                self._live.close()
                self._live, self.stop = simulator, simulator.call("stop", "cycle")
        self._visited.append(cycle)
        return self._advance(cycle, None, [])

    def _advance(self, cycle: int | None, until: str | None, breaks: Sequence[int]) -> Shown:
        """Run in time slices, with snapshots in between."""
        for condition in [self._breaks[number] for number in breaks]:
            self._call_host("check", condition)
        self._is_interrupted = False
        self._notify(True)
        while True:
            if cycle is None or cycle > self.cycle:
                self._take_snapshot()
            with self.lock:
                self.stop = self._run_slice(cycle, until, breaks)
                is_running = self.stop.reason == "slice"
                self._notify(is_running)
            if not is_running:
                return format_stop(self.stop, self._read_watched_values())

    def _run_slice(self, cycle: int | None, until: str | None, breaks: Sequence[int]) -> Stop:
        texts = [self._breaks[number] for number in breaks]
        stop: Stop = self._call_host("advance", cycle, until, texts, SLICE_SECONDS)
        if stop.reason == "break":
            return replace(stop, number=breaks[stop.number])
        if stop.reason == "slice" and self._is_interrupted:
            return replace(stop, reason="interrupted")
        return stop

    def _notify(self, is_running: bool) -> None:
        for follower in self.followers:
            follower(self.stop, is_running)

    def interrupt(self) -> None:
        """Stop a running machine from another thread, as Ctrl-C does."""
        self._is_interrupted = True
        self._live.interrupt()

    def _call_host(self, method: str, *arguments: object) -> Any:  # noqa: ANN401  (the method's result)
        with self.lock:
            return self._live.call(method, *arguments)

    def copy(self) -> Simulator:
        """Return another simulator in the current cycle; the caller closes the simulator."""
        with self.lock:
            return self._live.copy()

    def observe(self, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
        """Return the result of a module's function, called in the simulation's process.

        Args:
            function: a function of the machine, the base tick before which all components have executed, and
                the arguments.
            arguments: further arguments, which must be picklable.
        """
        return self._call_host("observe", function, *arguments)

    def _take_snapshot(self) -> None:
        """Take a snapshot of the current cycle, and drop snapshots beyond the limits."""
        nearest = self._snapshots.keys()[self._snapshots.bisect_right(self.cycle) - 1]
        if self._max_snapshots < 1 or self.cycle - nearest < NEAR_CYCLES or self.stop.ended:
            return
        older, self._newest = self._newest, self.copy()
        self._snapshots[self.cycle] = self._newest
        for simulator in (older, self._newest):  # the others no longer change
            simulator.measure_memory()
        while len(self._snapshots) > self._max_snapshots + 1 or (
            len(self._snapshots) > 1 and self._measure_snapshots() > self._snapshot_limit
        ):
            self._drop_snapshot()

    def _measure_snapshots(self) -> int:
        """Return the measured bytes of all snapshots."""
        return sum(simulator.memory_bytes for simulator in self._snapshots.values())

    def _drop_snapshot(self) -> None:
        """Drop the least useful snapshot: gaps grow with the distance from the current and visited cycles."""
        cycles: list[int] = [*self._snapshots, max(self.cycle, self._snapshots.keys()[-1])]
        points = [self.cycle, *self._visited]

        def usefulness(position: int) -> float:
            distance = min(abs(cycles[position] - point) for point in points)
            return (cycles[position + 1] - cycles[position - 1]) / (distance + 1)

        position = min(range(1, len(cycles) - 1), key=usefulness)
        self._snapshots.pop(cycles[position]).close()

    def add_break(self, condition: str) -> Shown:
        """Add a breakpoint, which stops in each cycle in which a condition becomes true.

        Raises:
            InputError: the text is no condition on this machine.
        """
        self._call_host("check", condition)
        self._last_break += 1
        self._breaks[self._last_break] = condition
        return Shown(f"breakpoint {self._last_break}: {condition}")

    def breaks(self) -> Shown:
        """Return the breakpoints by number."""
        lines = [f"{number}: {condition}" for number, condition in self._breaks.items()]
        return Shown("\n".join(lines) or "no breakpoints")

    def delete(self, number: int) -> Shown:
        """Delete a breakpoint.

        Raises:
            InputError: there is no breakpoint of this number.
        """
        if number not in self._breaks:
            numbers = ", ".join(map(str, self._breaks)) or "none"
            raise InputError(f"there is no breakpoint {number}; there are {numbers}")
        return Shown(f"deleted breakpoint {number}: {self._breaks.pop(number)}")

    def watch(self, expression: str) -> Shown:
        """Show a quantity or condition at every stop from now on.

        Raises:
            InputError: the expression is neither.
        """
        value = self._call_host("value", expression)
        self._watches.append(expression)
        return Shown(f"{expression}: {value}")

    def _read_watched_values(self) -> list[tuple[str, str]]:
        return [(expression, self._call_host("value", expression)) for expression in self._watches]

    def show(self, name: str) -> Shown:
        """Return a component in full, or a table if the name or pattern matches several components."""
        return format_components(self._call_host("show", name))

    def frame(self, pattern: str) -> pd.DataFrame:
        """Return states, cycles and counters of the components that match a pattern, as a DataFrame."""
        import pandas as pd  # noqa: PLC0415  (an extra)

        rows = [
            {
                "component": view.name,
                "state": view.state,
                "since": view.since,
                **view.accounts,
                **view.counters,
            }
            for view in self._call_host("show", pattern)
        ]
        return pd.DataFrame(rows).set_index("component")

    def queue(self, channel: str) -> Shown:
        """Return the tokens in a channel, oldest first."""
        return format_queue(self._call_host("queue", channel))

    def why(self, name: str) -> Shown:
        """Return the wait chain from a component to the root cause."""
        return format_chain(self._call_host("why", name))

    def wave(self, path: str | Path, cycles: int | None = None, scopes: Sequence[str] = ()) -> Shown:
        """Write a waveform of the next cycles, or to the end of the phase (None).

        The current cycle does not change.

        Raises:
            InputError: ``cycles`` is less than 1, the phase has ended, or the file cannot be written.
        """
        return self._record("wave", "waveform", Path(path), cycles, tuple(scopes))

    def timeline(self, path: str | Path, cycles: int | None = None) -> Shown:
        """Write the component states of the same cycles as ``wave``, with the same errors."""
        return self._record("timeline", "timeline", Path(path), cycles)

    def _record(
        self, method: str, description: str, path: Path, cycles: int | None, *further_arguments: object
    ) -> Shown:
        """Record in a temporary copy of the simulation."""
        if cycles is not None:
            _check_cycles(cycles)
        copy = self.copy()
        try:
            stop = copy.call(method, path, cycles, *further_arguments)
        finally:
            copy.close()
        return Shown(f"{description} {path}: cycles {self.cycle:,} to {stop.cycle:,}")

    def names(self) -> Names:
        """Return the names of components, channels and quantities."""
        names: Names = self._call_host("names")
        return names

    def info(self) -> Shown:
        """Show the cycle, breakpoints, watched quantities, and snapshots."""
        lines = [
            str(format_stop(self.stop, self._read_watched_values())),
            f"breakpoints: {'; '.join(f'{n}: {text}' for n, text in self._breaks.items()) or 'none'}",
            f"snapshots: {', '.join(f'{cycle:,}' for cycle in self._snapshots)}",
        ]
        return Shown("\n".join(lines))

    def report(self) -> Report:
        """Return the report of the run up to the current cycle.

        Raises:
            VerificationError, DeadlockedRunError: the run failed; the error has the report.
        """
        copy = self.copy()
        try:
            report = copy.call("finish")
        finally:
            copy.close()
        if isinstance(report, Failure):
            raise report.kind(report.message, report.report)
        finished: Report = report
        return finished


def _check_cycles(cycles: int) -> int:
    """Check a number of cycles.

    Raises:
        InputError: the number is less than 1.
    """
    if cycles < 1:
        raise InputError(f"{cycles} cycles: at least 1 is needed")
    return cycles


def _compute_half_of_memory() -> int:
    """Return half of the host's memory in bytes; practically unbounded if the system does not report it."""
    if not hasattr(os, "sysconf"):
        return 1 << 62
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
