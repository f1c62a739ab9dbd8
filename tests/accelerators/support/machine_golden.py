"""What a run of a machine comes to in numbers, to be kept and compared."""

import re
from collections import Counter
from dataclasses import asdict, astuple
from typing import Any

from kept import checksum

from fiberscope.accelerators.machine import Machine
from fiberscope.accelerators.testing import cycles, outcome


def numbers(machine: Machine) -> dict[str, Any]:
    """Cycles, operations, memory's rows, bytes and counters of a machine that has run.

    Bytes are read, written, and what was useful of each, by tensor; counters, with the cycles spent busy and
    waiting, are summed over parts of one name, without memory and networks. The checksum is of all
    that the run determines: of each part by itself, and of the product. Steps are the cycles in which a part
    ticks: fewer where parts sleep, or are worked out ahead of the clock.
    """
    memory = machine.memory()
    return {
        "cycles": cycles(machine),
        "operations": dict(machine.operations()),
        "memory": asdict(memory) if memory else {},
        "bytes": {name: list(astuple(moved)) for name, moved in machine.traffic().items()},
        "counters": {name: dict(sorted(found.items())) for name, found in sorted(_counters(machine).items())},
        "checksum": checksum(outcome(machine)),
        "steps": machine.kernel.steps,
    }


def _counters(machine: Machine) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for name, part in machine.kernel.statistics().items():
        family = re.sub(r"\d+", "", name.partition(".")[2])
        if not family.startswith(("memory.", "network.")):
            waited = sum(part.input_stall.values()), sum(part.output_stall.values())
            spent = {"busy": part.busy, "waits for input": waited[0], "waits for output": waited[1]}
            found.setdefault(family, Counter()).update(part.counters | spent)
    return found
