"""Waveforms and timelines of a run under a live view, written by a copy of the machine that repeats the run.

The copy is forked in front of the first cycle. A machine that has run ahead of its clock cannot be recorded,
and this one has not run yet. Runs are deterministic, so the copy does what the run did; it has no lookahead.
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

__all__ = ["WRITING", "WRITTEN", "Recordings"]

KINDS = {"waveform": ("wave", ".vcd"), "timeline": ("timeline", ".json")}  # method of a session, and suffix
RECORDING, WRITING, WRITTEN, EMPTY = "recording", "writing", "written", "no cycle recorded"
END_SECONDS = 2.0


@dataclass
class Recording:
    """A file, from cycle ``start`` up to ``end``, and whether it is written."""

    kind: str
    path: Path
    start: int
    end: int | None = None
    status: str = RECORDING


class Recordings:
    """The recordings of one machine.

    Args:
        machine: built; nothing of it has run.
        cycle_limit: of the run.
        inherited: connections of this process that the copy must not keep open.
    """

    def __init__(self, machine: Machine, cycle_limit: int | None, inherited: Sequence[Connection]) -> None:
        self.all: list[Recording] = []
        self._scope = re.sub(r"\W", "", machine.kernel.components[0].name.partition(".")[0])
        context = get_context("fork")
        self._copy, theirs = context.Pipe()
        self._process = context.Process(
            target=self._serve, args=(machine, cycle_limit, theirs, inherited), daemon=True
        )
        with theirs, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks in processes with threads
            self._process.start()
        assert self._process.pid
        self._group = self._process.pid
        with suppress(OSError):
            os.setpgid(self._group, 0)  # here and in the copy: whoever comes first

    def _serve(
        self, machine: Machine, cycle_limit: int | None, link: Connection, inherited: Sequence[Connection]
    ) -> None:
        for connection in (self._copy, *inherited):
            connection.close()
        _serve(machine, cycle_limit, link)

    @property
    def active(self) -> Recording | None:
        """The recording that has not been stopped; there is one at a time."""
        return next((recording for recording in self.all if recording.status == RECORDING), None)

    @property
    def pending(self) -> bool:
        """Return whether a file is not written yet."""
        return any(recording.status == WRITING for recording in self.all)

    def draw(self) -> None:
        """Have the copy draw the machine."""
        self._send("draw")

    def start(self, kind: str, cycle: int) -> None:
        """Record from this cycle on, unless something is recorded already."""
        if self.active is None:
            self.all.append(Recording(kind, self._free_path(kind, cycle), cycle))
            self._send("goto", cycle)

    def _free_path(self, kind: str, cycle: int) -> Path:
        """A file of the working directory that is not there and that no recording has."""
        taken, number, suffix = {recording.path for recording in self.all}, 1, KINDS[kind][1]
        while True:
            path = Path(f"{self._scope}-{kind}-{cycle}{f'-{number}' if number > 1 else ''}{suffix}")
            if path not in taken and not path.exists():
                return path
            number += 1

    def stop(self, cycle: int) -> None:
        """End the recording before this cycle, and have it written."""
        recording = self.active
        if recording is None:
            return
        recording.end = cycle
        recording.status = WRITING if cycle > recording.start else EMPTY
        if recording.status == WRITING:
            self._send(KINDS[recording.kind][0], recording.path, recording.start, cycle)

    def _send(self, *request: object) -> None:
        with suppress(OSError):
            self._copy.send(request)

    def receive(self, seconds: float = 0.0) -> dict[str, Any] | None:
        """Take note of what the copy has done, and wait so long for it; return a drawing, if it made one."""
        drawing = None
        try:
            while self._copy.poll(seconds):
                kind, *answer = self._copy.recv()
                if kind == "drawing":
                    drawing = {"svg": answer[0], "boxes": answer[1]}
                else:
                    recording = next(recording for recording in self.all if recording.path == answer[0])
                    recording.status = answer[1] or WRITTEN
                seconds = 0.0
        except (EOFError, OSError):
            for recording in self.all:
                if recording.status in {RECORDING, WRITING}:
                    recording.status = "the copy of the machine is gone; out of memory?"
        return drawing

    def rows(self) -> list[list[Any]]:
        """Kind, file, first cycle, cycle before which it ends, and status of each recording."""
        return [[row.kind, str(row.path), row.start, row.end, row.status] for row in self.all]

    def close(self) -> None:
        """End the copy, and what it has in hand."""
        self._copy.close()
        with suppress(OSError):
            os.killpg(self._group, signal.SIGTERM)
        self._process.join(END_SECONDS)
        for recording in self.all:
            if recording.status == WRITING:
                recording.status = "not written"
                remove_abandoned(recording.path)


class _BuiltRun(RunRequest):
    """A run of a machine that is built already, for the debugger: it is driven, and has no report."""

    def run(self, *, drive: Drive, cycle_limit: int | None = None) -> NoReturn:  # type: ignore[override]
        """Have the debugger drive the machine."""
        drive(self.machine, [Watch(self.machine)], cycle_limit, lambda _cycle: None)
        os._exit(0)


def _serve(machine: Machine, cycle_limit: int | None, link: Connection) -> None:
    """Do in the copy what the run asks for, until the run closes its end of the link."""
    with suppress(OSError):
        os.setpgid(0, 0)  # Ctrl-C is for the run
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    session: Session | None = None
    while True:
        try:
            kind, *request = link.recv()
        except (EOFError, OSError):
            os._exit(0)
        if kind == "draw":
            from fiberscope.page.drawing import bare_drawing  # noqa: PLC0415  (the run itself does not need it)

            link.send(("drawing", *bare_drawing(machine.kernel)))
            continue
        session = session or _session(machine, cycle_limit)
        if kind == "goto":
            session.goto(request[0])
        else:
            link.send(("recorded", request[0], _recorded(session, kind, *request)))


def _session(machine: Machine, cycle_limit: int | None) -> Session:
    """Return a debugger of the machine."""
    from fiberscope.run.debug.session import Session  # noqa: PLC0415  (as above)

    return Session(_BuiltRun(machine), {"cycle_limit": cycle_limit}, snapshots=0)


def _recorded(session: Session, method: str, path: Path, start: int, end: int) -> str:
    """Write a recording; return the reason why it could not be written, empty if it was."""
    try:
        session.goto(start)
        getattr(session, method)(path, end - start)
    except (InputError, OSError) as error:
        return str(error)
    return ""
