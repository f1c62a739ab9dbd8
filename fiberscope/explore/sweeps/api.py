"""Execution of the points of a study that are missing in a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.explore.sweeps.dispatch import run_batches
from fiberscope.explore.sweeps.executors import ExecutorChoice
from fiberscope.explore.sweeps.plan import Task, drop_repeated_tasks, plan_points
from fiberscope.explore.sweeps.point_process import Limits
from fiberscope.explore.sweeps.progress import Follow, Progress, group_tasks, show_progress
from fiberscope.explore.sweeps.stale_sources import note_stale
from fiberscope.explore.sweeps.study import Study
from fiberscope.explore.sweeps.task_status import DONE, make_outcome
from fiberscope.explore.sweeps.unrun_status import REFUSED
from fiberscope.results.report.surrogates import SURROGATE
from fiberscope.results.store import Store

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SweepResult:
    """Result of a sweep.

    Args:
        store: the store with the rows.
        digests: the digest of each point; equal points share a digest.
        stored_runs: the number of requested runs that the store had before and that were not repeated.
        statuses: the number of new runs by status, refused points included.
        other_rows: the number of rows of the same machines from other sources.
    """

    store: Store
    digests: Sequence[str]
    stored_runs: int
    statuses: Mapping[str, int]
    other_rows: int

    @property
    def failed(self) -> int:
        """Return the number of new runs that failed or were refused."""
        return sum(self.statuses.values()) - self.statuses.get(DONE, 0)

    def failures(self, limit: int) -> list[str]:
        """Return lines on the first ``limit`` failed points, and one on the number of others.

        Failures of earlier sweeps and refused points count too. The points are in the order of the store.
        """
        columns = "machine, workload, settings, status, reason"
        rows = self.store.table(f"SELECT digest, {columns} FROM runs WHERE status <> '{DONE}'").to_pylist()
        failed_rows = [row for row in rows if row["digest"] in set(self.digests)]
        lines = [f"{_format_row(row)}: {row['status']}: {row['reason']}" for row in failed_rows[:limit]]
        return lines + ([f"and {len(failed_rows) - limit:,} more"] if len(failed_rows) > limit else [])

    def surrogates(self) -> list[str]:
        """Return the surrogate workloads, sorted; a workload of several different points is repeated."""
        query = f"SELECT digest, workload FROM runs WHERE workload_source = '{SURROGATE}' ORDER BY workload"
        rows = self.store.table(query).to_pylist()
        return [row["workload"] for row in rows if row["digest"] in set(self.digests)]

    def frame(self) -> pd.DataFrame:
        """Return the rows of the points in order, with all columns but the report.

        Equal points have equal rows.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        # of all sources: another sweep may have recorded that the sources of these rows have changed
        rows = self.store.frame(all_sources=True).set_index("digest")
        return rows.loc[list(self.digests)].reset_index()


def _format_row(row: Mapping[str, str]) -> str:
    settings = " ".join(f"{key}={value}" for key, value in json.loads(row["settings"]).items())
    return " ".join(filter(None, (row["machine"], row["workload"], settings)))


def run_study(
    study: Study,
    address: str | Path,
    executors: ExecutorChoice,
    *,
    retry: bool = False,
    quiet: bool = False,
    follow: Follow | None = None,
) -> SweepResult:
    """Run the points of a study that a store does not have.

    Stored rows get the study's names of workloads, and the store records which sources have changed.

    Args:
        study: the points and their limits.
        address: the address of the store, which is created after all checks of the points.
        executors: the workers.
        retry, quiet: run failed points again, and store refused ones anew; show no progress.
        follow: receives the progress.

    Raises:
        ConfigurationError, InputError, WorkloadError: the errors of ``sweep``.
        KeyboardInterrupt: the user stopped the sweep; the message has the number of stored runs.
    """
    planned = plan_points(study.sweep())  # raises all errors of points before the store is created
    tasks = drop_repeated_tasks(planned)
    store = Store(address, make=True)
    stored = store.digests() - (_list_failed_digests(store) if retry else set())
    new = [task for task in tasks if task.digest not in stored]
    note_stale(store, tasks)
    # A new row brings its name with it. A stored row may be from a study with another name, or without
    named_tasks = [task for task in tasks if task.digest in stored and task.point.workload_name]
    store.name_workloads({task.digest: task.point.workload_name for task in named_tasks})
    progress = Progress(new)
    try:
        with show_progress(progress, quiet, follow):
            _store_refused(new, store, progress)
            run_tasks(
                [task for task in new if not task.refused], store, executors, find_limits(study), progress
            )
    except KeyboardInterrupt:
        finished = len(tasks) - progress.total + progress.done  # ``progress`` counts new runs only
        raise KeyboardInterrupt(_describe_interruption(finished, len(tasks), address)) from None
    return SweepResult(
        store,
        [task.digest for task in planned],
        len(tasks) - len(new),
        progress.statuses,
        _count_other_sources(store, tasks),
    )


def _describe_interruption(stored: int, total: int, address: str | Path) -> str:
    """Describe how many runs of an interrupted sweep are stored, and how to run the others."""
    advice = "" if stored == total else "; the same command runs the others"
    return f"{stored:,} of {total:,} runs are in {address}{advice}"


def find_limits(study: Study) -> Limits:
    """Return the limits of a point of a study."""
    return Limits(study.timeout, study.memory)


def run_tasks(
    tasks: Sequence[Task], store: Store, executors: ExecutorChoice, limits: Limits, progress: Progress
) -> None:
    """Run tasks, and compact the store at the end, even after an interruption.

    Args:
        tasks: tasks that are not refused.
        store: receives the rows.
        executors: the workers.
        limits: the limits of a point.
        progress: receives the progress; its estimates determine the batches.

    Raises:
        InputError: the errors of ``run_batches``.
    """
    if not tasks:
        return
    try:
        # The generator makes each batch when a worker is idle, with the estimates of that moment
        run_batches(executors, group_tasks(tasks, progress), store, limits, progress)
    finally:
        store.gather()


def _store_refused(tasks: Iterable[Task], store: Store, progress: Progress) -> None:
    """Store the rows of refused tasks, which do not run, and record their ends in the progress."""
    for task in (task for task in tasks if task.refused):
        outcome = make_outcome(asdict(task), REFUSED, task.row["reason"])
        store.add(task.digest, outcome.content)
        progress.record_end(task, outcome)


def _count_other_sources(store: Store, tasks: Iterable[Task]) -> int:
    """Count the rows of the same machines from sources that none of the tasks has."""
    keys = {(task.point.command, task.point.accelerator, task.row["parts"]) for task in tasks}
    sources = {task.row["source"] for task in tasks} | {""}  # refused runs have no sources
    rows = store.table(
        "SELECT command, accelerator, parts, source, count(*) AS rows FROM runs GROUP BY ALL"
    ).to_pylist()
    return sum(
        row["rows"]
        for row in rows
        if (row["command"], row["accelerator"], row["parts"]) in keys and row["source"] not in sources
    )


def _list_failed_digests(store: Store) -> set[str]:
    return set(store.table(f"SELECT digest FROM runs WHERE status <> '{DONE}'")["digest"].to_pylist())
