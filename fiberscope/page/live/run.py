"""Live view of one run: divides the run into slices, and exchanges counters and commands between slices."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fiberscope.accelerators.machine import Machine
from fiberscope.base.progress import CYCLES, SIMULATING, Progress, Stage
from fiberscope.page.live.counters import MachineCounters
from fiberscope.page.live.recordings import WRITING, WRITTEN, Recordings
from fiberscope.page.live.view import LiveView
from fiberscope.results.report import timeline
from fiberscope.results.report.document import Report
from fiberscope.results.report.summary import verification_line
from fiberscope.results.report.timeline import Observer
from fiberscope.sim import DeadlockError, Run
from fiberscope.sim.interrupt import on_interrupt

SLICE_SECONDS = 0.2  # processor time between commands; each slice has an overhead of 1 ms
PUBLISH_SECONDS = 0.25  # interval of publications with viewers
IDLE_SECONDS = 1.0  # interval of publications without viewers
FIRST_SLICE_CYCLES = 64  # length of the first slice
WAIT_SECONDS = 0.1  # interval of checks for Ctrl-C in a paused run
# Values of ``_status``; after the end, ``_status`` is the reason of the end, such as "deadlock".
RUNNING, PAUSED = "running", "paused"


@contextmanager
def open_live_run(port: str, title: str, quiet: bool = False) -> Iterator[LiveRun]:
    """Yield the live view of a run; print its address to stderr, and complete the recordings at the end.

    Args:
        port: as for ``LiveView``.
        title: the title of the page.
        quiet: do not print the recorded files.

    Raises:
        InputError: the errors of ``LiveView``.
    """
    with LiveView(port, title) as view:
        live = LiveRun(view)
        try:
            with view.show_failures():
                yield live
        finally:
            live.close(quiet)


class LiveRun:
    """Control of the machines of a run by a page, which shows counters, pauses the run, and records it.

    Pass the result of ``run_options`` to ``RunRequest.run``, which calls ``drive`` for each phase of the run.
    At the end, call ``close``, as ``open_live_run`` does.

    Args:
        view: the server of the page.
    """

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self.recordings: list[Recordings] = []  # by machine, in order
        self._selected = ""

    def drive(
        self,
        machine: Machine,
        observers: Sequence[Observer],
        cycle_limit: int | None,
        progress: Callable[[int], None],
    ) -> Run:
        """Run a machine, as ``timeline.run`` does, but with a pause, commands and recordings from the page.

        Args:
            machine: a built machine before its first cycle.
            observers, cycle_limit, progress: as for ``timeline.run``.

        Raises:
            DeadlockError: as ``timeline.run`` does.
        """
        self._machine, self._limit = machine, cycle_limit
        self._counters = MachineCounters(machine.kernel)
        self._recordings = Recordings(machine, cycle_limit, [self._view.link])
        self.recordings.append(self._recordings)
        self._stage = Stage(SIMULATING, time.monotonic())
        self._cycle, self._target, self._status = 0, None, RUNNING
        self._published_at, self._is_drawing_requested, self._is_interrupted = -IDLE_SECONDS, False, False
        self._view.send("machine", self._counters.names)
        try:
            with on_interrupt(self._interrupt):
                run = self._run_slices(observers, progress)
        except DeadlockError as error:
            self._finish(machine.kernel.length(machine.kernel.clocks[0]), "deadlock")
            self._view.send("deadlock", {"lines": str(error).splitlines()})
            raise
        self._finish(run.cycles, run.reason)
        return run

    def _run_slices(self, observers: Sequence[Observer], progress: Callable[[int], None]) -> Run:
        """Run the machine in slices of about ``SLICE_SECONDS``, and exchange messages before each slice."""
        kernel, slice_cycles = self._machine.kernel, float(FIRST_SLICE_CYCLES)
        while True:
            self._exchange_messages()
            if self._is_interrupted:  # ends the next slice before its first step
                kernel.interrupt()
            slice_ends = (self._cycle + max(1, round(slice_cycles)), self._target, self._limit)
            end = min(cycle for cycle in slice_ends if cycle is not None)
            start = time.process_time()
            run = timeline.run(self._machine, observers, end, progress)
            # The end of a slice is a cycle limit for the machine; only the run's own limit ends the run.
            if run.reason != "cycle limit" or end == self._limit:
                return run
            self._cycle = end
            seconds = time.process_time() - start
            # Adapt the length to the measured speed; at most double it, because short times are inaccurate.
            # The lower limit of ``seconds`` avoids a division by 0.
            slice_cycles *= min(2.0, SLICE_SECONDS / max(seconds, SLICE_SECONDS / 4))

    def _interrupt(self) -> None:
        """End the running slice, and remember the interrupt for a run that is paused or between slices."""
        self._is_interrupted = True
        self._machine.kernel.interrupt()

    def _exchange_messages(self) -> None:
        """Pause at the target, execute commands, publish periodically, and wait while the run is paused."""
        if self._cycle == self._target:
            self._pause()
        for command in self._view.commands():
            self._execute(command)
        self._update_recordings()
        now = time.monotonic()
        if now - self._published_at >= (PUBLISH_SECONDS if self._view.viewers else IDLE_SECONDS):
            self._publish()
        if self._status == PAUSED:
            self._wait_while_paused()

    def _wait_while_paused(self) -> None:
        """Wait until the run continues, is interrupted or loses its server; estimates exclude the pause.

        Without the server no command can continue the run, which then continues by itself. A page that is
        closed does not end the pause.
        """
        start = time.monotonic()
        self._publish()
        while self._status == PAUSED and not (self._is_interrupted or self._view.is_lost):
            commands = self._view.commands(WAIT_SECONDS)
            for command in commands:
                self._execute(command)
            if self._update_recordings() or commands:
                self._publish()
        self._status = RUNNING
        self._stage.started_at += time.monotonic() - start

    def _pause(self) -> None:
        self._status, self._target = PAUSED, None

    def _execute(self, command: Mapping[str, Any]) -> None:
        """Execute a command of a page, in the fields of ``server.Command``."""
        match command["do"]:
            case "pause":
                self._pause()
            case "continue":
                self._status, self._target = RUNNING, None
            case "step":
                self._status, self._target = RUNNING, self._cycle + command["cycles"]
            case "record":
                self._recordings.start(command["kind"], self._cycle)
            case "stop":
                self._recordings.stop(self._cycle)
            case "select":
                self._selected = command["component"]

    def _update_recordings(self) -> bool:
        """Process answers of the machine's copy; return whether a recording has changed.

        The copy is a forked process that writes the recordings. With the first viewer, the copy is asked for
        a drawing of the machine.
        """
        if self._view.viewers and not self._is_drawing_requested:
            self._is_drawing_requested = True
            self._recordings.request_drawing()
        old_rows = self._recordings.rows()
        drawing = self._recordings.receive()
        if drawing is not None:
            self._view.send("drawing", drawing)
        return self._recordings.rows() != old_rows

    def _publish(self) -> None:
        """Send the counters of the current cycle; after the end, of the kernel's last tick."""
        now = self._published_at = time.monotonic()
        kernel = self._machine.kernel
        is_unfinished = self._status in {RUNNING, PAUSED}
        tick = self._cycle * kernel.clocks[0].period if is_unfinished else kernel.end
        self._stage.reach(*self._machine.progress())
        self._stage.reach_cycle(self._cycle, self._limit or 0)
        self._view.send(
            "state",
            {
                "status": self._status,
                "cycle": self._cycle,
                "share": self._stage.share,
                "text": self._stage.text(now),
                **self._counters.read_with(self._selected, tick),
                "recordings": self._recordings.rows(),
            },
        )

    def _finish(self, cycle: int, reason: str) -> None:
        self._cycle, self._status = cycle, reason
        self._recordings.stop(cycle)
        self._publish()

    def run_options(self, progress: Progress | None, drives: Sequence[str]) -> dict[str, Any]:
        """Return the options of ``RunRequest.run`` that connect a run to the page.

        Args:
            progress: a further progress callback, or None.
            drives: names of the options that take a ``Drive``, as in ``RunRequest.drive_options``.
        """

        def report_progress(stage: str, done: int, total: int) -> None:
            if progress is not None:
                progress(stage, done, total)
            if stage not in (SIMULATING, CYCLES):
                self._view.send("stage", {"name": stage, "share": done / total if total else None})

        return {**dict.fromkeys(drives, self.drive), "progress": report_progress}

    def show_result(self, report: Report) -> None:
        """Show how the run ended, its verification and its bottleneck on the page."""
        outcome = "The run is done" if report.complete else f"The run is INCOMPLETE: {report.ending}"
        lines = [
            f"{outcome}, in cycle {report.cycles:,}.",
            f"Verified: {verification_line(report)}.",
            report.bottleneck,
        ]
        self._view.show_end([line for line in lines if line])

    def close(self, quiet: bool) -> None:
        """Wait until all recordings are written, and end the copies of the machines.

        Paths of written files go to stdout, failures to stderr. Ctrl-C abandons the unfinished recordings of
        one machine.

        Args:
            quiet: do not print the paths; failures are printed all the same.
        """
        for recordings in self.recordings:
            try:
                if recordings.is_writing:
                    files = ", ".join(row[1] for row in recordings.rows() if row[-1] == WRITING)
                    print(f"fiberscope: writing {files}; Ctrl-C leaves it out", file=sys.stderr, flush=True)
                while recordings.is_writing:
                    recordings.receive(WAIT_SECONDS)
            except KeyboardInterrupt:
                pass
            recordings.close()
            self._view.send("recordings", {"rows": recordings.rows()})
            for kind, path, _start, _end, status in recordings.rows():
                if status != WRITTEN:
                    print(f"fiberscope: {path}: {status}", file=sys.stderr)
                elif not quiet:
                    print(f"{kind.capitalize()}: {path}")
