"""Running of the points of a study that a store does not have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.explore.sweeps.dispatch import run_batches
from fiberscope.explore.sweeps.executors import ExecutorChoice
from fiberscope.explore.sweeps.plan import Task, plan_points, unique_tasks
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

__all__ = ["SweepResult", "limits_of", "run_study"]


@dataclass(frozen=True)
class SweepResult:
    """Result of a sweep.

    Args:
        store: that has the rows.
        digests: the digest of each point; points that are alike have the same.
        had: how many runs the store had before.
        statuses: the statuses of the others, how often each.
        others: rows of the same machines that the store has of other sources.
    """

    store: Store
    digests: Sequence[str]
    had: int
    statuses: Mapping[str, int]
    others: int

    @property
    def failed(self) -> int:
        """Points that were run now and not done."""
        return sum(self.statuses.values()) - self.statuses.get(DONE, 0)

    def failures(self, most: int) -> list[str]:
        """A line for each of the first of its points that failed, now or before."""
        columns = "machine, workload, settings, status, reason"
        rows = self.store.table(f"SELECT digest, {columns} FROM runs WHERE status <> '{DONE}'").to_pylist()
        ours = [row for row in rows if row["digest"] in set(self.digests)]
        lines = [f"{_row_text(row)}: {row['status']}: {row['reason']}" for row in ours[:most]]
        return lines + ([f"and {len(ours) - most:,} more"] if len(ours) > most else [])

    def surrogates(self) -> list[str]:
        """The workloads of its points that are surrogates."""
        query = f"SELECT digest, workload FROM runs WHERE workload_source = '{SURROGATE}' ORDER BY workload"
        rows = self.store.table(query).to_pylist()
        return [row["workload"] for row in rows if row["digest"] in set(self.digests)]

    def frame(self) -> pd.DataFrame:
        """The rows of its points, in their order, with all columns but the report."""
        rows = self.store.frame(all_sources=True).set_index("digest")
        return rows.loc[list(self.digests)].reset_index()


def _row_text(row: Mapping[str, str]) -> str:
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

    Args:
        study: the points, and what each may take.
        address: the address of the store, which is made when all that can never be has been refused.
        executors: it is run on these.
        retry: run those of its points again that failed.
        quiet: show no progress.
        follow: follows the progress.

    Raises:
        ConfigurationError, InputError, WorkloadError: as of ``sweep``.
    """
    planned = plan_points(study.sweep())
    tasks = unique_tasks(planned)
    store = Store(address, make=True)
    have = store.digests() - (_failures(store) if retry else set())
    new = [task for task in tasks if task.digest not in have]
    note_stale(store, tasks)
    named = [task for task in tasks if task.digest in have and task.point.workload_name]
    store.name_workloads({task.digest: task.point.workload_name for task in named})
    progress = Progress(new)
    try:
        with show_progress(progress, quiet, follow):
            _keep_refused(new, store, progress)
            run_tasks(
                [task for task in new if not task.refused], store, executors, limits_of(study), progress
            )
    except KeyboardInterrupt:
        had = len(tasks) - progress.total + progress.done
        raise KeyboardInterrupt(_interruption(had, len(tasks), address)) from None
    return SweepResult(
        store,
        [task.digest for task in planned],
        len(tasks) - len(new),
        progress.statuses,
        _of_others(store, tasks),
    )


def _interruption(had: int, total: int, address: str | Path) -> str:
    """Say which points an interrupted sweep has, and how to run the rest."""
    rest = "" if had == total else "; the same command runs the others"
    return f"{had:,} of {total:,} runs are in {address}{rest}"


def limits_of(study: Study) -> Limits:
    """Return the limits of a point of a study."""
    return Limits(study.timeout, study.memory)


def run_tasks(
    tasks: Sequence[Task], store: Store, executors: ExecutorChoice, limits: Limits, progress: Progress
) -> None:
    """Run tasks; what comes of them is in the parts of the store then, even if interrupted."""
    if not tasks:
        return
    try:
        run_batches(executors, group_tasks(tasks, progress), store, limits, progress)
    finally:
        store.gather()


def _keep_refused(tasks: Iterable[Task], store: Store, progress: Progress) -> None:
    """Give those their rows that there is nothing to run of."""
    for task in (task for task in tasks if task.refused):
        outcome = make_outcome(asdict(task), REFUSED, task.row["reason"])
        store.add(task.digest, outcome.content)
        progress.ended(task, outcome)


def _of_others(store: Store, tasks: Iterable[Task]) -> int:
    """Rows of what tasks run, by other sources than theirs."""
    ran = {(task.point.command, task.point.accelerator, task.row["parts"]) for task in tasks}
    ours = {task.row["source"] for task in tasks} | {""}  # nothing ran
    rows = store.table(
        "SELECT command, accelerator, parts, source, count(*) AS rows FROM runs GROUP BY ALL"
    ).to_pylist()
    return sum(
        row["rows"]
        for row in rows
        if (row["command"], row["accelerator"], row["parts"]) in ran and row["source"] not in ours
    )


def _failures(store: Store) -> set[str]:
    return set(store.table(f"SELECT digest FROM runs WHERE status <> '{DONE}'")["digest"].to_pylist())
