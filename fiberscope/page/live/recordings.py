"""Waveforms and timelines of a run in the live view, recorded by a forked copy of the machine.

The copy is forked before the first cycle, because a machine with lookahead cannot be recorded later. Runs are
deterministic, so that the copy, without lookahead, repeats the run.
"""

from __future__ import annotations

import os
import re
import signal
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fiberscope.accelerators.machine import Machine
from fiberscope.base.errors import InputError
from fiberscope.results.report.timeline import Drive, Watch
from fiberscope.run.request import RunRequest
from fiberscope.sim.partial_files import remove_abandoned

if TYPE_CHECKING:
    from fiberscope.run.debug.session import Session

KINDS = {"waveform": ("wave", ".vcd"), "timeline": ("timeline", ".json")}  # method of a session, and suffix
RECORDING, WRITING, WRITTEN, EMPTY = "recording", "writing", "written", "no cycle recorded"
EXIT_SECONDS = 2.0  # longest wait for the end of the copy


@dataclass
class Recording:
    """A recorded file.

    Args:
        kind: ``waveform`` or ``timeline``.
        path: the file.
        start: the first recorded cycle.
        end: the cycle before which the recording ends; None while it is running.
        status: one of the constants of this module, or the reason of a failure.
    """

    kind: str
    path: Path
    start: int
    end: int | None = None
    status: str = RECORDING


class Recordings:
    """The recordings of one machine.

    The constructor forks the copy, which waits for requests until ``close``.

    Args:
        machine: a built machine before its first cycle.
        cycle_limit: the cycle limit of the run.
        inherited: connections of this process that the copy must close, so that their other ends notice when
            this process closes them.
    """

    def __init__(self, machine: Machine, cycle_limit: int | None, inherited: Sequence[Connection]) -> None:
        self.entries: list[Recording] = []
        self._machine_name = re.sub(r"\W", "", machine.kernel.components[0].name.partition(".")[0])
        context = get_context("fork")
        self._link, remote_end = context.Pipe()
        arguments = machine, cycle_limit, remote_end, inherited
        self._process = context.Process(target=self._serve, args=arguments, daemon=True)
        with remote_end, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forks in processes with threads
            self._process.start()
        assert self._process.pid
        self._process_group = self._process.pid
        with suppress(OSError):
            os.setpgid(self._process_group, 0)  # also set by the copy, whichever is first

    def _serve(
        self, machine: Machine, cycle_limit: int | None, link: Connection, inherited: Sequence[Connection]
    ) -> None:
        for connection in (self._link, *inherited):
            connection.close()
        _execute_requests(machine, cycle_limit, link)

    @property
    def running_recording(self) -> Recording | None:
        """Return the running recording, of which there is at most one; None if there is none."""
        return next((recording for recording in self.entries if recording.status == RECORDING), None)

    @property
    def is_writing(self) -> bool:
        """Return whether a file is being written."""
        return any(recording.status == WRITING for recording in self.entries)

    def request_drawing(self) -> None:
        """Request a drawing of the machine from the copy."""
        self._send("draw")

    def start(self, kind: str, cycle: int) -> None:
        """Start a recording at a cycle; ``kind`` is a key of ``KINDS``.

        The call has no effect while another recording is running.
        """
        if self.running_recording is None:
            # The copy goes to the first cycle at once, and repeats the recorded cycles when they have an end.
            self.entries.append(Recording(kind, self._free_path(kind, cycle), cycle))
            self._send("goto", cycle)

    def _free_path(self, kind: str, cycle: int) -> Path:
        """Return the path of a new file in the working directory."""
        used_paths, number, suffix = {recording.path for recording in self.entries}, 1, KINDS[kind][1]
        while True:
            path = Path(f"{self._machine_name}-{kind}-{cycle}{f'-{number}' if number > 1 else ''}{suffix}")
            if path not in used_paths and not path.exists():
                return path
            number += 1

    def stop(self, cycle: int) -> None:
        """End the running recording, if any, before a cycle; the copy then writes its file."""
        recording = self.running_recording
        if recording is None:
            return
        recording.end = cycle
        recording.status = WRITING if cycle > recording.start else EMPTY
        if recording.status == WRITING:
            self._send(KINDS[recording.kind][0], recording.path, recording.start, cycle)

    def _send(self, *request: object) -> None:
        with suppress(OSError):  # the copy is gone; ``receive`` reports it
            self._link.send(request)

    def receive(self, seconds: float = 0.0) -> dict[str, Any] | None:
        """Process the answers of the copy, and wait up to ``seconds`` for the first answer.

        If the copy is gone, all unfinished recordings fail.

        Returns:
            The requested drawing as ``svg`` with the box of each family as ``boxes``; None if not received.
        """
        drawing = None
        try:
            while self._link.poll(seconds):
                kind, *answer = self._link.recv()
                if kind == "drawing":
                    drawing = {"svg": answer[0], "boxes": answer[1]}
                else:
                    recording = next(recording for recording in self.entries if recording.path == answer[0])
                    recording.status = answer[1] or WRITTEN
                seconds = 0.0
        except (EOFError, OSError):
            for recording in self.entries:
                if recording.status in {RECORDING, WRITING}:
                    recording.status = "the copy of the machine is gone; out of memory?"
        return drawing

    def rows(self) -> list[list[Any]]:
        """Return kind, file, first cycle, end cycle and status of each recording."""
        return [[entry.kind, str(entry.path), entry.start, entry.end, entry.status] for entry in self.entries]

    def close(self) -> None:
        """End the copy, and remove the files that it has not completed."""
        self._link.close()
        with suppress(OSError):
            # the group: the copy, and any program that it has started
            os.killpg(self._process_group, signal.SIGTERM)
        self._process.join(EXIT_SECONDS)
        for recording in self.entries:
            if recording.status == WRITING:
                recording.status = "not written"
                remove_abandoned(recording.path)


class _BuiltRun(RunRequest):
    """Request for a built machine in the debugger; its run has no report."""

    def run(self, *, drive: Drive, cycle_limit: int | None = None) -> NoReturn:  # type: ignore[override]
        """Drive the machine by the debugger, and end the process when the debugger returns."""
        drive(self.machine, [Watch(self.machine)], cycle_limit, lambda _cycle: None)
        os._exit(0)


def _execute_requests(machine: Machine, cycle_limit: int | None, link: Connection) -> None:
    """Execute the requests of the run in the copy, until the run closes its end of the link."""
    with suppress(OSError):
        os.setpgid(0, 0)  # Ctrl-C goes to the run only
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    session: Session | None = None
    while True:
        try:
            kind, *request = link.recv()
        except (EOFError, OSError):
            os._exit(0)  # without the exit handlers of the run, of which this process is a copy
        if kind == "draw":
            from fiberscope.page.drawing import draw_kernel  # noqa: PLC0415  (not needed by the run)

            link.send(("drawing", *draw_kernel(machine.kernel)))
            continue
        session = session or _make_session(machine, cycle_limit)
        if kind == "goto":
            session.goto(request[0])
        else:
            link.send(("recorded", request[0], _record(session, kind, *request)))


def _make_session(machine: Machine, cycle_limit: int | None) -> Session:
    """Return a debugging session of the machine."""
    from fiberscope.run.debug.session import Session  # noqa: PLC0415  (as above)

    return Session(_BuiltRun(machine), {"cycle_limit": cycle_limit}, snapshots=0)


def _record(session: Session, method: str, path: Path, start: int, end: int) -> str:
    """Write a recording; return the reason of a failure, or an empty text."""
    try:
        session.goto(start)
        getattr(session, method)(path, end - start)
    except (InputError, OSError) as error:
        return str(error)
    return ""
