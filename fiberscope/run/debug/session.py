"""A debugging session: ``session = fiberscope.debug("gamma", "wiki-Vote")``.

The simulation lives in a process of its own (``fiberscope.run.debug.host``). Stopped copies of that process
are kept as snapshots, by cycle; to go back, the session copies the nearest one and runs it forward. Runs are
deterministic, so a machine that has gone back does again exactly what it did. Without forks, the only
snapshot is the start (``fiberscope.run.debug.simulators``).
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
from fiberscope.run.debug.shown import Shown, chain_shown, components_shown, queue_shown, stop_shown
from fiberscope.run.debug.simulators import ForkedSimulator, Simulator, start_simulator
from fiberscope.run.request import RunRequest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Session"]

SNAPSHOTS = 16  # at the most, beside the one of the start
VISITED = 4  # cycles gone to last, near which copies are kept
NEAR_CYCLES = 32  # to a snapshot: it takes less time to run them again than to make another
SLICE_SECONDS = 1.0  # of the host, between two snapshots in a long run


class Session:
    """A run that can be stopped, looked at, and taken back; a context manager that ends it.

    Args:
        run: what is to be run, as ``fiberscope.run.request`` has it.
        options: the options of its ``run``, as ``cycle_limit`` and ``parts``.
        snapshots: how many copies are kept at the most, beside the one of the start.
        snapshot_memory: bytes that these hold at the most; by default half of the host's memory.

    ``cycle`` is where the machine is: everything before that cycle of the first clock has happened. ``stop``
    is the last stop.
    ``followers`` are called with the last stop and whether the machine runs: when a command begins to move
    the machine, now and then meanwhile, and at the stop. ``lock`` is held while the simulation answers;
    another thread that looks at the session holds it meanwhile.

    Raises:
        ConfigurationError, WorkloadError, InputError: what was asked for cannot be simulated.
    """

    def __init__(
        self,
        run: RunRequest,
        options: dict[str, Any] | None = None,
        snapshots: int = SNAPSHOTS,
        snapshot_memory: int | None = None,
    ) -> None:
        first, self._live = start_simulator(run, options or {})
        self.lock = threading.RLock()
        self.followers: list[Callable[[Stop, bool], None]] = []
        self._is_interrupted = False
        self._root = first.number if isinstance(first, ForkedSimulator) else 0
        self.stop: Stop = self._live.ask("stop", "cycle")
        self._most, self._memory = snapshots if self._root else 0, snapshot_memory or _half_of_memory()
        self._visited: deque[int] = deque(maxlen=VISITED)
        self._breaks: dict[int, str] = {}
        self._numbers = 0
        self._watches: list[str] = []
        self._kept: Any = SortedDict({0: first})  # simulators by cycle
        self._newest: Any = first

    def __enter__(self) -> Session:
        """Give the session."""
        return self

    def __exit__(self, *_raised: object) -> None:
        """End the session."""
        self.close()

    def close(self) -> None:
        """End all processes of the session; nothing is written."""
        for simulator in [self._live, *self._kept.values()]:
            simulator.close()
        self._kept.clear()
        if self._root:
            with suppress(ChildProcessError):
                os.waitpid(self._root, 0)
            self._root = 0

    @property
    def cycle(self) -> int:
        """The cycle that the machine is in."""
        return self.stop.cycle

    def run(self, cycle: int | None = None) -> Shown:
        """Run to the end, or to a cycle, or to a breakpoint.

        Raises:
            InputError: the cycle is past.
        """
        if cycle is not None and cycle < self.cycle:
            raise InputError(
                f"cycle {cycle:,} is past: the machine is in cycle {self.cycle:,}; goto goes back"
            )
        return self._advance(cycle, None, list(self._breaks))

    def step(self, cycles: int = 1) -> Shown:
        """Run for so many cycles, or to a breakpoint."""
        return self._advance(self.cycle + _at_least_one(cycles), None, list(self._breaks))

    def until(self, condition: str) -> Shown:
        """Run to the first cycle in which a condition holds, or to a breakpoint."""
        return self._advance(None, condition, list(self._breaks))

    def back(self, cycles: int = 1) -> Shown:
        """Go back by so many cycles; at most to the start."""
        return self.goto(max(0, self.cycle - _at_least_one(cycles)))

    def goto(self, cycle: int) -> Shown:
        """Go to a cycle, before or behind the present one, past all breakpoints.

        Raises:
            InputError: the cycle is negative.
        """
        if cycle < 0:
            raise InputError(f"there is no cycle {cycle}: the first one is 0")
        place = self._kept.bisect_right(cycle) - 1
        nearest = self._kept.keys()[place]
        if cycle < self.cycle or nearest > self.cycle:
            with self.lock:
                simulator = self._kept[nearest].copy()
                self._live.close()
                self._live, self.stop = simulator, simulator.ask("stop", "cycle")
        self._visited.append(cycle)
        return self._advance(cycle, None, [])

    def _advance(self, cycle: int | None, until: str | None, breaks: Sequence[int]) -> Shown:
        """Run, with a snapshot before and now and then meanwhile."""
        for condition in [self._breaks[number] for number in breaks]:
            self._ask("check", condition)
        self._is_interrupted = False
        self._tell(True)
        while True:
            if cycle is None or cycle > self.cycle:
                self._keep()
            with self.lock:
                self.stop = self._run_slice(cycle, until, breaks)
                is_running = self.stop.reason == "slice"
                self._tell(is_running)
            if not is_running:
                return stop_shown(self.stop, self._watched())

    def _run_slice(self, cycle: int | None, until: str | None, breaks: Sequence[int]) -> Stop:
        texts = [self._breaks[number] for number in breaks]
        stop: Stop = self._ask("advance", cycle, until, texts, SLICE_SECONDS)
        if stop.reason == "break":
            return replace(stop, number=breaks[stop.number])
        if stop.reason == "slice" and self._is_interrupted:
            return replace(stop, reason="interrupted")
        return stop

    def _tell(self, is_running: bool) -> None:
        for follower in self.followers:
            follower(self.stop, is_running)

    def interrupt(self) -> None:
        """Stop a machine that runs, as Ctrl-C does; from another thread."""
        self._is_interrupted = True
        self._live.interrupt()

    def _ask(self, method: str, *arguments: object) -> Any:  # noqa: ANN401  (what the method gives)
        with self.lock:
            return self._live.ask(method, *arguments)

    def copy(self) -> Simulator:
        """Return another simulator in the present cycle; the caller closes it."""
        with self.lock:
            return self._live.copy()

    def observe(self, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
        """Return the result of a function of a module, called where the machine is.

        Args:
            function: takes the machine, the base tick before which everything has ticked, and the arguments.
            arguments: further arguments, which pass between processes.
        """
        return self._ask("observe", function, *arguments)

    def _keep(self) -> None:
        """Keep a copy of the present cycle, and not too many."""
        nearest = self._kept.keys()[self._kept.bisect_right(self.cycle) - 1]
        if self._most < 1 or self.cycle - nearest < NEAR_CYCLES or self.stop.ended:
            return
        older, self._newest = self._newest, self.copy()
        self._kept[self.cycle] = self._newest
        for simulator in (older, self._newest):  # the others change no more
            simulator.measure()
        while len(self._kept) > self._most + 1 or (len(self._kept) > 1 and self._held() > self._memory):
            self._drop()

    def _held(self) -> int:
        """The bytes that the copies held when they were measured."""
        return sum(simulator.memory for simulator in self._kept.values())

    def _drop(self) -> None:
        """Drop the least useful copy: gaps grow with the distance from the present and from recent visits."""
        cycles: list[int] = [*self._kept, max(self.cycle, self._kept.keys()[-1])]
        points = [self.cycle, *self._visited]

        def usefulness(place: int) -> float:
            distance = min(abs(cycles[place] - point) for point in points)
            return (cycles[place + 1] - cycles[place - 1]) / (distance + 1)

        place = min(range(1, len(cycles) - 1), key=usefulness)
        self._kept.pop(cycles[place]).close()

    def add_break(self, condition: str) -> Shown:
        """Stop in each cycle in which a condition holds and did not in the one before.

        Raises:
            InputError: it is no condition on this machine.
        """
        self._ask("check", condition)
        self._numbers += 1
        self._breaks[self._numbers] = condition
        return Shown(f"breakpoint {self._numbers}: {condition}")

    def breaks(self) -> Shown:
        """The breakpoints, by number."""
        lines = [f"{number}: {condition}" for number, condition in self._breaks.items()]
        return Shown("\n".join(lines) or "no breakpoints")

    def delete(self, number: int) -> Shown:
        """Delete a breakpoint.

        Raises:
            InputError: there is none of this number.
        """
        if number not in self._breaks:
            numbers = ", ".join(map(str, self._breaks)) or "none"
            raise InputError(f"there is no breakpoint {number}; there are {numbers}")
        return Shown(f"deleted breakpoint {number}: {self._breaks.pop(number)}")

    def watch(self, expression: str) -> Shown:
        """Show a quantity, or whether a condition holds, at every stop from now on.

        Raises:
            InputError: it is neither.
        """
        value = self._ask("value", expression)
        self._watches.append(expression)
        return Shown(f"{expression}: {value}")

    def _watched(self) -> list[tuple[str, str]]:
        return [(expression, self._ask("value", expression)) for expression in self._watches]

    def show(self, name: str) -> Shown:
        """A component in full; a table, where the name or the pattern means several."""
        return components_shown(self._ask("show", name))

    def frame(self, pattern: str) -> pd.DataFrame:
        """States, cycles so far and counters of the components that a pattern means, as a DataFrame."""
        import pandas as pd  # noqa: PLC0415  (an extra)

        rows = [
            {
                "component": view.name,
                "state": view.state,
                "since": view.since,
                **view.accounts,
                **view.counters,
            }
            for view in self._ask("show", pattern)
        ]
        return pd.DataFrame(rows).set_index("component")

    def queue(self, channel: str) -> Shown:
        """The tokens in a channel, oldest first."""
        return queue_shown(self._ask("queue", channel))

    def why(self, name: str) -> Shown:
        """The chain of waits from a component to the root cause."""
        return chain_shown(self._ask("why", name))

    def wave(self, path: str | Path, cycles: int | None = None, scopes: Sequence[str] = ()) -> Shown:
        """Write a waveform of the next cycles, or of all to the end; the machine stays where it is."""
        return self._record("wave", "waveform", Path(path), cycles, tuple(scopes))

    def timeline(self, path: str | Path, cycles: int | None = None) -> Shown:
        """Write what all components do in the next cycles; the machine stays where it is."""
        return self._record("timeline", "timeline", Path(path), cycles)

    def _record(self, method: str, called: str, path: Path, cycles: int | None, *others: object) -> Shown:
        """Record in a copy, which then goes."""
        if cycles is not None:
            _at_least_one(cycles)
        copy = self.copy()
        try:
            stop = copy.ask(method, path, cycles, *others)
        finally:
            copy.close()
        return Shown(f"{called} {path}: cycles {self.cycle:,} to {stop.cycle:,}")

    def names(self) -> Names:
        """Return the names of components, channels and quantities."""
        names: Names = self._ask("names")
        return names

    def info(self) -> Shown:
        """Show the cycle, breakpoints, watched quantities, and snapshots."""
        lines = [
            str(stop_shown(self.stop, self._watched())),
            f"breakpoints: {'; '.join(f'{n}: {text}' for n, text in self._breaks.items()) or 'none'}",
            f"snapshots: {', '.join(f'{cycle:,}' for cycle in self._kept)}",
        ]
        return Shown("\n".join(lines))

    def report(self) -> Report:
        """The report of the run as far as it has come; incomplete before the end.

        Raises:
            VerificationError, DeadlockedRunError: it went wrong; they have the report.
        """
        copy = self.copy()
        try:
            report = copy.ask("finish")
        finally:
            copy.close()
        if isinstance(report, Failure):
            raise report.kind(report.message, report.report)
        done: Report = report
        return done


def _at_least_one(cycles: int) -> int:
    """Check a number of cycles, which is at least one.

    Raises:
        InputError: less than 1.
    """
    if cycles < 1:
        raise InputError(f"{cycles} cycles: at least 1 is needed")
    return cycles


def _half_of_memory() -> int:
    """Half of the host's memory in bytes; without bound where the system does not say."""
    if not hasattr(os, "sysconf"):
        return 1 << 62
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
