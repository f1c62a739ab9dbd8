"""Outcomes of tasks; a module with few imports, for Dask's workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fiberscope.results.store.columns import DONE, encode_row

__all__ = ["DONE", "TaskOutcome", "make_outcome"]


class TaskOutcome(NamedTuple):
    """Outcome of a task: its status, seconds, and its encoded row."""

    status: str
    seconds: float
    content: bytes


def make_outcome(
    task: Mapping[str, Any],
    status: str,
    reason: str = "",
    seconds: float = 0.0,
    measures: Mapping[str, object] | None = None,
) -> TaskOutcome:
    """Return the outcome of a task.

    Args:
        task: the fields of a ``plan.Task``.
        status: ``DONE``, or another status in one word.
        reason: the reason of a failure; empty for a finished task.
        seconds: wall-clock time of the task.
        measures: further columns of the row, by name.
    """
    ending = {"status": status, "reason": " ".join(reason.split()), "wall_seconds": seconds}
    return TaskOutcome(
        status, seconds, encode_row({**task["row"], **(measures or {}), **ending}, task["parameters"])
    )
