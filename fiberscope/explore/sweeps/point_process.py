"""Child process that runs points, so that a Dask worker outlives a failing point.

A point that exceeds its time limit or crashes ends its process; the next point gets a new process. Otherwise
one process runs all points, and imports once.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fiberscope.base.errors import InputError
from fiberscope.base.processes import ALONE
from fiberscope.explore.sweeps.unrun_status import REFUSED, STALE

if TYPE_CHECKING:
    from fiberscope.explore.sweeps.task_status import TaskOutcome

ENDED = "point-ended"

_CHILD_COMMAND = [sys.executable, "-m", "fiberscope.explore.sweeps.worker"]
_THREAD = threading.local()  # a Dask worker may have several threads


class Limits(NamedTuple):
    """Limits of a point: seconds of host time, and bytes of additional memory; None means no limit.

    The seconds begin when the task is sent to a process that is ready; its start does not count.
    """

    seconds: float | None = None
    memory_bytes: int | None = None


def run_batch(batch: Sequence[Mapping[str, Any]], limits: Limits, topic: str) -> None:
    """Run tasks one after the other, and report the end of each task by an event.

    Args:
        batch: the fields of each ``plan.Task``.
        limits: the limits of each task.
        topic: the topic of the events. Their action is ``ENDED``; they carry a digest and the fields of a
            ``TaskOutcome``.

    Raises:
        ChildStartError: no process can be started; the remaining tasks are not run.
    """
    from distributed import get_worker  # noqa: PLC0415  (needed on workers only)

    worker = get_worker()
    for task in batch:
        outcome = run_task(task, limits)
        worker.log_event(topic, {"action": ENDED, "digest": task["row"]["digest"], "outcome": tuple(outcome)})


def run_task(task: Mapping[str, Any], limits: Limits) -> TaskOutcome:
    """Run a task in the child process of this thread, which is started if there is none.

    A task that exceeds its time or whose process dies has an outcome too: ``timeout`` or ``crashed``. If the
    process has loaded other sources than the task requires, the task is run once more in a new process, and
    refused if the sources differ there too.

    Args:
        task: the fields of a ``plan.Task``.
        limits: the limits of the task.

    Raises:
        ChildStartError: no process can be started.
    """
    from fiberscope.explore.sweeps.task_status import make_outcome  # noqa: PLC0415  (the sweep imports this module)

    start = time.perf_counter()
    try:
        outcome = _find_child().ask(task, limits)
        if outcome.status == STALE:  # a new process loads the current sources
            _find_child().end()
            _THREAD.child = None
            outcome = _find_child().ask(task, limits)
        return outcome._replace(status=REFUSED) if outcome.status == STALE else outcome
    except _ChildGoneError as gone:
        # The next task starts a new process
        _THREAD.child = None
        return make_outcome(task, gone.status, str(gone), time.perf_counter() - start)


def end_child() -> None:
    """End the child process of this thread, if there is one."""
    child: _Child | None = getattr(_THREAD, "child", None)
    if child is not None:
        child.end()
        _THREAD.child = None


def _find_child() -> _Child:
    child: _Child | None = getattr(_THREAD, "child", None)
    if child is None:
        child = _THREAD.child = _Child()
    return child


class ChildStartError(InputError):
    """The process that runs points cannot be started."""


class _ChildGoneError(Exception):
    """The process of a point has ended; ``status`` is the status of the point."""

    def __init__(self, status: str, reason: str) -> None:
        self.status = status
        super().__init__(reason)


class _Child:
    """A process that runs tasks, one at a time.

    Protocol: the process sends an empty line when it is ready. A request is a line of JSON. An answer is a
    line of JSON with status, seconds and a length, then an encoded row of this length in bytes.
    """

    def __init__(self) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # prevents oversubscription of cores
        try:
            self._process = subprocess.Popen(
                _CHILD_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
        except OSError as error:
            raise _start_error(str(error.strerror)) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        if not self._answers.readline():  # ready after its imports, which do not count as time of a point
            code = self._process.wait()
            raise _start_error(f"it ended by {f'signal {-code}' if code < 0 else f'exit code {code}'}")

    def ask(self, task: Mapping[str, Any], limits: Limits) -> TaskOutcome:
        """Return the outcome of a task.

        Raises:
            _ChildGoneError: the process has ended without an outcome, or was killed at the time limit.
        """
        request = {"task": task, "memory_bytes": limits.memory_bytes}
        try:
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()
        except BrokenPipeError:
            raise self._describe_end(limits) from None
        # All bytes of the last answer have been read, so that none is in a buffer that ``poll`` does not see
        if not self._wait_for_answer(limits.seconds):
            self.end()
            raise _ChildGoneError("timeout", f"took more than {limits.seconds:g} s")
        return self._receive_outcome(limits)

    def end(self) -> None:
        """End the process, even during a task."""
        self._process.kill()
        self._process.wait()

    def _wait_for_answer(self, seconds: float | None) -> bool:
        waiting = select.poll()  # unlike ``select``, without a limit on the number of a file descriptor
        waiting.register(self._answers, select.POLLIN)
        return bool(waiting.poll(None if seconds is None else seconds * 1000))

    def _receive_outcome(self, limits: Limits) -> TaskOutcome:
        """Read the answer of the process.

        Raises:
            _ChildGoneError: the process ended before or within the answer.
        """
        from fiberscope.explore.sweeps.task_status import TaskOutcome  # noqa: PLC0415

        line = self._answers.readline()
        # Without a line the process has ended: no content has the length -1, which leads to the error below.
        answer: dict[str, Any] = json.loads(line) if line else {"length": -1}
        content = self._answers.read(answer["length"]) if line else b""
        if len(content) != answer["length"]:
            raise self._describe_end(limits)
        return TaskOutcome(answer["status"], answer["seconds"], content)

    def _describe_end(self, limits: Limits) -> _ChildGoneError:
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        limit = f", with {limits.memory_bytes:,} bytes of memory" if limits.memory_bytes is not None else ""
        return _ChildGoneError("crashed", f"its process ended by {how}{limit}")


def _start_error(reason: str) -> ChildStartError:
    return ChildStartError(
        f"the process of the runs cannot start: {reason}; see ulimit -n, -u and -v, or {ALONE}"
    )
