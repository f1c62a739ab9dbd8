"""The scenarios of every block that has a twin, by name: small and long, large and short.

Those called ``LARGE`` in the files beside this one, and all others.
"""

from importlib import import_module
from pathlib import Path

import pytest
from scenario import Scenario

SEEDS = range(20)  # of the default run
LARGE_SEEDS = range(3, 8)  # five in a row that fill every bin of ``coverage``
SOME_SEEDS, SOME_LARGE_SEEDS = SEEDS[:6], LARGE_SEEDS[-2:]  # of blocks that are alike

_FOUND = [
    (path.stem, name, scenario)
    for path in sorted(Path(__file__).parent.glob("*_scenario.py"))
    for name, scenario in vars(import_module(path.stem)).items()
    if isinstance(scenario, Scenario)
]
SCENARIOS = {scenario.block: scenario for _file, name, scenario in _FOUND if not name.startswith("LARGE")}
LARGE = {scenario.block: scenario for _file, name, scenario in _FOUND if name.startswith("LARGE")}
# Blocks of the stream machine and of format converters: many, and alike in how they take and give tokens.
_FILES = (
    "streams_scenario",
    "stream_values_scenario",
    "stream_dense_scenario",
    "stream_reducers_scenario",
    "items_scenario",
    "counter_banks_scenario",
)
ALIKE = frozenset(scenario.block for file, _name, scenario in _FOUND if file in _FILES)


FEW = ALIKE - {"comparator_bank", "counter_banks"}  # whose faults some seeds do not find


def seeds_by_default(block):
    """The seeds of the small and of the large pairs of a block that the default run has."""
    return (SOME_SEEDS, SOME_LARGE_SEEDS) if block in FEW else (SEEDS, LARGE_SEEDS)


def cases(seeds, of_alike):
    """Every block with every seed; of those that are alike only the seeds in ``of_alike`` by default."""
    return [
        pytest.param(block, seed, marks=pytest.mark.slow if block in FEW and seed not in of_alike else ())
        for block in SCENARIOS
        for seed in seeds
    ]
