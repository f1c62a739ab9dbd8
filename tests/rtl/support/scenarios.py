"""The scenarios of every block that has a twin, by name: small and long, large and short."""

import bank_scenario
import channel_scenario
import divider_scenario
import intersector_scenario
import merge_tree_scenario
import merger_scenario
import prefix_sum_scenario

SEEDS = range(20)  # of the default run
LARGE_SEEDS = range(3, 8)  # five in a row that fill every bin of ``coverage``

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
LARGE = {
    scenario.block: scenario
    for scenario in (
        merger_scenario.LARGE,
        bank_scenario.LARGE,
        merge_tree_scenario.LARGE,
        channel_scenario.LARGE,
        prefix_sum_scenario.LARGE,
        divider_scenario.LARGE,
        intersector_scenario.LARGE_TWO_FINGER,
        intersector_scenario.LARGE_SKIP_AHEAD,
    )
}
