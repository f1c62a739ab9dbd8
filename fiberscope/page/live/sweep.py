"""Live view of a sweep, suite or search: numbers of runs by status, and new rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fiberscope.explore.sweeps.plan import Task
from fiberscope.explore.sweeps.progress import Follow, Progress, call_repeatedly
from fiberscope.explore.sweeps.task_status import TaskOutcome
from fiberscope.page.live.view import LiveView
from fiberscope.results.store.columns import decode_row

PUBLISH_SECONDS = 0.5  # interval of publications


@contextmanager
def open_live_sweep(port: str, title: str) -> Iterator[Follow]:
    """Yield a function that shows the progress of a sweep on a page; print the address to stderr.

    An error that ends the context is shown on the page.

    Args:
        port: as for ``LiveView``.
        title: the title of the page.

    Raises:
        InputError: the errors of ``LiveView``.
    """
    with LiveView(port, title, "sweeping") as view:
        with view.show_failures():
            yield _LiveSweep(view).follow
        view.show_end(["The last run has ended."])


class _LiveSweep:
    """Publishes the counts of a sweep and its new rows.

    Args:
        view: the server of the page.
    """

    def __init__(self, view: LiveView) -> None:
        self._view = view
        # A deque, because the sweep appends in its thread while another thread takes the rows.
        self._rows: deque[dict[str, Any]] = deque()

    @contextmanager
    def follow(self, progress: Progress) -> Iterator[None]:
        """Publish the progress at the start, periodically during the context, and at its end."""
        progress.listeners.append(self._add)
        self._publish(progress)
        try:
            with call_repeatedly(lambda: self._publish(progress), PUBLISH_SECONDS):
                yield
        finally:
            self._publish(progress)

    def _add(self, task: Task, outcome: TaskOutcome) -> None:
        """Add the row of an ended point."""
        values = decode_row(outcome.content).values
        self._rows.append(
            {
                "machine": task.point.machine,
                "workload": task.point.workload,
                "settings": {key: str(value) for key, value in task.point.settings.items()},
                "status": outcome.status,
                "cycles": values.get("cycles"),
                "seconds": round(outcome.seconds, 3),
                "reason": values.get("reason") or "",
            }
        )

    def _publish(self, progress: Progress) -> None:
        counts = {name: getattr(progress, name) for name in ("total", "done", "running", "failed")}
        self._view.commands()  # keeps the pipe empty; a sweep has no commands
        self._view.send("counts", {**counts, "left": progress.describe_remaining_time()})
        # rows that are added meanwhile wait for the next call
        rows = [self._rows.popleft() for _ in range(len(self._rows))]
        if rows:
            self._view.send("rows", {"rows": rows})
