"""The reference run with components, in a separate process beside the run with RTL."""

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


class TooLongError(Exception):
    """The run with RTL has exceeded its cycle limit."""


class ReferenceProcess:
    """A run in a forked process, started and ended by the context (``with``).

    If that process fails, ``report`` repeats the run in this process, for its error. The report passes
    through a file: it has no answer (``Report.result`` is None) unless the run was repeated here.

    Args:
        run: returns the report. It is called in a fork, which sees all objects of this process as they were
            at the start; it may be called again here.
    """

    def __init__(self, run: Callable[[], Report]) -> None:
        self._run = run
        self._folder = tempfile.TemporaryDirectory(prefix="fiberscope-loop-")
        self._path = Path(self._folder.name) / "report.json"
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_write, args=(run, self._path), daemon=True)
        self._report: Report | None = None

    def __enter__(self) -> ReferenceProcess:
        """Start the run."""
        with warnings.catch_warnings():  # Python 3.12 warns of threads, which only draw a bar in the parent
            warnings.filterwarnings("ignore", ".* is multi-threaded, use of fork", DeprecationWarning)
            with contextlib.suppress(OSError):  # without a process, the run is executed here, later
                self._process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill the process if it still runs."""
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()
        self._folder.cleanup()

    def report(self) -> Report:
        """Wait for the report and return it; later calls return the same report.

        If the process failed or could not start, the run is executed here, and raises its error.
        """
        if self._report is None:
            if self._process.pid is not None:
                self._process.join()
            self._report = Report.read(self._path) if self._process.exitcode == 0 else self._run()
        return self._report

    @property
    def limit(self) -> int:
        """The cycle limit of RTL that never ends. Waits for the report."""
        return 2 * self.report().cycles + 1000

    def hold(self, stage: str, cycle: int, _limit: int) -> None:
        """End the run with RTL after the limit, once it is known; a progress callback.

        Args:
            stage: name of the stage; only ``cycles`` counts.
            cycle: current cycle of the run with RTL.
            _limit: total of the stage, which callbacks get and this one does not need.

        Raises:
            TooLongError: the limit is exceeded.
            Exception: the reference run has failed; its error, as of ``report``.
        """
        if stage == "cycles" and not self._process.is_alive() and cycle > self.limit:
            raise TooLongError


def _write(run: Callable[[], Report], path: Path) -> None:
    """Write the report of a run; no file if the run fails."""
    code = 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the run with RTL, which ends this process
    with contextlib.suppress(BaseException):
        run().write(path)
        code = 0
    os._exit(code)  # a fork must not run the exit handlers of its parent, nor write its buffers again
