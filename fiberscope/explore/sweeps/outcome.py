"""Runs a task here and now, and makes the row of whatever comes of it."""

from __future__ import annotations

import errno
import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fiberscope.accelerators import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.point import Point, build_request, options_of
from fiberscope.explore.sweeps.task_status import DONE, TaskOutcome, make_outcome
from fiberscope.explore.sweeps.unrun_status import REFUSED, STALE
from fiberscope.results.errors import DeadlockedRunError, VerificationError
from fiberscope.results.report.document import Report
from fiberscope.results.store.measures import measures
from fiberscope.workloads import WorkloadError

__all__ = ["execute_task"]


def execute_task(task: Mapping[str, Any], memory_bytes: int | None) -> TaskOutcome:
    """Run a task.

    Args:
        task: the fields of a ``Task``.
        memory_bytes: how much more than this process has already it may take.
    """
    point, began = Point(**task["point"]), time.perf_counter()
    report, stale = None, False
    try:
        with _limited(memory_bytes):
            report = _run(point, task["row"]["source"])
        status, reason = DONE, ""
    except _StaleError as error:
        stale, status, reason = True, REFUSED, str(error)
    except (DeadlockedRunError, VerificationError) as error:
        report, reason = error.report, str(error)
        status = "deadlock" if isinstance(error, DeadlockedRunError) else "wrong"
    except (ConfigurationError, InputError, WorkloadError) as error:
        status, reason = REFUSED, str(error)
    except Exception as error:  # a fault of ours, or of a block of the user's, costs one point
        status, reason = "crashed", f"{type(error).__name__}: {error}"
        if _is_out_of_memory(error):
            status, reason = "memory", f"took more than {_allowed(memory_bytes)} of memory"
    measured = {} if report is None else measures(report, build_request(point).worker_families)
    came = make_outcome(task, status, reason, time.perf_counter() - began, measured)
    return came._replace(status=STALE) if stale else came


class _StaleError(Exception):
    """Error: this process has other sources than those that the point should run with."""


_known: set[str] = set()  # digests of sources that this process has, as far as it was asked


def _run(point: Point, source: str) -> Report:
    """Run a point by its sources.

    Raises:
        _StaleError: the process has others.
    """
    run, others = build_request(point), _StaleError("its sources are others than when the sweep began")
    options = options_of(point)
    if source not in _known and run.roots(options.get("parts", {}).values()).loaded().digest != source:
        raise others
    _known.add(source)
    report = run.run(**options)
    if report.source is None or report.source.digest != source:  # a machine's file is read again each time
        raise others
    return report


def _is_out_of_memory(error: Exception) -> bool:
    """Return whether Python, the system or its loader of libraries had no more."""
    ended = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return ended or isinstance(error, MemoryError) or "failed to map segment" in str(error)


def _allowed(memory_bytes: int | None) -> str:
    return "there is" if memory_bytes is None else f"{memory_bytes:,} bytes"


@contextmanager
def _limited(memory_bytes: int | None) -> Iterator[None]:
    """Have what is allocated here fail above so many bytes beside those that are taken already."""
    if memory_bytes is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + memory_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
