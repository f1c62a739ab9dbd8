"""Suite of the runs of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.resources import read_resources
from fiberscope.explore.sweeps.suite import Suite, SuiteResult, build_suite_result
from fiberscope.results.figures.study_runs import read_study_runs
from fiberscope.results.store import Store
from fiberscope.results.store_layout import DONE
from fiberscope.workloads.errors import suggest

if TYPE_CHECKING:
    from fiberscope.results.figures.study_runs import StudyRuns

NOT_RUN = SuiteResult("missing", "not run")


def read_stored_suite(
    store: Store | str,
    *,
    where: str | None = None,
    sort: Sequence[str] = (),
    against: str | None = None,
    all_sources: bool = False,
) -> Suite:
    """Return the runs of a store as a suite.

    Each combination of settings of a machine is a separate machine, named by its settings. A machine that the
    store lacks on a workload has the result ``NOT_RUN`` there.

    Args:
        store: the store, or its address.
        where: a condition in SQL; all rows by default.
        sort: columns that order machines and workloads; by name by default.
        against: the baseline of speed-ups; the first machine by default.
        all_sources: whether to include rows of older sources.

    Raises:
        InputError: there are no rows, no such machine, or two runs of a machine on a workload. A machine that
            is not available any more is no error: its ``Resources`` have a ``fault``.
    """
    opened = Store(store) if isinstance(store, str) else store
    runs = read_study_runs(opened, where, sort, all_sources=all_sources)
    first = against or runs.series[0]
    if first not in runs.series:
        raise InputError(f"{first} is none of the machines; {suggest(first, runs.series)}")
    rows = {row["digest"]: row for row in opened.frame(all_sources=all_sources).to_dict("records")}
    stored = {key: rows[row["digest"]] for key, row in runs.rows.items()}
    # ``runs`` has the names that are displayed; a suite has the texts of the workloads
    addresses = {name: str(row["workload"]) for (_, name), row in runs.rows.items()}
    results = {
        (addresses[name], machine): build_suite_result(row)
        if (row := stored.get((machine, name)))
        else NOT_RUN
        for name in runs.workloads
        for machine in runs.series
    }
    # In reverse order, so that the first finished workload of a machine determines its resources
    resources = {
        machine: read_resources(row)
        for (machine, _), row in reversed(stored.items())
        if row["status"] == DONE
    }
    ordered = [addresses[name] for name in runs.workloads]
    return Suite(runs.series, ordered, first, results, _list_study_names(runs), resources)


def _list_study_names(runs: StudyRuns) -> Mapping[str, str]:
    """Return the names of workloads that have a name in the study."""
    rows: Sequence[Mapping[str, Any]] = list(runs.rows.values())
    return {row["workload"]: row["workload_name"] for row in rows if row["workload_name"]}
