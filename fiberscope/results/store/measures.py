"""Columns of a store that are derived from a report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fiberscope.results.report.components import STATES
from fiberscope.results.report.document import Report
from fiberscope.results.report.families import Family, find_busiest_stage, group_families
from fiberscope.results.report.numbers import numbers


def measures(report: Report, stages: Iterable[str]) -> dict[str, Any]:
    """Return the columns of a row that a report determines.

    Args:
        report: the report of the run.
        stages: the working family of each stage; empty for a model without timing.
    """
    kinds = group_families(report.components)
    return {
        **numbers(report),
        **_list_worker_columns(find_busiest_stage(stages, kinds)),
        "kinds": json.dumps({name: _count_states(kind) for name, kind in kinds.items()}),
        "report": report.dump(),
    }


def _list_worker_columns(family: Family | None) -> dict[str, Any]:
    """Return the name, the count and the cycles by state of the working family; empty without one."""
    if family is None:
        return {}
    states = _count_states(family)
    return {"worker_kind": family.name, "worker_count": states.pop("count"), **states}


def _count_states(family: Family) -> dict[str, int]:
    return {"count": family.count, **{state: getattr(family, state) for state in STATES}}
