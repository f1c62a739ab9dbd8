"""Pages of several reports, which are compared like the runs of a study."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fiberscope.page.costs import costs
from fiberscope.page.study import DIGEST_LETTERS, study_data
from fiberscope.results.report.document import Report
from fiberscope.results.report.numbers import flatten_parameters
from fiberscope.results.store import Store
from fiberscope.results.store.columns import DONE, encode_row
from fiberscope.results.store.measures import measures
from fiberscope.run.find_machine import find, is_shipped


def compare_reports(runs: Sequence[Report], title: str) -> dict[str, Any]:
    """Return the data of a page that compares reports, starting with the first two.

    The reports become the rows of a temporary store, so that the page of a study can show them.

    Args:
        runs: the reports, at least one; equal reports count once.
        title: the title of the page.
    """
    reports = {hashlib.sha256(report.dump().encode()).hexdigest(): report for report in runs}
    with TemporaryDirectory() as folder:
        data = study_data(_store_of(reports, Path(folder)), title)
    ids = [digest[:DIGEST_LETTERS] for digest in reports]
    return {
        **data,
        "costs": dict(zip(ids, map(costs, reports.values()), strict=True)),
        "view": {"show": "sides", **dict(zip(("run", "other"), ids, strict=False))},
    }


def _request(report: Report) -> str | None:
    """Return the sampling request of a report in the format of a row."""
    sample = None if report.source is None else report.source.asked.sample
    return None if sample is None else json.dumps(asdict(sample), sort_keys=True)


def _find_status(report: Report) -> str:
    """Return the status of a row: a wrong result first, else how the run ended."""
    if report.verification.passed is False:
        return "wrong"
    return DONE if report.complete else report.ending


def _store_of(reports: Mapping[str, Report], folder: Path) -> Store:
    """Return a store of reports by digest; settings that differ between reports are its parameters."""
    configs = [flatten_parameters(report.config) for report in reports.values()]
    keys = {key for config in configs for key in config}
    # a setting that only some reports have differs too, as null from its value
    differing = {key for key in keys if len({json.dumps(config.get(key)) for config in configs}) > 1}
    store = Store(folder, make=True)
    for (digest, report), config in zip(reports.items(), configs, strict=True):
        machine = report.accelerator
        # A user's machine is not looked up, as this would run its code.
        measured = measures(report, find(machine).worker_families if is_shipped(machine) else ())
        row = {
            "digest": digest,
            "status": _find_status(report),
            "accelerator": machine,
            "workload": report.workload.name,
            "config": json.dumps(config),
            "sampling": _request(report),
            **measured,
        }
        store.add(digest, encode_row(row, {key: config[key] for key in config if key in differing}))
    store.gather()
    return store
