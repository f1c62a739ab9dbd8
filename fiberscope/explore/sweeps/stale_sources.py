"""Detection of stale sources: rows of a store whose sources have changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.plan import ParameterResolver, Task
from fiberscope.explore.sweeps.point import Point
from fiberscope.results.store import Store
from fiberscope.workloads.errors import WorkloadError


def note_stale(store: Store, tasks: Sequence[Task]) -> None:
    """Record in a store which sources of the tasks' machines have changed.

    One row of each machine and source digest is resolved again with the current sources. If this raises an
    error, such as for a missing file, the mark of that digest stays as it is. The sources of ``tasks`` are
    current.

    Raises:
        InputError: the store cannot be read or written to.
    """
    machines, resolver = {(task.point.command, task.point.accelerator) for task in tasks}, ParameterResolver()
    sample_columns = "any_value(workload) AS workload, any_value(settings) AS settings"
    columns = f"command, accelerator, parts, source, {sample_columns}"
    stale = set(store.stale_sources())
    for row in store.table(f"SELECT {columns} FROM runs WHERE source <> '' GROUP BY ALL").to_pylist():
        if (row["command"], row["accelerator"]) not in machines:
            continue
        point = Point(row["command"], row["accelerator"], row["workload"], json.loads(row["settings"]))
        point = replace(point, parts=json.loads(row["parts"] or "{}"))
        with suppress(ConfigurationError, InputError, WorkloadError):
            current = resolver(point, row["settings"]).source
            if current:
                stale = stale - {row["source"]} if current == row["source"] else stale | {row["source"]}
    store.note_stale(stale - {task.row["source"] for task in tasks})
