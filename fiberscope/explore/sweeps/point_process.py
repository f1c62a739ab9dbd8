"""Run a batch on a Dask worker: a process of its own runs the points, and the worker outlives it.

A point that takes too long is ended with its process, and so is one that brings its process down; the next
one gets a new process. Where points behave one process runs all of them, and imports once.
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

__all__ = ["ENDED", "ChildStartError", "Limits", "end_child", "run_batch", "run_task"]

ENDED = "point-ended"

_CHILD = [sys.executable, "-m", "fiberscope.explore.sweeps.worker"]
_HERE = threading.local()  # a Dask worker may have several threads


class Limits(NamedTuple):
    """Limits of a point; None means no limit."""

    seconds: float | None = None
    memory_bytes: int | None = None


def run_batch(batch: Sequence[Mapping[str, Any]], limits: Limits, topic: str) -> None:
    """Run tasks one after the other, and tell of each as it ends.

    Args:
        batch: of each the fields of a ``plan.Task``.
        limits: what each may take.
        topic: the topic of the events. Their action is ``ENDED``; they carry a digest and the fields of
            a ``TaskOutcome``.
    """
    from distributed import get_worker  # noqa: PLC0415  (who gives the points has no need of it)

    worker = get_worker()
    for task in batch:
        outcome = run_task(task, limits)
        worker.log_event(topic, {"action": ENDED, "digest": task["row"]["digest"], "outcome": tuple(outcome)})


def run_task(task: Mapping[str, Any], limits: Limits) -> TaskOutcome:
    """Run a task in the process that this thread has for it.

    Args:
        task: the fields of a ``plan.Task``.
        limits: what it may take.

    Raises:
        ChildStartError: no process can be started.
    """
    from fiberscope.explore.sweeps.task_status import make_outcome  # noqa: PLC0415  (the sweep itself reads this file)

    began = time.perf_counter()
    try:
        came = _child().ask(task, limits)
        if came.status == STALE:  # a new process has what is there now
            _child().end()
            _HERE.child = None
            came = _child().ask(task, limits)
        return came._replace(status=REFUSED) if came.status == STALE else came
    except _GoneError as gone:
        _HERE.child = None
        return make_outcome(task, gone.status, str(gone), time.perf_counter() - began)


def end_child() -> None:
    """End the process that this thread has for tasks, if there is one."""
    child: _Child | None = getattr(_HERE, "child", None)
    if child is not None:
        child.end()
        _HERE.child = None


def _child() -> _Child:
    child: _Child | None = getattr(_HERE, "child", None)
    if child is None:
        child = _HERE.child = _Child()
    return child


class ChildStartError(InputError):
    """The process that runs points cannot be started."""


class _GoneError(Exception):
    """The process of a point is no more; ``status`` says how the point ended."""

    def __init__(self, status: str, reason: str) -> None:
        self.status = status
        super().__init__(reason)


class _Child:
    """A process that runs tasks, one at a time."""

    def __init__(self) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # its threads would take others' cores
        try:
            self._process = subprocess.Popen(
                _CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
        except OSError as error:
            raise _not_started(str(error.strerror)) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        if not self._answers.readline():  # it is ready: what it imports takes nothing of a point's time
            code = self._process.wait()
            raise _not_started(f"it ended by {f'signal {-code}' if code < 0 else f'exit code {code}'}")

    def ask(self, task: Mapping[str, Any], limits: Limits) -> TaskOutcome:
        """The outcome of a task.

        Raises:
            _GoneError: there is none, and no process any more.
        """
        request = {"task": task, "memory_bytes": limits.memory_bytes}
        try:
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()
        except BrokenPipeError:
            raise self._died(limits) from None
        if not self._answers_within(limits.seconds):
            self.end()
            raise _GoneError("timeout", f"took more than {limits.seconds:g} s")
        return self._outcome(limits)

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _answers_within(self, seconds: float | None) -> bool:
        waiting = select.poll()
        waiting.register(self._answers, select.POLLIN)
        return bool(waiting.poll(None if seconds is None else seconds * 1000))

    def _outcome(self, limits: Limits) -> TaskOutcome:
        from fiberscope.explore.sweeps.task_status import TaskOutcome  # noqa: PLC0415

        line = self._answers.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"length": -1}
        content = self._answers.read(answer["length"]) if line else b""
        if len(content) != answer["length"]:
            raise self._died(limits)
        return TaskOutcome(answer["status"], answer["seconds"], content)

    def _died(self, limits: Limits) -> _GoneError:
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        within = f", with {limits.memory_bytes:,} bytes of memory" if limits.memory_bytes is not None else ""
        return _GoneError("crashed", f"its process ended by {how}{within}")


def _not_started(reason: str) -> ChildStartError:
    return ChildStartError(
        f"the process of the runs cannot start: {reason}; see ulimit -n, -u and -v, or {ALONE}"
    )
