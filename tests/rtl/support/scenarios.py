"""The scenario of every block that has a twin, by name."""

import merger_scenario

SCENARIOS = {scenario.block: scenario for scenario in (merger_scenario.SCENARIO,)}
