"""Stale sources: which rows of a store were run by sources that have changed since."""

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

__all__ = ["note_stale"]


def note_stale(store: Store, tasks: Sequence[Task]) -> None:
    """Note in a store which rows of the machines of tasks are of sources that have changed.

    A row of each of the sources is planned again; its sources are then those of now.
    """
    ran, settle = {(task.point.command, task.point.accelerator) for task in tasks}, ParameterResolver()
    ran_with = "any_value(workload) AS workload, any_value(settings) AS settings"
    columns = f"command, accelerator, parts, source, {ran_with}"
    stale = set(store.stale_sources())
    for row in store.table(f"SELECT {columns} FROM runs WHERE source <> '' GROUP BY ALL").to_pylist():
        if (row["command"], row["accelerator"]) not in ran:
            continue
        point = Point(row["command"], row["accelerator"], row["workload"], json.loads(row["settings"]))
        point = replace(point, parts=json.loads(row["parts"] or "{}"))
        with suppress(ConfigurationError, InputError, WorkloadError):
            now = settle(point, row["settings"]).source
            if now:
                stale = stale - {row["source"]} if now == row["source"] else stale | {row["source"]}
    store.note_stale(stale - {task.row["source"] for task in tasks})
