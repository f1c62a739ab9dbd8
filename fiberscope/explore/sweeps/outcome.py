"""Execution of a task in this process, and the row of its outcome."""

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
from fiberscope.explore.sweeps.point import Point, build_options, build_request
from fiberscope.explore.sweeps.task_status import DONE, TaskOutcome, make_outcome
from fiberscope.explore.sweeps.unrun_status import REFUSED, STALE
from fiberscope.results.errors import DeadlockedRunError, VerificationError
from fiberscope.results.report.document import Report
from fiberscope.results.store.measures import measures
from fiberscope.workloads import WorkloadError


def execute_task(task: Mapping[str, Any], memory_bytes: int | None) -> TaskOutcome:
    """Run a task; a failure becomes the status of the outcome and is not raised.

    Args:
        task: the fields of a ``Task``.
        memory_bytes: the limit of additional memory of this process; None for no limit.

    Returns:
        The outcome, whose status is ``DONE``, ``deadlock``, ``wrong`` (another result than that of the
        reference), ``REFUSED``, ``memory``, ``crashed`` or ``STALE``. The row of a ``STALE`` outcome has the
        status ``REFUSED``.
    """
    point, start = Point(**task["point"]), time.perf_counter()
    report, is_stale = None, False
    try:
        with _limit_memory(memory_bytes):
            report = _run(point, task["row"]["source"])
        status, reason = DONE, ""
    except _StaleError as error:
        is_stale, status, reason = True, REFUSED, str(error)
    except (DeadlockedRunError, VerificationError) as error:
        report, reason = error.report, str(error)  # the row gets the numbers of the failed run
        status = "deadlock" if isinstance(error, DeadlockedRunError) else "wrong"
    except (ConfigurationError, InputError, WorkloadError) as error:
        status, reason = REFUSED, str(error)
    except Exception as error:  # any other fault costs one point only
        status, reason = "crashed", f"{type(error).__name__}: {error}"
        if _is_out_of_memory(error):
            status, reason = "memory", f"took more than {_describe_limit(memory_bytes)} of memory"
    measured = {} if report is None else measures(report, build_request(point).worker_families)
    outcome = make_outcome(task, status, reason, time.perf_counter() - start, measured)
    return outcome._replace(status=STALE) if is_stale else outcome


class _StaleError(Exception):
    """The process has loaded other sources than the point requires."""


# Digests of sources that this process has loaded; a process does not load them again, so one check suffices
_loaded_sources: set[str] = set()


def _run(point: Point, source: str) -> Report:
    """Run a point with its sources.

    Raises:
        _StaleError: the process has loaded other sources.
    """
    run, stale = build_request(point), _StaleError("its sources are others than when the sweep began")
    options = build_options(point)
    if (
        source not in _loaded_sources
        and run.find_roots(options.get("parts", {}).values()).loaded().digest != source
    ):
        raise stale
    _loaded_sources.add(source)
    report = run.run(**options)
    if report.source is None or report.source.digest != source:  # a machine's file is read for each run
        raise stale
    return report


def _is_out_of_memory(error: Exception) -> bool:
    """Return whether Python, the system or the library loader had no memory."""
    is_system_error = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return is_system_error or isinstance(error, MemoryError) or "failed to map segment" in str(error)


def _describe_limit(memory_bytes: int | None) -> str:
    return "there is" if memory_bytes is None else f"{memory_bytes:,} bytes"


@contextmanager
def _limit_memory(memory_bytes: int | None) -> Iterator[None]:
    """Limit the memory that this process allocates during the context, beyond what it has; Linux only.

    The limit is on address space. Allocations beyond the limit fail, mostly with ``MemoryError``.
    """
    if memory_bytes is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
