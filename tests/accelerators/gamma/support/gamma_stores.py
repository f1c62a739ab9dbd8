"""Runs a small Gamma uncompiled with its stores watched; prints what a breach says, by case, as JSON."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gamma_bench import csr, tiny
from stores import watched

from fiberscope.accelerators.gamma import Gamma
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.sim import SimulationError, import_mode


def run() -> str:
    """A product with trees of tasks; returns the breach, if there is one."""
    matrix = csr([{(3 * i + j) % 12: 1.0 for j in range(1 + i % 9)} for i in range(12)], 12)
    machine = Gamma(tiny(), matrix, matrix)
    machine.partials._grow(1 << 12)  # it does not grow while it is watched
    try:
        with watched(machine.kernel, machine.table, machine.partials, machine.product):
            assert machine.kernel.run(cycle_limit=100_000).complete
    except SimulationError as error:
        return str(error)
    assert (machine.result() != matrix @ matrix).nnz == 0
    return ""


if __name__ == "__main__":
    found = {"compiled": import_mode.compiled(), "as built": run()}
    TaskTable.WRITERS = {**TaskTable.WRITERS, "starts": "scheduler"}
    found["another writer"] = run()
    print(json.dumps(found))
