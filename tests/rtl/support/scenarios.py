"""The scenario of every block that has a twin, by name."""

import bank_scenario
import channel_scenario
import divider_scenario
import intersector_scenario
import merge_tree_scenario
import merger_scenario
import prefix_sum_scenario

SCENARIOS = {
    scenario.block: scenario
    for scenario in (
        merger_scenario.SCENARIO,
        bank_scenario.SCENARIO,
        merge_tree_scenario.SCENARIO,
        channel_scenario.SCENARIO,
        prefix_sum_scenario.SCENARIO,
        divider_scenario.SCENARIO,
        intersector_scenario.TWO_FINGER,
        intersector_scenario.SKIP_AHEAD,
    )
}
