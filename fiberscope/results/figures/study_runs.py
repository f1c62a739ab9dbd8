"""Runs of a store for a figure: series of machines and settings on workloads, with short names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fiberscope.base.errors import InputError
from fiberscope.results.report.short_names import shorten_names
from fiberscope.results.report.surrogates import DAGGER, SURROGATE, mark
from fiberscope.results.store import Store
from fiberscope.results.store.columns import DONE

LETTERS: Final = 16  # maximum length of the name of a workload
SERIES_LETTERS: Final = 40  # the same for a series
UNSHORTENED: Final = 1000  # a length that no name reaches
_KEY: Final = re.compile(r"\b\w+=")  # key of a generator's argument
COLUMNS: Final = (
    "digest",
    "status",
    "reason",
    "command",
    "machine",
    "accelerator",
    "config",
    "workload",
    "workload_name",
    "workload_source",
    "seconds",
    "cycles",
    "cycles_low",
    "cycles_high",
    "area_um2",
    "area_upper",
    "traffic_minimum_bytes",
)
Row = Mapping[str, Any]


@dataclass(frozen=True)
class StudyRuns:
    """Runs by series and workload.

    Args:
        series: names of machines, with the settings in which the runs of a machine differ.
        workloads: names of workloads, with a dagger after a surrogate.
        rows: the row of the store by series and workload.
    """

    series: Sequence[str]
    workloads: Sequence[str]
    rows: Mapping[tuple[str, str], Row]

    def done(self, series: str, workload: str) -> Row | None:
        """Return the row of a finished run, or None."""
        row = self.rows.get((series, workload))
        return row if row is not None and row["status"] == DONE else None

    def machine(self, series: str) -> str:
        """Return the machine of a series, without its settings."""
        return next(str(row["machine"]) for (name, _), row in self.rows.items() if name == series)

    @property
    def surrogates(self) -> list[str]:
        """Return the names of the surrogate workloads."""
        return [name for name in self.workloads if name.endswith(DAGGER)]


def read_study_runs(
    store: Store, where: str | None = None, order: Sequence[str] = (), *, all_sources: bool = False
) -> StudyRuns:
    """Read the runs of a store for a figure.

    Args:
        where: a condition in SQL; all rows by default.
        order: columns that sort machines and workloads; by name by default.
        all_sources: whether to include rows of older sources.

    Raises:
        InputError: no row matches, or two rows have the same machine, settings and workload.
    """
    parameters = list(store.parameters())
    columns = ", ".join([*COLUMNS, *(f'"{name}"' for name in parameters)])
    condition = f"WHERE {where}" if where else ""
    by = ", ".join(order or ["machine", *(f'"{name}"' for name in parameters), "workload"])
    query = f"SELECT {columns} FROM runs {condition} ORDER BY {by}"
    rows = store.table(query, all_sources=all_sources).to_pylist()
    if not rows:
        raise InputError(f"{store.address}: has no rows to draw; see fiberscope results {store.address}")
    series = _name_series(rows, parameters)
    workloads = _name_workloads(rows)
    runs: dict[tuple[str, str], Row] = {}
    for row, name in zip(rows, series, strict=True):
        key = name, workloads[row["workload"]]
        if key in runs:
            raise InputError(
                f"{store.address}: has two runs of {name} on {key[1]}; choose with --where, "
                f"as in --where \"digest <> '{row['digest'][:12]}...'\""
            )
        runs[key] = row
    return StudyRuns(list(dict.fromkeys(series)), list(workloads.values()), runs)


def shorten_workloads(workloads: Sequence[str]) -> list[str]:
    """Return names that fit under bars; a generator is reduced to its values where these are unique."""
    names = shorten_names(workloads, UNSHORTENED)
    values = [_KEY.sub("", name) for name in names]
    return shorten_names(values if len(set(values)) == len(values) else names, LETTERS)


def _name_workloads(rows: Sequence[Row]) -> dict[str, str]:
    """Return the short name of each workload."""
    surrogates = {row["workload"] for row in rows if row["workload_source"] == SURROGATE}
    full_names = {row["workload"]: row["workload_name"] or row["workload"] for row in rows}
    workloads = list(full_names)
    names = shorten_workloads(list(full_names.values()))
    return {
        workload: mark(name, SURROGATE if workload in surrogates else None)
        for workload, name in zip(workloads, names, strict=True)
    }


def _name_series(rows: Sequence[Row], parameters: Sequence[str]) -> list[str]:
    """Return the name of each row: the machine, and the parameters in which its rows differ."""
    by_machine: dict[str, list[Row]] = {}
    for row in rows:
        by_machine.setdefault(row["machine"], []).append(row)
    varied = {
        machine: [name for name in parameters if len({row[name] for row in machine_rows}) > 1]
        for machine, machine_rows in by_machine.items()
    }
    texts = [
        " ".join([row["machine"], *(f"{name}={row[name]}" for name in varied[row["machine"]])])
        for row in rows
    ]
    distinct = list(dict.fromkeys(texts))
    names = dict(zip(distinct, shorten_names(distinct, SERIES_LETTERS), strict=True))
    return [names[text] for text in texts]
