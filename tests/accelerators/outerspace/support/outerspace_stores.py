"""Runs a small OuterSPACE uncompiled with its lists watched; prints what a breach says, by case, as JSON."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
sys.path.insert(0, str(Path(__file__).parent))

from outerspace_bench import random_matrix, tiny
from stores import watched

from fiberscope.accelerators.outerspace import OuterSpace
from fiberscope.accelerators.outerspace.linker import Linker
from fiberscope.accelerators.outerspace.lists import RowLists
from fiberscope.sim import Kernel, SimulationError, import_mode


class Hasty(Linker):
    """Looks at all products when it ticks, whether they are behind a token or not."""

    def tick(self, now: int) -> int:
        sum(self.lists.values[i] for i in range(len(self.lists.values)))
        return super().tick(now)


def run(parts: dict[str, Callable[..., Any]] | None = None) -> str:
    """A product with lists of several nodes; returns the breach, if there is one."""
    a = random_matrix(7, 7, 20, seed=3)
    kernel = Kernel(sleep=False, order_seed=1)
    machine = OuterSpace(tiny(), a, a, parts=parts, kernel=kernel)
    try:
        with watched(machine.kernel, machine.lists):
            assert machine.kernel.run(cycle_limit=100_000).complete
    except SimulationError as error:
        return str(error)
    assert abs(machine.result() - a @ a).max() == 0
    return ""


if __name__ == "__main__":
    found = {
        "compiled": import_mode.compiled(),
        "as built": run(),
        "not behind a token": run({"linker": Hasty}),
    }
    RowLists.WRITERS = {**RowLists.WRITERS, "values": "merger"}
    found["another writer"] = run()
    print(json.dumps(found))
