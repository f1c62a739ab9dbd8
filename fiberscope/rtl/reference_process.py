"""The run with the components, in a process of its own beside the one with RTL."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from fiberscope.results.report.document import Report

__all__ = ["ReferenceProcess", "TooLongError"]


class TooLongError(Exception):
    """The run with RTL has taken more cycles than it may."""


class ReferenceProcess:
    """A run in a process that is forked; if it does not end well there, it is run again here, to say why.

    Args:
        run: what gives the report.
    """

    def __init__(self, run: Callable[[], Report]) -> None:
        self._run = run
        self._folder = tempfile.TemporaryDirectory(prefix="fiberscope-loop-")
        self._path = Path(self._folder.name) / "report.json"
        forked = multiprocessing.get_context("fork")
        self._process = forked.Process(target=_write, args=(run, self._path), daemon=True)
        self._report: Report | None = None

    def __enter__(self) -> ReferenceProcess:
        """Begin to run."""
        with (
            warnings.catch_warnings()
        ):  # of Python 3.12: the threads here draw a bar, and the child draws none
            warnings.filterwarnings("ignore", ".* is multi-threaded, use of fork", DeprecationWarning)
            with contextlib.suppress(OSError):  # no process can be started: the run is made here, later
                self._process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop running, if it still does."""
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()
        self._folder.cleanup()

    def report(self) -> Report:
        """The report, when it is there."""
        if self._report is None:
            if self._process.pid is not None:
                self._process.join()
            self._report = Report.read(self._path) if self._process.exitcode == 0 else self._run()
        return self._report

    @property
    def limit(self) -> int:
        """The cycle at which RTL is stopped that never comes to an end; waits for the report."""
        return 2 * self.report().cycles + 1000

    def hold(self, stage: str, cycle: int, _limit: int) -> None:
        """End the run with RTL after the limit, once that is known; a progress callback.

        Raises:
            TooLongError: it is there.
        """
        if stage == "cycles" and not self._process.is_alive() and cycle > self.limit:
            raise TooLongError


def _write(run: Callable[[], Report], path: Path) -> None:
    """Write the report of a run; without a word if it goes wrong."""
    code = 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run with RTL, which ends this one
    with contextlib.suppress(BaseException):
        run().write(path)
        code = 0
    os._exit(code)
