"""The scenario of every block that has a twin, by name."""

import intersector_scenario
import merger_scenario

SCENARIOS = {
    scenario.block: scenario
    for scenario in (
        merger_scenario.SCENARIO,
        intersector_scenario.TWO_FINGER,
        intersector_scenario.SKIP_AHEAD,
    )
}
