"""Runs a task here and now, and makes the row of whatever comes of it."""

from __future__ import annotations

import errno
import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accelerators import ConfigurationError
from fiberscope.errors import DeadlockedRunError, InputError, VerificationError
from fiberscope.store.measures import measures
from fiberscope.sweeps.commands import command_of
from fiberscope.sweeps.ending import DONE, Outcome, ended
from fiberscope.sweeps.plan import REFUSED
from fiberscope.sweeps.point import Point
from workloads import WorkloadError

__all__ = ["outcome"]


def outcome(task: Mapping[str, Any], memory_bytes: int | None) -> Outcome:
    """Run a task.

    Args:
        task: the fields of a ``Task``.
        memory_bytes: how much more than this process has already it may take.
    """
    point, began = Point(**task["point"]), time.perf_counter()
    report = None
    try:
        with _limited(memory_bytes):
            report = command_of(point).run(point)
        status, reason = DONE, ""
    except (DeadlockedRunError, VerificationError) as error:
        report, reason = error.report, str(error)
        status = "deadlock" if isinstance(error, DeadlockedRunError) else "wrong"
    except (ConfigurationError, InputError, WorkloadError) as error:
        status, reason = REFUSED, str(error)
    except Exception as error:  # a fault of ours, or of a block of the user's, costs one point
        status, reason = "crashed", f"{type(error).__name__}: {error}"
        if _is_out_of_memory(error):
            status, reason = "memory", f"took more than {_allowed(memory_bytes)} of memory"
    told = {} if report is None else measures(report, command_of(point).workers(point))
    return ended(task, status, reason, time.perf_counter() - began, told)


def _is_out_of_memory(error: Exception) -> bool:
    """Whether Python, the system or its loader of libraries had no more."""
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
