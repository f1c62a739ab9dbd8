"""The scenarios of every block that has a twin, by name: small and long, large and short.

Those called ``LARGE`` in the files beside this one, and all others.
"""

from importlib import import_module
from pathlib import Path

from scenario import Scenario

SEEDS = range(20)  # of the default run
LARGE_SEEDS = range(3, 8)  # five in a row that fill every bin of ``coverage``

_FOUND = [
    (name, scenario)
    for path in sorted(Path(__file__).parent.glob("*_scenario.py"))
    for name, scenario in vars(import_module(path.stem)).items()
    if isinstance(scenario, Scenario)
]
SCENARIOS = {scenario.block: scenario for name, scenario in _FOUND if not name.startswith("LARGE")}
LARGE = {scenario.block: scenario for name, scenario in _FOUND if name.startswith("LARGE")}
