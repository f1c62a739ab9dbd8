"""A report of a small run of each machine, for comparing the compiled machines with the uncompiled.

Run as a script, it prints the reports of the mode the environment chooses.
"""

import json
import sys
from pathlib import Path
from typing import Any

SUPPORT = Path(__file__).parent
sys.path[:0] = [str(SUPPORT), *(str(folder) for folder in SUPPORT.parent.glob("*/support"))]

from machine_case import cases  # noqa: E402

import fiberscope  # noqa: E402
from fiberscope.accelerators.testing import MachineCase  # noqa: E402


def report_of(case: MachineCase) -> Any:
    """The report of the first make, with the DRAM model if it has a memory."""
    problem = {f"problem.{name}": value for name, value in (case.problem or {}).items()}
    memory = {"memory.model": "dram"} if "memory" in case.kind.configuration.model_fields else {}
    settings = {**next(iter(case.variants.values())), **problem, **memory}
    report = fiberscope.simulate(case.accelerator, *case.operands(), settings=settings)
    return json.loads(report.to_json())


if __name__ == "__main__":
    print(json.dumps({name: report_of(case) for name, case in cases().items()}))
