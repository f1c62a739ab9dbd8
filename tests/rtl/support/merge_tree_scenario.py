"""The merge tree: its mergers as components, joined by channels of the engine."""

import random
from dataclasses import replace
from typing import Any

from composed_scenario import ComposedScenario, components_of
from fiber_streams import merge_inputs
from merger_scenario import SCENARIO as MERGER
from pairs import Composed

from fiberscope.hw.fibers.merge_tree_rtl import MergeTreeParameters, compose
from fiberscope.sim import Component
from fiberscope.sim.testing import Token

MERGES = 30


def _composed(given: MergeTreeParameters) -> Composed:
    return components_of(compose(given), _component)


def _component(block: str, name: str, given: Any) -> Component:
    assert block == "merger"
    return MERGER.component(name, given)


def _parameters(generator: random.Random) -> MergeTreeParameters:
    return MergeTreeParameters(
        radix=generator.choice([2, 3, 4]),
        leaves=generator.choice([2, 3, 5]),
        capacity=generator.choice([1, 2, 5]),
        latency=generator.choice([1, 2, 4]),
        coordinate_bits=generator.choice([1, 8, 55]),
        reference_bits=generator.choice([1, 64]),
        value_bits=generator.choice([32, 64]),
    )


def _large(generator: random.Random) -> MergeTreeParameters:
    return MergeTreeParameters(radix=generator.choice([8, 12]), leaves=generator.choice([6, 8]), capacity=8)


def _inputs(
    generator: random.Random, given: MergeTreeParameters, merges: int = MERGES
) -> dict[str, list[Token]]:
    """Merges of some of the leaves, each of which merges some of its ways."""
    fan_ins = [generator.randint(0, given.leaves) for _ in range(merges)]
    inputs: dict[str, list[Token]] = {"tasks": [(0, fan_in, 0, 0.0) for fan_in in fan_ins]}
    for leaf in range(given.leaves):
        merges_of_leaf = sum(fan_in > leaf for fan_in in fan_ins)
        of_leaf = merge_inputs(
            generator, given.radix, merges_of_leaf, 20, given.coordinate_bits, given.reference_bits
        )
        inputs[f"leaf_tasks[{leaf}]"] = of_leaf["tasks"]
        for way in range(given.radix):
            inputs[f"ways[{leaf * given.radix + way}]"] = of_leaf[f"ways[{way}]"]
    return inputs


SCENARIO = ComposedScenario("merge_tree", _parameters, _inputs, ("merged",), composed=_composed)
LARGE = replace(SCENARIO, draw=_large, inputs=lambda generator, given: _inputs(generator, given, 4))
