"""Runs of blocks and machines with all methods overridden, and the number of calls of each.

Prints them as JSON, in the mode that the environment chooses, when run as a script.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / room / "support") for room in (".", "hw", "accelerators")]

import block_scenarios  # noqa: E402
import level_scenarios  # noqa: E402
import stream_scenarios  # noqa: E402
from machine_reports import cases, report_of  # noqa: E402
from overrides import plain_modules, substitute  # noqa: E402

import fiberscope  # noqa: E402

ROOMS = ("fiberscope.accelerators", "fiberscope.hw", "fiberscope.models", "fiberscope_machine")
SPECIFICATION = ("spec:gamma", "uniform:rows=30,cols=30,nonzeros=90,seed=2")


def measure() -> dict[str, Any]:
    """Return the results of all runs, and the number of calls of each overridden method."""
    machines = cases()
    _simulate_specification()  # its imports load the rest
    counts: Counter[str] = Counter()
    scenarios = [block_scenarios, stream_scenarios, level_scenarios]
    substitute([*plain_modules(*ROOMS), *scenarios], counts)
    outcomes = block_scenarios.outcomes() | stream_scenarios.outcomes()
    outcomes |= {name: _shortened(report_of(case)) for name, case in machines.items()}
    outcomes["spec"] = _simulate_specification()
    return {"outcomes": outcomes, "calls": dict(counts)}


def _simulate_specification() -> dict[str, Any]:
    report = fiberscope.simulate(*SPECIFICATION)
    return _shortened(json.loads(report.to_json()))


def _shortened(report: dict[str, Any]) -> dict[str, Any]:
    return {key: report[key] for key in ("cycles", "traffic", "components", "verification")}


if __name__ == "__main__":
    print(json.dumps(measure()))
