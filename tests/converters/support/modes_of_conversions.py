"""Cycles and counts of conversions, as JSON: the same compiled and uncompiled."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from conversions import PAIRS, machine, parameters, random_matrix


def told() -> dict[str, Any]:
    """What every conversion of a small matrix leaves behind."""
    tensor = random_matrix(8, (20, 25), 0.15)
    found = {}
    for source, target in PAIRS:
        chosen = parameters(("lanes.chunk", 4), ("scratchpad.size", 48))
        made, expected = machine(tensor, source, target, parameters=chosen)
        cycles = made.kernel.run().cycles
        assert expected.difference(made.result()) is None
        statistics = {name: asdict(part) for name, part in made.kernel.statistics().items()}
        found[f"{source} {target}"] = [cycles, json.loads(json.dumps(statistics))]
    return found


if __name__ == "__main__":
    print(json.dumps(told()))
