"""Forks each machine in the midst of its run, and runs both processes on.

Run as a script, it prints for each machine which of the two left behind something else than a run that was
not forked.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

SUPPORT = Path(__file__).parent
sys.path[:0] = [str(SUPPORT), *(str(folder) for folder in SUPPORT.parent.glob("*/support"))]

from machine_case import cases  # noqa: E402

from fiberscope.accelerators.testing import MachineCase, cycles, outcome, run_to_end  # noqa: E402


def forked_outcomes(case: MachineCase, variant: str) -> dict[str, Any]:
    """What the parent and the child leave behind; the child runs on when the parent has its product."""
    expected = outcome(run_to_end(case.build(variant, case.operands())))
    machine = case.build(variant, case.operands())
    machine.kernel.run(cycle_limit=max(1, expected["cycles"] // 2))
    assert cycles(machine) < expected["cycles"]
    wait, go = os.pipe()
    answer, say = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(wait, 1)
        found = json.dumps(outcome(run_to_end(machine)), default=float)
        with os.fdopen(say, "w") as file:
            file.write(found)
        os._exit(0)
    os.close(say)
    parent = json.loads(json.dumps(outcome(run_to_end(machine)), default=float))
    os.write(go, b".")
    with os.fdopen(answer) as file:
        found = json.load(file)
    os.waitpid(child, 0)
    whole = json.loads(json.dumps(expected, default=float))
    return {"parent": _differences(whole, parent), "child": _differences(whole, found)}


def _differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    return [key for key in expected if expected[key] != found.get(key)]


if __name__ == "__main__":
    print(
        json.dumps(
            {
                f"{name}, {variant}": forked_outcomes(case, variant)
                for name, case in cases().items()
                for variant in case.variants
            }
        )
    )
