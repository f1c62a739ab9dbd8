"""Runs a small ExTensor uncompiled with its stores watched; prints what a breach says, by case, as JSON."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from extensor_bench import small_operands, tiny
from stores import watched

from fiberscope.accelerators.extensor import ExTensor
from fiberscope.accelerators.extensor.output import OutputBuffer, PartialSlot
from fiberscope.sim import Kernel, SimulationError, import_mode


class Hasty(OutputBuffer):
    """Looks into every slot when it ticks, whether a token has come or not."""

    def tick(self, now: int) -> int:
        for slot in self.slots:
            sum(slot.keys[i] for i in range(slot.count))
        return super().tick(now)


def run(parts: dict[str, Callable[..., Any]] | None = None) -> str:
    """A product of several tiles, rows of which never grow; returns the breach, if there is one."""
    a, b = small_operands()
    kernel = Kernel(sleep=False, order_seed=1)
    machine = ExTensor(tiny(tile__n=1), a, b, parts=parts, kernel=kernel)
    try:
        with watched(machine.kernel, *machine.slots, *machine.output_rows):
            assert machine.kernel.run(cycle_limit=100_000).complete
    except SimulationError as error:
        return str(error)
    assert (machine.result() != a @ b).nnz == 0
    return ""


if __name__ == "__main__":
    found = {"compiled": import_mode.compiled(), "as built": run()}
    found["not behind a token"] = run({"outputs": Hasty})
    PartialSlot.WRITERS = {**PartialSlot.WRITERS, "values": "outputs"}
    found["another writer"] = run()
    print(json.dumps(found))
