"""The scenarios of every block that has a twin, by name: small and long, large and short.

Those called ``LARGE`` in the files beside this one, and all others.
"""

from importlib import import_module
from pathlib import Path

import pytest
from scenario import Scenario

SEEDS = range(20)  # of the default run
LARGE_SEEDS = range(3, 8)  # five in a row that fill every bin of ``coverage``

_FOUND = [
    (path.stem, name, scenario)
    for path in sorted(Path(__file__).parent.glob("*_scenario.py"))
    for name, scenario in vars(import_module(path.stem)).items()
    if isinstance(scenario, Scenario)
]
SCENARIOS = {scenario.block: scenario for _file, name, scenario in _FOUND if not name.startswith("LARGE")}
LARGE = {scenario.block: scenario for _file, name, scenario in _FOUND if name.startswith("LARGE")}
# Blocks of the stream machine: many, and alike in how they take and give tokens.
STREAMS = frozenset(scenario.block for file, _name, scenario in _FOUND if file.startswith("stream"))


def cases(seeds, of_streams):
    """Every block with every seed; of the stream machine's blocks only those in ``of_streams`` by default."""
    return [
        pytest.param(
            block, seed, marks=pytest.mark.slow if block in STREAMS and seed not in of_streams else ()
        )
        for block in SCENARIOS
        for seed in seeds
    ]
