"""Repetition of the runs of an archive, and the differences of their numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from fiberscope.base.errors import InputError
from fiberscope.base.progress import ignore_progress
from fiberscope.explore.sweeps.api import run_tasks
from fiberscope.explore.sweeps.executors import ExecutorChoice
from fiberscope.explore.sweeps.plan import ParameterResolver, Task, drop_repeated_tasks, plan_tasks
from fiberscope.explore.sweeps.point import Point, build_request, load_parts
from fiberscope.explore.sweeps.point_process import Limits
from fiberscope.explore.sweeps.progress import Progress, show_progress
from fiberscope.results.report.document import Report
from fiberscope.results.report.parts import CIRCUMSTANCES
from fiberscope.results.store import Store
from fiberscope.results.store.archive import StudyArchive, extract_archive
from fiberscope.results.store.columns import DONE
from fiberscope.run.rerun import check_same

Row = Mapping[str, Any]
REPORT: Final = "report"
# Columns that may differ between equal runs, or that are compared as parts of the report.
UNCOMPARED: Final = {REPORT, "digest", "wall_seconds", "version", "source", "settings", "kinds"}


@dataclass(frozen=True)
class RepeatedRun:
    """A run of an archive and its repetition.

    Args:
        archived, repeated: the rows; None without a repetition, as the run is refused now.
        differences: the columns that differ; ``report`` if only the reports differ; ``status`` without a
            repetition; ``status`` with the new status and its reason if the repetition failed.
    """

    archived: Row
    repeated: Row | None
    differences: Sequence[str]


@dataclass(frozen=True)
class ArchiveRerun:
    """An archive and the repetitions of its finished runs."""

    index: StudyArchive
    runs: Sequence[RepeatedRun]

    @property
    def different(self) -> list[RepeatedRun]:
        """Return the runs that differ."""
        return [run for run in self.runs if run.differences]


def rerun_archive(
    path: Path, *, workers: int | None = None, anyway: bool = False, quiet: bool = False
) -> ArchiveRerun:
    """Repeat the finished runs of an archive, except for runs of stale sources; compare rows and reports.

    Args:
        path: the archive.
        workers: processes on this computer; one per core by default.
        anyway: accept changed sources, operands and parameters; the runs use the current ones.
        quiet: show no progress.

    Raises:
        InputError: the file is no archive, or, without ``anyway``, a run cannot be repeated with the same
            sources, operands and parameters.
    """
    with TemporaryDirectory(prefix="fiberscope-") as folder:
        index, store = extract_archive(path, Path(folder, "archived"))
        rows = store.table(f"SELECT * FROM runs WHERE status = '{DONE}'", all_sources=False).to_pylist()
        rows.sort(key=lambda row: (row["machine"], row["workload"], row["digest"]))
        tasks = _plan(path, rows, anyway)
        repetitions = Store(Path(folder, "repeated"), make=True)
        # With ``anyway``, runs of different sources may be the same run now
        unique = drop_repeated_tasks(tasks)
        progress = Progress(unique)
        with show_progress(progress, quiet, None):
            ready = [task for task in unique if not task.refused]
            run_tasks(ready, repetitions, ExecutorChoice(workers=workers), Limits(), progress)
        repeated = {row["digest"]: row for row in repetitions.table("SELECT * FROM runs").to_pylist()}
        pairs = zip(rows, (repeated.get(task.digest) for task in tasks), strict=True)
        return ArchiveRerun(index, [_compare(*pair) for pair in pairs])


def _plan(path: Path, rows: Sequence[Row], anyway: bool) -> list[Task]:
    """Return the tasks of rows, in order.

    Raises:
        InputError: a row has no report, or, without ``anyway``, the sources, operands or parameters of its
            run have changed.
    """
    resolver, tasks = ParameterResolver(), []
    for row in rows:
        name = f"{row['machine']} on {row['workload']}"
        report = Report.parse(row[REPORT] or "", f"{path}: {name}")
        point = _point(row, report, f"{path}: {name}")
        (task,) = plan_tasks([point], resolver)
        # The digest covers sources, operands and parameters
        if task.digest != row["digest"] and not anyway:
            request = build_request(point)
            sources = request.find_roots(load_parts(point).values()).sources()
            # Raises the error of changed sources or operands; otherwise the parameters have changed.
            check_same(path, report, sources, request.digests(ignore_progress))
            raise InputError(f"{path}: {name} has other parameters now; --anyway runs it with these")
        tasks.append(task)
    return tasks


def _point(row: Row, report: Report, location: str) -> Point:
    """Return the point of a row; the recorded settings include those of a configuration file.

    Raises:
        InputError: the report does not have the request.
    """
    if report.source is None:
        raise InputError(f"{location}: written by {report.version}, which did not record the request")
    request = report.source.asked
    return Point(
        row["command"],
        row["accelerator"],
        row["workload"],
        request.settings,
        exact=request.exact,
        sample=json.loads(row["sampling"]) if row["sampling"] else None,
        name=row["machine"] if row["machine"] != row["accelerator"] else "",
        parts=json.loads(row["parts"]) if row["parts"] else {},
        workload_name=row["workload_name"] or "",
    )


def _compare(archived: Row, repeated: Row | None) -> RepeatedRun:
    """Return two rows of a run with the columns that differ."""
    if repeated is None:
        return RepeatedRun(archived, None, ["status"])
    if repeated["status"] != DONE:
        return RepeatedRun(archived, repeated, [f"status ({repeated['status']}: {repeated['reason']})"])
    columns = [name for name in archived if name in repeated and name not in UNCOMPARED]
    differences = [name for name in columns if archived[name] != repeated[name]]
    if not differences and _select_compared_fields(archived) != _select_compared_fields(repeated):
        differences = [REPORT]
    return RepeatedRun(archived, repeated, differences)


def _select_compared_fields(row: Row) -> dict[str, Any]:
    """Return the report of a row without the fields that may differ between equal runs."""
    report: dict[str, Any] = json.loads(row[REPORT] or "{}")
    return {key: value for key, value in report.items() if key not in (*CIRCUMSTANCES, "version")}
