"""Reports of single runs as a store, so that a page lays them side by side as it does the runs of a study."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from fiberscope.machines import find, is_machine
from fiberscope.report.document import Report
from fiberscope.report.numbers import leaves
from fiberscope.store import Store
from fiberscope.store.columns import DONE, encoded
from fiberscope.store.measures import measures

__all__ = ["store_of"]


def store_of(files: Sequence[Path], folder: Path) -> Store:
    """A store of these reports; the settings that are not the same in all of them are its parameters.

    Args:
        files: written with ``--json``; what is in two of them alike is one run.
        folder: where it is made.

    Raises:
        InputError: a file that holds no report.
    """
    reports = [Report.read(file) for file in files]
    configs = [leaves(report.config) for report in reports]
    named = {key for config in configs for key in config}
    differing = {key for key in named if len({json.dumps(config.get(key)) for config in configs}) > 1}
    store = Store(folder, make=True)
    for report, config in zip(reports, configs, strict=True):
        machine = report.accelerator
        told = measures(report, find(machine).workers if is_machine(machine) else "")
        row = {
            "digest": hashlib.sha256(told["report"].encode()).hexdigest(),
            "status": DONE if report.complete else report.ending,
            "accelerator": machine,
            "workload": report.workload.name,
            "config": json.dumps(config),
            **told,
        }
        store.add(str(row["digest"]), encoded(row, {key: config[key] for key in config if key in differing}))
    store.gather()
    return store
